"""Gates under a scheduler: the word comes from another process, by a request."""

from . import _tools as tools

DAGS = """
    with ms.Dag("release") as dag:
        @ms.task
        def build() -> str:
            said("start")
            return "v1"

        @ms.task
        def publish(word: dict) -> str:
            said("start", **word)
            return word["note"]

        publish(ms.gate("sign_off", doc="Is it good?", depends_on=[build]))

    with ms.Dag("mondays") as mondays:
        @ms.task(run_on="MON")
        def load() -> None:
            said("start")
"""


def awaited(place, run):
    tools.until(lambda: place.states(run).get("sign_off") == "RUNNING")


def test_the_word_comes_by_a_request(place):
    place.write("dags.py", DAGS)
    up = place.up()
    run = place.trigger("release")
    awaited(place, run)
    code, out, err = place.ms("status")
    assert code == 0, err
    assert "gate       release.sign_off" in out and ": Is it good?" in out
    assert f"mainspring approve {run} sign_off" in out
    (gate,) = place.json("status")["gates"]
    assert (gate["run"], gate["dag"], gate["task"]) == (run, "release", "sign_off")
    assert f"mainspring approve {run} sign_off" in place.ms("show", "release", "--run", run)[1]

    for words, said in [
        (("approve", run, "sign_of"), "did you mean sign_off?"),
        (("approve", run, "build"), "build is no gate"),
        (("approve", run, "publish"), "its gates are sign_off"),
        (("approve", 999, "sign_off"), "there is no run 999"),
        (("approve", run), "TASK"),
    ]:
        code, out, err = place.ms(*words)
        assert code in (1, 2) and out == "" and said in err, (words, code, err)
    assert place.states(run)["sign_off"] == "RUNNING"

    code, out, err = place.ms("approve", run, "sign_off", "--note", "fine {run}")
    assert code == 0 and f"sign_off of run {run} is approved" in out, err
    assert place.finished(run) == "SUCCESS"
    (told,) = place.seen(run=run, task="publish")
    (request,) = place.rows("SELECT requested_by FROM request WHERE kind = 'approve' "
                            "AND answer LIKE '%run%' ORDER BY id DESC LIMIT 1")
    assert (told["note"], told["by"]) == ("fine {run}", request["requested_by"])
    code, _, err = place.ms("approve", run, "sign_off")
    assert code == 1 and f"run {run} has ended: it is SUCCESS" in err

    other = place.trigger("release")
    awaited(place, other)
    assert place.json("approve", other, "sign_off", "--reject", "--note", "no")["run"] == other
    assert place.finished(other) == "FAILED"
    (attempt,) = place.attempts(other, "sign_off")
    assert (attempt["outcome"], attempt["code"]) == ("FAILED", "REJECTED")
    assert attempt["error"].startswith("rejected by ") and attempt["error"].endswith(": no")
    assert up.stop() == 0
    place.sound()


def test_a_gate_waits_on_whatever_becomes_of_its_scheduler(place):
    place.write("dags.py", DAGS)
    up = place.up()
    run = place.trigger("release")
    awaited(place, run)
    up.kill()
    code, out, err = place.ms("approve", run, "sign_off")
    assert code == 1 and "mainspring up" in err
    up = place.up()
    assert up.stop() == 0, up  # it does not wait for people
    assert place.states(run)["sign_off"] == "RUNNING"
    # The word can be left for the next one.
    assert place.ms("approve", run, "sign_off", "--later")[0] == 0
    up = place.up()
    assert place.finished(run) == "SUCCESS"
    (attempt,) = place.attempts(run, "sign_off")
    assert (attempt["number"], attempt["outcome"]) == (1, "SUCCESS")
    assert up.stop() == 0
    place.sound()


def test_a_trigger_can_be_forced(place):
    place.write("dags.py", DAGS)
    up = place.up()
    sunday = ("--nominal-at", "2024-01-14T06:00:00Z")
    skipped = place.trigger("mondays", *sunday)
    assert place.finished(skipped) == "SUCCESS"
    assert place.states(skipped) == {"load": "SKIPPED"}
    forced = place.trigger("mondays", *sunday, "--force")
    assert place.finished(forced) == "SUCCESS"
    assert place.states(forced) == {"load": "SUCCESS"}
    code, out, err = place.ms("show", "mondays", "--run", skipped)
    assert code == 0 and "RUN_ON" in out, out + err
    assert up.stop() == 0
    place.sound()
