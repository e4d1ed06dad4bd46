"""Cross-check with OpenSTA's ``report_power``, where its command ``sta`` is installed.

OpenSTA 2.0.17, Debian's version, knows of each pin how often it changes and how long it is high,
and takes pins as independent. :func:`by_pins` does the same with our loads, slews and tables, from
the toggles of a replay. What that version assumes besides, as its source has it:

* An output that its function makes depend on ``related_pin`` by a single operator has that one's
  weight: changes of the input times the chance that the other operand lets them through. Rise and
  fall energy are both added with each change, so that such energy counts twice.
* Any other group without ``when`` has half of the weight, at a clock the whole; groups with
  ``when`` have the chance of that, and count beside one without. The chance of a function is by its
  operators, too. Groups of a supply of 0 V count if some ``when`` of an input is missing.
* Slews are those of the input's edge of the same direction as the output's.
* A net's load is the larger one of its two edges.
* Leakage is the cell's average, or else the mean over the states of the inputs; states of outputs
  in ``when`` are not weighted, so that a flip-flop's counts twice in ASAP7.
* Clocks are ideal: nets of the clock take nothing, its pins of flip-flops do.

Its command ``set_power_activity -pins`` fails, and activities of pins that paths from inputs reach
are overwritten. So every input and constant comes from a cell of our own, whose clock is OpenSTA's
clock, and the function behind the command is called for each pin.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.host.programs import run_program

from ..base.errors import ToolError
from ..library.cells import INVERTER, Cell
from ..library.functions import Function, parse_function
from ..library.liberty_text import SHARED
from ..library.power import CellPower, InternalPower
from ..timing.analysis import fo4
from ..timing.opensta import library_files
from .circuit import CellGroup
from .measure import PoweredNetlist
from .replay import Tally
from .report import PinPower

__all__ = ["by_pins", "opensta_power"]

Floats = npt.NDArray[np.float64]
Activity = tuple[Floats, Floats]
"""Changes in a cycle, and share of the cycles that are high, of a pin of each cell."""


class _Group:
    """The cells of a kind with the activities of their pins."""

    def __init__(
        self, netlist: PoweredNetlist, group: CellGroup, power: CellPower, tally: Tally
    ) -> None:
        self.group, self.cell, self.power = group, group.cell, power
        self.pins = netlist.pins(group)
        self.count = len(group.rows)
        self.none = np.zeros(self.count), np.zeros(self.count)
        self.activity: dict[str, Activity] = {}
        clock = group.flip_flop.clock if group.flip_flop else ""
        for place, pin in enumerate(group.inputs):
            if pin == clock:
                self.activity[pin] = np.full(self.count, 2.0), np.full(self.count, 0.5)
            elif pin in group.cell.pins:
                rows = group.rows[:, place]
                self.activity[pin] = (
                    tally.toggles[rows] / tally.cycles,
                    tally.high[rows] / tally.cycles,
                )
        self.used = {}
        for place, pin in enumerate(group.cell.outputs):
            nets = group.nets[:, place]
            used = self.used[pin] = nets >= 0
            toggles, high = (np.where(used, each[nets], 0) for each in (tally.toggles, tally.high))
            self.activity[pin] = toggles / tally.cycles, high / tally.cycles
        self.clock = clock

    def of(self, function: Function) -> Activity:
        """The activity of a function, by its operators."""
        if function.kind == "name":
            return self.activity.get(function.name, self.none)
        if function.kind in "01":
            return self.none[0], np.full(self.count, float(function.kind))
        if function.kind == "!":
            changes, high = self.of(function.parts[0])
            return changes, 1.0 - high
        (changes, high), (others, other) = (self.of(part) for part in function.parts)
        if function.kind == "|":
            return changes * (1 - other) + others * (1 - high), 1 - (1 - high) * (1 - other)
        if function.kind == "&":
            return changes * other + others * high, high * other
        one, two = high * (1 - other), other * (1 - high)
        return changes * one + others * two, one + two

    def weight(self, group: InternalPower) -> Floats:
        """The share of the changes of its pin that a group counts with."""
        source = group.related or group.pin
        if group.related and not group.when:
            function = parse_function(self.cell.pins[group.pin].function or "0")
            lets = _passes(function, group.related)
            if lets is not None:
                changes, own = self.activity[source][0], self.activity[group.pin][0]
                share = np.divide(changes, own, out=np.zeros(self.count), where=own > 0)
                return share * self.of(lets)[1]
        if group.when:
            return self.of(parse_function(group.when))[1]
        return np.full(self.count, 1.0 if source == self.clock else 0.5)

    def internal(self) -> Floats:
        """Energy of each cell in a cycle, in pJ."""
        energy = np.zeros(self.count)
        for group in self.power.internal:
            if not group.volts and not (group.when and _misses(self.power, group)):
                continue
            source = group.related or group.pin
            if source not in self.pins.slews or group.pin not in self.activity:
                continue
            output = self.cell.pins[group.pin].output
            loads = self.pins.loads[group.pin].max(axis=1) if output else np.zeros(self.count)
            both = np.zeros(self.count)
            for edge, table in enumerate(group.tables):
                if table is not None:
                    both += table.each(self.pins.slews[source][:, edge], loads)
            used = self.used.get(group.pin, True)
            energy += np.where(used, both * self.weight(group) * self.activity[group.pin][0], 0.0)
        return energy

    def leakage(self) -> float:
        """Leakage of a cell in mW."""
        if self.power.average_leakage is not None:
            return self.power.average_leakage
        mean = 0.0
        for one in self.power.leakage:
            if one.when:
                names = set(parse_function(one.when).names())
                inputs = [name for name in names if not self.cell.pins[name].output]
                mean += 2 * one.power * 0.5 ** len(inputs) if inputs else 2 * one.power
        found = any(one.when for one in self.power.leakage)
        return mean if found else sum(one.power for one in self.power.leakage)


def _is(function: Function, pin: str) -> bool:
    if function.kind == "!":
        function = function.parts[0]
    return function.kind == "name" and function.name == pin


def _passes(function: Function, pin: str) -> Function | None:
    """The condition under which a function changes with a pin, where that is one of the two
    operands of its outermost operator."""
    if function.kind == "name":
        return Function("1") if function.name == pin else None
    if function.kind == "!":
        return _passes(function.parts[0], pin)
    if function.kind in "01":
        return None
    left, right = function.parts
    for own, other in ((left, right), (right, left)):
        if _is(own, pin):
            if function.kind == "&":
                return other
            return other.parts[0] if other.kind == "!" else Function("!", parts=(other,))
    return None


def _misses(power: CellPower, group: InternalPower) -> bool:
    """Whether an input's groups of a supply do not have all states in their ``when``."""
    whens = [
        one.when for one in power.internal
        if one.pin == group.pin and not one.related and one.supply == group.supply and one.when
    ]  # fmt: skip
    names = set(parse_function(whens[-1]).names()) if whens else set()
    return len(whens) != 1 << len(names)


