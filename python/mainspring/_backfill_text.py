"""How the plan of a backfill looks: as text, and in a notebook."""

from itertools import groupby

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mainspring._backfill_plan import Plan

WIDEST = 62
"""Columns of the text grid; more dates than that share columns."""

MOST_TASKS = 40
"""Tasks of the text grid."""

LETTERS = {
    "missing": "M", "failed": "F", "stale_version": "V", "stale_upstream": "A", "forced": "X",
    "downstream": "D", "upstream": "H", "succeeded": "S", "running": "R", "in_backfill": "G",
    "before_start": "<", "not_expected": ".", "future": ">", "disabled": "Z", "not_asked": "-",
}
"""The letter of each reason."""

MEANINGS = {
    "missing": "nobody has computed it",
    "failed": "it failed, or was canceled or blocked",
    "stale_version": "its definition has changed since",
    "stale_upstream": "an upstream of it is newer",
    "forced": "it is there, and is asked for all the same",
    "downstream": "something that it depends on is computed",
    "upstream": "something that is computed needs it",
    "succeeded": "it is there",
    "running": "it is being computed",
    "in_backfill": "another backfill has it",
    "before_start": "before the first date of the schedule",
    "not_expected": "the schedule has no run for this date",
    "future": "not due yet",
    "disabled": "the task is disabled; force=True takes it",
    "not_asked": "failed or stale, which was not asked for; only= takes it",
}
"""What each reason says."""

CLASSES = {0: "URGENT", 2: "HIGH", 5: "NORMAL", 7: "LOW", 9: "IDLE"}


def text_of(plan: "Plan") -> str:
    """Return a plan as text."""
    lines = [*heading(plan), "", *_reasons(plan), ""]
    lines += _grids(plan)
    return "\n".join([*lines, *remarks(plan)])


def html_of(plan: "Plan") -> str:
    """Return a plan as HTML."""
    from mainspring._grid import grid_html

    rows, columns, cells = grid_of(plan)
    title, done = heading(plan)
    counts = ", ".join(f"{count:,} {reason.replace('_', ' ')}"
                       for reason, count in plan.counts.items())
    return grid_html(rows, columns, cells, title=f"{title}: {done}",
                     notes=[counts, *remarks(plan)])


def grid_of(plan: "Plan") -> "tuple[list[str], list[str], dict[tuple[str, str], tuple[str, str]]]":
    """Return a plan as the grid of all views has it: rows, columns, and cells with a title."""
    reasons = {letter: reason for reason, letter in LETTERS.items()}
    tasks, zones = plan.head["tasks"], plan.head["zones"]
    rows: list[str] = []
    labels: set[str] = set()
    cells: dict[tuple[str, str], tuple[str, str]] = {}
    for columns, lines in plan._core.grids():
        dates = [date for _, date in columns]
        several = len(set(dates)) < len(dates)
        for task, letters in lines:
            name = f"{tasks[task]['dag']}.{tasks[task]['name']}"
            rows.append(name)
            for (at, date), letter in zip(columns, letters, strict=True):
                if letter == "_":
                    continue
                label = f"{date}T{_clock(at, zones[task])}" if several and at is not None else date
                labels.add(label)
                reason = reasons[letter]
                cells[name, label] = reason, f"{name} {label}: {MEANINGS[reason]}"
    return rows, sorted(labels), cells


def _clock(at: int, zone: str) -> str:
    from mainspring._time import known_instant

    return known_instant(at, zone).strftime("%H:%M")


def heading(plan: "Plan") -> "list[str]":
    """Return what the plan is about, in two lines."""
    ask = plan.head["ask"]
    kinds = [ask["only"], *ask.get("also", [])]
    what = "reprocess" if ask.get("reprocess") else "backfill"
    name = ask["dag"]
    if ask.get("tasks"):
        name = ", ".join(f"{name}.{task}" for task in ask["tasks"][:5])
        name += f" and {len(ask['tasks']) - 5} more" if len(ask["tasks"]) > 5 else ""
    parts = [f"{what} of {name}, {ask['from']} to {ask['to']}"]
    if not ask.get("reprocess"):
        parts.append("everything" if "all" in kinds else f"only {' and '.join(kinds)}")
    parts += ["with upstream"] if ask["upstream"] else []
    parts += ["with downstream"] if ask["downstream"] else []
    parts.append("newest first" if ask["order"] == "desc" else "oldest first")
    if not len(plan):
        return [", ".join(parts), "nothing is to be done"]
    done = f"{len(plan):,} of {plan.head['cells']:,} cells are computed, "
    return [", ".join(parts), done + _counted(plan.head["runs"], "run")]


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _reasons(plan: "Plan") -> "list[str]":
    from mainspring._backfill_plan import INSIDE

    width = max((len(f"{count:,}") for count in plan.counts.values()), default=1)
    rows = [(reason in INSIDE, reason, count) for reason, count in plan.counts.items()]
    lines = []
    for inside, group in groupby(rows, key=lambda row: row[0]):
        lines.append("computed:" if inside else "left as it is:")
        lines += [f"  {LETTERS[reason]} {count:>{width},} {reason.replace('_', ' '):14} "
                  f"{MEANINGS[reason]}" for _, reason, count in group]
    return lines


