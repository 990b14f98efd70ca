"""A plan is applied. The one way in is :func:`apply`."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from mainspring._backfill_plan import Plan
    from mainspring.cli._console import Console


def apply(plan: "Plan", **options: "Any") -> "Any":
    """Do what a plan says; see ``Plan.apply``."""
    raise NotImplementedError("plans cannot be applied yet")


def apply_from_command_line(plan: "Plan", options: "argparse.Namespace",
                            console: "Console") -> int:
    """Do what a plan says, and show how it goes; the exit code of the command."""
    apply(plan)
    return 0
