"""Power of netlists: against a slow model of the same rules, against OpenSTA, and refusals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from io import StringIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from tilewright.synth.library.cells import evaluate
from tilewright.synth.library.liberty import liberty_content, read_library
from tilewright.synth.library.power import InternalPower, read_power
from tilewright.synth.power import replay as replay_module
from tilewright.synth.power.flow import PowerRequest, Prepared, prepare
from tilewright.synth.power.measure import PoweredNetlist
from tilewright.synth.power.opensta import by_pins, opensta_power
from tilewright.synth.power.recording import Recording, read_vcd
from tilewright.synth.power.replay import Mismatch, Tally
from tilewright.synth.targets import KNOWN, target_library
from tilewright.synth.timing.opensta import opensta_available
from tilewright.verif.kit.data import needs_data, real_libraries
from tilewright.verif.synth.cell_libraries import ACCUMULATOR
from tilewright.verif.synth.powered_library import write_library, write_vcd

CYCLES = 150


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    path = write_library(tmp_path_factory.mktemp("power") / "powered.lib")
    request = PowerRequest(target=f"liberty:{path}", effort="area", period=3.0)
    return prepare(ACCUMULATOR, "accumulator", request)


@cache
def _signals() -> dict[str, tuple[int, list[int]]]:
    """A run of the accumulator, computed here."""
    rng = np.random.default_rng(3)
    x = rng.integers(0, 1 << 16, CYCLES).tolist()
    x[20:40] = [x[20]] * 20
    reset = [int(n in (0, 70)) for n in range(CYCLES)]
    enable = (rng.random(CYCLES) < 0.7).astype(int).tolist()
    sums = [0]
    for n in range(CYCLES - 1):
        low, high = x[n] & 255, x[n] >> 8
        added = (sums[-1] + 2 * low * high + high) % (1 << 20)
        sums.append(0 if reset[n] else added if enable[n] else sums[-1])
    return {"rst": (1, reset), "en": (1, enable), "x": (16, x), "sum": (20, sums)}


def _record(prepared: Prepared, path: Path, **changed: tuple[int, list[int | str]]) -> Recording:
    signals: Mapping[str, tuple[int, list[int | str]]] = {**_signals(), **changed}  # type: ignore[dict-item]
    write_vcd(path / "run.vcd", "accumulator", {k: v for k, v in signals.items() if v[0]})
    return prepared.read(path / "run.vcd", "clk")


# Against a slow model


class _Slow:
    """Values of all nets by evaluating functions, and energies event by event."""

    def __init__(self, netlist: PoweredNetlist) -> None:
        self.whole, self.cells = netlist, []
        for kind, pins in netlist.netlist.cells.items():
            cell = netlist.library.cells[kind]
            for row in pins.tolist():
                self.cells.append((cell, dict(zip(cell.pins, row, strict=True))))

    def values(self, known: dict[int, bool]) -> dict[int, bool]:
        """The value of each net from those that are known; a pin without a net is low."""
        values, waiting = {-1: False, **known}, list(self.cells)
        while waiting:
            later = []
            for cell, nets in waiting:
                if cell.sequential:
                    continue
                inputs = {pin: nets[pin] for pin in cell.inputs}
                if any(net not in values for net in inputs.values()):
                    later.append((cell, nets))
                    continue
                state = {pin: values[net] for pin, net in inputs.items()}
                for pin in cell.outputs:
                    values[nets[pin]] = evaluate(cell.pins[pin].function, state)
            assert len(later) < len(waiting)
            waiting = later
        return values

    def energy(self, group: InternalPower, nets: dict[str, int], edge: int, by: int) -> float:
        """Energy of one group."""
        times, clocks = self.whole.times, self.whole.netlist.clock_nets
        net = nets[group.related or group.pin]
        slew = times.graph.clock_slew if net in clocks else times.slew[2 * net + by]
        driven = nets[group.pin] >= 0 and group.related
        load = times.graph.load[2 * nets[group.pin] + edge] if driven else 0.0
        table = group.tables[edge]
        assert table is not None
        return table.at(float(slew) if net >= 0 else 0.0, float(load))

    def chosen(
        self, groups: list[InternalPower], state: Mapping[str, bool]
    ) -> InternalPower | None:
        fitting = [one for one in groups if one.when and evaluate(one.when, state)]
        fitting += [one for one in groups if not one.when]
        return fitting[0] if fitting else None

    def pin(self, kind: str, pin: str, related: str = "") -> list[InternalPower]:
        groups = self.whole.power.cells[kind].internal
        return [one for one in groups if one.pin == pin and one.related == related]

    def passive(
        self, kind: str, nets: dict[str, int], pin: str, state: Mapping[str, bool]
    ) -> float:
        group, edge = self.chosen(self.pin(kind, pin), state), int(state[pin])
        return self.energy(group, nets, edge, edge) if group else 0.0

    def active(
        self, kind: str, nets: dict[str, int], change: tuple[str, str, bool],
        state: Mapping[str, bool],
    ) -> float:  # fmt: skip
        """An output is changed by an input to a value."""
        output, by, value = change
        group = self.chosen(self.pin(kind, output, by), state)
        all_ = [one for one in self.whole.power.cells[kind].internal if one.pin == output]
        groups = [group] if group else self.pin(kind, output) or all_
        edge = int(not value), int(state[by])
        energies = [self.energy(one, nets, *edge) for one in groups]
        return sum(energies) / max(len(energies), 1)


def _expected(
    netlist: PoweredNetlist, signals: Mapping[str, tuple[int, list[int]]]
) -> dict[str, float]:
    """Sums over all cells: changes of nets, switching and internal energy, leakage."""
    slow = _Slow(netlist)
    orders = {kind: netlist.order(group).tolist() for kind, group in netlist.circuit.groups.items()}
    names = {netlist.netlist.name(net): net for net in range(netlist.netlist.nets)}
    history = []
    for cycle in range(CYCLES):
        known = {}
        for name, (width, values) in signals.items():
            for bit in range(width):
                known[names[f"{name}[{bit}]" if width > 1 else name]] = bool(
                    values[cycle] >> bit & 1
                )
        history.append(slow.values(known))
    found = {"toggles": 0.0, "switching": 0.0, "internal": 0.0, "leaked": 0.0}
    loads = netlist.times.graph.load
    for before, after in pairwise(history):
        found["toggles"] += sum(before[n] != after[n] for n in after if n >= 0)
        places: dict[str, int] = {}
        for cell, nets in slow.cells:
            place = places[cell.name] = places.get(cell.name, -1) + 1
            state = {pin: before.get(net, False) for pin, net in nets.items()}
            goal = {pin: after.get(net, False) for pin, net in nets.items()}
            outputs = [pin for pin in cell.outputs if state[pin] != goal[pin]]
            load = [loads[2 * nets[pin] : 2 * nets[pin] + 2].mean() for pin in outputs]
            found["switching"] += 0.5 * 0.9**2 * sum(load)
            internal = 0.0
            last: dict[str, tuple[str, dict[str, bool]]] = {}
            if cell.sequential:
                clock = cell.clock
                state[clock] = False
                internal += slow.passive(cell.name, nets, clock, state)
                for pin in outputs:
                    change = pin, clock, goal[pin]
                    internal += slow.active(cell.name, nets, change, state)
                state |= {pin: goal[pin] for pin in cell.outputs} | {clock: True}
            inputs = [pin for pin in cell.inputs if pin != cell.clock]
            columns = list(cell.inputs)
            for column in orders[cell.name][place]:
                if column >= len(columns) or columns[column] not in inputs:
                    continue
                pin = columns[column]
                if state[pin] == goal[pin]:
                    continue
                internal += slow.passive(cell.name, nets, pin, state)
                following = {**state, pin: goal[pin]}
                for output in () if cell.sequential else cell.outputs:
                    function = cell.pins[output].function
                    if evaluate(function, following) != evaluate(function, state):
                        last[output] = pin, dict(state)
                state = following
            if not cell.sequential:
                for pin in outputs:
                    by, then = last[pin]
                    internal += slow.active(cell.name, nets, (pin, by, goal[pin]), then)
            found["internal"] += internal
            power = netlist.power.cells[cell.name]
            if cell.sequential:
                internal = slow.passive(cell.name, nets, cell.clock, {**state, cell.clock: True})
                found["internal"] += internal
            states = [{**goal, cell.clock: value} for value in (False, True)]
            for one in states if cell.sequential else [goal]:
                fitting = [leak.power for leak in power.leakage if evaluate(leak.when, one)]
                fitting.append(power.average_leakage or 0.0)
                found["leaked"] += fitting[0] / (1 + cell.sequential)
    return found


def _sums(netlist: PoweredNetlist, tally: Tally) -> dict[str, float]:
    groups = netlist.circuit.groups.values()
    loads = netlist.times.graph.load.reshape(-1, 2).mean(axis=1)
    nets = np.concatenate([group.nets[group.nets >= 0] for group in groups])
    return {
        "toggles": float(tally.toggles[: netlist.netlist.nets].sum()),
        "switching": float(0.5 * 0.9**2 * (loads[nets] * tally.toggles[nets]).sum()),
        "internal": float(sum(each.sum() for each in tally.internal.values())),
        "leaked": float(sum(each.sum() for each in tally.leaked.values())),
    }


def test_replay_equals_a_slow_model(prepared: Prepared, tmp_path: Path) -> None:
    tally = prepared.netlist.replay(_record(prepared, tmp_path))
    assert tally.cycles == CYCLES - 1
    found = _sums(prepared.netlist, tally)
    assert found == pytest.approx(_expected(prepared.netlist, _signals()), rel=1e-5)
    assert min(found.values()) > 0


def test_chunks_join(prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run in parts of 64 cycles gives the sums of the run as a whole."""
    record = _record(prepared, tmp_path)
    whole = _sums(prepared.netlist, prepared.netlist.replay(record))
    monkeypatch.setattr(replay_module, "CHUNK", 1)
    parts = prepared.netlist.replay(record)
    assert _sums(prepared.netlist, parts) == pytest.approx(whole, rel=1e-9)
    assert (parts.high[prepared.netlist.circuit.one], parts.cycles) == (CYCLES - 1, CYCLES - 1)