def by_pins(netlist: PoweredNetlist, tally: Tally, period: float) -> PinPower:
    """The power by OpenSTA's assumptions, at a clock of this period in ns."""
    internal = switching = leakage = 0.0
    for kind, group in netlist.circuit.groups.items():
        own = _Group(netlist, group, netlist.power.cells[kind], tally)
        internal += float(own.internal().sum()) / period
        leakage += own.leakage() * own.count
        for pin, used in own.used.items():
            loads = own.pins.loads[pin].max(axis=1)[used]
            changes = own.activity[pin][0][used]
            switching += float((loads * changes).sum()) * 0.5 * netlist.power.volts**2 / period
    return PinPower(internal, switching, leakage)


_LAUNCH = """library (launch) {
delay_model : table_lookup;
time_unit : "1ns";
capacitive_load_unit (1, pf);
SHARED
lu_table_template (flat) {
  variable_1 : input_net_transition; variable_2 : total_output_net_capacitance;
  index_1 ("0, 1"); index_2 ("0, 1");
}
cell (LAUNCH) {
  area : 0;
  ff (IQ, IQN) { clocked_on : "CK"; next_state : "IQ"; }
  pin (CK) { direction : input; capacitance : 0; clock : true; }
  pin (Q) { direction : output; function : "IQ";
    timing () { related_pin : "CK"; timing_type : rising_edge; timing_sense : non_unate;
      cell_rise (flat) { values ("0, 0", "0, 0"); }
      cell_fall (flat) { values ("0, 0", "0, 0"); }
      rise_transition (flat) { values ("SLEW, SLEW", "SLEW, SLEW"); }
      fall_transition (flat) { values ("SLEW, SLEW", "SLEW, SLEW"); } } }
}
}
"""
"""A source of a signal, without load, delay and power."""


def _launch(netlist: PoweredNetlist) -> str:
    head = netlist.library.text.partition("cell (")[0]
    shared = [
        f"{name} : {found[1]};"
        for name in SHARED
        if name != "time_unit" and (found := re.search(rf"\b{name}\s*:\s*([^;\n]+)", head))
    ]
    slew = f"{fo4(netlist.library)[1]:.9g}"
    return _LAUNCH.replace("SHARED", "\n".join(shared)).replace("SLEW", slew)


