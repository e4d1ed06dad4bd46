"""Memories in the timing graph.

A memory is a module of cells of one bit: a cell at each input pin, with the setup time and the
capacitance of that pin, and one at each bit of its read data, with the access time after the clock.
To the timing analysis, to sizing and to OpenSTA these are cells of the library like any other, but
none has an area or is ever chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from ..library.cells import INVERTER, Arc, Cell, Library, Pin, Table
from ..library.liberty_text import SHARED
from ..mapping.fanout import choose_buffer
from ..mapping.memories import StandIn
from ..mapping.netlist import MappedModule, Nets
from ..timing.analysis import fo4
from .estimate import Estimate, estimate, library_law
from .laws import Law

__all__ = ["READ_DATA", "memory_module", "with_memories"]

READ_DATA = "read_data"
"""Port of a memory that has its read data."""

CLOCK_EDGES = ((0, 0), (0, 1))

_KINDS = {
    "read_address": "address",
    "write_address": "address",
    "write_data": "data",
    "read_enable": "enable",
    "read_reset": "enable",
    "write_enable": "enable",
}
"""Kind of pin of a macro that an input leads to."""


def _flip_flop(library: Library) -> Cell | None:
    """The smallest flip-flop of a library, with a data pin alone."""
    plain = [
        cell
        for cell in library.cells.values()
        if cell.usable
        and cell.state.startswith("ff ")
        and len(cell.pins) == 3
        and any(arc.kind == "setup" for arc in cell.arcs)
    ]
    return min(plain, key=lambda cell: (cell.area, cell.name), default=None)


def _input_pin(kind: str, library: Library, law: Law) -> tuple[tuple[float, float], Arc]:
    """Capacitance of a macro's pin, and an arc with its setup time."""
    if law.pins is not None:
        fast, growth = law.pins.setup_ns[kind]
        slews = np.array([0.0, 1.0])
        table = Table(np.zeros(1), slews, np.array([fast + growth * slews]))
        load = law.pins.capacitance[kind]
        return (load, load), Arc("CLK", "D", "setup", CLOCK_EDGES, (table, table), None)
    cell = _flip_flop(library)
    if cell is None:
        nothing = Table(np.zeros(1), np.zeros(1), np.zeros((1, 1)))
        return (0.0, 0.0), Arc("CLK", "D", "setup", CLOCK_EDGES, (nothing, nothing), None)
    arc = next(arc for arc in cell.arcs if arc.kind == "setup")
    return cell.pins[arc.target].capacitance, replace(arc, source="CLK", target="D")


def _pins(estimate: Estimate, stand_in: StandIn, title: str, law: Law) -> tuple[str, float]:
    """The kind of pin that an input leads to, and how many such pins of macros it drives."""
    kind = _KINDS[title]
    beside, banks, copies = estimate.beside, estimate.banks, estimate.copies
    if title == "write_data":
        return kind, banks * copies
    if title.startswith("read"):
        return kind, beside * banks
    shape = stand_in.shape
    if title == "write_enable" and shape.enables > shape.writes:
        # A part of a word has a pin at each of its bits, and some macro's enable.
        part = shape.width * shape.writes / shape.enables
        mask = 1.0
        if law.pins is not None:
            mask = law.pins.capacitance["mask"] / law.pins.capacitance["enable"]
        return kind, (mask * part + 1) * banks * copies
    return kind, beside * banks * copies


def _output(access: float, library: Library) -> Arc:
    """An arc from the clock to read data: the access time at a load of four inverters, and driven
    by the library's buffer beyond that."""
    buffer, inverter = choose_buffer(library), library.smallest(1, INVERTER)
    if buffer is None or inverter is None or buffer.arcs[0].slew is None:
        table = Table(np.zeros(1), np.zeros(1), np.full((1, 1), access))
        flat = Table(np.zeros(1), np.zeros(1), np.zeros((1, 1)))
        return Arc("CLK", "Q", "clock", CLOCK_EDGES, (table, table), (flat, flat))
    slew = fo4(library)[1]
    delays, slews = [], []
    for edge, nominal in enumerate(inverter.pins[inverter.inputs[0]].capacitance):
        delay, out = buffer.arcs[0].delay[edge], buffer.arcs[0].slew[edge]
        least = delay.at(slew, 4 * nominal)
        loads = delay.columns
        rows = [access + delay.at(slew, load) - least for load in loads]
        delays.append(Table(np.zeros(1), loads, np.array([rows])))
        rows = [out.at(slew, load) for load in loads]
        slews.append(Table(np.zeros(1), loads, np.array([rows])))
    delay_pair, slew_pair = (delays[0], delays[1]), (slews[0], slews[1])
    return Arc("CLK", "Q", "clock", CLOCK_EDGES, delay_pair, slew_pair)


def _cell(name: str, load: tuple[float, float] | None, arc: Arc) -> Cell:
    pins = {"CLK": Pin("CLK", False, (0.0, 0.0), "")}
    if load is not None:
        pins["D"] = Pin("D", False, load, "")
    pins["Q"] = Pin("Q", True, (0.0, 0.0), "")
    return Cell(name, 0.0, pins, (arc,), "memory", "CLK", usable=False)


def _cells(stand_in: StandIn, estimate: Estimate, library: Library, law: Law) -> Iterable[Cell]:
    for title in stand_in.inputs:
        kind, count = _pins(estimate, stand_in, title, law)
        (rise, fall), arc = _input_pin(kind, library, law)
        yield _cell(f"{stand_in.name}__{title}", (count * rise, count * fall), arc)
    yield _cell(f"{stand_in.name}__{READ_DATA}", None, _output(estimate.access_ns, library))


