"""Tasks that wait and hold nothing: ``@probe`` for something, ``gate`` for a person."""

from __future__ import annotations

from mainspring._node import open_dag
from mainspring._task import Task, decorate, no_handler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta
    from typing import Any, ParamSpec, TypeVar, overload

    P = ParamSpec("P")
    R = TypeVar("R", covariant=True)
else:
    from mainspring._typing import P, R, overload


@overload
def probe(fn: Callable[P, R], /) -> Task[P, R]: ...
@overload
def probe(  # noqa: F811
    *,
    interval: str | timedelta = "1m",
    timeout: str | timedelta | None = None,
    **options: Any,
) -> Callable[[Callable[P, R]], Task[P, R]]: ...
def probe(  # noqa: F811
    fn: Callable[..., Any] | None = None,
    /,
    *,
    interval: str | timedelta = "1m",
    timeout: str | timedelta | None = None,
    **options: Any,
) -> Any:
    """Make a task of a check that is called again and again until it says yes.

    The function is called at once and then at whole intervals after that. It is ready when it
    returns something true, which is the result of the task; ``False``, ``None``, an empty list and
    their like mean not yet. Between two calls nothing is held: no slot, no thread, no process. All
    calls together are one attempt, with one log.

    An exception fails the attempt, and is tried again like any failure. The check may be called
    more often than planned, after a crash say, so it should change nothing.

    Parameters
    ----------
    interval : str or timedelta, default "1m"
        From one call to the next, 100 milliseconds to 31 days.
    timeout : str or timedelta, optional
        How long to ask, from the first call on; the task then ends as TIMEOUT, also between two
        calls and whatever crashed meanwhile. Without one it asks until it is canceled.
    **options
        As :func:`mainspring.task` takes them. ``slots`` has no meaning here.

    Returns
    -------
    Task
        Or a decorator that makes one, when called with options only.

    Raises
    ------
    TypeError
        When what is decorated cannot be called.

    Examples
    --------
    >>> import mainspring as ms
    >>> arrived = []
    >>> with ms.Dag("letters", schedule="@daily") as dag:
    ...     @ms.probe(interval="10m", timeout="2h")
    ...     def post():
    ...         return arrived
    ...     @ms.task
    ...     def read(letters: list) -> int:
    ...         return len(letters)
    ...     _ = read(post())
    >>> with ms.testing.simulated("2024-01-15T23:50Z", [dag]) as world:
    ...     world.advance("35m")                        # asked at 0:00, 0:10 and 0:20
    ...     arrived.append("a letter")
    ...     world.advance("10m")
    ...     run = world.runs()[0]
    ...     run["post"].attempts[0].polls, run["post"].duration, run.result("read")
    (4, datetime.timedelta(seconds=1800), 1)
    """
    given = {**options, "type": "probe", "interval": interval}
    if timeout is not None:
        given["timeout"] = timeout
    return decorate(fn, given, open_dag.get())


def gate(
    name: str,
    *,
    timeout: str | timedelta | None = None,
    doc: str | None = None,
    **options: Any,
) -> Task[[], dict[str, Any]]:
    """Make a task that waits for a person's word, and holds nothing meanwhile.

    When it is reached its state is RUNNING, and stays that over crashes and restarts until somebody
    says yes or no: ``run.approve("sign_off")``, ``mainspring approve RUN sign_off``. After a yes it
    is SUCCESS, and its result says who said so: ``{"by": ..., "note": ..., "at": ...}``. After a no
    it is FAILED with the code REJECTED, and is not tried again by itself.

    Parameters
    ----------
    name : str
        Its name in the dag.
    timeout : str or timedelta, optional
        How long it waits; the task then ends as TIMEOUT. By default as long as it takes.
    doc : str, optional
        What is to be decided.
    **options
        As :func:`mainspring.task` takes them. Retries and slots have no meaning here.

    Returns
    -------
    Task
        In the dag of the ``with`` block, if the caller is in one.

    Examples
    --------
    >>> import mainspring as ms
    >>> with ms.Dag("letters") as dag:
    ...     write, send = ms.noop("write"), ms.noop("send")
    ...     _ = write >> ms.gate("sign_off", doc="Is it fit to be sent?") >> send
    >>> with ms.testing.isolated():
    ...     run = dag.run("2013-01-15", wait=False)
    ...     while run["sign_off"].state != "RUNNING":
    ...         _ = run.wait(0.01)
    ...     _ = run.approve("sign_off", note="well written").wait()
    ...     run.state, run.result("sign_off")["note"]
    ('SUCCESS', 'well written')
    """
    given: dict[str, Any] = {**options, "type": "gate"}
    for option, value in (("timeout", timeout), ("doc", doc)):
        if value is not None:
            given[option] = value
    return no_handler(name, given)
