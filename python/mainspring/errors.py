"""Every exception that mainspring raises.

One root, :class:`MainspringError`, and few branches, each named after what the caller can do.
A branch is also the built-in exception that says the same, so ``except LookupError`` works as
any Python user expects.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "AttemptCanceled",
    "AttemptTimeout",
    "ConfigError",
    "ConflictError",
    "CycleError",
    "Fail",
    "HandlerError",
    "MainspringError",
    "NotFoundError",
    "Problem",
    "SpecError",
    "StoreError",
]


class Problem:
    """One thing wrong with a definition or a request.

    Attributes
    ----------
    code : str
        Stable word for programs, such as ``unknown_upstream``.
    place : str
        Where it is, as the author would say it: ``flights.clean.retries``.
    message : str
        What is wrong, in one sentence.
    hint : str or None
        What to do next, if that is known.

    Examples
    --------
    >>> import mainspring as ms
    >>> print(ms.Problem("unknown_upstream", "flights.clean", "there is no task 'extrat'",
    ...                  "did you mean 'extract'?"))
    flights.clean: there is no task 'extrat' [unknown_upstream]
      hint: did you mean 'extract'?
    """

    __slots__ = ("code", "hint", "message", "place")

    def __init__(self, code: str, place: str, message: str, hint: "str | None" = None) -> None:
        self.code = code
        self.place = place
        self.message = message
        self.hint = hint

    def __repr__(self) -> str:
        return f"Problem({self.code!r}, {self.place!r}, {self.message!r})"

    def __str__(self) -> str:
        text = f"{self.place}: {self.message}" if self.place else self.message
        text = f"{text} [{self.code}]"
        return f"{text}\n  hint: {self.hint}" if self.hint else text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Problem):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((self.code, self.place, self.message))


class MainspringError(Exception):
    """The root of what mainspring raises; catch it to catch all of it.

    Examples
    --------
    >>> import mainspring as ms
    >>> issubclass(ms.SpecError, ms.MainspringError)
    True
    """


class SpecError(MainspringError, ValueError):
    """A definition or a request is wrong. It lists everything that is, not only the first.

    Attributes
    ----------
    problems : list of Problem
        All that is wrong, in the order in which it was found; never empty.
    code : str
        The code of the first one.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.Dag("flights") as dag:
    ...     @ms.task(depends_on=["extrat"])
    ...     def clean() -> None: ...
    ...     @ms.task
    ...     def extract() -> None: ...
    >>> try:
    ...     dag.check()
    ... except ms.SpecError as error:
    ...     print(len(error.problems))
    1
    """

    def __init__(self, problems: "list[Problem] | Problem | str") -> None:
        if isinstance(problems, str):
            problems = [Problem("spec", "", problems)]
        elif isinstance(problems, Problem):
            problems = [problems]
        self.problems: list[Problem] = list(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    @property
    def code(self) -> str:
        """The code of the first problem."""
        return self.problems[0].code if self.problems else "spec"

    def __reduce__(self) -> "tuple[type, tuple[list[Problem]]]":
        return type(self), (self.problems,)

    @staticmethod
    def from_core(problems: "list[dict[str, str | None]]") -> "SpecError":
        """Build the exception from the core's list of ``{code, place, message, hint}``.

        Parameters
        ----------
        problems : list of dict
            What the core found.

        Returns
        -------
        SpecError
            A :class:`CycleError` when every problem is a cycle.

        Examples
        --------
        >>> from mainspring.errors import SpecError
        >>> SpecError.from_core([{"code": "cycle", "place": "d", "message": "a -> b -> a"}])
        CycleError('d: a -> b -> a [cycle]')
        """
        found = [
            Problem(
                item.get("code") or "spec",
                item.get("place") or "",
                item.get("message") or "",
                item.get("hint"),
            )
            for item in problems
        ]
        only_cycles = bool(found) and all(problem.code.startswith("cycle") for problem in found)
        return (CycleError if only_cycles else SpecError)(found)


class CycleError(SpecError):
    """Tasks wait for each other in a circle; the message names the whole path."""


class ConfigError(SpecError):
    """A setting is wrong: an argument, a ``MAINSPRING_*`` variable or the project file."""


class NotFoundError(MainspringError, LookupError):
    """There is no such run, task or dag in the database."""


class ConflictError(MainspringError):
    """What was asked does not fit the present state, such as a rerun of what is running."""


class StoreError(MainspringError, OSError):
    """The database cannot be opened, read or written."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class _Unreadable(StoreError):
    """One row of the database says nothing that can be understood; others may be as they should."""


class HandlerError(MainspringError):
    """A task of a run failed. ``__cause__`` is the author's own exception.

    It is the very object that the handler raised, with the traceback of the author's code, when
    the handler ran in this process; otherwise there is no cause, and the message has the text.

    Attributes
    ----------
    run : Run or None
        The run.
    failures : list of TaskRun
        Every task run that ended badly by itself, the first to end first.
    """

    def __init__(
        self, message: str, *, run: object = None, failures: "list[Any] | None" = None
    ) -> None:
        super().__init__(message)
        self.run = run
        self.failures = failures or []


class Fail(MainspringError):
    """Raise it in a task to fail the attempt with a code of your own.

    Parameters
    ----------
    message : str
        What went wrong.
    code : str, default "FAIL"
        The error code of the attempt, as ``retry_on`` names it.

    Examples
    --------
    >>> import mainspring as ms
    >>> error = ms.Fail("only 3 of 24 files are there", code="INCOMPLETE")
    >>> error.code
    'INCOMPLETE'
    """

    def __init__(self, message: str = "", *, code: str = "FAIL") -> None:
        super().__init__(message)
        self.code = code


class _Stop(BaseException):
    """Raised inside a handler; a ``BaseException``, so that ``except Exception`` lets it pass."""


class AttemptTimeout(_Stop):
    """Raised inside a handler whose attempt ran out of its own time.

    Let it pass, or clean up and raise it again: it asks the handler to stop, and what the
    handler returns after it is not kept.
    """


class AttemptCanceled(_Stop):
    """Raised inside a handler whose attempt is being stopped: cancel, Ctrl-C or shutdown.

    Let it pass, or clean up and raise it again: it asks the handler to stop, and what the
    handler returns after it is not kept.
    """
