"""The plan of a backfill: a value that is looked at, saved, compared, and applied as it is."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from datetime import date
    from typing import Any

    from mainspring._backfill_rows import Cell, Conflict, Estimate, PlannedRun
    from mainspring._mainspring import BackfillPlan as CorePlan

INSIDE = ("missing", "failed", "stale_version", "stale_upstream", "forced", "downstream",
          "upstream")
"""Why a cell is computed; all other reasons are why one is not."""


class Plan:
    """What a backfill would do: each cell with its reason, and the runs in their order.

    :func:`mainspring.backfill` and :func:`mainspring.reprocess` make one, :meth:`load` reads one
    that was saved. Its length is the number of cells that it computes.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.Dag("orders", schedule="0 2 * * *") as dag:
    ...     @ms.task
    ...     def extract(): ...
    >>> with ms.testing.isolated():
    ...     _ = dag.run("2024-01-02")
    ...     plan = ms.backfill(dag, "2024-01-01", "2024-01-03")
    >>> len(plan), plan.counts
    (2, {'missing': 2, 'succeeded': 1})
    >>> [str(cell.biz_date) for cell in plan.cells if cell.included]
    ['2024-01-01', '2024-01-03']
    """

    def __init__(self, core: "CorePlan", database: "Any" = None) -> None:
        self._core = core
        self._database = database
        self._head: "dict[str, Any] | None" = None
        self._cells: "list[Cell] | None" = None
        self._runs: "list[PlannedRun] | None" = None

    @property
    def head(self) -> "dict[str, Any]":
        """All of it but cells and runs, as plain data."""
        if self._head is None:
            self._head = self._core.head()
        return self._head

    @property
    def dag(self) -> str:
        """The dag that was asked for."""
        return str(self.head["ask"]["dag"])

    @property
    def cells(self) -> "list[Cell]":
        """All cells, by task and date, those included that are not computed."""
        if self._cells is None:
            self._cells = list(self._read_cells(None))
        return self._cells

    def cells_of(self, *reasons: str) -> "list[Cell]":
        """Return the cells with one of these reasons, such as ``"failed"``."""
        return list(self._read_cells(list(reasons)))

    def _read_cells(self, only: "list[str] | None") -> "Iterator[Cell]":
        from mainspring._backfill_rows import Cell
        from mainspring._time import day, instant

        tasks, zones = self.head["tasks"], self.head["zones"]
        inside = frozenset(INSIDE)
        days: dict[str, date] = {}
        for task, text, at, reason in self._core.cells(only=only):
            of = tasks[task]
            biz_date = days.get(text)
            if biz_date is None:
                biz_date = days[text] = day(text)
            yield Cell(of["dag"], of["name"], biz_date, instant(at, zones[task]), reason,
                       reason in inside)

    @property
    def runs(self) -> "list[PlannedRun]":
        """The runs in the order in which they are made."""
        if self._runs is None:
            from mainspring._backfill_rows import PlannedRun
            from mainspring._time import day
            from mainspring._time import known_instant as instant

            sets = self.head["sets"]
            names = [tuple(self.head["tasks"][task]["name"] for task in each["tasks"])
                     for each in sets]
            self._runs = [
                PlannedRun(sets[of]["dag"], names[of], day(text), instant(at, zone),
                           instant(start, zone), instant(end, zone), group)
                for of, group, text, at, start, end in self._core.runs(0, self.head["runs"])
                for zone in (sets[of]["timezone"],)
            ]
        return self._runs

    @property
    def counts(self) -> "dict[str, int]":
        """How many cells there are of each reason."""
        return {reason: count for reason, count in self.head["counts"]}

    @property
    def conflicts(self) -> "list[Conflict]":
        """Cells that are left out because they are being computed; the first thousand."""
        from mainspring._backfill_rows import Conflict
        from mainspring._time import day
        from mainspring._time import known_instant as instant

        zones = {(task["dag"], task["name"]): zone
                 for task, zone in zip(self.head["tasks"], self.head["zones"], strict=True)}
        return [Conflict(each["dag"], each["task"], day(each["biz_date"]),
                         instant(each["nominal_at"], zones[each["dag"], each["task"]]),
                         each["run"], each["backfill"])
                for each in self.head["conflicts"]]

    @property
    def estimate(self) -> "Estimate":
        """How long it takes, by the median of each task's attempts and by their slowest tenth."""
        from datetime import timedelta

        from mainspring._backfill_rows import Estimate

        found = self.head["estimate"]
        times = [None if found[name] is None else timedelta(milliseconds=found[name])
                 for name in ("p50_ms", "p90_ms")]
        tasks = self.head["tasks"]
        unknown = tuple(f"{tasks[at]['dag']}.{tasks[at]['name']}" for at in found["unknown"])
        return Estimate(times[0], times[1], unknown)

    @property
    def hash(self) -> str:
        """What it was computed from: two plans with the same hash do the same."""
        return self._core.hash

    def to_json(self) -> str:
        """Return all of it as JSON text, which :meth:`load` reads."""
        return self._core.to_json()

    def save(self, path: "str | os.PathLike[str]") -> None:
        """Write it to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_json())

    @classmethod
    def load(cls, source: "str | os.PathLike[str]", *, database: "Any" = None) -> "Plan":
        """Read a plan from JSON text, or from a file that has it.

        Raises
        ------
        SpecError
            ``bad_plan`` where it is something else.
        """
        from mainspring._mainspring import BackfillPlan

        if isinstance(source, str) and source.lstrip().startswith("{"):
            text = source
        else:
            with open(source, encoding="utf-8") as file:
                text = file.read()
        return cls(BackfillPlan.load(text), database)

    def diff(self, other: "Plan") -> "PlanDiff":
        """Return what has changed from this plan to one that was computed later."""
        return PlanDiff(self._core.diff(other._core))

    def again(self) -> "Plan":
        """Return the plan of the same question as the world is now."""
        from mainspring._backfill import plan_of

        return plan_of(dict(self.head["ask"]), self._database)

    def apply(self, **options: "Any") -> "Any":
        """Do exactly this, or refuse and say what has changed since."""
        from mainspring._backfill_apply import apply

        return apply(self, **options)

    def __len__(self) -> int:
        return len(self._core)

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self._core == other._core

    def __hash__(self) -> int:
        return hash(self._core)

    def __repr__(self) -> str:
        from mainspring._backfill_text import text_of

        return text_of(self)

    def _repr_html_(self) -> str:
        from mainspring._backfill_text import html_of

        return html_of(self)


class PlanDiff:
    """What has changed from one plan to a later one; false where nothing has."""

    def __init__(self, found: "dict[str, Any]") -> None:
        from mainspring._time import day

        self.definitions: "list[str]" = found["definitions"]
        """What changed of tasks: ``orders.clean: version 3 -> 4``."""
        self.came, self.went = (
            [(each["task"], day(each["biz_date"]), each["why"]) for each in found[name]]
            for name in ("came", "went")
        )
        self.came_count: int = found["came_count"]
        self.went_count: int = found["went_count"]
        self.asked_the_same: bool = found["asked"]
        self.same: bool = found["same"]

    def __bool__(self) -> bool:
        return not self.same

    def __repr__(self) -> str:
        if self.same:
            return "nothing has changed"
        lines = [] if self.asked_the_same else ["they answer different questions"]
        lines += self.definitions
        for word, cells, count in (("in", self.came, self.came_count),
                                   ("out", self.went, self.went_count)):
            for task, biz_date, reason in cells[:10]:
                lines.append(f"{word}: {task} {biz_date} ({(reason or '').replace('_', ' ')})")
            if count > 10:
                lines.append(f"{word}: {count - 10} more")
        moved = "the same cells are computed, of task runs that have moved since"
        return "\n".join(lines or [moved])
