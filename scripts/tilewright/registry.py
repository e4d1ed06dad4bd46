"""Registers systems for the command line, the tests over all units and the docs.

A module of ``systems/`` is a registration: it holds a :class:`System` named ``SYSTEM``. The
package finds every module there. A registration names what takes time to import, as
``module:attribute``; it is imported when it is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, NamedTuple

from .hw.spec.config import Config
from .hw.spec.unit import Unit

__all__ = [
    "Entry",
    "System",
    "Work",
    "also_on",
    "commands",
    "entries",
    "registered",
    "systems",
    "tables",
]


class Work(NamedTuple):
    """A function behind a name on the command line.

    Parameters
    ----------
    function: ``module:function``, imported when it is used
    summary: one line, for lists of such names
    group: title above it and its like in lists; of a table by default the paper of its system
    """

    function: str
    summary: str
    group: str = ""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A unit of a system.

    Parameters
    ----------
    unit: what is built
    simulate: by simulator (verilator, icarus) the function behind ``simulate``: from the unit, its
        configuration, ``seed``, ``count`` and ``waves`` to a report, which has ``passed`` and
        ``print(console)`` and ``as_json()``
    golden: the function behind the tests that know a unit by its sidecar only: from its
        configuration, the name of an operation there, its sizes by name and its ``in`` operands by
        name to its ``out`` operands by name. A matrix is a uint64 array of container words, a
        sparse one ``{(row, column): word}``; tensors have further indices behind the column. Empty
        if jobs run programs
    exercise: of an accelerator, the function that has a few small jobs of every kind run on any
        device, through the unit's driver, and checks what they leave: from the device and a NumPy
        generator to the number of jobs
    soak: of an accelerator, the function that draws long random jobs, has them run through the
        unit's driver and checks what they leave, for ``scripts/test --soak``: from the device and a
        NumPy generator to a list of (address, bytes) of memory that jobs leave undefined, or to
        None. Without it the exercise is run
    limits: the hand-written table of what its parameters, and the registers of its jobs, may hold
    models: of an accelerator, what is behind the backends of a device: "model", the class of its
        model, from a configuration and the size of the memory; "cycles", that of its cycle model if
        there is one, which takes ``memory``, what each channel does, and ``gigahertz``, too
    driver: of an accelerator, the class of its driver, from a device
    bench_job: of an accelerator, a function ``job`` that runs a small job through the driver: from
        the driver and a NumPy generator to the results. ``generate --cocotb`` writes its module
        into the bench
    small: parameters of a configuration that takes seconds to build and to prove equal
    variants: changes of the small one that make another structure of it, or that a choice of a
        parameter needs; the tests over all units build each, and each choice of each option
    matrix_unit: whether it takes operations and gives results as all matrix units do, so that the
        applications of dense matrices run on it
    """

    unit: Unit
    simulate: Mapping[str, str]
    golden: str = ""
    exercise: str = ""
    soak: str = ""
    limits: str = ""
    models: Mapping[str, str] = field(default_factory=dict)
    driver: str = ""
    bench_job: str = ""
    small: Mapping[str, Any] = field(default_factory=dict)
    variants: tuple[Mapping[str, Any], ...] = ()
    matrix_unit: bool = False

    @property
    def backends(self) -> tuple[str, ...]:
        """The backends that a device of this accelerator may have; none for another unit."""
        return ("rtl", *self.models) if self.unit.jobs is not None else ()

    @property
    def small_config(self) -> Config:
        """The small configuration."""
        return self.unit.config(**self.small)


@dataclass(frozen=True, kw_only=True)
class System:
    """A system: its units and everything about them that users reach.

    Parameters
    ----------
    name: of the system
    entries: its units
    tables: functions behind ``table`` by name: from the target and ``progress``, which is told
        what comes next, to a table, which has ``print(console)`` and ``to_json()``
    commands: functions behind ``run`` by name, of modules that import little: they are what a help
        and a refusal wait for
    also: functions that take over another system's command, by its name, when the first unit of
        this system is asked for
    groups: the same of other groups of commands that `tilewright.commands` names, by group
    paper: what its tables are about, their title in lists
    pages: its pages below ``docs``
    place: where it stands in lists; among equals names decide
    """

    name: str
    entries: tuple[Entry, ...]
    tables: Mapping[str, Work] = field(default_factory=dict)
    commands: Mapping[str, Work] = field(default_factory=dict)
    also: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, Work]] = field(default_factory=dict)
    paper: str = ""
    pages: tuple[str, ...] = ()
    place: int = 100

    def names(self) -> Iterator[str]:
        """Yields the names that no other system may have: of units, tables and commands."""
        yield from (f"unit {entry.unit.name}" for entry in self.entries)
        yield from (f"table {name}" for name in self.tables)
        yield from (f"command {name}" for name in self.commands)
        for group, those in self.groups.items():
            yield from (f"command {group} {name}" for name in those)


_systems: dict[str, System] = {}


def _discover() -> None:
    # Named, not imported: the registrations import this module.
    folder = import_module(f"{__package__}.systems")
    for found in iter_modules(folder.__path__):
        if not found.name.startswith("_"):
            _add(import_module(f"{folder.__name__}.{found.name}").SYSTEM)


def _add(system: System) -> None:
    taken = {name for other in _systems.values() for name in other.names()}
    twice = [name for name in system.names() if name in taken]
    if system.name in _systems:
        twice.insert(0, f"system {system.name}")
    if twice:
        raise ValueError(f"{twice[0]} is registered twice")
    _systems[system.name] = system


def systems() -> list[System]:
    """All systems, in the order of lists."""
    if not _systems:
        _discover()
    return sorted(_systems.values(), key=lambda system: (system.place, system.name))


@contextmanager
def registered(system: System) -> Iterator[System]:
    """A system that is there for a while, as if it were a module of ``systems/``.

    Raises ValueError if it, a unit, a table or a command has a name that is taken.
    """
    systems()
    _add(system)
    try:
        yield system
    finally:
        del _systems[system.name]


def entries() -> dict[str, Entry]:
    """All units by name."""
    return {entry.unit.name: entry for system in systems() for entry in system.entries}


def tables() -> dict[str, Work]:
    """All tables by name."""
    return {
        name: made if made.group else made._replace(group=system.paper)
        for system in systems()
        for name, made in system.tables.items()
    }


def commands(group: str = "run") -> dict[str, Work]:
    """The functions of all commands of a group by name."""
    found: dict[str, Work] = {}
    for system in systems():
        found |= system.commands if group == "run" else system.groups.get(group, {})
    return found


def also_on(command: str) -> dict[str, str]:
    """The units that a command of another system runs on, too, and by what function."""
    found = [system for system in systems() if command in system.also]
    return {system.entries[0].unit.name: system.also[command] for system in found}
