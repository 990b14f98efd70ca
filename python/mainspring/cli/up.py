"""``mainspring up``."""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from types import FrameType
from typing import Any

from mainspring._heard import Heard
from mainspring._progress import on_terminal
from mainspring._scheduler import SCOPE, Scheduler
from mainspring.cli._console import Console, clean
from mainspring.cli._live_line import LiveLine
from mainspring.cli._settings import settings_of
from mainspring.cli._stop import Stop

__all__ = ["run"]


def run(options: argparse.Namespace, console: Console) -> int:
    """Schedule what the project's dag files define, until SIGTERM or Ctrl-C."""
    if options.slots is not None and options.slots < 1:
        raise Stop("--slots is at least 1", code=2)
    settings = settings_of(options, console)
    log = Log(console, as_json=options.log == "json" or console.json)
    scheduler = Scheduler(settings, log.tell, executor=options.executor, slots=options.slots,
                          standby=options.standby)
    if log.line is not None:
        scheduler.watchers.append(log.line)
    with _metrics(options, scheduler, log), _Signals(scheduler, log):
        scheduler.run(grace=options.grace)
    return 0


@contextmanager
def _metrics(options: argparse.Namespace, scheduler: Scheduler, log: Log) -> Iterator[None]:
    """Serve metrics meanwhile, where that is asked for."""
    if options.metrics is None:
        if options.metrics_open:
            raise Stop("--metrics-open says who may read what --metrics serves", code=2)
        yield
        return
    from mainspring._metrics import Metrics
    from mainspring._metrics_server import MetricsServer, address
    from mainspring._place import unless_server

    try:
        host, port = address(options.metrics, open=options.metrics_open)
    except ValueError as error:
        message, _, hint = str(error).partition("\n  hint: ")
        raise Stop(clean(message), hint, 2) from None
    unless_server(scheduler.settings.database, "metrics")
    metrics = Metrics(scheduler.settings.database, log.heard, slots=scheduler.slots, scope=SCOPE)
    server = MetricsServer(metrics, host, port)
    scheduler.watchers.append(metrics)
    log.tell({"event": "metrics", "host": server.host, "port": server.port})
    try:
        yield
    finally:
        server.close()


class _Signals:
    """The first SIGTERM or Ctrl-C asks for an orderly end, the second ends at once."""

    def __init__(self, scheduler: Scheduler, log: Log) -> None:
        self._scheduler, self._log = scheduler, log
        self._before: dict[int, Any] = {}
        self._asked = 0

    def __enter__(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            self._before[number] = signal.signal(number, self._asked_to_stop)

    def _asked_to_stop(self, number: int, frame: FrameType | None) -> None:
        self._asked += 1
        if self._asked > 1:
            import os

            # Worker processes see that nobody is there any more, and end with their trees.
            os._exit(128 + number)
        self._log.tell({"event": "stopping", "signal": signal.Signals(number).name})
        self._scheduler.stop()

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)


