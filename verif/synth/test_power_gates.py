"""The replay of a matrix unit against a gate-level simulation of the whole netlist."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.m3xu import M3XU, M3xuConfig
from tilewright.random_operations import random_operations, record_operations
from tilewright.sim.units.any_unit import mixed_operations
from tilewright.synth.power.flow import PowerRequest, prepare
from tilewright.synth.power.opensta import by_pins, opensta_power
from tilewright.synth.power.replay import Replay
from tilewright.synth.targets import KNOWN
from tilewright.synth.timing.opensta import opensta_available
from tilewright.verif.kit.data import needs_data, real_libraries
from tilewright.verif.synth.gate_simulation import simulate_gates
from tilewright.verif.synth.powered_library import write_library

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
    simulated = simulate_gates(circuit, inputs, states, tmp_path)
    # Bits of ports that nothing drives and nothing needs.
    floating = np.flatnonzero((simulated > 1).all(axis=0))
    assert not prepared.netlist.times.graph.fanout[floating].any()
    data = np.setdiff1d(np.arange(circuit.netlist.nets), [*clocks, *floating])
    assert (simulated[:, data] == replayed[data].T).all()
    tally = prepared.netlist.replay(record)
    toggles = (simulated[1:] != simulated[:-1]).sum(axis=0)
    assert (tally.toggles[data] == toggles[data]).all()
    assert (tally.high[data] == simulated[1:, data].sum(axis=0)).all()
    assert (toggles[data] > 0).mean() > 0.7


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
