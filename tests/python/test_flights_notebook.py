"""The notebook of the flights example, run cell by cell by a real Jupyter kernel.

The numbers are those of the files: 28 days of February 2013 with 14 tasks each, and two Saturdays
with 682 and 684 departures, the only days of the month below 700.
"""

import base64
import gc
import json
import shutil
import warnings
from pathlib import Path

import jupyter_client.manager as client
import mainspring as ms
import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "flights"


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The folder in which the notebook ran, and of each cell its code and what it showed."""
    folder = tmp_path_factory.mktemp("notebook") / "flights"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("data", ".mainspring"))
    cells = json.loads((folder / "backfill.ipynb").read_text("utf-8"))["cells"]
    manager, connected = client.start_new_kernel(kernel_name="python3", cwd=str(folder))
    try:
        yield folder, [_run(connected, "".join(cell["source"]))
                       for cell in cells if cell["cell_type"] == "code"]
    finally:
        connected.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
        del manager, connected
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the client leaves open is not ours
            gc.collect()


def _run(connected, code):
    """The code of a cell, what it printed, and what it shows at its end."""
    printed, shown = [], {}

    def hook(message):
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == "stream":
            printed.append(content["text"])
        elif kind in ("display_data", "update_display_data", "execute_result"):
            name = content.get("transient", {}).get("display_id", len(shown))
            shown[name] = content["data"]

    reply = connected.execute_interactive(code, output_hook=hook, timeout=240)["content"]
    assert reply["status"] == "ok", "\n".join([code, *reply["traceback"]])
    return code, "".join(printed), list(shown.values())


def _of(told, beginning):
    return next((printed, shown) for code, printed, shown in told[1] if code.startswith(beginning))


@pytest.mark.filterwarnings("ignore")
def test_the_plan_leaves_out_the_day_that_is_there(told):
    text = _of(told, "plan = ")[1][-1]["text/plain"]
    assert "378 of 392 cells" in text  # 27 of 28 days with 14 tasks
    html = _of(told, "plan = ")[1][-1]["text/html"]
    assert html.count("<table") == 1 and "<script" not in html


@pytest.mark.filterwarnings("ignore")
def test_two_days_fail_and_only_what_failed_is_repaired(told):
    filled, repaired, again = sorted(told_backfills(told), key=lambda each: each.id)
    assert (filled.state, repaired.state, again.state) == ("FAILED", "SUCCESS", "SUCCESS")
    bad = {(task, str(day)): state for (task, day), state in cells(filled).items()
           if state != "SUCCESS"}
    assert bad == {("check_rows", "2013-02-02"): "FAILED", ("check_rows", "2013-02-09"): "FAILED",
                   ("write_report", "2013-02-02"): "BLOCKED",
                   ("write_report", "2013-02-09"): "BLOCKED"}
    assert cells(repaired) == dict.fromkeys(bad, "SUCCESS")
    assert set(cells(again)) == {(task, "2013-02-14")
                                 for task in ("aggregate_carriers", "check_rows", "write_report")}
    printed, _ = _of(told, "failed = ")
    assert "Saturday Fail: 2013-02-02: 682 flights" in printed
    assert "Saturday Fail: 2013-02-09: 684 flights" in printed


@pytest.mark.filterwarnings("ignore")
def test_the_month_has_a_page_for_each_day_and_a_picture_of_what_took_how_long(told):
    pages = sorted(path.stem for path in (told[0] / "data" / "reports").glob("*.html"))
    assert pages == [f"2013-02-{day:02}" for day in range(1, 29)]
    png = base64.b64decode(_of(told, "order = ")[1][-1]["image/png"])
    assert png.startswith(b"\x89PNG") and len(png) > 5_000
    html = _of(told, "ms.runs")[1][-1]["text/html"]
    assert "31 runs" in html and "FAILED 2" not in html  # the grid has the newest of each cell


def test_the_notebook_is_committed_without_what_it_showed():
    cells = json.loads((EXAMPLE / "backfill.ipynb").read_text("utf-8"))["cells"]
    assert all(not cell["outputs"] and cell["execution_count"] is None
               for cell in cells if cell["cell_type"] == "code")


def told_backfills(told):
    return ms.backfills(database=told[0] / ".mainspring" / "mainspring.db")


def cells(backfill):
    """Task and date to state."""
    return {(task, str(day)): state for task, of_task in backfill.cells.items()
            for day, state in of_task.items()}
