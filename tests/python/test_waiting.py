"""Probes, gates and conditions of runs that are started here and now; and what is refused."""

from __future__ import annotations

import threading
from datetime import datetime, time, timedelta, timezone

import mainspring as ms
import pytest
from mainspring.errors import ConflictError, SpecError

MONDAY = datetime(2024, 1, 15, 6, tzinfo=timezone.utc)


def until(run, task, state, seconds=20.0):
    """Wait until a task is in a state."""
    import time as clock

    end = clock.monotonic() + seconds
    while run.refresh()[task].state != state:
        assert clock.monotonic() < end, run
        run.wait(0.005)
    return run[task]


def test_a_probe_that_rests_leaves_its_slot_to_others():
    ms.pool("one", 1)
    made = threading.Event()
    with ms.Dag("files") as dag:
        @ms.probe(interval="100ms", pool="one")
        def is_there() -> bool:
            return made.is_set()

        @ms.task(pool="one", depends_on=[])
        def make() -> None:
            made.set()
    run = dag.run("2024-01-15")
    assert run.state == "SUCCESS"
    assert run.result("is_there") is True


def test_coroutines_and_arguments_are_those_of_any_task():
    asked = []
    with ms.Dag("files") as dag:
        @ms.task
        def name() -> str:
            return "orders"

        @ms.probe(interval="100ms")
        async def size(table: str, biz_date, least: int = 2) -> int:
            asked.append((table, str(biz_date)))
            return len(asked) if len(asked) >= least else 0

        @ms.task
        def double(number: int) -> int:
            return 2 * number

        double(size(name()))
    run = dag.run("2024-01-15", params={"least": 3})
    assert asked == [("orders", "2024-01-15")] * 3
    assert run.results == {"name": "orders", "size": 3, "double": 6}
    assert run["size"].attempts[0].polls == 3


@pytest.mark.parametrize("answer", [False, None, 0, "", [], {}])
def test_what_is_not_true_means_not_yet(answer):
    answers = iter([answer, answer, "now"])
    with ms.Dag("files") as dag:
        @ms.probe(interval="100ms")
        def ready():
            return next(answers)
    run = dag.run("2024-01-15")
    assert (run.result("ready"), run["ready"].attempts[0].polls) == ("now", 3)


def test_what_cannot_be_judged_is_a_failure_in_the_authors_words():
    class Table:
        def __bool__(self):
            raise ValueError("is it any or all?")

    with ms.Dag("files") as dag:
        @ms.probe
        def ready():
            return Table()
    run = dag.run("2024-01-15")
    assert (run.state, run["ready"].code) == ("FAILED", "ValueError")
    assert "any or all" in (run["ready"].error or "")


def test_a_check_that_runs_is_stopped_like_any_handler():
    begun, seen = threading.Event(), []
    with ms.Dag("files") as dag:
        @ms.probe(interval="100ms", grace="10s")
        def ready():
            begun.set()
            try:
                while True:
                    pass
            except ms.AttemptCanceled:
                seen.append("canceled")
                raise
    run = dag.run("2024-01-15", wait=False)
    assert begun.wait(20)
    run.cancel()
    assert run.wait(20) and run.state == "CANCELED"
    assert seen == ["canceled"]


def test_the_session_closes_over_what_rests():
    with ms.Dag("files") as dag:
        @ms.probe(interval="1h")
        def ready() -> bool:
            return False

        ms.gate("sign_off")
    run = dag.run("2024-01-15", wait=False)
    until(run, "sign_off", "RUNNING")
    while "polled 1 time, next at" not in run.explain("ready"):
        run.wait(0.005)
    from mainspring import _session

    _session.close(run.database)
    assert ms.run(run.id).state == "INTERRUPTED"
    assert {row["state"] for row in ms.sql("SELECT state FROM task_run")} == {"RUNNING"}
    taken = dag.resume(run.id, wait=False)
    taken.approve("sign_off")
    until(taken, "sign_off", "SUCCESS")
    taken.cancel()
    assert taken.wait(20) and taken["ready"].state == "CANCELED"
    assert [len(each.attempts) for each in taken] == [1, 1]
    from mainspring._session import history

    assert history(None).verify() == []


def test_progress_says_that_a_person_is_awaited():
    with ms.Dag("files") as dag:
        ms.gate("sign_off")
    run = dag.run("2024-01-15", wait=False)
    until(run, "sign_off", "RUNNING")
    from mainspring._progress import line
    from mainspring._session import session

    now = session(None).core.progress(run.id)
    assert "waits for a word at sign_off" in line(now, 1.0)
    assert "running" not in line(now, 1.0)
    run.approve("sign_off")
    assert run.wait(20)
    with pytest.raises(ConflictError, match="run 1 has ended as SUCCESS"):
        run.approve("sign_off")