def with_memories(
    library: Library, stand_ins: Mapping[str, StandIn]
) -> tuple[Library, dict[str, Estimate], Law | None]:
    """A library with the cells of a design's memories, those of :func:`memory_module`; the estimate
    of each memory by its name; and the law that these are by, None without memories.

    The cells' Liberty text is in the library's member ``added``. Raises as ``library_law``.
    """
    if not stand_ins:
        return library, {}, None
    law, fo4_ns = library_law(library), fo4(library)[0]
    estimates = {name: estimate(one.shape, law, fo4_ns) for name, one in stand_ins.items()}
    cells: dict[str, Cell] = {}
    for name, stand_in in stand_ins.items():
        cells |= {cell.name: cell for cell in _cells(stand_in, estimates[name], library, law)}
    added = _liberty(library, cells)
    return replace(library, cells={**library.cells, **cells}, added=added), estimates, law


def memory_module(stand_in: StandIn) -> MappedModule:
    """The mapped module of a memory: its ports, and the cells at them.

    At each input pin the cell's output goes to nothing; by its net's name the end of a path is
    known: ``write_address_pin[3]``.
    """
    names = ["clk"]

    def nets(name: str, width: int) -> Nets:
        first = len(names)
        names.extend(f"{name}[{bit}]" if width > 1 else name for bit in range(width))
        return np.arange(first, len(names), dtype=np.int64)

    ports: dict[str, tuple[bool, Nets]] = {"clk": (False, np.zeros(1, dtype=np.int64))}
    cells = {}
    for title, width in stand_in.inputs.items():
        ports[title] = False, nets(title, width)
        pin = nets(f"{title}_pin", width)
        clock = np.zeros(width, dtype=np.int64)
        cells[f"{stand_in.name}__{title}"] = np.stack([clock, ports[title][1], pin], axis=1)
    data = nets(READ_DATA, stand_in.data)
    ports[READ_DATA] = True, data
    clock = np.zeros(stand_in.data, dtype=np.int64)
    cells[f"{stand_in.name}__{READ_DATA}"] = np.stack([clock, data], axis=1)
    return MappedModule(stand_in.name, names, ports, dict(sorted(cells.items())), [])


def _numbers(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.9g}" for value in values)


def _table(name: str, template: str, table: Table) -> str:
    """A table as Liberty text; where an axis is one point, its row or column is there twice."""
    values, axes = table.values, [table.rows, table.columns]
    for number, axis in enumerate(axes):
        if len(axis) == 1:
            axes[number] = axis[0] + np.array([0.0, 1.0])
            values = np.repeat(values, 2, number)
    rows = ", ".join(f'"{_numbers(row)}"' for row in values)
    index = [f'index_{n} ("{_numbers(axis)}");' for n, axis in enumerate(axes, 1)]
    return f"{name} ({template}) {{ {' '.join(index)} values ({rows}); }}"


def _pin_text(cell: Cell, pin: Pin) -> str:
    kind = "output" if pin.output else "input"
    facts = [f"direction : {kind};"]
    if not pin.output:
        rise, fall = pin.capacitance
        loads = {"rise_": rise, "fall_": fall, "": max(rise, fall)}
        facts += [f"{edge}capacitance : {load:.9g};" for edge, load in loads.items()]
    if pin.name == cell.clock:
        facts.append("clock : true;")
    for arc in cell.arcs:
        if arc.target != pin.name:
            continue
        setup = arc.kind == "setup"
        names = ("rise_constraint", "fall_constraint") if setup else ("cell_rise", "cell_fall")
        template = "memory_setup" if setup else "memory_delay"
        pairs = list(zip(names, arc.delay, strict=True))
        if arc.slew is not None:
            pairs += zip(("rise_transition", "fall_transition"), arc.slew, strict=True)
        tables = " ".join(_table(name, template, table) for name, table in pairs)
        how = "setup_rising" if setup else "rising_edge"
        sense = "" if setup else " timing_sense : non_unate;"
        facts.append(
            f'timing () {{ related_pin : "{arc.source}"; timing_type : {how};{sense} {tables} }}'
        )
    return f"  pin ({pin.name}) {{ {' '.join(facts)} }}"


_HEAD = """library (memories) {
delay_model : table_lookup;
time_unit : "1ns";
capacitive_load_unit (1, pf);
SHARED
lu_table_template (memory_delay) {
  variable_1 : input_net_transition; variable_2 : total_output_net_capacitance;
  index_1 ("0, 1"); index_2 ("0, 1");
}
lu_table_template (memory_setup) {
  variable_1 : related_pin_transition; variable_2 : constrained_pin_transition;
  index_1 ("0, 1"); index_2 ("0, 1");
}
"""


def _liberty(library: Library, cells: Mapping[str, Cell]) -> str:
    """Liberty text of these cells, with the thresholds of the library."""
    head = library.text.partition("cell (")[0]
    shared = [
        f"{name} : {found[1]};"
        for name in SHARED
        if name != "time_unit" and (found := re.search(rf"\b{name}\s*:\s*([^;\n]+)", head))
    ]
    lines = [_HEAD.replace("SHARED", "\n".join(shared))]
    for name, cell in cells.items():
        pins = [_pin_text(cell, pin) for pin in cell.pins.values()]
        lines += [f"cell ({name}) {{", "  area : 0; dont_use : true;", *pins, "}"]
    return "\n".join([*lines, "}", ""])
