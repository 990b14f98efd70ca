"""What Prometheus is told of a scheduler and its database.

Counters begin at zero when the scheduler begins to lead, and count what happens in the database
from then on, whichever process does it. They are read in steps and each thing once: attempts and
runs by their ids, which only grow, and those that were open by name until they end. So a counter
never goes back, and a look costs what has happened since the last, however long the history is.

- An attempt is counted when it has begun (queue time) and when it has ended (outcome, duration).
- A task run is counted by its final state when its run ends; after a rerun only if it ran again. A
  rerun that begins and ends between two steps is counted by its attempts alone.
- What is open now is counted anew at each look, by indexes of open rows.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mainspring._heard import Heard
from mainspring._metrics_text import Counter, Family, Gauge, Histogram, Summary, render
from mainspring._scheduler import Watcher

if TYPE_CHECKING:
    from mainspring._mainspring import History
    from mainspring._mainspring import Session as CoreSession

__all__ = ["Metrics"]

DURATIONS = (0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14400, 43200)
QUEUES = (0.01, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600)

PAGE = 20_000
"""Attempts that one statement adds up."""

REMEMBERED = 10_000
"""Ended runs whose end is known, in case they are run again."""

FRESH = 0.5
"""A text that is younger, in seconds, is given again: many who ask cost no more than one."""

STEP = 5.0
"""Seconds between two steps when nobody asks."""

ANSWER = 2.0
"""Seconds that the core has to say what it does."""

ALIVE = 30.0
"""A scheduler that has not turned for so many seconds is not well."""

# Added up by SQLite, so that thousands of attempts a second cost little here.
_WITHIN = ", ".join(f"total(attempt.duration_ms <= {int(bound * 1000)})" for bound in DURATIONS)
_WAITED = "attempt.started_at - task_run.first_ready_at"
_QUEUED = ", ".join(
    f"total(attempt.attempt_no = 1 AND {_WAITED} <= {int(bound * 1e6)})" for bound in QUEUES
)
ATTEMPTS = f"""
SELECT
    task.key, task_version.version, attempt.outcome, count(*),
    total(attempt.duration_ms) / 1000, {_WITHIN},
    total(attempt.attempt_no = 1 AND task_run.first_ready_at IS NOT NULL),
    total(CASE WHEN attempt.attempt_no = 1 THEN max({_WAITED}, 0) END) / 1000000, {_QUEUED},
    json_group_array(attempt.id) FILTER (WHERE attempt.outcome IS NULL)
FROM attempt
CROSS JOIN task_run ON task_run.id = attempt.task_run_id
CROSS JOIN task ON task.id = task_run.task_id
CROSS JOIN task_version ON task_version.id = attempt.task_version_id
WHERE {{which}}
GROUP BY task_run.task_id, attempt.task_version_id, attempt.outcome
"""
NEW_ATTEMPTS = ATTEMPTS.format(which="attempt.id > ? AND attempt.id <= ?")
ENDED_ATTEMPTS = ATTEMPTS.format(
    which="attempt.id IN (SELECT value FROM json_each(?)) AND attempt.outcome IS NOT NULL"
)
ENDED_IDS = """
SELECT id FROM attempt WHERE id IN (SELECT value FROM json_each(?)) AND outcome IS NOT NULL
"""
LIVE_ATTEMPTS = """
SELECT attempt.id FROM attempt_lease
CROSS JOIN attempt ON attempt.task_run_id = attempt_lease.task_run_id
    AND attempt.attempt_no = attempt_lease.attempt_no
WHERE attempt.outcome IS NULL
"""
TOP = "SELECT (SELECT max(id) FROM attempt), (SELECT max(id) FROM run)"
OPEN_RUNS = "SELECT id FROM run WHERE finished_at IS NULL"
RUNS = """
SELECT run.id, run.finished_at, run.state, dag.key FROM run
CROSS JOIN dag ON dag.id = run.dag_id
WHERE run.id > ? AND run.id <= ? OR run.id IN (SELECT value FROM json_each(?))
"""
ENDED_TASK_RUNS = """
SELECT task.key, task_version.version, task_run.state, count(*)
FROM json_each(?) AS ended
CROSS JOIN task_run ON task_run.run_id = json_extract(ended.value, '$[0]')
    AND task_run.finished_at > json_extract(ended.value, '$[1]')
    AND NOT (task_run.item IS NOT NULL AND task_run.code IS 'REMOVED')
