"""Reads Prometheus' text format 0.0.4 and refuses whatever its description does not allow."""

import math
import re

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')
TYPES = ("counter", "gauge", "histogram", "summary", "untyped")
ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


class Wrong(Exception):
    """A line that the format does not allow."""


def check(holds, line):
    if not holds:
        raise Wrong(line)


def labels_of(text, line):
    found, at = {}, 0
    while at < len(text):
        match = LABEL.match(text, at)
        check(match and match[1] not in found, line)
        found[match[1]] = re.sub(r'\\[\\"n]', lambda each: ESCAPES[each[0]], match[2])
        at = match.end()
        check(at == len(text) or text[at] == ",", line)
        at += 1
    return found


def sample_of(line):
    name = NAME.match(line)
    check(name, line)
    rest = line[name.end():]
    labels = {}
    if rest.startswith("{"):
        inside = re.match(r'\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\}', rest)
        check(inside, line)
        labels, rest = labels_of(inside[1], line), rest[inside.end():]
    check(re.fullmatch(r" \S+( -?\d+)?", rest), line)
    return name[0], labels, float(rest.split()[0].replace("Inf", "inf"))


def family_of(name, types):
    for suffix, kinds in (("_bucket", ("histogram",)), ("_sum", ("histogram", "summary")),
                          ("_count", ("histogram", "summary"))):
        base = name.removesuffix(suffix)
        if base != name and types.get(base) in kinds:
            return base
    return name


def parse(text):
    """Samples by (name, sorted labels); Wrong where the text is."""
    check(text == "" or text.endswith("\n"), "the last line has no end")
    types, helps, samples, order = {}, set(), {}, []
    for line in text.split("\n")[:-1]:
        if line.startswith(("# HELP ", "# TYPE ")):
            _, word, name, *rest = line.split(" ", 3)
            check(NAME.fullmatch(name), line)
            if word == "HELP":
                check(name not in helps, line)
                check(re.fullmatch(r"([^\\]|\\[\\n])*", rest[0] if rest else ""), line)
                helps.add(name)
            else:
                check(name not in types and rest and rest[0] in TYPES, line)
                check(name not in order, line)
                types[name] = rest[0]
            continue
        if not line or line.startswith("#"):
            continue
        name, labels, value = sample_of(line)
        key = (name, tuple(sorted(labels.items())))
        check(key not in samples, line)
        samples[key] = value
        family = family_of(name, types)
        if not order or order[-1] != family:
            check(family not in order, f"{family} is not together")
            order.append(family)
    for family in order:
        check(family in types and family in helps, f"{family} is not described")
        if types[family] == "counter":
            check(all(value >= 0 for (name, _), value in samples.items() if name == family), family)
        if types[family] == "histogram":
            histogram(family, samples)
    return samples


def histogram(family, samples):
    groups = {}
    for (name, labels), value in samples.items():
        if name == f"{family}_bucket":
            others = tuple(pair for pair in labels if pair[0] != "le")
            bound = dict(labels)["le"].replace("Inf", "inf")
            groups.setdefault(others, []).append((float(bound), value))
    check(groups, f"{family} has no buckets")
    for others, buckets in groups.items():
        check(buckets == sorted(buckets), f"{family}: buckets are not in order")
        values = [value for _, value in buckets]
        check(values == sorted(values), f"{family}: buckets do not add up")
        check(buckets[-1][0] == math.inf, f"{family} has no +Inf")
        check(samples.get((f"{family}_count", others)) == values[-1], f"{family}: count")
        check((f"{family}_sum", others) in samples, f"{family}: sum")
