"""Lists the values that an argument or option may have: for shells that complete it, and for
helps."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .registry import Entry

__all__ = [
    "SIMULATORS",
    "a_matrix_unit",
    "a_setting",
    "a_simulator",
    "a_table",
    "a_target",
    "a_unit",
    "asked_words",
    "entry_in",
]


SIMULATORS = ("verilator", "icarus")
"""The simulator of a unit."""


def asked_words() -> Sequence[str]:
    """The words that a shell asks about, behind the program's name, up to the unfinished one."""
    text = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    return text.split()[1:]


def entry_in(words: Sequence[str]) -> Entry | None:
    """The unit that a command line names, even if the line is incomplete or wrong. A computation
    that names none has the first unit of its system."""
    from .registry import entries, systems

    known = entries()
    found = [known[word] for word in words if word in known]
    if words[:1] == ["run"]:
        asked = [one for one in systems() if words[1:2] and words[1] in one.commands]
        found += [entry for one in asked for entry in one.entries[:1]]
    return found[0] if found else None


def a_unit() -> list[tuple[str, str]]:
    """Units, and what each is."""
    from .registry import entries

    return [(name, entry.unit.summary) for name, entry in entries().items()]


def a_matrix_unit() -> list[tuple[str, str]]:
    """Units on which dense matrices are multiplied, and what each is."""
    from .registry import entries

    known = entries().items()
    return [(name, entry.unit.summary) for name, entry in known if entry.matrix_unit]


def a_table() -> list[tuple[str, str]]:
    """Tables, and what each is."""
    from .registry import tables

    return [(name, work.summary) for name, work in tables().items()]


def a_target() -> list[tuple[str, str]]:
    """Targets of synthesis that have a name."""
    return [
        ("cmos", "static CMOS gates, areas in transistors"),
        ("asap7", "ASAP7, 7 nm, below --liberty-path"),
        ("gscl45nm", "FreePDK45, 45 nm, below --liberty-path"),
        ("sg13g2", "IHP SG13G2, 130 nm, below --liberty-path"),
        ("sky130hd", "SKY130 HD, 130 nm, below --liberty-path"),
        ("ecp5", "Lattice ECP5, placed and routed"),
        ("ice40", "Lattice iCE40, placed and routed"),
    ]


def a_simulator() -> list[str]:
    """Simulators of the unit that is named."""
    entry = entry_in(asked_words())
    return list(entry.simulate) if entry else list(SIMULATORS)


def a_setting() -> list[tuple[str, str]]:
    """Each parameter of the unit that is named, with its default, and what it must be."""
    entry = entry_in(asked_words())
    if entry is None:
        return []
    config = entry.unit.config()
    return [
        (f"{item.name}={_text(config.default_of(item))}", item.metadata["allowed"].describe())
        for item in config.parameters()
    ]


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)
