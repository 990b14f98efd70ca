"""The native core. Plain values in, plain values out; the public API is `mainspring` itself."""

from collections.abc import Callable
from datetime import date, datetime, tzinfo
from typing import Any, TypeAlias, TypedDict, final

_Handlers: TypeAlias = dict[
    str, tuple[Callable[..., Any], bool, dict[str, Callable[[Any], Any]] | None]
]

__version__: str

class RunDict(TypedDict):
    """A run as the store has it; instants are microseconds UTC, dates ISO text."""

    id: int
    dag: str
    state: str  # RUNNING, SUCCESS, FAILED, CANCELED; INTERRUPTED when its process is gone
    trigger: str
    biz_date: str
    nominal_at: int
    interval_start: int
    interval_end: int
    timezone: str
    params: dict[str, Any]
    requested_by: str | None
    created_at: int
    finished_at: int | None
    task_count: int
    counts: dict[str, int]  # task runs by state
    node: dict[str, Any] | None

BackfillSummaryDict = TypedDict("BackfillSummaryDict", {
    "id": int,
    "dag": str,
    "from": str,
    "to": str,
    "state": str,
    "cancel_requested": bool,
    "requested_by": str | None,
    "created_at": int,
    "finished_at": int | None,
    "scope_id": int,
    "runs": dict[str, int],  # by state, by note where there is no run, under "" what is to be made
    "pid": int | None,
    "host": str | None,
    "alive": bool,
})

class BackfillDict(TypedDict):
    """The plan of a backfill, and what became of each of its runs."""

    ask: dict[str, Any]
    hash: str
    tasks: list[dict[str, Any]]
    sets: list[tuple[str, list[int], str]]  # dag, tasks by number, zone
    runs: list[tuple[int, str, int, int | None, str | None, str | None]]
    # number of the set, date, instant, run, note, state of the run

class TaskRunDict(TypedDict):
    """A task run as the store has it."""

    id: int
    run_id: int
    task: str  # `load[3]` of an item
    type: str  # python, noop, probe, gate
    version: int
    map_index: int | None  # place in the list, of an item
    mapped: bool  # it stands for all items of a mapped task
    item: str | None  # what an item is given, JSON text
    state: str
    attempt_no: int  # attempts started so far, across reruns
    errors_used: int
    first_ready_at: int | None
    started_at: int | None
    finished_at: int | None
    wake_at: int | None
    blocked_by: int | None  # id of the task run at the root
    blocked_by_task: str | None
    code: str | None
    stale: bool
    deadline_at: int | None
    overdue_at: int | None  # when it was seen to be open beyond its deadline
    blocked_until: int | None
    has_result: bool
    fingerprint: str | None

class AttemptDict(TypedDict):
    """An attempt as the store has it."""

    id: int
    task_run_id: int
    attempt_no: int
    token: int
    outcome: str | None  # None while it is live
    node_id: int
    started_at: int
    finished_at: int | None
    duration_ms: int
    cpu_ms: int | None
    max_rss_kb: int | None
    pid: int | None
    exit_code: int | None
    signal: int | None
    error_code: str | None
    error_type: str | None
    error: str | None
    traceback: str | None
    log_uri: str | None
    log_tail: str | None
    params: str | None
    polls: int | None  # how often a probe was asked

@final
class Context:
    """What a running attempt knows about itself; made by the core, one an attempt."""

    @property
    def run_id(self) -> int: ...
    @property
    def dag(self) -> str: ...
    @property
    def task(self) -> str: ...
    @property
    def map_index(self) -> int | None: ...
    @property
    def attempt(self) -> int: ...
    @property
    def token(self) -> int: ...
    @property
    def biz_date(self) -> date: ...
    @property
    def nominal_at(self) -> datetime: ...
    @property
    def interval_start(self) -> datetime: ...
    @property
    def interval_end(self) -> datetime: ...
    @property
    def timezone(self) -> str: ...
    @property
    def params(self) -> dict[str, Any]: ...
    @property
    def config(self) -> dict[str, Any]: ...
    @property
    def dedup_key(self) -> str | None: ...
    def write(self, text: str, stream: str) -> None:
        """Append output to the attempt's log; `stream` is "out" or "err"."""
    def say_fingerprint(self, text: str) -> None:
        """Say what the output of the attempt can be told by."""

