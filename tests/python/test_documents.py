"""What the documents say is what the code does: names, options, tables, examples.

A table between `<!-- name -->` and `<!-- end -->` is compared; where it differs, the test prints
what to put there. `UPDATE_DOCS=1 pytest tests/python/test_documents.py` puts it there itself.
"""

import argparse
import contextlib
import datetime
import decimal
import io
import os
import re
import shlex
import subprocess
import sys
import typing
import uuid
from pathlib import Path

import mainspring as ms
import pytest
from mainspring import _annotation, _config, _results
from mainspring.cli import _parser

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md")])


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def compare(path, name, wanted):
    begin, end = f"<!-- {name} -->\n", "<!-- end -->"
    before, _, rest = text(path).partition(begin)
    found, _, after = rest.partition(end)
    assert rest, f"{path} has no block {begin}"
    if found.strip() == wanted.strip():
        return
    if os.environ.get("UPDATE_DOCS"):
        whole = f"{before}{begin}{wanted.strip()}\n{end}{after}"
        (ROOT / path).write_text(whole, encoding="utf-8")
        return
    pytest.fail(f"{path}: the block {name} is not what the code says; put this there:\n\n{wanted}")


def fenced(path, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text(path), re.MULTILINE | re.DOTALL)


# The command line


def commands(parser, words=()):
    """Each command with its parser."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                yield from commands(sub, (*words, name))
            return
    yield words, parser


def usage(words, parser):
    common = {"--json", "--database", "--project", "--no-color", "--verbose", "--help"}
    parts = []
    for action in parser._actions:
        if common & set(action.option_strings):
            continue
        value = action.metavar or ""
        if not action.option_strings:
            optional = action.nargs in ("?", "*")
            parts.append(f"[{value}]" if optional else value)
        else:
            value = f"[{value}]" if action.nargs == "?" else value
            parts.append(f"[{action.option_strings[-1]} {value}".rstrip() + "]")
    return f"`{' '.join(['mainspring', *words, *parts])}`"


def test_every_command_is_described():
    rows = [f"- {usage(words, parser)}: {parser.description}"
            for words, parser in commands(_parser._parser())]
    compare("docs/cli.md", "commands", "\n".join(rows))


def test_exit_codes_are_those_of_the_help():
    lines = _parser.EPILOG.splitlines()
    rows = [re.match(r"  (\d+)  (.*)", line) for line in lines]
    table = ["| code | meaning |", "| --- | --- |"]
    table += [f"| {row[1]} | {row[2]} |" for row in rows if row]
    compare("docs/cli.md", "exit codes", "\n".join(table))


def test_the_settings_are_those_of_the_code():
    compare("docs/cli.md", "settings", ", ".join(f"`{key}`" for key in _config.KEYS))


def test_the_metrics_are_those_of_the_code():
    from mainspring._heard import Heard
    from mainspring._metrics import Metrics

    families = Metrics("none.db", Heard(), slots=1, scope="main").families[True]
    table = ["| metric | labels | what |", "| --- | --- | --- |"]
    table += [f"| `{each.name}` ({each.kind}) | {', '.join(each.labels)} | {each.help} |"
              for each in families]
    compare("docs/deploy.md", "metrics", "\n".join(table))


# The public face


def test_the_public_face_is_described_name_by_name():
    described = re.findall(r"^### `([A-Za-z_]+)", text("docs/api.md"), re.MULTILINE)
    assert sorted(described) == sorted(set(described)), "described twice"
    assert set(described) == set(ms.__all__)


def test_every_option_of_a_task_is_described():
    import inspect

    options = [p.name for p in inspect.signature(ms.task).parameters.values()
               if p.kind is p.KEYWORD_ONLY]
    before, _, _ = text("docs/api.md").partition("## Time")
    described = re.findall(r"^\| `([a-z_]+)` \|", before, re.MULTILINE)
    assert sorted(described) == sorted(options)


def test_the_columns_of_the_history_are_those_of_the_code():
    import pyarrow

    levels = {level: pyarrow.schema(ms.history(level=level))
              for level in ("attempt", "task_run", "run")}
    table = ["| column | type | attempt | task_run | run |", "| --- | --- | --- | --- | --- |"]
    fields = {field.name: field for schema in levels.values() for field in schema}
    for name, field in fields.items():
        found = [schema.field(name) if name in schema.names else None
                 for schema in levels.values()]
        assert all(each is None or each.type == field.type for each in found), name
        kind = "dictionary" if str(field.type).startswith("dictionary") else str(field.type)
        marks = ["" if each is None else "nullable" if each.nullable else "always"
                 for each in found]
        table.append(f"| `{name}` | {kind} | {' | '.join(marks)} |")
    compare("docs/history.md", "columns", "\n".join(table))


def test_every_option_of_the_history_is_described():
    import inspect

    described = re.findall(r"`([a-z]+)`", " ".join(
        row.split("|")[1] for row in text("docs/history.md").partition("## The columns")[0]
        .partition("## Which rows")[2].splitlines() if row.startswith("| `")))
    options = set(inspect.signature(ms.history).parameters) - {"now", "database"}
    assert sorted(described) == sorted(options)


def test_every_option_of_a_schedule_is_described_as_its_docstring_does():
    import inspect

    # Python 3.13 takes the indentation away, older ones leave it.
    documented = dict(re.findall(r"^(\w[\w, ]*) : .*\n((?:    .*\n)+)",
                                 inspect.cleandoc(ms.schedule.__doc__ or ""), re.MULTILINE))
    rows = ["| option | meaning |", "| --- | --- |"]
    for names, meaning in documented.items():
        if names != "rule":
            shown = ", ".join(f"`{name}`" for name in names.split(", "))
            words = re.sub(r":\w+:`(\w+)`", r"`\1`", " ".join(meaning.split())).replace("``", "`")
            rows.append(f"| {shown} | {words} |")
    options = [p.name for p in inspect.signature(ms.schedule).parameters.values()
               if p.kind is p.KEYWORD_ONLY]
    told = [name for names in documented for name in names.split(", ")]
    assert sorted(told) == sorted(["rule", *options])
    compare("docs/api.md", "schedule options", "\n".join(rows))


def test_every_aid_for_tests_is_described():
    described = re.findall(r"^- `ms\.testing\.(\w+)", text("docs/api.md"), re.MULTILINE)
    assert sorted(described) == sorted(ms.testing.__all__)
    verbs = [name for name in vars(ms.testing.World) if not name.startswith("_")]
    page = text("docs/api.md")
    assert [verb for verb in verbs if f"`{verb}" not in page] == []


# Notebooks


def test_the_letters_are_those_of_the_views():
    from mainspring._mainspring import states
    from mainspring._states import letter

    cells = [f"`{letter(word)}` {word}" for word, _, _ in states()]
    plan = [f"`{letter(word)}` {word}" for word in (
        "MISSING", "STALE", "STALE_VERSION", "STALE_UPSTREAM", "FORCED", "UPSTREAM", "DOWNSTREAM",
        "IN_BACKFILL", "NOT_STARTED", "UNCHANGED", "BEFORE_START", "NOT_EXPECTED", "FUTURE",
        "DISABLED", "NOT_ASKED")]
    compare("docs/notebook.md", "letters",
            f"Of tasks: {', '.join(cells)}.\nOf the cells of a plan besides: {', '.join(plan)}.")


# Parameters and results


def annotations():
    rows = re.findall(r"^\| `(.+?)` \| ([a-z]+)(, nullable)? \|$", text("docs/parameters.md"),
                      re.MULTILINE)
    names = {**vars(typing), **vars(datetime), "Path": Path, "UUID": uuid.UUID,
             "Decimal": decimal.Decimal}
    for annotation, word, nullable in rows:
        # The table is ours, and this is how its cells are read.
        yield annotation, eval(annotation.replace(r"\|", "|"), names), word, bool(nullable)  # noqa: S307


@pytest.mark.parametrize(("value", "word", "nullable"),
                         [pytest.param(*row[1:], id=row[0]) for row in annotations()])
def test_an_annotation_means_what_the_table_says(value, word, nullable):
    kind = _annotation.kind_of(value)
    assert kind.word == word
    assert kind.nullable is nullable


def test_results_are_stored_as_the_module_says():
    lines = (_results.__doc__ or "").splitlines()
    rows = [line.split("  ", 1) for line in lines if "  " in line and not line.startswith("=")]
    table = [f"| {left.strip()} | {right.strip().replace('``', '`')} |" for left, right in rows]
    table.insert(1, "| --- | --- |")
    compare("docs/parameters.md", "results", "\n".join(table))


# The README


def test_the_example_of_the_readme_runs(tmp_path, monkeypatch):
    source, expected = fenced("README.md", "python")[0], fenced("README.md", "text")[0]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flights.py").write_text(source, encoding="utf-8")
    environment = {**os.environ, "MAINSPRING_DATABASE": str(tmp_path / "readme.db")}
    done = subprocess.run([sys.executable, "flights.py"], capture_output=True, text=True,
                          env=environment, check=True, stdin=subprocess.DEVNULL)
    assert masked(done.stdout) == masked(expected)


def masked(shown):
    """Durations differ from run to run, and the width of their column with them."""
    return re.sub(r" +", " ", re.sub(r"[0-9.]+m?s\b", "TIME", shown)).strip()


def test_the_other_examples_of_the_readme_run():
    for example in fenced("README.md", "python")[1:]:
        names = {"__name__": "page"}
        exec(compile(example, "README.md", "exec"), names)
        for name, found in list(names.items()):
            if name.startswith("test_"):
                found()


def test_the_readme_is_no_longer_than_it_says():
    assert len(fenced("README.md", "python")[0].splitlines()) <= 25


def test_the_verbs_of_the_readme_are_in_the_makefile():
    verbs = re.findall(r"^([a-z-]+):.*## ", text("Makefile"), re.MULTILINE)
    for page in PAGES:
        for verb in re.findall(r"`make ([a-z-]+)", page.read_text(encoding="utf-8")):
            assert verb in verbs, f"{page.name} names `make {verb}`"
    assert "make test" in text(".ci/run")


# All pages


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_are_there(page):
    pattern = r"`((?:src|tests|docs|python|benches|tools|examples)/[\w/.-]+)`"
    for name in re.findall(pattern, page.read_text(encoding="utf-8")):
        assert (ROOT / name).exists(), f"{page.name} names {name}"


@pytest.mark.parametrize(("page", "number"), [
    pytest.param(page, number, id=f"{page}-{number}")
    for page in ("api.md", "backfill.md", "history.md", "notebook.md", "schedules.md",
                 "waiting.md")
    for number in range(1, 1 + len(fenced(f"docs/{page}", "python")))
])
def test_examples_of_the_pages_run(page, number):
    example = fenced(f"docs/{page}", "python")[number - 1]
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(example, page, "exec"), {"__name__": "page"})


@pytest.mark.parametrize("shown", fenced("docs/schedules.md", "console"))
def test_what_the_page_of_schedules_shows_of_commands_is_what_they_print(shown, tmp_path):
    command, _, expected = shown.partition("\n")
    program, *words = shlex.split(command.removeprefix("$ "))
    assert program == "mainspring"
    done = subprocess.run([sys.executable, "-m", "mainspring", *words], cwd=tmp_path,
                          capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    assert done.stdout == expected


def test_what_new_york_makes_of_a_line_is_what_the_page_says():
    rows = ["| schedule | 10 March | 3 November |", "| --- | --- | --- |"]
    for line, options in [("30 1 * * *", {}), ("30 2 * * *", {}), ("0 */2 * * *", {}),
                          ("0 * * * *", {}), ("30 2 * * *", {"gap": "skip"}),
                          ("30 2 * * *", {"gap": "shift"}), ("30 1 * * *", {"fold": "last"}),
                          ("30 1 * * *", {"fold": "both"})]:
        rule = ms.cron(line, timezone="America/New_York", **options)
        cells = [rule.between("2024-03-10", "2024-03-11"), rule.between("2024-11-03", "2024-11-04")]
        shown = [f"{len(fires)} fires" if len(fires) > 2 else
                 ", ".join(f"{fire:%H:%M} {str(fire)[-6:]}" for fire in fires) or "none"
                 for fires in cells]
        given = "".join(f", `{name}=\"{value}\"`" for name, value in options.items())
        rows.append(f"| `{line}`{given} | {shown[0]} | {shown[1]} |")
    compare("docs/schedules.md", "new york", "\n".join(rows))


def test_the_changelog_begins_with_this_version():
    versions = re.findall(r"^## \[(.+?)\]", text("CHANGELOG.md"), re.MULTILINE)
    assert versions[0] in ("Unreleased", ms.__version__)
    assert ms.__version__ in text("Cargo.toml")
