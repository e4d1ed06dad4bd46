"""The replay of a matrix unit against a gate-level simulation of the whole netlist."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import random_array
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.c2sr_converter import C2SR_CONVERTER, C2srConverterConfig
from tilewright.hw.spec.m3xu import M3XU, M3xuConfig
from tilewright.random_operations import random_operations, record_operations
from tilewright.sim.c2sr_converter.driver import ConverterDriver
from tilewright.sim.rtl.accelerator import NativeAccelerator
from tilewright.sim.sparse.c2sr import from_csr
from tilewright.sim.units.any_unit import mixed_operations
from tilewright.synth.power.delays import replay_with_delays
from tilewright.synth.power.flow import PowerRequest, prepare
from tilewright.synth.power.opensta import by_pins, opensta_power
from tilewright.synth.power.replay import CellTable, Replay
from tilewright.synth.targets import KNOWN
from tilewright.synth.timing.opensta import opensta_available
from tilewright.verif.kit.data import needs_data, real_libraries
from tilewright.verif.synth.cell_libraries import ACCUMULATOR
from tilewright.verif.synth.gate_simulation import simulate_gates
from tilewright.verif.synth.powered_library import accumulator_record, write_library

SMALL = M3xuConfig(rows=1, cols=1, depth=2, alignment_bits=26, pipeline=3, modes=("fp16",))
CYCLES = 100


def test_every_net_as_in_a_gate_level_simulation(tmp_path: Path) -> None:
    """Each net has the same value in each cycle: simulated from the first one on, by registers of
    the netlist alone, and replayed from the recorded registers."""
    emitted = emit(M3XU, SMALL)
    library = write_library(tmp_path / "powered.lib")
    request = PowerRequest(target=f"liberty:{library}", effort="area", period=3.0)
    prepared = prepare(emitted.verilog, emitted.sidecar["module"], request)
    circuit, path = prepared.netlist.circuit, tmp_path / "run.vcd"
    run = record_operations(emitted, SMALL, "fp16", CYCLES, 1, prepared.signals(), path)
    record = prepared.read(path, "clk").window(run.first, CYCLES)
    ((values, steps),) = Replay(circuit, record).chunks()
    assert steps == CYCLES - 1
    replayed = np.unpackbits(values.view(np.uint8), axis=1, bitorder="little")[:, :CYCLES]
    clocks = circuit.netlist.clock_nets.tolist()
    nets = [net for nets in circuit.netlist.inputs.values() for net in nets.tolist()]
    inputs = {net: replayed[net].tolist() for net in nets if net not in clocks}
    states = {one.row: int(replayed[one.row, 0]) for one in circuit.registers}
    simulated, changes = simulate_gates(circuit, inputs, states, tmp_path)
    # Bits of ports that nothing drives and nothing needs.
    floating = np.flatnonzero((simulated > 1).all(axis=0))
    assert not prepared.netlist.times.graph.fanout[floating].any()
    data = np.setdiff1d(np.arange(circuit.netlist.nets), [*clocks, *floating])
    assert (simulated[:, data] == replayed[data].T).all()
    tally = prepared.netlist.replay(record)
    toggles = (simulated[1:] != simulated[:-1]).sum(axis=0)
    assert (tally.toggles[data] == toggles[data]).all()
    assert (changes[data] >= toggles[data]).all()
    assert (tally.high[data] == simulated[1:, data].sum(axis=0)).all()
    assert (toggles[data] > 0).mean() > 0.7


@needs_data
@pytest.mark.long
def test_an_accelerator_with_memories(tmp_path: Path) -> None:
    """Every register of a job has the next state that the netlist computes from the record, words
    that memories deliver included."""
    config = C2srConverterConfig(channels=2, outstanding=2, value="fp16", index_bits=16)
    emitted, path = emit(C2SR_CONVERTER, config), tmp_path / "run.vcd"
    matrix = from_csr(
        random_array((60, 60), density=0.1, rng=np.random.default_rng(1)), config.layout
    )
    device = NativeAccelerator(emitted, config, waves=path, wave_depth=99)
    ConverterDriver(device).convert("csr_to_c2sr", matrix)
    device.close()
    request = PowerRequest(target="sg13g2", effort="area", liberty_path=real_libraries())
    prepared = prepare(emitted.verilog, emitted.sidecar["module"], request)
    record = prepared.read(path, emitted.sidecar["clock"])
    tally = prepared.netlist.replay(record.window(20, 400))
    words = [one.row for one in prepared.netlist.circuit.registers if one.next_row < 0]
    assert tally.cycles > 300
    # The low bits of lengths, and what else is said of rows, change.
    assert (tally.toggles[words] > 0).sum() >= 6


def test_glitches_as_in_a_simulation_with_delays(tmp_path: Path) -> None:
    """Each net changes as often as in Icarus, with random delays of the cells' outputs."""
    library = write_library(tmp_path / "powered.lib")
    request = PowerRequest(target=f"liberty:{library}", effort="area", period=3.0)
    prepared = prepare(ACCUMULATOR, "accumulator", request)
    netlist, circuit = prepared.netlist, prepared.netlist.circuit
    record = accumulator_record(prepared, tmp_path)
    rng = np.random.default_rng(1)
    outputs = {
        kind: rng.integers(5_000, 80_000, (*group.nets.shape, 2))
        for kind, group in circuit.groups.items()
    }
    delays = {}
    for kind, group in circuit.groups.items():
        shape = (len(group.rows), len(group.inputs), group.nets.shape[1], 2, 2)
        delays[kind] = np.broadcast_to(outputs[kind][:, None, :, None, :], shape).astype(np.int32)
    access = {
        net: (0.0, 0.0) for nets in circuit.netlist.inputs.values() for net in nets.tolist()
        if net not in circuit.netlist.clock_nets
    }  # fmt: skip
    tables = {kind: _counting(table) for kind, table in netlist.tables.items()}
    found = replay_with_delays(circuit, [record], tables, delays, access, 3.0)
    ((values, steps),) = Replay(circuit, record).chunks()
    bits = np.unpackbits(values.view(np.uint8), axis=1, bitorder="little")[:, : steps + 1]
    inputs = {net: bits[net].tolist() for net in access}
    states = {one.row: int(bits[one.row, 0]) for one in circuit.registers}
    _, changes = simulate_gates(circuit, inputs, states, tmp_path, outputs)
    tally = netlist.replay(record)
    data = np.setdiff1d(np.arange(circuit.netlist.nets), circuit.netlist.clock_nets)
    assert (found.toggles[data] == changes[data]).all()
    assert ((found.toggles - tally.toggles)[data] % 2 == 0).all()
    assert found.toggles[data].sum() > 1.3 * tally.toggles[data].sum()
    for kind, group in circuit.groups.items():
        pins = np.append(changes, [0] * (circuit.rows - len(changes)))
        if group.flip_flop is not None:
            pins[group.rows[:, -1]] = 0
            pins[circuit.netlist.clock_nets] = 2 * steps
        wanted = pins[group.rows].sum(axis=1) + 1000 * np.where(
            group.nets >= 0, changes[group.nets], 0
        ).sum(axis=1)
        driven = (group.nets >= 0).all(axis=1)
        assert (found.internal[kind] == wanted)[driven].all()


