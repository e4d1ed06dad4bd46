"""Values that a process sets first and then perhaps again, as the last of its branches.

Each signal is then set once whenever the process runs. (In Icarus 11 processes that set one twice
may wake each other, and a simulation stand still: processes of its ``always_comb`` start at changes
that others see. ``always @*`` is no way out: it does not run until something that it reads changes,
and so leaves unknown what depends on an input that is not known yet.)
"""

from __future__ import annotations

from collections.abc import Sequence

from .statements import Assign, Branch, Item, Process, Statement, Switch

__all__ = ["with_last_branches"]


def _sets(body: Sequence[Statement], target: str) -> bool:
    """Returns whether a body is one assignment to the whole target, and nothing else."""
    only = body[0] if len(body) == 1 else None
    return isinstance(only, Assign) and (only.target.kind, only.target.word) == ("name", target)


def _body(body: list[Statement]) -> list[Statement]:
    first, switches = body[0], [s for s in body[1:] if isinstance(s, Switch)]
    if not isinstance(first, Assign) or not switches or len(switches) < len(body) - 1:
        return body
    branches = [branch for switch in reversed(switches) for branch in switch.branches]
    # The last one of several ifs takes effect.
    chain = len(switches) == 1 or all(switch.subject is None for switch in switches)
    if not chain or not all(branch.labels for branch in branches):
        return body
    bodies: list[Sequence[Statement]] = [[first], *(branch.body for branch in branches)]
    if not all(_sets(each, first.target.word) for each in bodies):
        return body
    return [Switch(switches[0].subject, [*branches, Branch((), [first])])]


def with_last_branches(items: Sequence[Item]) -> list[Item]:
    """The items with such processes."""
    return [
        Process(item.head, _body(item.body))
        if isinstance(item, Process) and not item.clocked and item.body
        else item
        for item in items
    ]
