"""Dag files come, change, break, heal and go while it is up; runs finish on their version."""

from . import _tools as tools

TICK = """
    with ms.Dag("tick", schedule="* * * * * ?", timezone="UTC") as dag:
        @ms.task
        def beat():
            said("start")
"""

STEPS = """
    WORD = {word!r}
    with ms.Dag("steps") as dag:
        @ms.task
        def first():
            said("start", word=WORD)
            if WORD == "old":
                held("first")

        @ms.task{options}
        def {second}():
            said("start", word=WORD)
            {body}

        first() >> {second}()
"""


def steps(word, second="second", options="", body="pass"):
    return STEPS.format(word=word, second=second, options=options, body=body)


def test_files_come_change_break_heal_and_go(place):
    place.write("tick.py", TICK)
    up = place.up()

    # Added.
    place.write("steps.py", steps("old"))
    assert up.file("added", "steps.py")["dags"] == ["steps"]
    before = place.trigger("steps")
    place.seen(run=before, task="first")

    # Edited: another task in the place of the second. What runs keeps the tasks it was made with.
    place.write("steps.py", steps("new", second="third"))
    up.file("edited", "steps.py")
    after = place.trigger("steps")
    assert place.finished(after) == "SUCCESS"
    assert {line["task"]: line["word"] for line in place.story(run=after)} == {
        "first": "new", "third": "new"}

    # Broken: the last good definition holds, and is what runs.
    place.write("steps.py", "    this is not Python\n")
    up.file("broken", "steps.py")
    (problem,) = up.wait("problem", file=str(place.dags / "steps.py"))
    assert problem["message"] and ":" in problem["place"]
    broken = place.trigger("steps")
    assert place.finished(broken) == "SUCCESS"
    assert {line["task"]: line["word"] for line in place.story(run=broken)} == {
        "first": "new", "third": "new"}

    # Repaired.
    place.write("steps.py", steps("newer", second="third"))
    up.file("repaired", "steps.py")
    repaired = place.trigger("steps")
    assert place.finished(repaired) == "SUCCESS"
    assert {line["word"] for line in place.story(run=repaired)} == {"newer"}

    # Removed, with the oldest run unfinished still.
    (place.dags / "steps.py").unlink()
    assert up.file("removed", "steps.py")["gone"] == ["steps"]
    code, _, err = place.ms("trigger", "steps")
    assert code == 1 and "steps" in err and "hint" in err
    place.open_gate("first")
    assert place.finished(before) == "SUCCESS"
    assert [(line["task"], line["word"]) for line in place.story(run=before)] == [
        ("first", "old"), ("second", "old")]

    # It comes back, and is the same dag.
    place.write("steps.py", steps("back", second="third"))
    up.file("added", "steps.py", count=2)
    assert place.finished(place.trigger("steps")) == "SUCCESS"

    # Nothing of this made a fire of the other dag late or double.
    assert up.stop() == 0
    made = [tools.instant(each["nominal_at"]) for each in up.all("run_made", dag="tick")]
    assert made == [made[0] + i for i in range(len(made))]
    place.sound()


BAD = {
    "syntax.py": "import mainspring as ms\ndef (:\n",
    "raises.py": "import mainspring as ms\n1 / 0\n",
    "leaves.py": "import mainspring as ms, os\nos._exit(0)\n",
    "crashes.py": "import mainspring as ms, os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n",
    "loops.py": "import mainspring as ms\nwhile True: pass\n",
    "prints.py": "import mainspring as ms\nprint('x' * 1_000_000)\nms.Dag.from_graph('prints', 'ab')\n",
    "changes.py": "import mainspring as ms, os\nos.environ.clear()\nos.chdir('/')\n"
                  "ms.Dag.from_graph('changes', 'ab')\n",
    "cycle.py": "import mainspring as ms\nwith ms.Dag('cycle'):\n    ms.noop('a', depends_on=['b'])\n"
                "    ms.noop('b', depends_on=['a'])\n",
    "twice.py": "import mainspring as ms\nms.Dag.from_graph('tick', 'ab')\n",
    "cron.py": "import mainspring as ms\nms.Dag('cron', schedule='61 * * * *')\n",
}


def test_a_bad_file_stops_nothing(place):
    (place.root / "mainspring.toml").write_text("load_timeout = '2s'\n")
    for name, text in BAD.items():
        place.write(name, text, head="")
    place.write("tick.py", TICK)
    up = place.up()
    up.wait("run_moved", count=2, dag="tick", state="SUCCESS")
    wrong = {each["file"].rpartition("/")[2] for each in up.all("problem")}
    assert wrong == BAD.keys() - {"prints.py", "changes.py"}
    for each in up.all("problem"):
        assert each["code"] and each["message"], each
    assert up.stop() == 0
    place.sound()


def test_a_task_that_is_gone_decides_the_run_it_was_in(place):
    """C27: waiting for its retry while its file loses it; also where a scheduler starts anew."""
    retries = '(retries=3, retry_interval="1500ms", retry_backoff="FIXED")'
    fails = 'if ms.context().attempt < {0}: raise ValueError("not yet")'
    place.open_gate("first")
    place.write("steps.py", steps("old", options=retries, body=fails.format(2)))
    up = place.up()
    run = place.trigger("steps")
    up.wait("attempt_ended", run=run, attempt=1)
    place.write("steps.py", steps("new", second="third"))
    up.file("edited", "steps.py")
    assert place.finished(run) == "SUCCESS"
    assert place.states(run) == {"first": "SUCCESS", "second": "SUCCESS"}
    assert {line["word"] for line in place.story(run=run)} == {"old"}
    after = place.trigger("steps")
    assert place.finished(after) == "SUCCESS"
    assert place.states(after) == {"first": "SUCCESS", "third": "SUCCESS"}

    # Edited while nothing is up.
    place.write("steps.py", steps("old", options=retries, body=fails.format(3)))
    up.file("edited", "steps.py", count=2)
    run = place.trigger("steps")
    up.wait("attempt_ended", run=run, attempt=1)
    up.kill()
    place.write("steps.py", steps("newest", second="third"))
    up = place.up()
    assert place.finished(run) == "SUCCESS", place.attempts(run)
    assert place.states(run) == {"first": "SUCCESS", "second": "SUCCESS"}
    assert {line["word"] for line in place.story(run=run)} == {"old"}
    assert up.stop() == 0
    place.sound()


def test_a_run_of_a_file_that_went_while_nothing_was_up_is_finished(place):
    place.write("steps.py", steps("old"))
    place.write("tick.py", TICK)
    up = place.up()
    run = place.trigger("steps")
    place.seen(run=run, task="first")
    up.kill()
    (place.dags / "steps.py").unlink()
    place.open_gate("first")
    up = place.up()
    assert up.wait("removed")[0]["dags"] == ["steps"]
    assert place.finished(run) == "SUCCESS", place.attempts(run)
    assert {line["word"] for line in place.story(run=run)} == {"old"}
    assert up.stop() == 0
    place.sound()
