"""Versions of tasks: which runs take which, promoting and rolling back."""

from datetime import date, timedelta

import mainspring as ms
import pytest

MASK = (1 << 64) - 1


def bucket(text):
    """The documented hash, written out once more: FNV-1a, SplitMix64, modulo 100."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & MASK
    value = (value + 0x9E3779B97F4A7C15) & MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return (value ^ (value >> 31)) % 100


def order(settle=1, schedule="0 2 * * *", extract=None):
    """A dag whose second task has another definition for each `settle`."""
    with ms.Dag("order", schedule=schedule) as dag:
        first = ms.noop("extract", retries=extract)
        first >> ms.noop("settle", retries=settle)
    return dag


def taken(world, task="settle"):
    return {date.fromisoformat(str(run.biz_date)): run[task].version for run in world.runs()}


def states(task="order.settle"):
    return [(each.version, each.state) for each in ms.versions(task)]


@pytest.fixture
def world():
    with ms.testing.simulated("2024-01-01", [order(1)], stub=True) as world:
        world.register(order(2))
        yield world


def test_a_tenth_of_a_year_of_daily_runs(world):
    ms.promote("order.settle", 2, percent=10)
    assert states() == [(2, "10 %"), (1, "active")]
    world.advance("366d")
    versions = taken(world)
    first = date(2023, 12, 31)  # fires at 02:00 for the day before
    days = [first + timedelta(days) for days in range(366)]
    assert versions == {day: 2 if bucket(f"order.settle {day}") < 10 else 1 for day in days}
    # 36.6 expected; four standard deviations are 23.
    assert 13 <= sum(version == 2 for version in versions.values()) <= 60
    assert set(taken(world, "extract").values()) == {1}


def test_a_larger_share_keeps_the_dates_of_a_smaller_one(world):
    days = [date(2023, 12, 31) + timedelta(days) for days in range(60)]
    ms.promote("order.settle", 2, percent=10)
    world.advance("30d")
    ms.promote("order.settle", 2, percent=60)
    assert states() == [(2, "60 %"), (1, "active")]
    world.advance("30d")
    expected = [2 if bucket(f"order.settle {day}") < (10 if at < 30 else 60) else 1
                for at, day in enumerate(days)]
    assert [taken(world)[day] for day in days] == expected


def test_a_rollback_takes_effect_from_the_next_run_on():
    slow = ms.testing.stub(takes="1h", fails=1)
    with ms.testing.simulated("2024-01-01", [order(1)], stub={"order.settle": slow}) as world:
        world.register(order(2))
        world.advance("2h30m")  # the first attempt of the first run is under way
        assert world.runs()[0]["settle"].state == "RUNNING"
        ms.rollback("order.settle")
        assert states() == [(2, "registered"), (1, "pinned")]
        world.advance("40h")
        # The retry of the first run stayed on the version that the run was made with.
        assert [len(run["settle"].attempts) for run in world.runs()] == [2, 2]
        assert [run["settle"].version for run in world.runs()] == [2, 1]
        assert {run.state for run in world.runs()} == {"SUCCESS"}


def test_a_rerun_keeps_the_versions_of_its_run():
    with ms.testing.isolated():
        order(1).run("2024-05-01")
        run = order(2).run("2024-05-01")
        ms.rollback("order.settle")
        assert order(2).run("2024-05-02")["settle"].version == 1
        again = order(2).rerun(run.id, ["settle"])
        assert again["settle"].version == 2
        assert [each.outcome for each in again["settle"].attempts] == ["SUCCESS"] * 2


def test_editing_the_file_does_not_undo_a_pin(world):
    ms.rollback("order.settle")
    world.register(order(3, extract=5))
    assert states() == [(3, "registered"), (2, ""), (1, "pinned")]
    assert states("order.extract") == [(2, "active"), (1, "")]
    world.advance("1d")
    assert taken(world) == {date(2023, 12, 31): 1}
    # Stopped and started, which registers everything again.
    world.stop()
    world.start()
    world.advance("1d")
    assert set(taken(world).values()) == {1}
    # To promote the newest ends it; then the file decides again.
    ms.promote("order.settle", 3)
    assert states() == [(3, "active"), (2, ""), (1, "")]
    world.advance("1d")
    world.register(order(4))
    world.advance("1d")
    assert list(taken(world).values()) == [1, 1, 3, 4]


def test_from_a_business_date_on(world):
    ms.promote("order.settle", 2, from_biz_date=date(2024, 1, 3))
    assert states() == [(2, "from 2024-01-03"), (1, "active")]
    world.advance("6d")
    assert list(taken(world).values()) == [1, 1, 1, 2, 2, 2]


def test_a_session_that_knows_the_dag_sees_what_was_chosen():
    with ms.testing.isolated():
        order(1).run("2024-05-01")
        dag = order(2)
        assert dag.run("2024-05-01")["settle"].version == 2
        ms.rollback("order.settle")
        assert dag.run("2024-05-01")["settle"].version == 1
        ms.promote("order.settle", 2)
        assert dag.run("2024-05-01")["settle"].version == 2


def test_who_decided_is_kept(world):
    ms.rollback("order.settle", by="amir")
    ms.promote("order.settle", 2, by="li")
    table = ms.sql("SELECT kind, created_by, ended_by FROM task_release ORDER BY id")
    assert table == [{"kind": "pin", "created_by": "amir", "ended_by": "li"}]


@pytest.mark.parametrize(("call", "error", "says"), [
    (lambda: ms.versions("order.settl"), ms.NotFoundError, "did you mean order.settle?"),
    (lambda: ms.versions("ordr.settle"), ms.NotFoundError, "did you mean order?"),
    (lambda: ms.promote("order.nobody", 1), ms.NotFoundError, "order.nobody"),
    (lambda: ms.promote("order.settle", 7), ms.SpecError, "there are: 1, 2"),
    (lambda: ms.promote("order.settle", 1, percent=0), ms.SpecError, "from 1 to 100"),
    (lambda: ms.promote("order.settle", 1, percent=101), ms.SpecError, "from 1 to 100"),
    (lambda: ms.promote("order.settle", 1, percent=2.5), ms.SpecError, "no whole number"),
    (lambda: ms.promote("order.settle", -1), ms.SpecError, "no whole number"),
    (lambda: ms.promote("order.settle", 1, from_biz_date="2024-02-30"), ms.SpecError, "2024-02-30"),
    (lambda: ms.rollback("order.extract"), ms.SpecError, "no version before 1"),
    (lambda: ms.rollback("order.settle", 9), ms.SpecError, "there is no version 9"),
])
def test_what_is_wrong_is_said_and_changes_nothing(world, call, error, says):
    before = ms.versions("order.settle")
    with pytest.raises(error) as raised:
        call()
    assert says in str(raised.value)
    assert ms.versions("order.settle") == before