def test_runs_that_are_asked_for_obey_run_on_unless_forced():
    with ms.Dag("daily", schedule="0 6 * * *") as dag:
        @ms.task(run_on="TUE")
        def tuesdays() -> int:
            return 1
    skipped = dag.run(nominal_at=MONDAY)
    assert (skipped.state, skipped["tuesdays"].state) == ("SUCCESS", "SKIPPED")
    assert dag.run(nominal_at=MONDAY, force=True).result("tuesdays") == 1
    assert dag.run(nominal_at=MONDAY + timedelta(days=1)).result("tuesdays") == 1
    # Asked for again, it runs: that is a word of its own.
    assert dag.rerun(skipped, "tuesdays").result("tuesdays") == 1


def test_runs_that_are_asked_for_do_not_wait_for_a_time_of_day():
    with ms.Dag("daily", schedule="0 6 * * *") as dag:
        @ms.task(not_before=time(23, 59, 59))
        def late() -> int:
            return 1
    assert dag.run().result("late") == 1
    assert dag.spec()["tasks"][0]["not_before"] == "23:59:59"


def probe_of(**options):
    with ms.Dag("d") as dag:
        @ms.probe(**options)
        def ready() -> bool:
            return True
    return dag


def task_of(**options):
    with ms.Dag("d") as dag:
        @ms.task(**options)
        def load() -> None: ...
    return dag


@pytest.mark.parametrize(("dag", "code", "place", "says"), [
    (lambda: probe_of(interval="10ms"), "out_of_range", "d.ready.interval", "100 ms"),
    (lambda: probe_of(interval="40d"), "out_of_range", "d.ready.interval", "31 days"),
    (lambda: probe_of(interval="soon"), "bad_duration", "d.ready.interval", "soon"),
    (lambda: task_of(not_before="6:30"), "bad_not_before", "d.load.not_before", "06:30"),
    (lambda: task_of(not_before="24:00"), "bad_not_before", "d.load.not_before", "24:00"),
    (lambda: task_of(not_before="-1d 06:30"), "bad_not_before", "d.load.not_before", "+1d 06:30"),
    (lambda: task_of(not_before=630), "wrong_type", "d.load.not_before", "text"),
    (lambda: task_of(run_on="someday"), "bad_run_on", "d.load.run_on", "last workday of month"),
    (lambda: task_of(run_on="32"), "bad_run_on", "d.load.run_on", "32"),
    (lambda: task_of(run_on="* * *"), "bad_run_on", "d.load.run_on", "cron line"),
    (lambda: task_of(run_on=""), "bad_run_on", "d.load.run_on", "empty"),
    (lambda: task_of(run_on=5), "wrong_type", "d.load.run_on", "calendar"),
    (lambda: task_of(run_on_biz_date=True), "no_run_on", "d.load.run_on_biz_date", "weekdays"),
])
def test_what_means_nothing_is_refused_with_place_and_hint(dag, code, place, says):
    with pytest.raises(SpecError) as refused:
        dag().check()
    (problem,) = refused.value.problems
    assert (problem.code, problem.place) == (code, place), problem
    assert says in str(problem), problem
    assert problem.hint or code in ("bad_duration", "wrong_type"), problem


def test_everything_wrong_is_told_at_once():
    with ms.Dag("d", defaults={"not_before": "noon"}) as dag:
        @ms.probe(interval="1ms", run_on="never", not_before="25:00")
        def ready() -> bool:
            return True
    with pytest.raises(SpecError) as refused:
        dag.check()
    assert {problem.code for problem in refused.value.problems} == {
        "bad_not_before", "out_of_range", "bad_run_on"}
    assert len(refused.value.problems) == 4


def test_a_plain_spec_cannot_say_what_python_cannot():
    from mainspring._mainspring import check_dag

    def codes(**task):
        with pytest.raises(SpecError) as refused:
            check_dag({"name": "d", "tasks": [{"name": "t", **task}]})
        return [problem.code for problem in refused.value.problems]

    assert codes(type="probe") == ["missing_field"]
    assert codes(type="noop", interval="1m") == ["unexpected_field"]
    assert codes(type="gate", interval_sec=5) == ["unexpected_field"]
    assert codes(type="gate", handler="work:load") == ["unexpected_field"]


def test_a_task_has_no_interval():
    with pytest.raises(TypeError, match="interval"):
        ms.task(interval="1m")