def _instances(netlist: PoweredNetlist) -> Iterator[tuple[Cell, str, list[tuple[str, int]]]]:
    """Yields each cell: its name in the Verilog, its pins and their rows."""
    serial = 0
    for group in netlist.circuit.groups.values():
        inputs = [(place, pin) for place, pin in enumerate(group.inputs) if pin in group.cell.pins]
        for rows, nets in zip(group.rows.tolist(), group.nets.tolist(), strict=True):
            pins = [(pin, rows[place]) for place, pin in inputs]
            pins += [(p, net) for p, net in zip(group.cell.outputs, nets, strict=True) if net >= 0]
            yield group.cell, f"c{serial}", pins
            serial += 1


def _verilog(netlist: PoweredNetlist, clock: int) -> str:
    """The netlist, each signal that no cell drives from a cell LAUNCH."""
    outputs = [int(n) for nets in netlist.netlist.outputs.values() for n in nets if n >= 0]
    ports = ["clk", *(f"o{k}" for k in range(len(outputs)))]
    lines = [f"module flat ({', '.join(ports)});", "input clk;"]
    lines += [f"output o{k};" for k in range(len(outputs))]
    lines += [f"wire n{k};" for k in range(netlist.netlist.nets + 2)]
    lines += [f"assign n{clock} = clk;"] if clock >= 0 else []
    lines += [f"assign o{k} = n{net};" for k, net in enumerate(outputs)]
    driven = {clock}
    for cell, name, pins in _instances(netlist):
        lines.append(f"{cell.name} {name} ({', '.join(f'.{p}(n{row})' for p, row in pins)});")
        driven |= {row for pin, row in pins if cell.pins[pin].output}
    lines += [
        f"LAUNCH s{row} (.CK(clk), .Q(n{row}));"
        for row in range(netlist.netlist.nets + 2) if row not in driven
    ]  # fmt: skip
    return "\n".join([*lines, "endmodule", ""])


def _activities(netlist: PoweredNetlist, tally: Tally, clock: int) -> Iterator[str]:
    changes, high = tally.toggles / tally.cycles, tally.high / tally.cycles
    for _, name, pins in _instances(netlist):
        for pin, row in pins:
            if row != clock:
                yield f"a {name}/{pin} {changes[row]:.9g} {high[row]:.9g}"


def opensta_power(netlist: PoweredNetlist, tally: Tally, period: float) -> PinPower:
    """The power by OpenSTA. Raises ToolError if it fails."""
    clocks = netlist.netlist.clock_nets.tolist()
    if len(clocks) != 1:
        raise ToolError(f"OpenSTA: a cross-check needs one clock, not {len(clocks)}")
    inverter = netlist.library.smallest(1, INVERTER)
    assert inverter is not None
    rise, fall = inverter.pins[inverter.inputs[0]].capacitance
    files = library_files(netlist.library)
    slew = netlist.times.graph.clock_slew
    script = [
        *(f"read_liberty {name}" for name in files),
        "read_liberty launch.lib",
        "set_cmd_units -time ns -capacitance pF -power mW",
        "read_verilog flat.v",
        "link_design flat",
        f"create_clock -name clock -period {period} [get_ports clk]",
        f"set_clock_transition {slew} [get_clocks clock]",
        f"set_input_transition {slew} [get_ports clk]",
        f"set_load -rise {4 * rise} [all_outputs]",
        f"set_load -fall {4 * fall} [all_outputs]",
        "proc a {pin act duty} {sta::set_power_pin_activity [sta::find_pin $pin] $act $duty}",
        *_activities(netlist, tally, clocks[0]),
        'puts "power [sta::design_power [sta::cmd_corner]]"',
        "exit",
    ]
    if netlist.wires is not None:
        script.insert(-3, f"set_wire_load_model -name {netlist.wires.name}")
    with tempfile.TemporaryDirectory(prefix="tilewright-sta-") as place:
        work = Path(place)
        for file, text in files.items():
            (work / file).write_text(text, encoding="utf-8")
        (work / "launch.lib").write_text(_launch(netlist), encoding="utf-8")
        (work / "flat.v").write_text(_verilog(netlist, clocks[0]), encoding="utf-8")
        (work / "run.tcl").write_text("\n".join(script) + "\n", encoding="utf-8")
        done = run_program(["sta", "-no_splash", "-exit", "run.tcl"], cwd=work, scratch=work)
    found = re.search(r"^power (.*)$", done.stdout, re.MULTILINE)
    if not found:
        raise ToolError(f"OpenSTA: {(done.stdout + done.stderr).strip()[-400:]}")
    internal, switching, leakage, _ = (1e3 * float(word) for word in found[1].split()[:4])
    return PinPower(internal, switching, leakage)
