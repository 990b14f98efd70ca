"""``ms.schedule``: what it takes, how it shows itself, and tasks that fire by themselves."""

import re
from html.parser import HTMLParser

import mainspring as ms
import pytest
from mainspring._mainspring import check_dag


def rules(schedule, **fields):
    dag = ms.Dag.from_graph("loads", ["load"], schedule=schedule, **{"timezone": "UTC", **fields})
    return [(each["rule"]["expression"], each["rule"]["timezone"])
            for each in check_dag(dag.spec())["schedules"]]


@pytest.mark.parametrize(("text", "expression"), [
    ("0 2 * * *", "0 2 * * *"),
    (" @daily ", "@daily"),
    ("every 6h", "every 6h"),
    ("at 2024-02-01", "at 2024-02-01T00:00:00"),
    ("at 2024-02-01T09:30, 2024-01-01", "at 2024-01-01T00:00:00,2024-02-01T09:30:00"),
])
def test_a_schedule_may_be_made_of_text(text, expression):
    found = rules(ms.schedule(text, timezone="Asia/Tokyo"))
    assert [(each.strip(), zone) for each, zone in found] == [(expression, "Asia/Tokyo")]


@pytest.mark.parametrize(("make", "error"), [
    (lambda: ms.schedule(7), TypeError),
    (lambda: ms.schedule("0 0 30 2 *"), ms.SpecError),
    (lambda: ms.schedule("@daily", timezone="Mars"), ms.SpecError),
])
def test_what_is_no_rule_is_refused_at_once(make, error):
    with pytest.raises(error):
        make()


class Tags(HTMLParser):
    """Refuses what is not closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.cells = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] == "td":
            self.cells.append(data)


@pytest.mark.parametrize("schedule", [
    ms.schedule("0 7 * * *", timezone="Europe/Berlin", tasks=["x"], params={"a": "<b>"},
                calendar=ms.calendar("<office>"), on="next", biz_offset="-1 workday"),
    ms.schedule("every 1h", jitter="10m"),
], ids=["calendar", "hourly"])
def test_it_shows_its_next_fires_with_their_dates(schedule):
    lines = str(schedule).splitlines()
    assert lines[0] == repr(schedule) and len(lines) == 6
    assert all(re.fullmatch(r"  \d{4}-\d\d-\d\d \d\d:00:00 \+0\d00  for \d{4}-\d\d-\d\d", line)
               for line in lines[1:])
    page = Tags()
    sheets, _, table = schedule._repr_html_().partition('<table class="ms-t"')
    page.feed(f"{sheets}</div></div>")
    assert page.open == [] and len(page.cells) >= 90
    page.cells.clear()
    page.feed("<div><div><table" + table)
    assert page.open == [] and len(page.cells) == 15
    if schedule.calendar is not None:
        assert set(page.cells[1::3]) <= {"Mon", "Tue", "Wed", "Thu", "Fri"}


def test_one_that_is_over_says_so():
    over = ms.schedule("at 2020-01-01")
    assert str(over).endswith("it does not fire any more")
    assert "it does not fire any more" in over._repr_html_()


def test_the_runs_of_a_world_are_a_table():
    dag = ms.Dag.from_graph("<loads>", ["load"])
    with pytest.raises(ms.SpecError), ms.testing.simulated("2024-01-01", [dag]):
        pass
    dag = ms.Dag.from_graph("loads", ["load"], schedule="@daily", timezone="UTC")
    with ms.testing.simulated("2024-01-01T12:00", [dag], stub=True) as world:
        world.advance("3d")
        page = Tags()
        grid, _, table = world.runs()._repr_html_().partition('<table class="ms-t"')
    page.feed(f"{grid}</div></div>")
    assert page.open == [] and page.cells == ["S", "S", "S"]
    page.cells.clear()
    page.feed("<div><div><table" + table)
    assert page.open == []
    assert page.cells[2::7] == ["2024-01-01", "2024-01-02", "2024-01-03"]


def test_a_task_with_schedules_of_its_own_is_no_part_of_the_runs_of_its_dag():
    with ms.Dag("loads", schedule="0 1 * * *", timezone="UTC") as dag:
        @ms.task(schedule=["0 3 * * *", ms.cron("0 4 * * *", "Asia/Tokyo")])
        def probe() -> None: ...
        @ms.task
        def load() -> None: ...
    with ms.testing.simulated("2024-01-01", [dag]) as world:
        world.advance("1d")
        assert [(f"{run.nominal_at:%H:%M %z}", [each.task for each in run.tasks])
                for run in world.runs()] == [
            ("01:00 +0000", ["load"]), ("03:00 +0000", ["probe"]), ("04:00 +0900", ["probe"])]
        assert [each["name"] for each in world.schedules(dag)] == ["default", "probe", "probe_2"]
    # Whoever asks for a run of the dag gets all of it, with the dates of the dag.
    with ms.testing.isolated():
        run = dag.run("2024-01-14")
        assert str(run.nominal_at) == "2024-01-15 01:00:00+00:00" and len(run.tasks) == 2


def test_a_dag_that_is_removed_and_comes_back_unchanged_fires_again():
    dag = ms.Dag.from_graph("loads", ["load"], schedule="0 2 * * *", timezone="UTC")
    with ms.testing.simulated("2024-03-01", [dag], stub=True) as world:
        world.advance("1d")
        world.remove(dag)
        world.advance("2d")
        world.register(dag)
        world.advance("1d")
        assert [run.nominal_at.day for run in world.runs()] == [1, 4]