def test_report(prepared: Prepared, tmp_path: Path) -> None:
    """The columns of the report are sums over modules, at the period."""
    record = _record(prepared, tmp_path)
    report = prepared.measure(record, "a run", operations=10)
    sums = _sums(prepared.netlist, prepared.netlist.replay(record))
    cycles = CYCLES - 1
    assert report.total["switching"] == pytest.approx(sums["switching"] / cycles / 3.0)
    assert report.total["internal"] == pytest.approx(sums["internal"] / cycles / 3.0)
    assert report.total["leakage"] == pytest.approx(sums["leaked"] / cycles)
    total = report.total["total"]
    assert total == pytest.approx(sum(row.total for row in report.modules))
    assert report.energy_pj == pytest.approx({"cycle": 3 * total, "operation": 3 * total * 14.9})
    assert [row.module for row in report.modules if row.instances == 2] == ["leaf"]
    assert {row.module: row.clock > 0 for row in report.modules}["accumulator"]
    console = Console(file=StringIO(), width=120)
    report.print(console)
    assert isinstance(console.file, StringIO)
    said = console.file.getvalue()
    assert f"{total:,.4g}" in said
    assert "149  cycles: a run" in said


def test_clock_tree(prepared: Prepared) -> None:
    """20 flip-flops: two buffers at them, and one before these."""
    netlist = prepared.netlist
    tree = netlist.clock_tree()
    assert (tree.flip_flops, tree.buffers) == (20, 3)
    flip_flop = netlist.library.cells["DFFX1"].pins["CK"].capacitance[0]
    (buffer,) = {name for name in netlist.power.cells if name.startswith("BUF")} & {
        "BUFX2",
        "BUFX4",
    }
    load = netlist.library.cells[buffer].pins["A"].capacitance[0]
    nets = 0.9**2 * (20 * flip_flop + 3 * load)
    groups = [one for one in netlist.power.cells[buffer].internal if not one.when]
    slew = netlist.times.graph.clock_slew
    inside = sum(
        table.at(slew, drives)
        for group in groups for table in group.tables if table is not None
        for drives in (10 * flip_flop, 10 * flip_flop, 2 * load)
    )  # fmt: skip
    assert tree.energy == pytest.approx(nets + inside)