def _counting(table: CellTable) -> CellTable:
    """Energies that count: 1 for each change of an input, 1000 for each of an output."""
    events = table.events
    passive, active = np.zeros_like(events.passive), np.ones_like(events.active)
    energy = np.tile(np.array([1, 1000], np.float32), (len(table.order), 1))
    return replace(table, events=replace(events, passive=passive, active=active), energy=energy)


def test_random_operations_are_those_of_the_mode() -> None:
    """Operands are finite numbers whose products the model computes without a flag."""
    config = M3xuConfig(rows=2, cols=2, depth=4)
    for mode in config.operations:
        fields = random_operations(config, mode, 50, 1)
        d, error = mixed_operations(config, **fields)
        assert not error.any()
        parts = np.concatenate([d & np.uint64(0xFFFFFFFF), d >> np.uint64(32)], axis=None)
        numbers = parts.astype(np.uint32).view(np.float32)
        assert np.isfinite(numbers).all()
        assert len(np.unique(numbers)) > 100
    with pytest.raises(ValueError, match=r"^`mode` must be .*, not 'int8'$"):
        random_operations(config, "int8", 1, 1)


@pytest.mark.long
@needs_data
@pytest.mark.skipif(not opensta_available(), reason="OpenSTA is not installed")
@pytest.mark.parametrize("target", KNOWN)
def test_opensta_agrees_on_a_unit(tmp_path: Path, target: str) -> None:
    """Within 1 % in each column, under OpenSTA's assumptions."""
    config = M3xuConfig(rows=1, cols=1, depth=4)
    emitted = emit(M3XU, config)
    path, folder = tmp_path / "run.vcd", real_libraries()
    request = PowerRequest(target=target, effort="area", liberty_path=folder)
    prepared = prepare(emitted.verilog, emitted.sidecar["module"], request)
    run = record_operations(emitted, config, "fp32", 300, 1, prepared.signals(), path)
    tally = prepared.netlist.replay(prepared.read(path, "clk").window(run.first, 301))
    own = by_pins(prepared.netlist, tally, prepared.period)
    other = opensta_power(prepared.netlist, tally, prepared.period)
    for name in ("internal", "switching", "leakage"):
        assert getattr(own, name) == pytest.approx(getattr(other, name), rel=0.01), name
