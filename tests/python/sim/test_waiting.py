"""Probes, gates, `not_before` and `run_on` under a clock that is moved by hand."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import mainspring as ms
import pytest
from mainspring.errors import ConflictError, NotFoundError

UTC = timezone.utc


def times(instants):
    return [f"{at:%H:%M}" for at in instants]


class Arrival:
    """A dag whose probe is asked for something that arrives when the test says so."""

    def __init__(self, **options):
        self.asked, self.there = [], []
        self.world = None
        with ms.Dag("nightly", schedule="0 2 * * *") as self.dag:
            @ms.probe(**{"interval": "15m", **options})
            def arrived(biz_date):
                self.asked.append(self.world.now)
                print(f"asked for {biz_date}")
                return self.answer()

            @ms.task
            def load(rows: list) -> int:
                return len(rows)

            load(arrived())

    def answer(self):
        return self.there

    def open(self):
        return ms.testing.simulated("2024-01-15", [self.dag])

    @property
    def run(self):
        return self.world.runs()[0]


def test_a_probe_is_asked_at_its_instants_in_one_attempt():
    case = Arrival()
    with case.open() as case.world:
        case.world.advance(to="2024-01-15T02:40Z")
        assert times(case.asked) == ["02:00", "02:15", "02:30"]
        probe = case.run["arrived"]
        assert (probe.state, case.run["load"].state) == ("RUNNING", "PENDING")
        assert case.run.explain("arrived") == (
            "arrived of run 1 is RUNNING: attempt 1 runs since 2024-01-15T02:00:00Z; "
            "polled 3 times, next at 2024-01-15T02:45:00Z")
        # Nothing is held, and nothing is written between two questions.
        assert ms.sql("SELECT slots FROM attempt_lease") == [{"slots": 0}]
        case.there.append("a row")
        case.world.advance("5m")
        assert times(case.asked) == ["02:00", "02:15", "02:30", "02:45"]
        assert case.run.state == "SUCCESS"
        assert case.run.results == {"arrived": ["a row"], "load": 1}
        (attempt,) = case.run["arrived"].attempts
        assert (attempt.polls, attempt.duration) == (4, timedelta(minutes=45))
        assert attempt.log == "asked for 2024-01-14\n" * 4
        assert case.run["load"].attempts[0].polls is None
        assert ms.sql("SELECT count(*) AS rows FROM attempt") == [{"rows": 2}]


def test_the_time_of_a_probe_is_over_between_two_questions():
    case = Arrival(interval="25m", timeout="1h", retries=0)
    with case.open() as case.world:
        case.world.advance("4h")
        assert times(case.asked) == ["02:00", "02:25", "02:50"]
        probe = case.run["arrived"]
        assert (probe.state, probe.code) == ("TIMEOUT", "TIMEOUT")
        assert probe.finished_at == datetime(2024, 1, 15, 3, 0, tzinfo=UTC)
        assert probe.attempts[0].log.count("asked") == 3
        assert case.run["load"].state == "BLOCKED"


def test_an_exception_fails_the_attempt_and_is_retried():
    case = Arrival(retries=1, retry_interval="10m")
    case.answer = lambda: {2: 1 // 0}[2] if len(case.asked) in (2, 4) else None
    with case.open() as case.world:
        case.world.advance("4h")
        # Asked at 2:00 and 2:15, which failed; ten minutes later anew, and after that.
        assert times(case.asked) == ["02:00", "02:15", "02:25", "02:40"]
        probe = case.run["arrived"]
        assert (probe.state, probe.code) == ("FAILED", "ZeroDivisionError")
        assert [(each.outcome, each.polls) for each in probe.attempts] == [
            ("FAILED", 2), ("FAILED", 2)]


def test_a_restart_asks_on_in_the_same_attempt_and_log():
    case = Arrival(timeout="2h")
    with case.open() as case.world:
        case.world.advance(to="2024-01-15T02:20Z")
        case.world.stop()
        case.world.advance("1h")
        case.world.start()
        case.world.advance("20m")
        # At once after the restart, and then at whole intervals after the beginning.
        assert times(case.asked) == ["02:00", "02:15", "03:20", "03:30"]
        case.there.append("late")
        case.world.advance("10m")
        (attempt,) = case.run["arrived"].attempts
        assert (attempt.outcome, attempt.duration) == ("SUCCESS", timedelta(minutes=105))
        assert attempt.log.count("asked") == 5
        assert case.run["arrived"]._row["errors_used"] == 0
        assert ms.sql("SELECT losses_used AS n FROM task_run") == [{"n": 0}, {"n": 0}]


def test_a_cancel_between_two_questions_ends_it_at_once():
    case = Arrival()
    with case.open() as case.world:
        case.world.advance("2h10m")
        case.run.cancel()
        case.world.advance("1m")
        assert case.run.state == "CANCELED"
        assert case.run["arrived"].attempts[0].log == "asked for 2024-01-14\n"
        case.world.advance("2h")
        assert times(case.asked) == ["02:00"]


def test_a_stub_answers_for_a_probe_and_for_no_person():
    case = Arrival()
    with case.dag:
        ms.gate("sign_off")
    stubs = {"nightly.arrived": ms.testing.stub(takes="30m", result=["x"])}
    with ms.testing.simulated("2024-01-15", [case.dag], stub=stubs) as case.world:
        case.world.advance("2h40m")
        assert case.asked == []
        assert case.run.result("load") == 1
        assert case.run["sign_off"].state == "RUNNING"
    with ms.testing.simulated("2024-01-15", [case.dag], stub=True) as case.world:
        case.world.advance("3h")
        assert [each.state for each in case.run] == ["SUCCESS", "SUCCESS", "RUNNING"]


def release():
    with ms.Dag("release", schedule="0 6 * * *") as dag:
        @ms.task
        def build() -> str:
            return "v1"

        @ms.task
        def publish(word: dict) -> str:
            return word["note"]

        sign_off = ms.gate("sign_off", doc="Is it good?", timeout="2d", depends_on=[build])
        publish(sign_off)
    return dag


def test_a_gate_waits_over_a_restart_and_keeps_the_word():
    with ms.testing.simulated("2024-01-15", [release()]) as world:
        world.advance("7h")
        run = world.runs()[0]
        gate = run["sign_off"]
        assert (gate.state, gate.type, gate.is_awaited) == ("RUNNING", "gate", True)
        assert "run.approve('sign_off')" in str(run) and "run.approve(" in run._repr_html_()
        world.stop()
        world.advance("20h")
        world.start()
        world.advance("1h")
        assert run.refresh()["sign_off"].is_awaited
        run.approve("sign_off", note="fine")
        world.advance("1m")
        assert run.refresh().state == "SUCCESS"
        said = run.result("sign_off")
        assert said["at"] == "2024-01-16T04:00:00Z"
        assert (said["note"], "@" in said["by"]) == ("fine", True)
        assert run.result("publish") == "fine"
        (attempt,) = run["sign_off"].attempts
        assert (attempt.outcome, attempt.duration) == ("SUCCESS", timedelta(hours=22))


def test_what_is_no_word_at_a_waiting_gate_is_refused_and_changes_nothing():
    with ms.testing.simulated("2024-01-15", [release()]) as world:
        world.advance("7h")
        run = world.runs()[0]
        with pytest.raises(NotFoundError, match="did you mean 'sign_off'"):
            run.approve("sign_of")
        with pytest.raises(ConflictError, match="build is no gate\n  hint: its gates are sign_off"):
            run.approve("build")
        run.approve("sign_off", reject=True, note="too late")
        for _ in range(2):
            with pytest.raises(ConflictError, match="awaited.* FAILED.* REJECTED|has ended"):
                run.approve("sign_off")
        assert run["sign_off"].code == "REJECTED"
        assert "too late" in (run["sign_off"].error or "")
        assert run["publish"].state == "BLOCKED"
        assert run.state == "FAILED"
        world.advance("3h")
        assert len(run["sign_off"].attempts) == 1


def test_a_word_before_its_time_is_refused():
    with ms.Dag("slow", schedule="0 6 * * *") as dag:
        @ms.task
        def work() -> None: ...

        ms.gate("sign_off", depends_on=[work])
    stubs = {"slow.work": ms.testing.stub(takes="3h")}
    with ms.testing.simulated("2024-01-15", [dag], stub=stubs) as world:
        world.advance("7h")
        with pytest.raises(ConflictError, match=r"PENDING: waits for work \(RUNNING\)"):
            world.runs()[0].approve("sign_off")
        world.advance("3h")
        assert world.runs()[0].approve("sign_off").state in ("RUNNING", "SUCCESS")
        world.advance("1m")
        assert world.runs()[0].state == "SUCCESS"


def test_a_gate_that_nobody_comes_to_times_out():
    with ms.testing.simulated("2024-01-15", [release()]) as world:
        world.advance("54h")
        gate = world.runs()[0]["sign_off"]
        assert gate.state == "TIMEOUT"
        assert gate.finished_at == datetime(2024, 1, 17, 6, 0, tzinfo=UTC)
        assert len(gate.attempts) == 1


def test_scheduled_runs_wait_for_the_time_of_day_and_asked_ones_do_not():
    with ms.Dag("nightly", schedule="0 2 * * *", timezone="Europe/Berlin") as dag:
        @ms.task(not_before="06:30")
        def morning() -> None: ...

        @ms.task(not_before="+1d 02:30")
        def next_night() -> None: ...
    with ms.testing.simulated("2024-03-30", [dag]) as world:
        world.advance(to="2024-03-30T05:29Z")
        run = world.runs()[0]
        assert [each.state for each in run] == ["PENDING", "PENDING"]
        assert run.explain("morning") == (
            "morning of run 1 is PENDING: not before 06:30, which is 2024-03-30T05:30:00Z")
        world.advance("2d")
        run = run.refresh()
        assert run["morning"].started_at == datetime(2024, 3, 30, 5, 30, tzinfo=UTC)
        # There is no 02:30 on 31 March in Berlin: the clocks go on from 02:00 to 03:00.
        assert run["next_night"].started_at == datetime(2024, 3, 31, 1, 0, tzinfo=UTC)
        # Missed while nobody was there, a run waits for the same time.
        world.stop()
        world.advance(to="2024-04-02T03:00Z")
        world.start()
        world.advance("1h")
        missed = [each for each in world.runs() if each.trigger == "catchup"]
        assert missed
        last = missed[-1]
        assert (last.nominal_at.day, last["morning"].state) == (2, "PENDING")
        world.advance("1h")
        assert last.refresh()["morning"].started_at == datetime(2024, 4, 2, 4, 30, tzinfo=UTC)


def test_run_on_skips_days_and_force_does_not():
    with ms.Dag("daily", schedule="0 2 * * *") as dag:
        @ms.task(run_on="weekdays")
        def office() -> int:
            return 1

        @ms.task(run_on="last day of month", run_on_biz_date=True)
        def closing() -> int:
            return 2

        @ms.task(depends_on=[office, closing])
        def report() -> None: ...
    with ms.testing.simulated("2024-01-26", [dag]) as world:
        world.advance("8d")
        shown = {str(run.nominal_at.date()): [each.state for each in run] for run in world.runs()}
        ran, skipped = "SUCCESS", "SKIPPED"
        assert shown == {
            "2024-01-26": [ran, skipped, ran],      # a Friday
            "2024-01-27": [skipped, skipped, ran],
            "2024-01-28": [skipped, skipped, ran],
            "2024-01-29": [ran, skipped, ran],
            "2024-01-30": [ran, skipped, ran],
            "2024-01-31": [ran, skipped, ran],
            "2024-02-01": [ran, ran, ran],          # for business date 31 January
            "2024-02-02": [ran, skipped, ran],
        }
        assert {run.state for run in world.runs()} == {"SUCCESS"}
        sunday = world.runs()[2]
        assert (sunday["office"].code, sunday["office"].cells()[-1]) == ("RUN_ON", "RUN_ON")
        assert "2024-01-28 (Sun) 02:00 is not in `weekdays`" in sunday.explain("office")


def test_a_calendar_may_name_the_days():
    exchange = ms.calendar("exchange", exclude=["2024-01-01"])
    with ms.Dag("daily", schedule=ms.schedule("0 2 * * *", calendar=exchange, on="skip"),
                defaults={"run_on": "exchange"}) as dag:
        ms.noop("named")
        ms.noop("given", run_on=ms.calendar("mine", exclude=["2024-01-02"]))
        ms.noop("always", run_on="every day")
    states = {}
    with ms.testing.isolated():
        for day in ("2024-01-01", "2024-01-02", "2024-01-03"):
            run = dag.run(nominal_at=datetime.fromisoformat(day).replace(hour=2, tzinfo=UTC))
            states[day] = [each.state for each in run]
    ran, skipped = "SUCCESS", "SKIPPED"
    assert states == {"2024-01-01": [skipped, ran, ran], "2024-01-02": [ran, skipped, ran],
                      "2024-01-03": [ran, ran, ran]}
