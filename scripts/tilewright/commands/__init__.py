"""The commands of ``tilewright``, a module each, imported when its command is used.

What the help of the whole says of them is kept here, so that it imports none.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ASKED", "COMMANDS", "Command"]

ASKED = "_TILEWRIGHT_COMPLETE"
"""The variable that a shell sets which wants to know how words may go on."""


class Command(NamedTuple):
    """A command.

    Parameters
    ----------
    summary: one line, as the first of its function's docstring
    function: ``module:attribute``; of a group, a function from the words behind its name to the
        ``typer.Typer`` of its commands
    group: whether it has commands of its own
    listed: ``module:function`` to the names that its argument may be, each a
        `tilewright.registry.Work`: its help ends with them, and alone it lists them, as a group
        lists its commands
    """

    summary: str
    function: str
    group: bool = False
    listed: str = ""


COMMANDS = {
    "list": Command(
        "List the units, one line each.",
        f"{__name__}.list_units:list_units",
    ),
    "show": Command(
        "Show a unit: parameters with ranges and defaults, ports, registers, latency, source.",
        f"{__name__}.show:show",
    ),
    "generate": Command(
        "Write a unit as SystemVerilog, and a .json sidecar of its ports and timing.",
        f"{__name__}.generate:generate",
    ),
    "simulate": Command(
        "Simulate a unit with random stimuli and check it against its model.",
        f"{__name__}.simulate:simulate",
    ),
    "synth": Command(
        "Measure a unit's area and speed, and show its critical path.",
        f"{__name__}.synth:synth",
    ),
    "power": Command(
        "Measure the power of a unit in standard cells, by the toggles of all nets.",
        f"{__name__}.power:power",
    ),
    "table": Command(
        "Measure a table of results, with the papers' numbers beside them.",
        f"{__name__}.table:table",
        listed="tilewright.registry:tables",
    ),
    "run": Command(
        "Run a whole computation on a unit and check it against a reference.",
        f"{__name__}.run:run",
        group=True,
    ),
    "tcu": Command(
        "Count the cost of algorithms on a tensor unit by the (m, l)-TCU model.",
        f"{__name__}.tcu:tcu",
        group=True,
    ),
    "t2s": Command(
        "Show and check spatial mappings of tensor computations.",
        f"{__name__}.t2s:t2s",
        group=True,
    ),
    "board": Command(
        "Put an accelerator on a board, with memory and a bridge to the host.",
        f"{__name__}.board:board",
        group=True,
    ),
    "cache": Command(
        "Show what the cache holds, or remove it.",
        f"{__name__}.cache:cache",
    ),
    "completion": Command(
        "Print a script that lets a shell complete commands, units, tables and options.",
        f"{__name__}.completion:completion",
    ),
}
"""All commands by name, in the order of lists."""
