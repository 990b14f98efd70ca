"""Generic base classes for type checkers that cost nothing at run time.

``typing`` takes a good part of the time that importing this package may take, and nothing here
needs it while running.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Generic:
    """Stands in for ``typing.Generic``: takes parameters and forgets them."""

    __slots__ = ()

    def __class_getitem__(cls, parameters: "Any") -> type:
        return cls


P = R = None


def overload(function: "Any") -> "Any":
    """Stand in for ``typing.overload``."""
    return function
