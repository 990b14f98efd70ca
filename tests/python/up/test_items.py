"""Items of mapped tasks, asked for by name from another process, and over the death of a scheduler."""

from . import _tools as tools

DAGS = """
    import os

    with ms.Dag("loads") as dag:
        @ms.task
        def listing() -> list:
            return [0, 1, 2, 3]

        @ms.task(retries=0, grace="1s")
        def load(x: int) -> int:
            said("start", x=x)
            if x == 2:
                held("go")
            if x == 1 and not os.path.exists(os.path.join(os.environ["GATES"], "repaired")):
                raise ValueError("not yet")
            return 10 * x

        @ms.task
        def total(rows: list) -> int:
            return sum(rows)

        total(load.map(listing()))
"""


def items(place, run):
    return {row["map_index"]: row["state"] for row in place.rows(
        "SELECT map_index, state FROM task_run WHERE run_id = ? AND item IS NOT NULL", run)}


def test_items_are_asked_for_by_name_and_outlive_their_scheduler(place):
    place.write("dags.py", DAGS)
    up = place.up()
    run = place.trigger("loads")
    place.seen(task="load", x=2)
    tools.until(lambda: items(place, run) == {
        0: "SUCCESS", 1: "FAILED", 2: "RUNNING", 3: "SUCCESS"})
    assert place.json("cancel", run, "--task", "load[2]")["run"] == run
    assert place.finished(run) == "FAILED"
    assert items(place, run) == {0: "SUCCESS", 1: "FAILED", 2: "CANCELED", 3: "SUCCESS"}
    code, _, err = place.ms("cancel", run, "--task", "load[7]")
    assert code == 1 and str(run) in err

    # One item again: the others keep what they have, and the whole is still without one of them.
    place.open_gate("repaired")
    code, out, _ = place.ms("rerun", run, "--task", "load[1]")
    assert code == 3 and "3/4 items, 1 CANCELED" in out
    assert items(place, run) == {0: "SUCCESS", 1: "SUCCESS", 2: "CANCELED", 3: "SUCCESS"}

    # What failed again, and the scheduler dies in the middle of it.
    place.python(f"""
        from mainspring import _requests
        _requests.ask({{"kind": "rerun", "run": {run}}})
    """)
    place.seen(2, task="load", x=2)
    up.kill()
    up.gone()
    place.open_gate("go")
    place.up()
    assert place.finished(run) == "SUCCESS"
    assert items(place, run) == dict.fromkeys(range(4), "SUCCESS")
    result = place.rows("SELECT result FROM task_run WHERE run_id = ? AND map_index = -1", run)
    assert result[0]["result"] == "[0,10,20,30]"
    starts = [line["x"] for line in place.story(task="load")]
    assert sorted(starts) == [0, 1, 1, 2, 2, 2, 3]
    place.sound()