# Refusals


def test_another_netlist_is_refused(prepared: Prepared, tmp_path: Path) -> None:
    wrong: list[int | str] = [*_signals()["sum"][1]]
    wrong[90] = int(wrong[90]) ^ 4
    record = _record(prepared, tmp_path, sum=(20, wrong))
    message = "the netlist is not that of the record: register sum[2] differs in cycle 90"
    with pytest.raises(Mismatch, match=f"^{re.escape(message)}$"):
        prepared.netlist.replay(record)


def test_a_register_without_a_record_is_refused(prepared: Prepared, tmp_path: Path) -> None:
    record = _record(prepared, tmp_path, sum=(0, []))
    with pytest.raises(ValueError, match=r"run.vcd has no record of register sum\[\d+\]$"):
        prepared.netlist.replay(record)


def test_an_unknown_value_is_refused(prepared: Prepared, tmp_path: Path) -> None:
    values: list[int | str] = [*_signals()["x"][1]]
    values[7] = "x" * 16
    record = _record(prepared, tmp_path, x=(16, values))
    with pytest.raises(ValueError, match=r"run.vcd: signal x is not known in cycle 7$"):
        prepared.netlist.replay(record)
    assert prepared.netlist.replay(record.window(8, 50)).cycles == 49


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("library", "is not a value change dump: it has no $enddefinitions"),
        ("$scope module other $end $enddefinitions $end\n", "has no module accumulator"),
        (
            "$scope module accumulator $end $var wire 1 ! x $end $enddefinitions $end\n",
            "has no clock clk in module accumulator",
        ),
    ],
)
def test_a_file_that_is_no_record(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "bad.vcd"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"^{re.escape(f'{path} {reason}')}$"):
        read_vcd(path, "accumulator", "clk")


