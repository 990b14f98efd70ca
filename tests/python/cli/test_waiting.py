"""Gates and conditions on the command line: who is awaited, the word, `--force`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .conftest import wait_for

if TYPE_CHECKING:
    from .conftest import Project

RELEASE = """
    import mainspring as ms

    with ms.Dag("release") as dag:
        build, publish = ms.noop("build"), ms.noop("publish")
        build >> ms.gate("sign_off", doc="Is it good?", timeout="2d") >> publish

    with ms.Dag("days", schedule="0 6 * * *") as days:
        @ms.task(run_on="MON", not_before="06:30")
        def load() -> None: ...

        @ms.probe(interval="15m", run_on=ms.calendar("office", exclude=["2024-01-15"]),
                  run_on_biz_date=True)
        def ready() -> bool:
            return True
"""


def test_a_word_reaches_the_process_that_runs_it(project: Project):
    project.write("dags/release.py", RELEASE)
    child = project.start("run", "release")
    try:
        wait_for(lambda: Path(project.root / ".mainspring" / "mainspring.db").exists(), "a database")
        shown = wait_for(
            lambda: next((found.out for found in [project("status")]
                          if "approve 1 sign_off" in found.out), None), "a gate that waits")
        assert "gate       release.sign_off" in shown and ": Is it good?" in shown
        # Nobody schedules, and still somebody decides: whoever runs it.
        assert project("show", "release", "--run", "1").out.count("mainspring approve 1 sign_off") == 1
        told = project("approve", "1", "sign_off", "--note", "fine")
        assert (told.code, told.out) == (0, "request 1: sign_off of run 1 is approved\n"), told
        out, err = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 0, err
    assert "run 1 of release" in out and "3/3" in out
    late = project("approve", "1", "sign_off")
    assert late.code == 1 and "mainspring up" in late.err


def test_a_no_fails_the_run(project: Project):
    project.write("dags/release.py", RELEASE)
    child = project.start("run", "release")
    try:
        wait_for(lambda: "approve 1 sign_off" in project("status").out, "a gate that waits")
        assert project("approve", "1", "sign_off", "--reject", "--note", "not yet").code == 0
        out, _ = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 1
    assert "rejected by " in out and ": not yet" in out and "blocked by sign_off" in out


def test_days_are_obeyed_forced_and_shown(project: Project):
    project.write("dags/release.py", RELEASE)
    tuesday = ("--nominal-at", "2024-01-16T06:00:00Z")
    done = project("run", "days", *tuesday)
    assert done.code == 0 and done.out.count("RUN_ON") == 2, done
    forced = project("run", "days", *tuesday, "--force", "--json")
    assert [task["state"] for task in forced.json["runs"][0]["tasks"]] == ["SUCCESS", "SUCCESS"]
    shown = project("show", "days", "--run", "1").out
    assert shown.count("RUN_ON") == 2
    assert "not before 06:30; runs on MON" in shown
    assert "polled every 15m 00s; biz date on calendar office" in shown
    refused = project("run", "--resume", "1", "--force")
    assert refused.code == 2 and "--force does not go with --resume" in refused.err


def test_a_mistake_is_told_by_check(project: Project):
    project.write("dags/bad.py", """
        import mainspring as ms

        with ms.Dag("bad") as dag:
            @ms.task(run_on="sometimes", not_before="half past six")
            def load() -> None: ...
    """)
    done = project("check")
    assert done.code == 1
    for word in ("bad.load.run_on", "`sometimes` names no days", "bad.load.not_before",
                 "`half past six` is not a time of day", "hint: "):
        assert word in done.out + done.err, done
