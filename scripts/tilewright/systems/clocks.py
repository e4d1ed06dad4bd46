"""The table of clocks, which is about the units of all systems."""

from ..registry import System, Work

SYSTEM = System(
    name="clocks",
    entries=(),
    tables={
        "clocks": Work(
            "tilewright.tables.clocks:clocks",
            "Clock and area of every unit in five cell libraries, for area and for speed.",
        ),
    },
    paper="All units",
    pages=("clocks.md",),
    place=0,
)