def _grids(plan: "Plan") -> "list[str]":
    tasks = plan.head["tasks"]
    several = len({task["dag"] for task in tasks}) > 1
    lines: list[str] = []
    shown = 0
    for columns, rows in plan._core.grids():
        dates = [date for _, date in columns]
        rows = [(task, letters) for task, letters in rows if letters.strip("_")]
        if not rows or not dates:
            continue
        names = [f"{tasks[task]['dag']}.{tasks[task]['name']}" if several else tasks[task]["name"]
                 for task, _ in rows]
        wide = min(max(map(len, names)), 40)
        step = -(-len(dates) // WIDEST)
        per = f", {_per(dates, step)} a column" if step > 1 else ""
        lines.append(f"{'':{wide}}  {dates[0]} to {dates[-1]}{per}")
        for name, (_, letters) in zip(names, rows, strict=True):
            shown += 1
            if shown <= MOST_TASKS:
                lines.append(f"{_cut(name, wide):{wide}}  {_condensed(letters, step)}")
    if shown > MOST_TASKS:
        lines.append(f"... {_counted(shown - MOST_TASKS, 'more task')}")
    return [*lines, ""] if lines else []


def _per(dates: "Sequence[str]", step: int) -> str:
    noun = "date" if len(set(dates)) == len(dates) else "fire"
    return _counted(step, noun)


def _cut(name: str, wide: int) -> str:
    return name if len(name) <= wide else name[: wide - 3] + "..."


def _condensed(letters: str, step: int) -> str:
    """Several cells as one letter: the first of the list that is among them."""
    if step == 1:
        return letters.replace("_", " ").rstrip()
    order = [LETTERS[reason] for reason in LETTERS]
    parts = (set(letters[at: at + step]) for at in range(0, len(letters), step))
    return "".join(next((each for each in order if each in part), " ") for part in parts).rstrip()


def remarks(plan: "Plan") -> "list[str]":
    """Return what else there is to know: time, class, conflicts, how to go on."""
    ask = plan.head["ask"]
    lines = []
    if len(plan):
        lines.append(_time(plan))
        priority = f"{ask['priority']} {CLASSES.get(ask['priority'], '')}".strip()
        lines.append(f"class: {priority}, or less urgent; at most {ask['share']}% of each pool")
    lines += _conflicts(plan)
    if len(plan):
        lines.append("plan.apply() does exactly this")
    elif "succeeded" in plan.counts and ask["only"] != "all":
        lines.append("only='all' computes again what is there")
    return lines


def _time(plan: "Plan") -> str:
    from mainspring._table import duration

    runs = plan.head["ask"]["max_active"]
    estimate = plan.estimate
    at_once = f"{_counted(runs, 'run')} at once"
    if estimate.p50 is None or estimate.p90 is None:
        return f"time: no history of its tasks; {at_once}"
    text = (f"time: about {duration(estimate.p50.total_seconds())}, "
            f"{duration(estimate.p90.total_seconds())} where everything is slow; {at_once}")
    if estimate.no_history:
        names = ", ".join(estimate.no_history[:3])
        more = f" and {len(estimate.no_history) - 3} more" if len(estimate.no_history) > 3 else ""
        text += f"; without {names}{more}, of which there is no history"
    return text


def _conflicts(plan: "Plan") -> "list[str]":
    count = plan.head["conflict_count"]
    lines = []
    for each in plan.conflicts[:3]:
        who = f"run {each.run}" if each.run is not None else f"backfill {each.backfill}"
        lines.append(f"conflict: {each.dag}.{each.task} {each.biz_date} is open in {who}; "
                     "it is left out")
    if count > 3:
        lines.append(f"conflict: {_counted(count - 3, 'more cell')}; plan.conflicts")
    return lines
