"""Mapped tasks on the command line: one line with counts, items on request, by name."""

from __future__ import annotations

from .conftest import Project

LOADS = """
    from pathlib import Path
    import mainspring as ms

    HERE = Path(__file__).parent

    with ms.Dag("loads") as dag:

        @ms.task
        def listing() -> list:
            return ["a", "b", "c"]

        @ms.task
        def load(path: str) -> str:
            print("reads", path)
            if path == "b" and not (HERE / "repaired").exists():
                raise ValueError("b is broken")
            return path.upper()

        @ms.task
        def total(rows: list) -> int:
            return len(rows)

        total(load.map(listing(), max_active=2))
"""


def test_a_mapped_task_is_one_line_and_its_failed_items_are_named(project: Project) -> None:
    project.write("dags/loads.py", LOADS)
    result = project("run", "loads", "--biz-date", "2024-01-15")
    assert result.code == 1
    rows = {line.split()[0]: line.split() for line in result.out.splitlines() if line.strip()}
    assert rows["load"][1] == "FAILED"
    assert "2/3 items, 1 FAILED" in result.out
    assert rows["load[1]"][1:4:2] == ["FAILED", rows["load[1]"][3]]
    assert "load[0]" not in rows and "load[2]" not in rows
    assert "ValueError: b is broken" in result.out

    shown = project("show", "loads", "--run", "last")
    line = next(each for each in shown.out.splitlines() if each.strip().startswith("load "))
    assert "2/3 items, 1 FAILED" in line
    assert "once for each item of listing, 2 at once" in line
    assert "load[0]" not in shown.out

    items = project("show", "loads", "--run", "last", "--items", "load")
    assert [line.split()[0] for line in items.out.splitlines()[2:]] == [
        "load[0]", "load[1]", "load[2]"]
    assert [each["item"] for each in project(
        "show", "loads", "--run", "last", "--items", "load", "--json").json["items"]] == [
            '"a"', '"b"', '"c"']
    wrong = project("show", "loads", "--run", "last", "--items", "lod")
    assert wrong.code == 2 and "load" in wrong.err
    assert project("show", "loads", "--items", "load").code == 2


def test_logs_and_rerun_know_items_by_name(project: Project) -> None:
    project.write("dags/loads.py", LOADS)
    project("run", "loads", "--biz-date", "2024-01-15")
    one = project("logs", "last", "load[2]")
    assert "reads c" in one.out and "reads a" not in one.out
    every = project("logs", "last", "load")
    assert all(f"reads {path}" in every.out for path in "abc")
    assert project("logs", "last", "load[9]").code == 2
    followed = project("logs", "last", "load", "-f")
    assert all(f"reads {path}" in followed.out for path in "abc")

    project.write("dags/repaired", "")
    again = project("rerun", "last", "--task", "load[1]")
    assert again.code == 0, again
    assert "3/3 items" in again.out
    attempts = {each["task"]: each["attempt_no"] for each in again_tasks(project)}
    assert attempts == {"listing": 1, "load": 0, "total": 1,
                        "load[0]": 1, "load[1]": 2, "load[2]": 1}
    assert project("db", "verify").code == 0


def again_tasks(project: Project) -> list[dict[str, object]]:
    found: list[dict[str, object]] = project("show", "loads", "--run", "last", "--json").json[
        "task_runs"]
    return found


def test_check_says_what_can_be_no_list(project: Project) -> None:
    project.write("dags/bad.py", """
        import mainspring as ms

        with ms.Dag("bad") as dag:

            @ms.task
            def load(x): ...

            load.map(5)
    """)
    result = project("check")
    assert result.code == 2 or result.code == 1
    assert "bad.load.map" in result.out + result.err
    assert "write a list, also for one item: [x]" in result.out + result.err