class Log:
    """Events as lines: of text for people, of JSON for machines."""

    def __init__(self, console: Console, *, as_json: bool) -> None:
        self._console = console
        self._as_json = as_json
        self._broken = False
        self.heard = Heard()
        self.line: LiveLine | None = None
        if not as_json and on_terminal():
            self.line = LiveLine(sys.stderr, self.heard,
                                 columns=lambda: shutil.get_terminal_size().columns)

    def tell(self, event: dict[str, Any]) -> None:
        """Write one event; what cannot be written is lost, and stops nothing."""
        self.heard.tell(event)
        if self._broken:
            return
        at = event.get("at") or time.time_ns() // 1000
        try:
            if self._as_json:
                text = json.dumps({"time": _iso(at), **_named(event)}, ensure_ascii=False)
                line = _escaped(text)
            else:
                line = f"{_clock(at)} {clean(sentence(event))}"
            if self.line is not None:
                self.line.above(line)
                return
            sys.stderr.write(line + "\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            self._broken = True


def _escaped(text: str) -> str:
    """JSON in which each character that ends a line, steers a terminal or hides is written out.

    JSON itself asks for that only below U+0020.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)


def _named(event: dict[str, Any]) -> dict[str, Any]:
    """An event with its instants as text."""
    instants = ("nominal_at", "from", "to", "deadline_at")
    return {name: _iso(value) if name in instants and isinstance(value, int) else value
            for name, value in event.items() if name != "at"}


def _iso(micros: int) -> str:
    at = datetime.fromtimestamp(micros / 1e6, timezone.utc)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _clock(micros: int) -> str:
    return datetime.fromtimestamp(micros / 1e6).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def sentence(event: dict[str, Any]) -> str:
    """An event in one line of words.

    Examples
    --------
    >>> from mainspring.cli.up import sentence
    >>> sentence({"event": "run_moved", "run": 3, "dag": "nightly", "state": "SUCCESS",
    ...           "seconds": 1.25})
    'run 3 of nightly: SUCCESS after 1.2s'
    """
    kind = event["event"]
    if kind == "run_made":
        return (f"run {event['run']} of {event['dag']} made: {event['trigger']}, "
                f"biz_date {event['biz_date']}, meant for {_iso(event['nominal_at'])}")
    if kind == "run_moved":
        took = f"after {event['seconds']:.1f}s"
        return f"run {event['run']} of {event['dag']}: {event['state']} {took}"
    if kind == "attempt_ended":
        code = f" ({event['code']})" if event["code"] else ""
        error = f": {event['error']}" if event["error"] else ""
        return (f"run {event['run']}: attempt {event['attempt']} of {event['task']} ended "
                f"{event['outcome']}{code}{error}")
    if kind == "overdue":
        what = "canceled for that" if event["canceled"] else f"it is {event['state']}"
        return (f"run {event['run']}: {event['task']} was to be finished by "
                f"{_iso(event['deadline_at'])}; {what}")
    if kind == "circle":
        return f"task runs wait for each other, cancel one of their runs: {event['why']}"
    if kind == "skipped":
        several = event["count"] > 1
        until = f" to {_iso(event['to'])}" if several else ""
        return (f"{event['schedule']}: {event['count']} fire{'s' * several} made no run "
                f"({event['reason']}), {_iso(event['from'])}{until}")
    if kind == "unreadable":
        what = f"dag {event['dag']}" if event["run"] is None else f"run {event['run']}"
        why, _, hint = str(event["why"]).partition("\n")
        return f"{what} cannot be read, and the others go on: {why}" + hint.replace("  hint:", ";")
    if kind == "fenced":
        return f"this process decides no more: {event['why']}"
    if kind == "stalled":
        why = event["why"]
        return f"nothing can be written: {why}" if why else "the database can be written again"
    if kind == "problem":
        hint = f"; {event['hint']}" if event["hint"] else ""
        return f"{event['file']}: {event['place']}: {event['message']}{hint}"
    if kind == "serving":
        return (f"serving {event['dags']} dags of {event['files']} files, loaded in "
                f"{event['seconds']:.1f}s; Ctrl-C ends")
    if kind.startswith("file_"):
        gone = f"; removed: {', '.join(event['gone'])}" if event["gone"] else ""
        return f"{event['file']} {kind[5:]}: {', '.join(event['dags']) or 'no dags'}{gone}"
    if kind == "removed":
        return f"their files are gone: {', '.join(event['dags'])}"
    if kind == "metrics":
        host = f"[{event['host']}]" if ":" in event["host"] else event["host"]
        return f"metrics on http://{host}:{event['port']}/metrics"
    if kind == "logs_wait":
        hint = f"; {event['hint']}" if event["hint"] else ""
        return f"logs wait in their files, tasks go on: {event['why']}{hint}"
    if kind == "logs_go_on":
        return f"logs are brought to {event['place']} again"
    if kind == "logs_left":
        several = event["logs"] > 1
        return (f"{event['logs']} log{'s' * several} wait{'s' * (not several)} in "
                f"{'their files' if several else 'its file'}; the next process brings "
                f"{'them' if several else 'it'} away")
    if kind == "standing_by":
        return f"standing by: {event['why']}"
    if kind == "stopping":
        return f"{event['signal']}: nothing starts any more; once again ends at once"
    if kind == "finishing":
        return f"{event['attempts']} attempts have {event['seconds']:g}s to end by themselves"
    if kind == "interrupting":
        return f"interrupting {event['attempts']} attempts; the next scheduler goes on with them"
    return " ".join([kind, *(f"{name}={value}" for name, value in event.items()
                             if name not in ("event", "at"))])