def test_libraries_without_power(tmp_path: Path) -> None:
    message = "target cmos has no tables of power: take a Liberty library that has "
    with pytest.raises(ValueError, match=f"^{message}"):
        PowerRequest(target="cmos").library()
    text = write_library(tmp_path / "all.lib").read_text()
    path = tmp_path / "none.lib"
    path.write_text(text.replace("internal_power", "other_power"))
    with pytest.raises(ValueError, match=r"^library \w+ has no tables of power$"):
        read_power(read_library(path), ["INVX1"])


# Against OpenSTA


def _agrees(netlist: PoweredNetlist, tally: Tally, period: float) -> None:
    own, other = by_pins(netlist, tally, period), opensta_power(netlist, tally, period)
    for name in ("internal", "switching", "leakage"):
        assert getattr(own, name) == pytest.approx(getattr(other, name), rel=1e-3), name


@pytest.mark.skipif(not opensta_available(), reason="OpenSTA is not installed")
@pytest.mark.parametrize("target", ["", *(pytest.param(name, marks=needs_data) for name in KNOWN)])
def test_opensta_agrees(prepared: Prepared, tmp_path: Path, target: str) -> None:
    """Every column within 0.1 %, under OpenSTA's assumptions."""
    used = prepared
    if target:
        path = real_libraries()
        request = PowerRequest(target=target, effort="area", period=3.0, liberty_path=path)
        used = prepare(ACCUMULATOR, "accumulator", request)
    _agrees(used.netlist, used.netlist.replay(_record(used, tmp_path)), used.period)


# Real libraries


@needs_data
@pytest.mark.parametrize(("name", "volts"), [("gscl45nm", 1.1), ("sg13g2", 1.2), ("sky130hd", 1.8)])
def test_all_cells_are_read(name: str, volts: float) -> None:
    """Every group of power that is in the text of a library is read."""
    library = target_library(name, liberty_path=real_libraries())
    assert library is not None
    power = read_power(library, library.cells)
    assert power.volts == volts
    text = "".join(liberty_content(path).decode() for path in library.files)
    groups = re.split(r"\binternal_power\s*\(\s*\)", text)[1:]
    related = [
        re.search(r'related_pin\s*:\s*"([^"]*)"', each.split("values")[0]) for each in groups
    ]
    count = sum(len(found[1].split()) if found else 1 for found in related)
    assert sum(len(cell.internal) for cell in power.cells.values()) >= count > 0
    leaks = len(re.findall(r"\bleakage_power\s*\(\s*\)", text))
    assert sum(len(cell.leakage) for cell in power.cells.values()) == leaks


@needs_data
def test_a_flip_flop_by_its_text() -> None:
    """Figures of a cell as its Liberty text has them."""
    library = target_library("gscl45nm", liberty_path=real_libraries())
    assert library is not None
    cell = read_power(library, ["DFFPOSX1"]).cells["DFFPOSX1"]
    assert cell.average_leakage == pytest.approx(54.9774e-6)
    clock, data, output = cell.internal
    assert (clock.pin, data.pin, output.pin, output.related) == ("CLK", "D", "Q", "CLK")
    rise, fall = clock.tables
    assert rise is not None
    assert fall is not None
    assert (rise.at(0.06, 0.0), fall.at(0.24, 0.0)) == pytest.approx((0.001076, 0.01855))
    of_q = output.tables[0]
    assert of_q is not None
    assert of_q.at(0.06, 0.1) == pytest.approx(0.008501)
    assert of_q.at(0.24, 0.1) == pytest.approx(0.013099)
