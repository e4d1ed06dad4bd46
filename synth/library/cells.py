"""A cell library: areas, functions, capacitances and delay tables of its cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .functions import parse_function


def evaluate(function: str, values: Mapping[str, bool]) -> bool:
    """Value of an expression of ``! ' & * (blank) ^ | +`` and parentheses; a name that has no
    value is false."""
    return bool(parse_function(function).value(values))


def truth_table(function: str, inputs: Sequence[str]) -> tuple[bool, ...]:
    """Values over all values of the inputs, the first input changing slowest."""
    points = product((False, True), repeat=len(inputs))
    return tuple(evaluate(function, dict(zip(inputs, p, strict=True))) for p in points)


Array = npt.NDArray[np.float64]
INVERTER = (True, False)
NAND2 = (True, True, True, False)
"""Truth tables of the cells that areas and delays are counted in."""


@dataclass(frozen=True, eq=False)
class Table:
    """A two-dimensional table in ns over (slew in ns, load in pF or second slew in ns)."""

    rows: Array
    columns: Array
    values: Array

    def at(self, row: float, column: float) -> float:
        """The value at a point, as of ``each``."""
        return float(self.each(np.array([row]), np.array([column]))[0])

    def each(self, rows: Array, columns: Array) -> Array:
        """The values at many points: linear interpolation between those of the table, and
        extrapolation beyond them."""

        def places(axis: Array, x: Array) -> tuple[npt.NDArray[np.int64], Array]:
            if len(axis) == 1:
                return np.zeros(len(x), np.int64), np.zeros(len(x))
            low = np.clip(np.searchsorted(axis, x, side="right") - 1, 0, len(axis) - 2)
            return low, (x - axis[low]) / (axis[low + 1] - axis[low])

        (i, u), (j, v) = places(self.rows, rows), places(self.columns, columns)
        i1 = np.minimum(i + 1, len(self.rows) - 1)
        j1 = np.minimum(j + 1, len(self.columns) - 1)
        t = self.values
        low = t[i, j] * (1 - v) + t[i, j1] * v
        found: Array = low * (1 - u) + (t[i1, j] * (1 - v) + t[i1, j1] * v) * u
        return found


@dataclass(frozen=True)
class Arc:
    """A timing arc from a pin to an output pin, or from the clock to a constrained pin.

    Members
    -------
    kind: "combinational", "clock" (rising clock to output) or "setup"
    edges: pairs of (input edge, output edge), 0 rising and 1 falling
    delay, slew: a table for each output edge (for "setup" the constraint, and no slew)
    """

    source: str
    target: str
    kind: str
    edges: tuple[tuple[int, int], ...]
    delay: tuple[Table, Table]
    slew: tuple[Table, Table] | None


@dataclass(frozen=True)
class Pin:
    """A pin: capacitance in pF by edge (rising, falling); function of an output, or empty."""

    name: str
    output: bool
    capacitance: tuple[float, float]
    function: str


@dataclass(frozen=True)
class Cell:
    """A cell: area in the library's unit, pins and arcs in order; what state it has, as Liberty
    text, empty without any."""

    name: str
    area: float
    pins: dict[str, Pin]
    arcs: tuple[Arc, ...]
    state: str
    clock: str
    usable: bool

    @property
    def sequential(self) -> bool:
        """True if the cell has state."""
        return bool(self.state)

    @property
    def inputs(self) -> list[str]:
        return [pin.name for pin in self.pins.values() if not pin.output]

    @property
    def outputs(self) -> list[str]:
        return [pin.name for pin in self.pins.values() if pin.output]

    def truth(self, output: str) -> tuple[bool, ...] | None:
        """Truth table of an output over the inputs, the first input changing slowest."""
        function = self.pins[output].function
        if self.sequential or not function:
            return None
        return truth_table(function, self.inputs)


@dataclass(frozen=True)
class WireLoad:
    """A library's estimate of the wire of a net, by the number of pins that the net drives.

    Members
    -------
    lengths: (pins, length) in order, linear between them; before and beyond them ``slope`` a pin
    capacitance, resistance: in pF and in ns/pF for a unit of length
    """

    name: str
    lengths: tuple[tuple[float, float], ...]
    slope: float
    capacitance: float
    resistance: float

    def length(self, pins: npt.NDArray[np.int64]) -> Array:
        """The length of the wire to so many pins."""
        counts, lengths = np.array(self.lengths or ((0.0, 0.0),)).T
        first = np.minimum(pins - counts[0], 0) * self.slope
        beyond = np.maximum(pins - counts[-1], 0) * self.slope
        found: Array = np.maximum(np.interp(pins, counts, lengths) + first + beyond, 0.0)
        return found


@dataclass(frozen=True, eq=False)
class Library:
    """A cell library.

    Members
    -------
    name: the library's own name
    text: its Liberty text without power, of all its files together
    outlines: Liberty text of the usable cells, without timing
    gates: Liberty text of the usable cells without state, with timing
    cells: by name, those that are not usable included
    wire_load: its default wire-load model, if it has one
    wire_areas: the models of its default selection, each with the least area that it is for
    files: that it was read from; none for a library that is made here
    added: Liberty text of cells that are in none of these, as those of memories
    """

    name: str
    text: str = field(repr=False)
    outlines: str = field(repr=False)
    gates: str = field(repr=False)
    cells: dict[str, Cell]
    wire_load: WireLoad | None = None
    wire_areas: tuple[tuple[float, WireLoad], ...] = ()
    files: tuple[Path, ...] = ()
    added: str = field(default="", repr=False)

    def wires(self, area: float) -> WireLoad | None:
        """The wire-load model for a design with cells of this area: that of the default selection,
        else the default one; None without any."""
        fitting = [model for least, model in self.wire_areas if least <= area]
        return fitting[-1] if fitting else self.wire_load

    def smallest(self, inputs: int, *truths: tuple[bool, ...]) -> Cell | None:
        """Returns the smallest usable cell with these outputs, in any order; None if none
        exists."""
        wanted = sorted(truths)
        fitting = [
            cell
            for cell in self.cells.values()
            if cell.usable
            and len(cell.inputs) == inputs
            and len(cell.outputs) == len(truths)
            and sorted(cell.truth(pin) or () for pin in cell.outputs) == wanted
        ]
        return min(fitting, key=lambda cell: (cell.area, cell.name), default=None)
