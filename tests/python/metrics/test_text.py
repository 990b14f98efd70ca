"""The text is what the format says, and no metric grows without bound."""

import math

import pytest
from mainspring._metrics_text import (
    OTHER,
    RESERVE,
    Counter,
    Gauge,
    Histogram,
    Summary,
    number,
    render,
)
from prometheus_client.parser import text_string_to_metric_families

from ._exposition import Wrong, parse

NASTY = ['plain', 'say "hi"', "back\\slash", "two\nlines", "\\n", "\\", '"', "表格", "a{b}=,c d", ""]


@pytest.mark.parametrize("text", [
    "a 1",                                                        # no end of line
    "# TYPE a counter\na 1\n",                                    # no help
    "# HELP a x\na 1\n",                                          # no type
    "# HELP a x\n# TYPE a count\na 1\n",                          # no such type
    "# HELP a x\n# TYPE a gauge\na 1\na 2\n",                     # twice
    "# HELP a x\n# TYPE a gauge\na{b=\"1\",b=\"2\"} 1\n",         # a label twice
    "# HELP a x\n# TYPE a gauge\na{b=\"\\t\"} 1\n",               # no such escape
    "# HELP a x\n# TYPE a gauge\na{b=\"\n\"} 1\n",                # a line within a value
    "# HELP a x\n# TYPE a gauge\na{1b=\"\"} 1\n",                 # no such name
    "# HELP a x\n# TYPE a counter\na -1\n",                       # below zero
    "# HELP a \\x\n# TYPE a gauge\na 1\n",                        # no such escape in a help
    '# HELP h x\n# TYPE h histogram\nh_bucket{le="1"} 1\nh_sum 1\nh_count 1\n',
    '# HELP h x\n# TYPE h histogram\nh_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n',
    '# HELP h x\n# TYPE h histogram\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 2\n',
    "# HELP a x\n# TYPE a gauge\na{c=\"1\"} 1\n# HELP b x\n# TYPE b gauge\nb 1\na{c=\"2\"} 1\n",
])
def test_the_checker_finds_what_is_wrong(text):
    with pytest.raises(Wrong):
        parse(text)


def families():
    gauge = Gauge("g", 'help with \\ and\nlines and "quotes"', ("name",))
    gauge.replace({(text,): at for at, text in enumerate(NASTY)})
    counter = Counter("c_total", "", ("a", "b"))
    counter.add(("x", "y"), 2)
    counter.add(("x", "y"), 3)
    summary = Summary("s", "A summary.", ("name",))
    summary.add(("x",), 4, 0.5)
    histogram = Histogram("h", "A histogram.", (0.5, 10))
    histogram.add((1, 2), 3, 21.25)
    histogram.add((0, 1), 1, 3)
    return [gauge, counter, summary, histogram, Gauge("nothing", "Has no series.", ("x",))]


def test_names_come_back_as_they_were():
    samples = parse(render(families()))
    for at, text in enumerate(NASTY):
        assert samples[("g", (("name", text),))] == at


def test_values():
    samples = parse(render(families()))
    assert samples[("c_total", (("a", "x"), ("b", "y")))] == 5
    assert samples[("s_count", (("name", "x"),))] == 4
    assert samples[("s_sum", (("name", "x"),))] == 0.5
    buckets = {key[1][0][1]: value for key, value in samples.items() if key[0] == "h_bucket"}
    assert buckets == {"0.5": 1, "10": 3, "+Inf": 4}
    assert samples[("h_count", ())] == 4
    assert samples[("h_sum", ())] == 24.25
    assert not any(name == "nothing" for name, _ in samples)


def test_another_reader_reads_the_same():
    text = render(families())
    found = {(sample.name, tuple(sorted(sample.labels.items()))): sample.value
             for family in text_string_to_metric_families(text)
             for sample in family.samples}
    assert found == parse(text)


@pytest.mark.parametrize("value", [0, 1, -3, 0.1, 1e-9, 2.5e300, 2**53, 123456789.125, math.inf, -math.inf])
def test_numbers_come_back(value):
    assert float(number(value).replace("Inf", "inf")) == value


def test_not_a_number():
    assert number(math.nan) == "NaN"


LIMIT = 100


def names(count):
    return [(f"dag.t{at}", "1", "SUCCESS" if at % 2 else "FAILED") for at in range(count)]


def test_a_counter_has_no_more_series_than_its_limit_and_loses_nothing():
    counter = Counter("c_total", "", ("task", "version", "state"), named=2, limit=LIMIT)
    for _ in range(2):
        for labels in names(1000):
            counter.add(labels, 1)
    samples = parse(render([counter]))
    assert len(samples) <= LIMIT
    assert sum(samples.values()) == 2000
    assert samples[("c_total", (("state", "SUCCESS"), ("task", "dag.t1"), ("version", "1")))] == 2
    others = {key[1][0][1]: value for key, value in samples.items() if dict(key[1])["task"] == OTHER}
    kept = LIMIT - RESERVE
    assert others == {"SUCCESS": 1000 - kept, "FAILED": 1000 - kept}


def test_a_counter_never_goes_back_when_its_limit_is_reached():
    counter = Counter("c_total", "", ("task", "version", "state"), named=2, limit=LIMIT)
    before = {}
    for at in range(300):
        counter.add((f"dag.t{at * 7 % 200}", "1", "SUCCESS"), 1)
        now = parse(render([counter]))
        assert all(now[key] >= value for key, value in before.items())
        before = now


def test_a_summary_has_no_more_series_than_its_limit():
    summary = Summary("s", "", ("task", "version"), named=2, limit=LIMIT)
    for at in range(500):
        summary.add((f"dag.t{at}", "1"), 1, 0.5)
    samples = parse(render([summary]))
    assert len(samples) <= 2 * LIMIT
    assert sum(value for (name, _), value in samples.items() if name == "s_count") == 500
    assert sum(value for (name, _), value in samples.items() if name == "s_sum") == 250


def test_a_gauge_keeps_the_series_that_it_showed():
    gauge = Gauge("g", "", ("task", "version", "state"), named=2, limit=LIMIT)
    first = {labels: 1 for labels in names(50)}
    gauge.replace(first)
    gauge.replace({**{(f"dag.new{at}", "1", "READY"): 1 for at in range(500)}, **first})
    samples = parse(render([gauge]))
    assert len(samples) <= LIMIT
    assert sum(samples.values()) == 550
    shown = {dict(key[1])["task"] for key in samples}
    assert {labels[0] for labels in first} <= shown


def test_of_lags_the_worst_is_shown_for_the_others():
    gauge = Gauge("g", "", ("dag",), named=1, limit=LIMIT, worst=True)
    gauge.replace({(f"d{at}",): at for at in range(500)})
    assert parse(render([gauge]))[("g", (("dag", OTHER),))] == 499


def test_what_stands_for_others_is_no_name_of_a_task():
    assert "." not in OTHER