CROSS JOIN task ON task.id = task_run.task_id
CROSS JOIN task_version ON task_version.id = task_run.task_version_id
GROUP BY task_run.task_id, task_run.task_version_id, task_run.state
"""
OPEN_TASK_RUNS = """
SELECT task.key, task_version.version, found.state, found.n
FROM (
    SELECT task_id, task_version_id, state, count(*) AS n FROM task_run
    WHERE finished_at IS NULL GROUP BY state, task_id, task_version_id
) AS found
JOIN task ON task.id = found.task_id
JOIN task_version ON task_version.id = found.task_version_id
"""
POOLS = """
SELECT name, slots,
    (SELECT coalesce(sum(slots), 0) FROM attempt_lease WHERE attempt_lease.pool = pool.name)
FROM pool
"""
LIMITS = """
SELECT name, value, (
    SELECT coalesce(sum(held.value), 0) FROM attempt_lease, json_each(attempt_lease.limits) AS held
    WHERE attempt_lease.limits IS NOT NULL AND held.key = limits.name
)
FROM limits
"""
# How long the first of each queue waits: where it grows and grows, somebody starves.
WAITS = """
SELECT coalesce(task_version.pool, 'default'), min(task_run.first_ready_at)
FROM task_run JOIN task_version ON task_version.id = task_run.task_version_id
WHERE task_run.finished_at IS NULL AND task_run.state = 'READY'
GROUP BY 1
"""
SCHEDULES = """
SELECT dag.key, schedule.id, schedule.watermark_at, schedule.paused, schedule.updated_at
FROM schedule JOIN dag ON dag.id = schedule.dag_id
WHERE schedule.removed_at IS NULL AND dag.removed_at IS NULL ORDER BY dag.key, schedule.id
"""
OTHERS = """
SELECT (SELECT count(*) FROM request WHERE decided_at IS NULL),
    (SELECT epoch FROM scope WHERE name = ?)
