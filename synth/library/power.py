"""Power of cells, from Liberty: energies of their transitions, and leakage.

Timing does without, so the libraries of :mod:`.liberty` have none of it. What is here is read when
it is asked for, and only the cells that are: of a large library a small part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .cells import Library, Table
from .liberty import TableReader, liberty_content, naming
from .liberty_text import Group, parse_liberty

__all__ = ["CellPower", "InternalPower", "Leakage", "LibraryPower", "read_power"]

_CELL = re.compile(r'^[ \t]*cell[ \t]*\([ \t]*"?([^")\s]+)"?[ \t]*\)', re.MULTILINE)
_BRACE = re.compile(r"[{}]")
_SCALES = {"": 1e3, "m": 1.0, "u": 1e-3, "n": 1e-6, "p": 1e-9, "f": 1e-12}
"""Prefixes of a watt, in mW."""


@dataclass(frozen=True, eq=False)
class InternalPower:
    """Energy inside a cell with each transition of one of its pins.

    Members
    -------
    pin: that rises or falls
    related: pin that makes it do so; empty for an input, and where the library does not say
    when: condition, a function of the cell's other pins; empty without one
    supply: pin of the supply that delivers the energy, empty where the library has none
    volts: of that supply
    tables: in pJ, of a rising and of a falling ``pin``, over the slew of ``related`` (or of ``pin``
        itself) in ns and the load of an output in pF
    """

    pin: str
    related: str
    when: str
    supply: str
    volts: float
    tables: tuple[Table | None, Table | None]


@dataclass(frozen=True)
class Leakage:
    """Leakage in mW of a cell whose pins are as ``when`` says; in any state if it is empty."""

    when: str
    power: float


@dataclass(frozen=True)
class CellPower:
    """Power of a cell.

    Members
    -------
    internal, leakage: in the library's order; leakage from supplies of 0 V is left out
    average_leakage: in mW, the library's figure for a cell in no particular state, if it has one
    """

    internal: tuple[InternalPower, ...]
    leakage: tuple[Leakage, ...]
    average_leakage: float | None


@dataclass(frozen=True)
class LibraryPower:
    """The supply in volts, and the cells that were asked for, by name."""

    volts: float
    cells: Mapping[str, CellPower]


class _PowerReader(TableReader):
    def __init__(self, library: Group) -> None:
        super().__init__(library)
        facts = library.attributes
        unit = re.fullmatch(r"\s*([\d.]+)\s*([munpf]?)W\s*", facts.get("leakage_power_unit", "1nW"))
        if unit is None or facts.get("voltage_unit", "1V").strip() != "1V":
            raise ValueError("its voltage unit must be 1V and its unit of leakage a part of a watt")
        self.leakage_unit = float(unit[1]) * _SCALES[unit[2]]
        default = facts.get("default_operating_conditions", "")
        conditions = [g for g in library.named("operating_conditions") if g.arguments == [default]]
        nominal = facts.get("nom_voltage", "")
        found = conditions[0].attributes.get("voltage", nominal) if conditions else nominal
        if not found:
            raise ValueError("it does not tell its voltage")
        self.volts = float(found)
        self.supplies = {name: float(volts) for name, volts in library.lists.get("voltage_map", [])}

    def cell(self, group: Group) -> CellPower:
        volts = {
            pin.arguments[0]: self.supplies.get(pin.attributes.get("voltage_name", ""), self.volts)
            for pin in group.named("pg_pin")
        }
        internal = [
            one
            for pin in group.named("pin")
            for power in pin.named("internal_power")
            for one in self.internal(pin.arguments[0], power, volts)
        ]
        leakage = [
            Leakage(
                one.attributes.get("when", ""), float(one.attributes["value"]) * self.leakage_unit
            )
            for one in group.named("leakage_power")
            if volts.get(one.attributes.get("related_pg_pin", ""), self.volts)
        ]
        average = group.attributes.get("cell_leakage_power")
        return CellPower(
            tuple(internal),
            tuple(leakage),
            None if average is None else float(average) * self.leakage_unit,
        )

    def internal(
        self, pin: str, power: Group, volts: Mapping[str, float]
    ) -> Iterable[InternalPower]:
        facts, found = power.attributes, {group.name: group for group in power.groups}
        if "power" in found:
            found |= {"rise_power": found["power"], "fall_power": found["power"]}
        tables = tuple(
            self.table(found[name], self.load) if name in found else None
            for name in ("rise_power", "fall_power")
        )
        supply = facts.get("related_pg_pin", "")
        for related in facts.get("related_pin", "").split() or [""]:
            yield InternalPower(
                pin, related, facts.get("when", ""), supply,
                volts.get(supply, self.volts), (tables[0], tables[1]),
            )  # fmt: skip


def _end(text: str, start: int) -> int:
    """Returns the place behind the group that starts there."""
    depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.end()
    raise ValueError("the end of the file inside group `cell`")


def _read_file(text: str, kinds: set[str]) -> tuple[float, dict[str, CellPower]]:
    starts = list(_CELL.finditer(text))
    behind = _end(text, starts[-1].start())
    head = text[: starts[0].start()]
    reader = _PowerReader(parse_liberty(head + text[behind:]))
    cells = {}
    for start in starts:
        if start[1] in kinds:
            cell = text[start.start() : _end(text, start.start())]
            (group,) = parse_liberty(f"library () {{ {cell} }}").groups
            cells[start[1]] = reader.cell(group)
    return reader.volts, cells


def read_power(library: Library, kinds: Iterable[str]) -> LibraryPower:
    """The power of cells of these kinds, from the library's files.

    Raises ValueError for a library that has no tables of power, for a file that is not usable, and
    for files of different voltages.
    """
    wanted = {kind for kind in kinds if kind in library.cells}
    cells: dict[str, CellPower] = {}
    volts: set[float] = set()
    for path in library.files:
        text = liberty_content(path).decode("utf-8").replace("\r\n", "\n")
        with naming([path]):
            found, some = _read_file(text, wanted)
        volts.add(found)
        cells |= some
    if not any(cell.internal for cell in cells.values()):
        raise ValueError(f"library {library.name} has no tables of power")
    if len(volts) > 1:
        raise ValueError(f"the files of library {library.name} differ in their voltage")
    return LibraryPower(volts.pop(), cells)
