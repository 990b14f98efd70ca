"""The log of an attempt as a view."""

import sys

import mainspring as ms
import pytest
from mainspring._ansi import Painter
from mainspring._logview import FIRST, LAST

from ._page import HOSTILE, page


def ran(function):
    with ms.Dag("d") as dag:
        ms.task(function)()
    return dag.run("2024-01-15")[function.__name__]


@pytest.mark.parametrize(("text", "html"), [
    ("plain <b> & 'c'", "plain &lt;b&gt; &amp; 'c'"),
    ("\x1b[31mred\x1b[0m", '<span class="a-1">red</span>'),
    ("\x1b[1;94mbold\x1b[22m blue\x1b[39m.", '<span class="a-4 a-b">bold</span>'
                                            '<span class="a-4"> blue</span>.'),
    ("\x1b[38;5;2mgreen\x1b[m \x1b[38;2;9;9;9mtrue\x1b[48;5;7m.", '<span class="a-2">green</span> '
                                                                 "true."),
    ("\x1b[2K\x1b[1Aup\x1b]0;title\x07 \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "up link"),
    ("10%\r50%\r100%\r\n", "100%"),
    ("bell\x07 null\x00 rtl\u202e", "bell  null  rtl "),
    ("\x1b[999999999999m\x1b[;;m\x1b[38m\x1b[38;5mx", "x"),
    ("ends in \x1b", "ends in "),
])
def test_colours_become_spans_and_the_rest_goes(text, html):
    assert Painter().html(text) == html


def test_a_colour_lasts_over_lines():
    painter = Painter()
    assert painter.html("\x1b[32mone") == '<span class="a-2">one</span>'
    assert painter.html("two\x1b[0m three") == '<span class="a-2">two</span> three'


def test_what_went_to_stderr_is_marked():
    def talk():
        print("\x1b[32mout\x1b[0m")
        print("<script>err", file=sys.stderr)

    attempt = ran(talk).attempts[0]
    found = page(attempt._repr_html_())
    assert "l-x" in found.classes and "a-2" in found.classes
    assert "<script>err" in found.texts and "attempt 1" in found.texts


def test_of_a_long_log_both_ends_are_shown():
    def many():
        for number in range(5_000):
            print("line", number)

    found = page(ran(many)._repr_html_())
    lines = [text for text in found.texts if text.startswith("line ")]
    assert len(lines) == FIRST + LAST and lines[0] == "line 0" and lines[-1] == "line 4999"
    assert "… 4,000 lines are not shown; attempt.log has them all …" in found.texts


def test_a_huge_log_is_not_read_as_a_whole(tmp_path):
    def quiet(): ...

    attempt = ran(quiet).attempts[0]
    path = tmp_path / "huge.log"
    with open(path, "w", encoding="utf-8") as file:
        for number in range(200_000):
            file.write(f"2024-01-15T00:00:00.000000Z O line {number} {'x' * 40}\n")
    attempt._row = {**attempt._row, "log_uri": str(path)}
    html = attempt._repr_html_()
    found = page(html)
    assert len(html) < 300_000 and found.texts[-1].endswith("MiB are not shown; attempt.log has them")
    assert any(text.startswith("line 199999 ") for text in found.texts)


def test_a_line_without_end_is_cut():
    def endless():
        print("x" * 100_000)

    assert len(ran(endless)._repr_html_()) < 20_000


@pytest.mark.parametrize("text", HOSTILE)
def test_errors_and_tracebacks_are_escaped(text):
    def bad():
        print(text)
        raise ValueError(text)

    task = ran(bad)
    for html in (task._repr_html_(), task.attempts[0]._repr_html_()):
        page(html)
        assert "<script" not in html and "\x1b" not in html and "Traceback" in html


def test_earlier_attempts_are_folded():
    tries = []

    @ms.task(retries=1, retry_interval="10ms")
    def shaky():
        tries.append(1)
        print("try", len(tries))
        assert len(tries) > 1

    with ms.Dag("d") as dag:
        shaky()
    found = page(dag.run("2024-01-15")["shaky"]._repr_html_())
    assert len(found.of("details")) == 1 and any(t.startswith("attempt 1: FAILED") for t in
                                                 found.texts)
    assert "try 1" in found.texts and "try 2" in found.texts


def test_what_has_not_run_or_printed_says_so():
    def quiet(): ...

    assert "it has printed nothing" in page(ran(quiet)._repr_html_()).texts
    with ms.Dag("d") as dag:
        @ms.task
        def bad():
            raise ValueError
        ms.noop("after") << bad()
    assert "it has not run" in page(dag.run("2024-01-15")["after"]._repr_html_()).texts
