"""A row that says nothing: one version, one rule, one definition. It is told, and the rest goes on."""

import json

TICK = """
    with ms.Dag({name!r}, schedule="* * * * * ?", timezone="UTC") as dag:
        @ms.task(doc={doc!r})
        def beat():
            said("start", dag={name!r})
            held({name!r})
"""


def _break(place, statement):
    code, out, err = place.python(f"""
        import sqlite3
        conn = sqlite3.connect({str(place.database)!r}, timeout=30)
        assert conn.execute({statement!r}).rowcount > 0
        conn.commit()
    """)
    assert code == 0, out + err


def _made(place):
    """Two dags that have fired, of one of which runs are open, and no scheduler any more."""
    for name in ("bad", "good"):
        place.write(f"{name}.py", TICK.format(name=name, doc="first"))
    place.open_gate("good")
    up = place.up()
    place.seen(dag="bad")
    up.wait("run_moved", dag="good", state="SUCCESS")
    up.kill()
    up.gone()


def _goes_on(place, up):
    """The other dag fires as ever."""
    count = len(up.all("run_moved", dag="good", state="SUCCESS"))
    up.wait("run_moved", count=count + 2, dag="good", state="SUCCESS")


def test_an_open_run_whose_version_is_gone(place):
    _made(place)
    (run,) = {row["id"] for row in place.rows(
        "SELECT r.id FROM run r JOIN dag d ON d.id = r.dag_id "
        "WHERE d.key = 'bad' ORDER BY r.id LIMIT 1")}
    # Later runs are of another version.
    place.write("bad.py", TICK.format(name="bad", doc="second"))
    up = place.up()
    up.kill()
    up.gone()
    _break(place, "DELETE FROM task_version WHERE version = 1 AND task_id = "
                  "(SELECT id FROM task WHERE key = 'bad.beat')")
    up = place.up()
    told = {each["run"]: each for each in up.wait("unreadable")}
    assert run in told and "is not in the database" in told[run]["why"]
    _goes_on(place, up)
    facts = place.json("status")["unreadable"]
    assert {"dag": "bad", "run": run} in [{"dag": row["dag"], "run": row["run"]} for row in facts]
    _, out, _ = place.ms("status")
    assert f"unreadable dag bad, run {run}: " in out
    code, out, _ = place.ms("check", "--json")
    assert code == 1
    (first, *_) = json.loads(out)["problems"]
    assert first["code"] == "unreadable" and first["place"] == f"bad, run {run}"
    place.open_gate("bad")
    assert up.stop() == 0


def test_a_schedule_whose_rule_does_not_parse(place):
    _made(place)
    _break(place, "UPDATE schedule_period SET rule = json_set(rule, '$.expression', 'never ever') "
                  "WHERE schedule_id = (SELECT s.id FROM schedule s JOIN dag d "
                  "ON d.id = s.dag_id WHERE d.key = 'bad')")
    up = place.up()
    (told,) = up.wait("unreadable", dag="bad")
    assert told["run"] is None
    assert told["why"].startswith("bad.default.cron: an expression has 5, 6 or 7 fields")
    _goes_on(place, up)
    assert ("bad", None) in [(row["dag"], row["run"]) for row in place.json("status")["unreadable"]]
    code, out, _ = place.ms("check", "--json")
    assert code == 1
    assert [each["code"] for each in json.loads(out)["problems"]] == ["unreadable"]
    assert up.stop() == 0


def test_a_schedule_whose_definition_is_no_json(place):
    """Its file cannot even be registered: that is a problem of this file."""
    _made(place)
    _break(place, "UPDATE schedule SET definition = '{' WHERE dag_id = "
                  "(SELECT id FROM dag WHERE key = 'bad')")
    up = place.up()
    problems = [each for each in up.all("problem") if each["code"] == "unreadable"]
    assert {each["place"] for each in problems} == {"bad"}
    assert {each["file"] for each in problems} == {str(place.dags / "bad.py")}
    _goes_on(place, up)
    # Whoever asks is told.
    code, _, err = place.ms("trigger", "bad")
    assert code != 0 and "bad" in err
    code, _, _ = place.ms("check")
    assert code == 1
    assert up.stop() == 0