"""


class Metrics(Watcher):
    """The metrics of one scheduler.

    Parameters
    ----------
    database : str
        Its database.
    heard : Heard
        What its events amount to.
    slots : int
        How many attempts it runs at once.
    scope : str
        What it leads.
    limit : int
        Most sets of labels of a metric.
    clock : callable
        Microseconds UTC.
    monotonic : callable
        Seconds.
    """

    def __init__(self, database: str, heard: Heard, *, slots: int, scope: str, limit: int = 1000,
                 clock: Callable[[], int] = lambda: time.time_ns() // 1000,
                 monotonic: Callable[[], float] = time.monotonic) -> None:
        self.heard = heard
        self._database = database
        self._slots = slots
        self._scope = scope
        self._clock = clock
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._history: History | None = None
        self._core: CoreSession | None = None
        self._asking = threading.Lock()
        self._turned = monotonic()
        self._text: tuple[float, str] | None = None
        self._attempt = self._run = 0
        self._live: set[int] = set()
        self._open: dict[int, int] = {}  # run to the instant after which its task runs count
        self._ended: OrderedDict[int, int] = OrderedDict()
        self._began = 0
        self._next: dict[str, tuple[Any, int | None]] = {}
        self._make(limit)

    def _make(self, limit: int) -> None:
        from mainspring import __version__

        def task(kind: Any, name: str, help: str, *more: str) -> Any:
            return kind(f"mainspring_{name}", help, ("task", "version", *more), named=2,
                        limit=limit)

        self.up = Gauge("mainspring_scheduler_up", "Whether this scheduler leads and can write.")
        self.epoch = Gauge("mainspring_scheduler_epoch", "How often the lead has changed hands.")
        self.began = Gauge("mainspring_scheduler_start_time_seconds",
                           "When this scheduler began to lead, in seconds since 1970.")
        build = Gauge("mainspring_build_info", "The version of mainspring.", ("version",))
        build.replace({(__version__,): 1})
        self.problems = Gauge("mainspring_problem_files", "Dag files with something wrong.")
        self.live = Gauge("mainspring_attempts_live", "Attempts that this scheduler runs now.")
        self.stuck = Gauge("mainspring_attempts_stuck",
                           "Attempts that were told to end and did not; they keep their slots.")
        self.slots = Gauge("mainspring_slots", "Attempts that this scheduler may run at once.")
        self.runs = Gauge("mainspring_runs_open", "Runs that are not over.")
        self.requests = Gauge("mainspring_requests_open", "Requests that nobody has decided.")
        self.pool = Gauge("mainspring_pool_slots", "Slots of a pool.", ("pool",), named=1,
                          limit=limit)
        self.used = Gauge("mainspring_pool_slots_used", "Slots of a pool that are in use.",
                          ("pool",), named=1, limit=limit)
        self.limit = Gauge("mainspring_limit_slots", "Slots of a limit.", ("limit",), named=1,
                           limit=limit)
        self.limit_used = Gauge("mainspring_limit_slots_used", "Slots of a limit that are in use.",
                                ("limit",), named=1, limit=limit)
        self.wait = Gauge("mainspring_ready_wait_seconds",
                          "How long the task run that has been ready longest waits for a slot.",
                          ("pool",), named=1, limit=limit, worst=True)
        self.overdue = Counter("mainspring_deadlines_missed_total",
                               "Task runs that were open beyond their deadline.", ("task",),
                               named=1, limit=limit)
        self.lag = Gauge("mainspring_schedule_lag_seconds",
                         "Time since the oldest fire of a dag that is due and not decided.",
                         ("dag",), named=1, limit=limit, worst=True)
        self.states = task(Gauge, "task_runs", "Task runs that are not over, by state.", "state")
        self.over = task(Counter, "task_runs_finished_total",
                         "Task runs by final state, counted when their run ends.", "state")
        self.runs_over = Counter("mainspring_runs_finished_total", "Runs that ended, by state.",
                                 ("dag", "state"), named=1, limit=limit)
        self.outcomes = task(Counter, "attempts_finished_total", "Attempts that ended, by outcome.",
                             "outcome")
        self.skipped = Counter("mainspring_fires_skipped_total",
                               "Fires that made no run, by reason.", ("reason",))
        self.took = task(Summary, "task_duration_seconds", "Wall time of attempts that ended.")
        self.waited = task(Summary, "task_queue_seconds",
                           "Time from ready to the start of the first attempt.")
        self.durations = Histogram("mainspring_attempt_duration_seconds",
                                   "Wall time of attempts that ended, of all tasks.", DURATIONS)
        self.queues = Histogram("mainspring_attempt_queue_seconds",
                                "Time from ready to the start of the first attempt, of all tasks.",
                                QUEUES)
        own: list[Family] = [self.up, self.epoch, self.began, build, self.problems]
        self.families: dict[bool, list[Family]] = {False: own, True: [
            *own, self.live, self.stuck, self.slots, self.runs, self.requests, self.pool,
            self.used, self.limit, self.limit_used, self.wait, self.overdue, self.lag, self.states,
            self.over, self.runs_over, self.outcomes,
            self.skipped, self.took, self.waited, self.durations, self.queues]}

    # --- what the scheduler tells ---

    def leads(self, core: CoreSession) -> None:
        """It leads from now on, and nothing has started yet."""
        with self._lock:
            from mainspring._mainspring import History

            history = History(self._database)
            (attempt, run), = history.sql(TOP)[1]
            self._attempt, self._run = attempt or 0, run or 0
            self._live = {row[0] for row in history.sql(LIVE_ATTEMPTS)[1]}
            self._open = {row[0]: 0 for row in history.sql(OPEN_RUNS)[1]}
            self._began = self._clock()
            self.began.set(self._began / 1e6)
            self._history, self._core = history, core
            self._turned = self._monotonic()

    def files(self, done: int, total: int) -> None:
        """It loads files."""
        self.heard.files(done, total)

    def turned(self) -> None:
        """It has turned once more."""
        self._turned = self._monotonic()

    # --- what is asked ---

    def unwell(self) -> str | None:
        """Why the scheduler is not well; nothing when it is."""
        heard = self.heard
        if heard.phase != "serving":
            return heard.phase
        if heard.stalled:
            return f"nothing can be written: {heard.stalled}"
        idle = self._monotonic() - self._turned
        return None if idle < ALIVE else f"it has not turned for {idle:.0f} s"

    def text(self) -> str:
        """All of them now."""
        with self._lock:
            now = self._monotonic()
            if self._text is None or not 0 <= now - self._text[0] < FRESH:
                self._step()
                self._look()
                leads = self._history is not None
                self._text = (now, render(self.families[leads]))
            return self._text[1]

    def step(self) -> None:
        """Count what has happened since the last step."""
        with self._lock:
            self._step()

    # --- counters ---

    def _sql(self, text: str, *parameters: Any) -> list[list[Any]]:
        assert self._history is not None
        return self._history.sql(text, list(parameters))[1]

    def _step(self) -> None:
        if self._history is None:
            return
        (attempt, run), = self._sql(TOP)
        if self._live:
            # Those that end between the two statements are taken at the next step.
            ended = [row[0] for row in self._sql(ENDED_IDS, json.dumps(sorted(self._live)))]
            if ended:
                for row in self._sql(ENDED_ATTEMPTS, json.dumps(ended)):
                    self._count(row, queued=False)
                self._live.difference_update(ended)
        while self._attempt < (attempt or 0):
            last = min(self._attempt + PAGE, attempt)
            for row in self._sql(NEW_ATTEMPTS, self._attempt, last):
                self._count(row, queued=True)
                self._live.update(json.loads(row[-1] or "[]"))
            self._attempt = last
        self._step_runs(run or 0)
        for reason, count in list(self.heard.skipped.items()):
            self.skipped.values[(reason,)] = count
        for task, count in list(self.heard.overdue.items()):
            self.overdue.values[(task,)] = count

    def _count(self, row: list[Any], *, queued: bool) -> None:
        key, version, outcome, count, took = row[:5]
        labels = (key, str(version))
        first = 5 + len(DURATIONS)
        if outcome is not None:
            self.outcomes.add((*labels, outcome), count)
            self.took.add(labels, count, took)
            self.durations.add(map(int, row[5:first]), count, took)
        if queued and row[first]:
            self.waited.add(labels, row[first], row[first + 1])
            within = row[first + 2 : first + 2 + len(QUEUES)]
            self.queues.add(map(int, within), int(row[first]), row[first + 1])

    def _step_runs(self, top: int) -> None:
        now_open = {row[0] for row in self._sql(OPEN_RUNS)}
        for run in now_open - self._open.keys():
            if run <= self._run:  # it had ended, and runs again
                self._open[run] = self._ended.get(run, self._began)
        gone = sorted(self._open.keys() - now_open)
        ended = []
        for run, finished, state, dag in self._sql(RUNS, self._run, top, json.dumps(gone)):
            if finished is None:
                self._open.setdefault(run, 0)
                continue
            ended.append([run, self._open.pop(run, 0)])
            self.runs_over.add((dag, state), 1)
            self._ended[run] = finished
            self._ended.move_to_end(run)
        self._run = max(self._run, top)
        while len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)
        if ended:
            for key, version, state, count in self._sql(ENDED_TASK_RUNS, json.dumps(ended)):
                self.over.add((key, str(version), state), count)

    # --- gauges ---

    def _look(self) -> None:
        self.problems.set(len(self.heard.problems))
        self.slots.set(self._slots)
        load = self._load()
        self.up.set(int(load is not None and self.unwell() is None))
        if load is not None:
            self.live.set(load["live"])
            self.stuck.set(load["stuck"])
        else:
            self.live.values, self.stuck.values = {}, {}
        if self._history is None:
            return
        (requests, epoch), = self._sql(OTHERS, self._scope)
        self.requests.set(requests)
        if epoch is not None:
            self.epoch.set(epoch)
        self.runs.set(len(self._open))
        pools = self._sql(POOLS)
        self.pool.replace({(name,): slots for name, slots, _ in pools})
        self.used.replace({(name,): used for name, _, used in pools})
        limits = self._sql(LIMITS)
        self.limit.replace({(name,): slots for name, slots, _ in limits})
        self.limit_used.replace({(name,): used for name, _, used in limits})
        now = self._clock()
        self.wait.replace({(pool,): max(0, now - since) / 1e6
                           for pool, since in self._sql(WAITS) if since is not None})
        self.states.replace({(key, str(version), state): count
                             for key, version, state, count in self._sql(OPEN_TASK_RUNS)})
        self.lag.replace(self._lags() if load is not None else {})

    def _load(self) -> dict[str, Any] | None:
        """What the core says; nothing where it does not in time: it waits while it cannot write."""
        core = self._core
        if core is None or self.heard.stalled or not self._asking.acquire(blocking=False):
            return None
        said: list[dict[str, Any]] = []
        done = threading.Event()

        def ask() -> None:
            from mainspring.errors import MainspringError

            try:
                said.append(core.load())
            except MainspringError:
                pass  # it has ended
            finally:
                self._asking.release()
                done.set()

        threading.Thread(target=ask, name="mainspring-metrics-ask", daemon=True).start()
        done.wait(ANSWER)
        return said[0] if said else None

    def _lags(self) -> dict[tuple[str, ...], float]:
        """Dag to seconds since its oldest fire that is due and not decided."""
        stored: dict[str, list[Any]] = {}
        for key, *its in self._sql(SCHEDULES):
            stored.setdefault(key, []).append(its)
        now = self._clock()
        known, self._next = self._next, {}
        lags: dict[tuple[str, ...], float] = {}
        for key, its in stored.items():
            if key in known and known[key][0] == its:
                self._next[key] = known[key]
            else:
                self._next[key] = (its, self._oldest(key))
            fire = self._next[key][1]
            lags[(key,)] = 0.0 if fire is None else max(0, now - fire) / 1e6
        return lags

    def _oldest(self, dag: str) -> int | None:
        """The first fire of a dag that is not decided."""
        from mainspring.errors import NotFoundError

        assert self._core is not None
        try:
            fires = [each["next_fire"] for each in self._core.schedules(dag)]
        except NotFoundError:  # removed meanwhile
            return None
        return min((at for at in fires if at is not None), default=None)
