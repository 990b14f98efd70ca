"""Lists of runs, and progress, as a notebook shows them."""

import mainspring as ms
from mainspring._progress import Progress, Snapshot
from mainspring._progressview import bar_html, progress_html

from ._page import HOSTILE, page


def test_runs_of_several_dates_are_a_grid_and_a_table():
    with ms.Dag("shop") as dag:
        @ms.task
        def load(biz_date):
            if biz_date.day == 2:
                raise ValueError("two")
            return [1, 2]

        @ms.task
        def each(number): ...

        each.map(load())
    for day in (1, 2, 3):
        dag.run(f"2024-01-0{day}")
    html = ms.runs(dag)._repr_html_()
    found = page(html)
    assert len(found.of("table")) == 2 and "3 runs" in found.texts
    assert {"FAILED 1", "BLOCKED 1", "SUCCESS 4"} <= set(found.texts)
    assert "2024-01-02 FAILED, run 2" in found.titles
    dag.run("2024-01-02")  # the newest run of a date is the one that counts
    assert "2024-01-02 FAILED, run 4" in page(ms.runs(dag)._repr_html_()).titles


def test_a_run_of_a_part_leaves_the_rest_of_its_date_as_it_was():
    dag = ms.Dag.from_graph("shop", ["load", "tell"])
    for day in (1, 2):
        dag.run(f"2024-01-0{day}")
    dag.run("2024-01-02", only=["tell"])
    found = page(ms.runs(dag)._repr_html_())
    assert {"2024-01-02 SUCCESS, run 2", "2024-01-02 SUCCESS, run 3"} <= set(found.titles)
    assert "SUCCESS 4" in found.texts and not any("SKIPPED" in text for text in found.titles)


def test_runs_of_one_date_are_a_table():
    ms.Dag.from_graph("a", ["x"]).run("2024-01-01")
    ms.Dag.from_graph("b", ["x"]).run("2024-01-02")
    found = page(ms.runs()._repr_html_())
    assert len(found.of("table")) == 1 and "2 runs" in found.texts
    assert "0 runs" in page(ms.runs(state="FAILED")._repr_html_()).texts


def test_each_dag_has_its_own_grid():
    hourly = ms.Dag.from_graph("hourly", ["x"], schedule="0 */12 * * *", timezone="UTC")
    for day in (1, 2):
        ms.Dag.from_graph("daily", ["y"]).run(f"2024-01-0{day}")
        for slot in (1, 2):
            hourly.run(f"2024-01-0{day}", slot=slot)
    found = page(ms.runs()._repr_html_())
    assert len(found.of("table")) == 3
    assert found.texts.count("12:00") == 2 and "hourly" in found.texts and "daily" in found.texts


def test_progress_has_a_bar_counts_and_a_grid():
    snapshot = Snapshot({"SUCCESS": 5, "FAILED": 1, "PENDING": 4, "RUNNING": 0},
                        rows=["ods.load"], columns=["2024-01-01", "2024-01-02"],
                        cells=lambda row, day: "SUCCESS")
    found = page(progress_html("orders", snapshot, 10, "6/10 done | 3s", "waits for a word"))
    assert {"orders", "6/10 done | 3s", "waits for a word", "FAILED 1"} <= set(found.texts)
    assert "RUNNING 0" not in found.texts and "load" in found.texts
    assert bar_html({"SUCCESS": 1}, 0).startswith("<div")
    for text in HOSTILE:
        html = progress_html(text, Snapshot({text: 1}, html=""), 1, text, text)
        page(html)
        assert "<script" not in html and "\x1b" not in html


class Kept:
    """A screen that keeps what it is shown."""

    step = 0.3

    def __init__(self):
        self.shown, self.closed = [], 0

    def show(self, text, share, html, last):
        self.shown.append((text, share, last))
        page(html())

    def close(self):
        self.closed += 1


def progress(now, **given):
    counts = {"SUCCESS": 0, "PENDING": 4}
    on = Kept()
    return counts, on, Progress(title="orders", snapshot=lambda: Snapshot(counts), on=on,
                                clock=lambda: now[0], **given)


def test_states_are_shown_a_few_times_a_second():
    now = [0.0]
    counts, on, shown = progress(now)
    for tick in range(100):
        now[0] = tick / 100
        shown.update()
    assert 2 <= len(on.shown) <= 4
    counts.update(SUCCESS=4, PENDING=0)
    shown.finish("all done")
    shown.finish()
    shown.update()
    assert on.shown[-1] == ("orders: 4/4 done | 1.0s, 4/s | all done", 1.0, True)
    assert on.closed == 1


def test_an_interrupt_says_how_to_go_on():
    _, on, shown = progress([0.0], how_to_go_on="ms.resume_backfill(7)")
    try:
        with shown:
            shown.update()
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert on.shown[-1][0].endswith("interrupted: ms.resume_backfill(7)") and on.shown[-1][2]
    assert on.closed == 1


def test_an_error_shows_the_last_state_too():
    _, on, shown = progress([0.0])
    try:
        with shown:
            raise ValueError
    except ValueError:
        pass
    assert len(on.shown) == 1 and on.closed == 1


def test_a_total_may_be_given_and_what_was_done_before_is_no_speed():
    now = [0.0]
    counts, on, shown = progress(now, total=100, before=2)
    now[0] = 10.0
    counts.update(SUCCESS=4)
    shown.update()
    assert on.shown[-1][0] == "orders: 4/100 done | 10.0s, 12/min, 8m 00s left"
    assert on.shown[-1][1] == 0.04
