"""A dag that follows another whose runs are made by other processes, while it is served or not."""

from . import _tools as tools

FOLLOWING = """
    with ms.Dag("ods", timezone="UTC") as ods:
        @ms.task(retries=0)
        def load(biz_date: str):
            said("load")

    with ms.Dag("dwd", timezone="UTC") as dwd:
        @ms.task(retries=0, depends_on=["ods.load"])
        def clean(biz_date: str):
            said("clean", day=biz_date)
"""


def made(place):
    """Business dates of the runs that follow, in the order in which they were made."""
    return [row["biz_date"] for row in place.rows(
        "SELECT run.biz_date FROM run JOIN dag ON dag.id = run.dag_id "
        "WHERE dag.key = 'dwd' AND run.\"trigger\" = 'dependency' AND run.finished_at IS NOT NULL "
        "ORDER BY run.id")]


def comes(place, *days):
    tools.until(lambda: made(place) == list(days), tools.DEADLINE, pause=0.02)


def load(place, day):
    code, out, err = place.ms("run", "ods", "--biz-date", day)
    assert code == 0, out + err


def test_it_sees_what_others_end_while_it_serves_and_what_they_ended_before(place):
    place.write("both.py", FOLLOWING)
    first = place.up()
    load(place, "2024-03-01")
    comes(place, "2024-03-01")
    first.kill()
    # Nobody serves; the later one ends first.
    load(place, "2024-03-03")
    load(place, "2024-03-02")
    second = place.up()
    comes(place, "2024-03-01", "2024-03-02", "2024-03-03")
    assert second.stop() == 0
    third = place.up()
    load(place, "2024-03-04")
    comes(place, "2024-03-01", "2024-03-02", "2024-03-03", "2024-03-04")
    assert third.stop() == 0
    days = [line["day"] for line in place.story(event="clean")]
    assert sorted(days) == ["2024-03-01", "2024-03-02", "2024-03-03", "2024-03-04"]
    place.sound()
