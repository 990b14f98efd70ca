"""The states that views show: a letter for each, a tone, and which is the worst of several."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

STATES: "dict[str, tuple[str, str, str]]" = {
    # state: letter, tone of the views, style of a terminal; the worst first
    "FAILED": ("F", "bad", "41;97"),
    "TIMEOUT": ("T", "bad", "41;97"),
    "LOST": ("L", "bad", "41;97"),
    "INTERRUPTED": ("I", "hold", "33"),
    "BLOCKED": ("B", "hold", "33"),
    "CANCELED": ("C", "hold", "33"),
    "PREEMPTED": ("E", "hold", "33"),
    "SUPERSEDED": ("J", "hold", "33"),
    "RETRY_WAIT": ("W", "again", "35"),
    "RUNNING": ("R", "run", "44;97"),
    "MISSING": ("M", "todo", "1;34"),
    "STALE": ("O", "old", "1;33"),
    "STALE_VERSION": ("V", "old", "1;33"),
    "STALE_UPSTREAM": ("A", "old", "1;33"),
    "FORCED": ("X", "force", "1;35"),
    "DOWNSTREAM": ("D", "force", "1;35"),
    "UPSTREAM": ("H", "todo", "1;34"),
    "IN_BACKFILL": ("G", "wait", "36"),
    "READY": ("Q", "wait", "36"),
    "PENDING": ("P", "wait", "36"),
    "NOT_STARTED": ("N", "off", "2"),
    "SKIPPED": ("K", "off", "2"),
    "SUCCESS": ("S", "ok", "32"),
    "SUCCEEDED": ("S", "ok", "32"),
    "UNCHANGED": ("U", "ok", "32"),
    "FUTURE": (">", "off", "2"),
    "BEFORE_START": ("<", "off", "2"),
    "NOT_ASKED": ("-", "off", "2"),
    "DISABLED": ("Z", "off", "2"),
    "NOT_EXPECTED": (".", "off", "2"),
}
"""States of runs, task runs and attempts, and the words of a plan, in capitals."""

UNKNOWN = ("?", "hold", "33")
"""Of a state that is not in the list: a newer version wrote it."""

OVER = frozenset(("SUCCESS", "SKIPPED", "FAILED", "TIMEOUT", "CANCELED", "BLOCKED", "UNCHANGED"))
"""Those in which nothing of a task run moves by itself."""

BAD = ("FAILED", "TIMEOUT", "CANCELED", "BLOCKED")
"""Those that a line about progress names."""

_RANK = {state: number for number, state in enumerate(STATES)}
_RANK_OF_UNKNOWN = _RANK["INTERRUPTED"] - 0.5


def _look(state: str) -> "tuple[str, str, str]":
    return STATES.get(state) or STATES.get(state.upper(), UNKNOWN)


def letter(state: str) -> str:
    """Return the letter of a state.

    Examples
    --------
    >>> from mainspring._states import letter
    >>> [letter(state) for state in ("SUCCESS", "FAILED", "missing", "WHAT")]
    ['S', 'F', 'M', '?']
    """
    return _look(state)[0]


def tone(state: str) -> str:
    """Return the tone of a state: the class that gives it its colours."""
    return _look(state)[1]


def terminal_style(state: str) -> str:
    """Return the style of a state on a terminal."""
    return _look(state)[2]


def rank(state: str) -> float:
    """Return how far from the worst a state is."""
    found = _RANK.get(state)
    return _RANK.get(state.upper(), _RANK_OF_UNKNOWN) if found is None else found


def worst(states: "Iterable[str]") -> str:
    """Return the state that somebody who looks on should see of several.

    Examples
    --------
    >>> from mainspring._states import worst
    >>> worst(["SUCCESS", "FAILED", "RUNNING"])
    'FAILED'
    """
    return min(states, key=rank)


def by_rank(states: "Iterable[str]") -> "list[str]":
    """Return the states, the worst first."""
    return sorted(states, key=rank)
