"""mainspring: scheduling for people who move data.

Tasks are Python functions, a dag says what waits for what, and a native core runs them, retries
them and remembers what happened.

>>> import mainspring as ms
>>> with ms.Dag("letters") as dag:
...     @ms.task
...     def extract(biz_date) -> list:
...         return ["a", "b", str(biz_date)]
...     @ms.task
...     def count(letters: list) -> int:
...         return len(letters)
...     _ = count(extract())          # the result of one is the argument of the other
>>> with ms.testing.isolated():
...     dag.run("2013-01-15").result("count")
3
"""

from mainspring._arrow import History, history
from mainspring._backfill import backfill, reprocess
from mainspring._backfill_plan import Plan, PlanDiff
from mainspring._backfills import Backfill, Backfills, backfills
from mainspring._business import Calendar, calendar
from mainspring._context import Context, context
from mainspring._dag import Dag
from mainspring._dag_schedule import Schedule, schedule
from mainspring._edge import Asset, Dependency, Offset, asset, days, dep, months, slots, weeks
from mainspring._enabled import disable, enable
from mainspring._history import Runs, limit, pool, run, runs, show_versions, sql
from mainspring._map import RunParam, param
from mainspring._node import Node
from mainspring._requests import approve, cancel, pause, resume, trigger
from mainspring._rule import Rule
from mainspring._run import Run
from mainspring._schedule import biz_dates, render
from mainspring._serve import serve
from mainspring._session import use
from mainspring._stats import Stats, stats
from mainspring._task import Task, noop, task
from mainspring._taskrun import Attempt, TaskRun
from mainspring._versions import Version, promote, rollback, versions
from mainspring._waiting import gate, probe
from mainspring._when import at, cron, every
from mainspring.errors import (
    AttemptCanceled,
    AttemptTimeout,
    ConfigError,
    ConflictError,
    CycleError,
    Fail,
    HandlerError,
    MainspringError,
    NotFoundError,
    Problem,
    SpecError,
    StoreError,
)

from mainspring import testing  # isort: skip

__version__ = "0.1.0"


def load_ipython_extension(shell: object) -> None:
    """Register the magic ``%mainspring``; IPython calls this at ``%load_ext mainspring``."""
    from mainspring._magic import register

    register(shell)


def unload_ipython_extension(shell: object) -> None:
    """Take the magic away again; IPython calls this at ``%unload_ext mainspring``."""
    from mainspring._magic import unregister

    unregister(shell)


__all__ = [
    "Asset",
    "Attempt",
    "AttemptCanceled",
    "AttemptTimeout",
    "Backfill",
    "Backfills",
    "Calendar",
    "ConfigError",
    "ConflictError",
    "Context",
    "CycleError",
    "Dag",
    "Dependency",
    "Fail",
    "HandlerError",
    "History",
    "MainspringError",
    "Node",
    "NotFoundError",
    "Offset",
    "Plan",
    "PlanDiff",
    "Problem",
    "Rule",
    "Run",
    "RunParam",
    "Runs",
    "Schedule",
    "SpecError",
    "Stats",
    "StoreError",
    "Task",
    "TaskRun",
    "Version",
    "__version__",
    "approve",
    "asset",
    "at",
    "backfill",
    "backfills",
    "biz_dates",
    "calendar",
    "cancel",
    "context",
    "cron",
    "days",
    "dep",
    "disable",
    "enable",
    "every",
    "gate",
    "history",
    "limit",
    "months",
    "noop",
    "param",
    "pause",
    "pool",
    "probe",
    "promote",
    "render",
    "reprocess",
    "resume",
    "rollback",
    "run",
    "runs",
    "schedule",
    "serve",
    "show_versions",
    "slots",
    "sql",
    "stats",
    "task",
    "testing",
    "trigger",
    "use",
    "versions",
    "weeks",
]
