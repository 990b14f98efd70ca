"""It fires, and tells what it does."""

import json
import os

from . import _tools as tools

TICK = """
    with ms.Dag("tick", schedule="* * * * * ?", timezone="UTC") as dag:
        @ms.task
        def hello(nominal_at) -> str:
            said("start", nominal=str(nominal_at))
            return str(nominal_at)

        @ms.task
        def length(text: str) -> int:
            return len(text)

        length(hello())
"""


def test_it_fires_every_second_and_ends_in_good_order(place):
    place.write("tick.py", TICK)
    up = place.up()
    up.wait("run_moved", count=4, state="SUCCESS")
    code, out, _ = place.ms("status")
    assert code == 0 and f"process {up.pid} " in out
    assert up.stop() == 0
    assert up.events[-1]["event"] == "stopped"
    up.gone()

    made = up.all("run_made")
    nominal = [tools.instant(each["nominal_at"]) for each in made]
    assert nominal == [nominal[0] + i for i in range(len(nominal))], "each second once"
    assert [each["trigger"] for each in made] == ["schedule"] * len(made)
    # Nobody asks for what lies before it was first known.
    began = tools.instant(up.wait("serving")[0]["time"])
    assert began - 2 <= nominal[0] <= began + 2
    stored = place.rows("SELECT nominal_at, state FROM run ORDER BY id")
    assert [row["nominal_at"] / 1e6 for row in stored] == nominal
    told = {line["nominal"] for line in place.story(task="hello")}
    assert len(told) == len(nominal)
    place.sound()
    assert place.ms("status")[0] == 3
    assert place.ms("status", "--quiet")[:2] == (3, "")


def test_inline_handlers_run_in_the_scheduler(place):
    place.write("tick.py", TICK)
    up = place.up("--executor", "inline")
    up.wait("run_moved", count=2, state="SUCCESS")
    assert up.stop() == 0
    assert {line["pid"] for line in place.story()} == {up.pid}
    place.sound()


def test_served_from_python(place):
    """`dag.serve()` fires as `up` does, and ends on SIGTERM."""
    place.write("tick.py", TICK.replace("    with ms.Dag", "    import mainspring as ms\n    with ms.Dag")
                + "\n    if __name__ == '__main__':\n        dag.serve()\n")
    child = tools.others.start(place.root, "import runpy\nrunpy.run_path('dags/tick.py', "
                               "run_name='__main__')", env={"WITNESS": place.witness})
    try:
        place.seen(3, task="hello")
    finally:
        child.terminate()
    code, out, err = tools.others.finish(child)
    assert code == 0, err
    assert {line["pid"] for line in place.story()} == {child.pid}
    nominal = [row["nominal_at"] for row in place.rows("SELECT nominal_at FROM run ORDER BY id")]
    assert [at - nominal[0] for at in nominal] == [i * 1_000_000 for i in range(len(nominal))]
    place.sound()


def test_the_log_is_one_json_document_a_line_whatever_tasks_say(place):
    nasty = "red \x1b[31m\r\n\x00 \x85\u2028\u202e end"
    place.write("nasty.py", f"""
        with ms.Dag("nasty") as dag:
            @ms.task(retries=0)
            def fails():
                raise ValueError({nasty!r})
    """)
    place.write("dirty\n\x1b[2J.py", "import mainspring\nraise ValueError('\\x1b[31m' + 'second\\nline')\n", head="")
    up = place.up()
    run = place.trigger("nasty")
    up.wait("run_moved", run=run, state="FAILED")
    (ended,) = up.all("attempt_ended")
    assert ended["task"] == "nasty.fails" and ended["outcome"] == "FAILED"
    assert ended["code"] == "ValueError"
    assert up.stop() == 0
    for line in up.lines:
        assert isinstance(json.loads(line), dict)
        text = line.decode("utf-8").removesuffix("\n")
        assert text.isprintable(), "what is not a character of text is written as \\u...."
    assert up.output == ""

    # The same for people: no line breaks out, no escape sequence reaches a terminal.
    again = tools.subprocess.Popen(
        [tools.sys.executable, "-m", "mainspring", "up"], cwd=place.root, text=True,
        env=place.environment(), stderr=tools.subprocess.PIPE, stdout=tools.subprocess.DEVNULL)
    try:
        text = ""
        for line in again.stderr:
            text += line
            if "serving" in line:
                break
    finally:
        os.kill(again.pid, tools.signal.SIGTERM)
        text += again.stderr.read()
        assert again.wait(30) == 0
        again.stderr.close()
    assert all(line.isprintable() for line in text.splitlines())
    assert "ValueError" in text