@final
class Call:
    """One call of a handler, until its end is known; used by `mainspring._host`."""

    def begin(self) -> None: ...
    def returned(self, value: Any) -> None: ...
    def failed(self, exception: BaseException) -> None: ...
    def __call__(self, value: Any, exception: BaseException | None) -> None: ...

@final
class Worker:
    """What a thread takes its calls from; used by `mainspring._host`."""

    def next(
        self,
    ) -> tuple[Call, Callable[..., Any], dict[str, Any], Context, bool] | None:
        """The next call; None when the thread should end."""
    def another(self) -> Worker: ...
    def nobody_came(self) -> None: ...

@final
class ProcessWorker:
    """A worker process's connection to the scheduler; used by `mainspring._worker`."""

    def __new__(cls) -> ProcessWorker: ...
    def ready(self) -> None: ...
    def next(self) -> ProcessOrder | None: ...
    def done(
        self,
        order: ProcessOrder,
        *,
        cpu_ms: int,
        cpu_total_ms: int,
        max_rss_kb: int,
        imported: bool,
        spoilt: str | None = None,
    ) -> None: ...
    def is_worker(self) -> bool: ...
    def left_processes(self) -> bool: ...

@final
class ProcessOrder:
    """One attempt that a worker process is to run."""

    @property
    def file(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def dag(self) -> str: ...
    @property
    def task(self) -> str: ...
    @property
    def mark(self) -> str: ...
    def arguments(
        self, converters: dict[str, Callable[[Any], Any]] | None = None
    ) -> tuple[dict[str, Any], Context]: ...
    def returned(self, value: Any) -> None: ...
    def failed(self, exception: BaseException) -> None: ...
    def refused(
        self, code: str, kind: str, message: str, traceback: str | None = None
    ) -> None: ...

@final
class ProcessEnd:
    """How a worker ended whose supervisor this process was."""

def supervise(worker: list[str]) -> ProcessEnd | None:
    """Live the life of a supervisor: start this worker, return when nothing of it is left."""

def report_end(end: ProcessEnd, cpu_ms: int, max_rss_kb: int) -> None: ...
def stop_reason() -> str | None:
    """Why this worker is being ended: "timeout", "cancel"...; None where it is not."""

@final
class Session:
    """One process's way to decide: owns the driver thread and the threads that run handlers."""

    def __new__(
        cls,
        database: str,
        *,
        role: str,
        slots: int = 32,
        busy_wait_s: float = 120.0,
        leads: str | None = None,
        clock: ManualClock | None = None,
        durable: bool = True,
        logs: str | None = None,
        log_limit: int | None = None,
        files: str | None = None,
    ) -> Session:
        """`leads`: the name of the scope that it decides for. `clock`: one that stands. `logs`: the
        URI below which rows of attempts name the place of their output; `log_limit`: bytes of it.
        """

    @property
    def database(self) -> str: ...
    def register(self, specs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Check and store definitions; [{"key", "revision", "tasks": [{"name", "version"}]}]."""
    def use_processes(
        self,
        supervisor: list[str],
        worker: list[str],
        *,
        workers: int,
        max_attempts: int | None = None,
        max_rss_kb: int | None = None,
        idle_s: float | None = None,
        start_s: float | None = None,
    ) -> None:
        """Run handlers in files in worker processes from now on; only the first call counts."""
    def submit(
        self,
        dag: str,
        handlers: _Handlers | tuple[str, str, str],
        request: dict[str, Any],
    ) -> int:
        """Make a run of a registered dag and start it; durable when this returns.

        `handlers`: task name to (callable, whether it is a coroutine function, converters of
        argument values); or (dag, file, version), where worker processes find them. `request`: "biz_date" (ISO text), "nominal_at", "interval_start",
        "interval_end" (microseconds UTC), all optional; "params", "only" (task names), "force", "requested_by".
        """
    def resume(
        self,
        run_id: int,
        handlers: _Handlers | tuple[str, str, str],
    ) -> None:
        """Take up a run whose process is gone; what succeeded does not run again."""
    def rerun(
        self,
        run_id: int,
        handlers: _Handlers | tuple[str, str, str],
        tasks: list[str] | None = None,
        downstream: bool = False,
    ) -> None:
        """Run again what failed, or these tasks, or these and all downstream of them."""
    def wait(self, run_id: int, timeout: float | None = None) -> bool:
        """Wait until the run cannot move; True then, False at the timeout. Ctrl-C raises."""
    def cancel(self, run_id: int, tasks: list[str] | None = None, grace: float | None = None) -> None: ...
    def approve(
        self,
        run_id: int,
        task: str,
        reject: bool = False,
        note: str | None = None,
        by: str | None = None,
    ) -> None:
        """Say a person's word at a gate of a run that is driven here; durable when this returns."""
    def progress(self, run_id: int) -> dict[str, Any]:
        """{"state", "counts": {state: n}, "total", "running", "awaited": [task names, at most 8]}; live."""
    def exception(self, run_id: int, task: str) -> BaseException | None:
        """The author's own exception of the newest attempt that failed in this process."""
    def explain(self, run_id: int, task: str) -> str: ...
    def serve(
        self,
        dags: list[
            tuple[str, dict[str, tuple[Callable[..., Any], bool, dict[str, Callable[[Any], Any]] | None]]]
        ],
        older: dict[str, list[tuple[int, Any]]] | None = None,
    ) -> None:
        """Fire the schedules of registered dags from now on: pairs of key and handlers.

        ``older`` has by key the handlers of runs made before an instant, the oldest first.
        """
    def remove(self, dags: list[str]) -> None:
        """Forget dags whose files are gone; what is open of them goes on."""
    def pause(
        self, dag: str, paused: bool, schedule: str | None = None, missed: str | None = None
    ) -> None:
        """Pause the schedules of a dag, or one of them, or let them go on."""
    def stub(self, tasks: dict[str, dict[str, Any]], others: dict[str, Any] | None = None) -> None:
        """Call these handlers no more: {"takes_ms", "result", "fails", "code"}, all optional."""
    def advance(self, to: int) -> None:
        """Move a clock that stands to an instant, in steps: to each at which something happens."""
    def drain(self) -> None:
        """Start nothing more; what is live goes on."""
    def load(self) -> dict[str, Any]:
        """{"live", "stuck", "runs", "next_fire"}: attempts, open runs, microseconds UTC or None."""
    def news(self) -> list[dict[str, Any]]:
        """What was done since this was asked last: {"event", "at", ...}, the oldest first."""
    def schedules(self, dag: str) -> list[ScheduleDict]: ...
    def skips(self, dag: str, limit: int = 1000) -> list[SkipDict]: ...
    def set_pool(self, name: str, slots: int) -> None: ...
    def set_limit(self, name: str, slots: int) -> None: ...
    def set_ageing(self, pool: str | None, step_ms: int | None) -> None: ...
    def close(self, grace: float = 1.0, at_most: float | None = None) -> None:
        """Stop: live attempts are interrupted, threads joined. Safe to call twice."""

class ScheduleDict(TypedDict):
    """A schedule of a dag; instants are microseconds UTC."""

    id: int
    name: str
    expression: str
    timezone: str
    paused: bool
    watermark: int  # each fire up to here is a run or a skip
    next_fire: int | None

SkipDict = TypedDict(
    "SkipDict",
    {"schedule_id": int, "from": int, "to": int, "count": int, "reason": str},
)
"""Fires in a row that made no run: the first, the last, how many, and why."""

class LeaderDict(TypedDict):
    """A process that schedules for a database; instants are microseconds UTC."""

    host: str
    pid: int
    role: str
    version: str
    started_at: int
    heartbeat_at: int
    alive: bool
    epoch: int  # how often the scope has changed hands

class VersionDict(TypedDict):
    """A version of a task; instants are microseconds UTC."""

    version: int
    created_at: int
    type: str
    handler: str | None
    code_hash: str | None
    active: bool
    registered: bool
    source: str | None

class ReleaseDict(TypedDict):
    """What was decided about a task's versions; `share` is {"percent"}, {"from_biz_date"}, None."""

    id: int
    task: str
    version: int
    share: dict[str, Any] | None
    base: int | None
    created_by: str | None
    created_at: int
    ended_by: str | None
    ended_at: int | None

class TaskVersionsDict(TypedDict):
    """How a task stands."""

    task: str
    versions: list[VersionDict]
    releases: list[ReleaseDict]

class ReleasedDict(TaskVersionsDict):
    """The same after a decision, and whether that was otherwise before."""

    changed: bool

@final
class Asker:
    """Asks whoever decides for a database; neither decides nor runs anything itself."""

    def __new__(
        cls, database: str, *, busy_wait_s: float = 120.0, files: str | None = None
    ) -> Asker: ...
    def leader(self) -> LeaderDict | None:
        """Who schedules for this database, or did so last."""
    def ask(self, ask: dict[str, Any], by: str | None = None, later: bool = False) -> int:
        """Ask for {"kind": "trigger" | "cancel" | "rerun" | "approve" | "pause" | "resume", ...}.

        Gives the number of the request. `later`: the next scheduler may decide it.
        """
    def versions(self, task: str) -> TaskVersionsDict:
        """All versions of a task, and what was decided about them."""
    def enable(self, task: str, enabled: bool, by: str | None = None) -> bool:
        """Disable a task, or enable it again; whether that was otherwise before."""

    def declare(self, asset: str, biz_date: str, by: str | None = None) -> bool:
        """Declare an asset ready for a business date; whether that was not known before."""

    def release(self, task: str, ask: dict[str, Any], by: str | None = None) -> ReleasedDict:
        """Decide {"kind": "promote", "version", "share"} or {"kind": "rollback", "version"}."""
    def answer(self, id: int) -> dict[str, Any] | None:
        """{"run", "refused"}, both optional; None while it is open."""

@final
class ManualClock:
    """A clock that stands until it is moved; instants are microseconds UTC."""

    def __new__(cls, now: int) -> ManualClock: ...
    @property
    def now(self) -> int: ...
    def set(self, now: int) -> None: ...

def duration_ms(text: str) -> int:
    """A duration such as `90m` or `PT1H` in milliseconds."""

@final
class Columns:
    """Columns of the history, which other libraries take by the Arrow C interfaces."""

    def __len__(self) -> int: ...
    def kinds(self) -> list[tuple[str, str]]:
        """Names of the columns, each with the word for what is in it."""
    def cells(self, start: int, count: int) -> list[list[Any]]:
        """Some rows as plain values: instants and spans are microseconds, dates ISO text."""
    def __arrow_c_schema__(self) -> object:
        """The schema by the Arrow C data interface."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The batches by the Arrow C stream interface; they are shared, not copied."""

@final
class History:
    """Reads what was remembered; never changes it."""

    def __new__(
        cls, database: str, *, busy_wait_s: float = 120.0, files: str | None = None
    ) -> History: ...
    def runs(
        self,
        *,
        dag: str | None = None,
        states: list[str] | None = None,
        biz_date_from: str | None = None,
        biz_date_to: str | None = None,
        limit: int | None = None,
    ) -> list[RunDict]: ...
    def run(self, run_id: int) -> RunDict | None: ...
    def task_runs(self, run_id: int) -> list[TaskRunDict]: ...
    def attempts(self, *, run_id: int | None = None, task_run_id: int | None = None) -> list[AttemptDict]: ...
    def journal(self, run_id: int) -> list[dict[str, Any]]: ...
    def result(self, task_run_id: int) -> Any: ...
    def dags(self) -> list[str]: ...
    def dag(self, key: str) -> dict[str, Any] | None: ...
    def pools(self) -> dict[str, tuple[int, int]]: ...
    def limits(self) -> dict[str, tuple[int, int]]: ...
    def ageing(self) -> dict[str, int]: ...
    def columns(
        self,
        level: str,
        *,
        columns: list[str] | None = None,
        dag: str | None = None,
        tasks: list[str] = ...,
        words: list[str] = ...,
        triggers: list[str] = ...,
        biz_date_from: str | None = None,
        biz_date_to: str | None = None,
        begin: int | None = None,
        end: int | None = None,
        limit: int | None = None,
    ) -> Columns:
        """The history as columns: all of a level, or what the filters leave of it."""
    def sql(self, text: str, parameters: list[Any] = ...) -> tuple[list[str], list[list[Any]]]:
        """Answers one SQL statement that only reads: (column names, rows)."""
    def unreadable(self) -> list[dict[str, Any]]:
        """Dags and open runs that a scheduler cannot read: [{"dag", "run", "why"}]."""
    def verify(self) -> list[dict[str, Any]]:
        """Invariants that do not hold: [{"invariant", "rule", "rows"}]; empty when all do."""

@final
class Rule:
    """When something fires. Instants are microseconds UTC, wall times seconds of the wall clock."""

    @staticmethod
    def cron(expression: str, timezone: str, gap: str = "carry", fold: str = "first") -> Rule: ...
    @staticmethod
    def every(
        step: str, anchor: int | None, timezone: str, gap: str = "carry", fold: str = "first"
    ) -> Rule: ...
    @staticmethod
    def at(instants: list[int], timezone: str) -> Rule: ...
    @staticmethod
    def written(expression: str, timezone: str, start_date: str | None = None) -> Rule:
        """A schedule as a dag writes it: a cron line, `@daily`, `every 6h`, `at <local time>`."""
    @property
    def kind(self) -> str: ...
    @property
    def canonical(self) -> str: ...
    @property
    def dialect(self) -> str | None:
        """`unix` or `quartz`; None for what is no cron expression."""
    @property
    def every_hour(self) -> bool: ...
    @property
    def timezone(self) -> str: ...
    def same_times(self, other: Rule) -> bool: ...
    def next(self, after: int, n: int = 1) -> list[tuple[int, int]]:
        """The first fires strictly after an instant: (instant, nominal wall time)."""
    def prev(self, before: int, n: int = 1) -> list[tuple[int, int]]: ...
    def between(self, start: int, end: int, limit: int | None = None) -> list[tuple[int, int]]: ...
    def between_micros(self, start: int, end: int, limit: int | None = None) -> list[int]: ...
    def next_shown(self, after: int, n: int, zone: tzinfo) -> list[datetime]: ...
    def prev_shown(self, before: int, n: int, zone: tzinfo) -> list[datetime]: ...
    def between_shown(
        self, start: int, end: int, limit: int | None, zone: tzinfo
    ) -> list[datetime]: ...
    def between_packed(self, start: int, end: int, limit: int | None = None) -> bytes:
        """The same, eight bytes each in the order of this machine."""
    def count(self, start: int, end: int) -> int: ...

@final
class Calendar:
    """A named set of days; dates are ISO text."""

    def __new__(cls, name: str, rule: Rule | None = None) -> Calendar: ...
    @staticmethod
    def from_ics(name: str, text: str) -> Calendar: ...
    def include(self, dates: list[str]) -> Calendar: ...
    def exclude(self, dates: list[str]) -> Calendar: ...
    def definition(self) -> dict[str, Any]:
        """{"name", "weekdays", "include", "exclude"}: the same days in the shortest form."""
    def union(self, other: Calendar) -> Calendar: ...
    def minus(self, other: Calendar) -> Calendar: ...
    def is_open(self, day: str) -> bool: ...
    def add_days(self, day: str, n: int) -> str | None: ...
    def days(self, first: str, last: str) -> list[str]: ...

@final
class Timetable:
    """All rules of one target. Rows are (instant, nominal wall time, business date as ISO text)."""

    def __new__(
        cls,
        entries: list[tuple[Rule, str | None, str | None]],
        biz_offset: str | None = None,
        calendar: Calendar | None = None,
    ) -> Timetable: ...
    @staticmethod
    def of_dag(
        spec: dict[str, Any], biz_offset: str | None = None, calendar: Calendar | None = None
    ) -> Timetable:
        """The schedules of a dag together, or with other business dates."""
    def next(self, after: int, n: int = 1) -> list[tuple[int, int, str]]: ...
    def between(self, start: int, end: int, limit: int | None = None) -> list[tuple[int, int, str]]: ...
    def backfill(self, first: str, last: str, limit: int | None = None) -> list[tuple[int, int, str]]: ...
    def interval(self, at: int) -> tuple[int | None, int]: ...
    def last_complete(self, now: int) -> tuple[int | None, int] | None: ...
    def warnings(self) -> list[dict[str, str | None]]: ...

@final
class BackfillPlan:
    """The plan of a backfill; what is looked at is handed out."""

    @staticmethod
    def load(text: str) -> BackfillPlan:
        """Read a plan that was saved; raises SpecError."""
    def to_json(self) -> str:
        """All of it, as JSON text."""
    def head(self) -> dict[str, Any]:
        """What it is about, without its cells and runs."""
    @property
    def hash(self) -> str: ...
    def runs(self, start: int, stop: int) -> list[tuple[int, int, str, int, int, int]]:
        """Runs: (number of its set, group, date, instant, interval start, interval end)."""
    def cells(
        self, skip: int = 0, limit: int = ..., only: list[str] | None = None
    ) -> list[tuple[int, str, int | None, str]]:
        """Cells: (number of its task, date, instant, what is said of it)."""
    def grids(
        self,
    ) -> list[tuple[list[tuple[int | None, str]], list[tuple[int, str]]]]:
        """Columns as (instant, date), and rows as (number of the task, letters)."""
    def diff(self, later: BackfillPlan) -> dict[str, Any]:
        """What has changed from this plan to one that was computed later."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __len__(self) -> int: ...

def plan_backfill(asked: Session | Asker, ask: dict[str, Any]) -> BackfillPlan:
    """The plan of a backfill; nothing is started or written. Raises SpecError, NotFoundError."""

def check_dag(spec: dict[str, Any]) -> dict[str, Any]:
    """The checked and resolved definition of a dag; raises SpecError with every problem."""

def check_pairs(definitions: list[dict[str, Any]], now: int) -> None:
    """Raises SpecError where edges to other dags and periods never hold, or seldom.

    Definitions are as ``check_dag`` returns them, ``now`` in microseconds UTC.
    """

def check_text(spec: dict[str, Any]) -> tuple[str, str]:
    """The key of a dag and its specification as JSON text; raises SpecError as check_dag does."""

def log_uri(
    prefix: str, dag: str, biz_date: str, run: int, made: int, task: str, map_index: int | None,
    attempt_no: int,
) -> str:
    """Where the output of an attempt is brought to; `made`: `created_at` of the run."""

def preview(
    spec: dict[str, Any], task: str | None, request: dict[str, Any], now: int
) -> dict[str, Any]:
    """What a run would get: its times, and each text of a task before and after.

    `request`: as `Session.submit` takes it. `now`: microseconds UTC, for a request without dates.
    """

def shown(database: str) -> str:
    """The place of a database as it may be shown: without a password."""

def migrate(database: str) -> tuple[int, int]:
    """Bring a database to the newest schema: (schema before, schema now)."""

def states() -> list[tuple[str, int, bool]]:
    """Every state: (word, code, whether it is final)."""

def wall_at(timezone: str, at: int) -> int:
    """What the wall clock of a zone shows at an instant."""

def instants_of(timezone: str, wall: int) -> list[int]:
    """The instants at which a zone's clock shows a wall time: none in a gap, two in a fold."""

def first_instant(timezone: str, wall: int) -> int:
    """The first instant at which a zone's clock shows a wall time or, after a gap, a later one."""

def render(
    text: str,
    timezone: str,
    at: int | None,
    wall: int | None,
    biz_date: str | None,
    interval_start: int | None,
    params: dict[str, str],
) -> str:
    """A text with its placeholders filled in for one run."""

def apply_backfill(
    session: Session, plan: BackfillPlan, handlers: dict[str, Any], by: str | None = None
) -> int: ...
def ask_backfill(asker: Asker, plan: BackfillPlan, by: str | None = None) -> int: ...
def steer_backfill(
    session: Session,
    backfill: int,
    handlers: dict[str, Any],
    steer: str | None = None,
    grace: float | None = None,
) -> None: ...
def wait_backfill(session: Session, backfill: int, timeout: float | None = None) -> bool: ...
def live_of_backfill(session: Session, backfill: int) -> int: ...
def list_backfills(history: History) -> list[BackfillSummaryDict]: ...
def read_backfill(history: History, backfill: int) -> BackfillDict | None: ...
def cells_of_backfill(
    history: History, backfill: int
) -> list[tuple[int, int, str, str | None]]: ...
