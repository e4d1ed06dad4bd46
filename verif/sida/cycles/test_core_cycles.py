"""The cycle model of the element-wise core against the hardware: equal in every cycle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array
from tilewright.hw.sida.elementwise.ewise_core import EwiseCore
from tilewright.hw.sida.elementwise.memory_ports import ScalarPort
from tilewright.hw.sida.pass_control import PassControl
from tilewright.hw.spec.elementwise.instructions import SCALARS
from tilewright.hw.spec.elementwise.program import words_of
from tilewright.hw.spec.formats import FORMATS
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.sida.cycles.compute import MACHINE, set_up_shared, set_up_sizes
from tilewright.sim.sida.cycles.device import SidaCycles
from tilewright.sim.sida.cycles.ewise_core import (
    Program,
    core_offer,
    core_step,
    program,
    set_up_elementwise,
)
from tilewright.sim.sida.cycles.load_half import (
    order_offer,
    order_step,
    scalars_row_ready,
    scalars_step,
)
from tilewright.sim.sida.cycles.steady import steady_jobs
from tilewright.sim.sida.iterations.biconjugate import biconjugate_gradients
from tilewright.sim.sida.iterations.conjugate import conjugate_gradients
from tilewright.sim.sida.iterations.jobs import Method
from tilewright.sim.sida.iterations.minimal_residuals import minimal_residuals
from tilewright.sim.sida.result.products import Rules
from tilewright.sim.sida.sequence_driver import SequenceDriver, sum_of
from tilewright.sim.timing.compiled import compiled
from tilewright.sim.timing.parts import fields
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.configs import small
from tilewright.verif.sida.cycles.replay import Replayed, job_registers
from tilewright.verif.sida.elementwise.random_programs import random_program
from tilewright.verif.timing.striped.pace import pattern

pytestmark = pytest.mark.long

CONFIGS = {
    "fp16": SidaConfig(pes=4, subtensor=32, vector_words=512, value="fp16", program_words=64),
    "int32": SidaConfig(
        pes=8, subtensor=8, vector_words=512, value="int32", program_words=64, adder_stages=1,
        multiplier_stages=2,
    ),
    "fp32": SidaConfig(
        pes=4, subtensor=8, vector_words=512, program_words=64, adder_stages=2, multiplier_stages=1
    ),
}  # fmt: skip
SIGNALS = {
    "i_ready": None,
    "loaded_ready": None,
    "done": None,
    "executes": None,
    "waits": None,
    "o_valid": None,
    "o_base": "o_valid",
    "requests_valid": None,
    "requests_vector": "requests_valid",
    "requests_base": "requests_valid",
    "requests_rows": "requests_valid",
    "stored_valid": None,
    "stored_vector": "stored_valid",
    "stored_row_base": "stored_valid",
}
"""Outputs, and for each whether it means something only where another one is set."""
SEEN = np.dtype(fields("start", "i_valid", "loaded_valid", *SIGNALS))
GATES = ("start", "i", "loaded", "o", "requests", "stored")
"""Streams that may pause."""


@compiled
def _run(machines: Any, p: Program, gates: Any, parts: int, seen: Any) -> int:
    """Runs the two parts of a program in turn, ``parts`` in all; returns the cycles."""
    m = machines[0]
    begun = over = rows = row = 0
    there = False
    for now in range(gates.shape[1]):
        if over == parts:
            return now
        starts = begun == over and gates[0, now]
        m.first = starts and begun % 2 == 0
        m.second = starts and begun % 2 == 1
        if starts:
            rows = (m.rows + m.pes - 1) // m.pes
            row = 0
        there = there or (not starts and row < rows and gates[1, now] != 0)
        m.loaded.valid = m.loaded.valid or gates[2, now]
        m.requests.ready = gates[4, now]
        m.stored.ready = gates[5, now]
        one = seen[now]
        one.start = starts
        one.i_valid = there
        one.loaded_valid = m.loaded.valid
        core_offer(m)
        one.o_valid = m.core_result.valid
        one.o_base = m.core_result.base
        core_step(m, p, there, gates[3, now] != 0)
        one.requests_valid = m.requests.valid
        one.requests_vector = m.requests.vector
        one.requests_base = m.requests.base
        one.requests_rows = m.requests.rows
        one.stored_valid = m.stored.valid
        one.stored_vector = m.stored.vector
        one.stored_row_base = m.stored.base
        one.loaded_ready = m.loaded.ready
        one.done = m.core_done
        one.executes = m.executes
        one.waits = m.core_waits
        one.i_ready = m.row_taken
        if m.row_taken:
            there = False
            row += 1
        if m.loaded.ready and m.loaded.valid:
            m.loaded.valid = 0
        begun += starts
        over += m.core_done
    return -1


def compare(config: SidaConfig, unit: Replayed, seed: int) -> None:
    """A program, some parts of it, on the model and on the hardware."""
    rng = np.random.default_rng(seed)
    given = random_program(seed, config.format, int(rng.integers(1, 25)))
    first = words_of(given.e1)
    words = [*first, *words_of(given.e2)]
    machines = np.zeros(1, MACHINE)
    m = machines[0]
    set_up_sizes(m, config)
    set_up_elementwise(m, config)
    m["rows"] = rng.integers(1, [4, 40, 200][seed % 3])
    m["entry"] = len(first)
    most = 40_000
    pauses = rng.choice([0.0, 0.2, 0.6], len(GATES))
    gates = np.stack([pattern(rng, most, pause) for pause in pauses])
    # The program is written first.
    gates[0, : len(words) + 2] = 0
    seen = np.zeros(most, SEEN)
    cycles = _run(machines, program(words), gates, 3, seen)
    assert cycles > 0
    seen = seen[:cycles]
    second = np.cumsum(seen["start"]) % 2 == 0
    writes = np.arange(cycles) < len(words)
    found = unit.run(
        {
            "program_write": writes,
            "program_place": np.arange(cycles) * writes,
            "word": np.array([*words, *[0] * (cycles - len(words))]),
            "words": np.full(cycles, len(words)),
            "columns": np.full(cycles, m["rows"]),
            "start": seen["start"],
            "entry": second * len(first),
            "i_valid": seen["i_valid"],
            "loaded_valid": seen["loaded_valid"],
            **{f"{name}_ready": gates[3 + n, :cycles] for n, name in enumerate(GATES[3:])},
        },
        cycles,
    )
    found["i_ready"] &= seen["i_valid"].astype(bool)
    for name, valid in SIGNALS.items():
        which = slice(None) if valid is None else seen[valid] == 1
        np.testing.assert_array_equal(found[name][which], seen[name][which], name)


@pytest.mark.parametrize("name", slow_but([], CONFIGS, ["fp16"]))
def test_every_cycle_is_equal(name: str) -> None:
    unit = Replayed(EwiseCore(CONFIGS[name]))
    for seed in range(by_size(2, 12, 60)):
        compare(CONFIGS[name], unit, seed)


# The order of a job, and its scalars, in the cycle model against the hardware, in every cycle.

PULSES = ("program_idle", "scalars_loaded", "x_loaded", "part_done", "sums_done", "quiet", "saved",
          "checked", "whole_ready")  # fmt: skip
"""Events that the order of a job waits for."""

SAYS = (
    *("load_program", "loads_scalars", "first", "second", "check", "save", "columns_pass"),
    *("turned", "finished", "passes", "whole_valid", "whole_address", "whole_columns"),
)
SAID = np.dtype(fields(*SAYS))

SCALAR_SEEN = np.dtype(
    [
        *fields("i_valid", "i_ready", "loaded", "save", "saved"),
        *fields("o_valid", "o_ready", "check", "checked"),
    ]
)


@compiled
def _order(machines: Any, pulses: Any, ended: int, said: Any) -> None:
    """``pulses`` [cycle, pulse]."""
    m = machines[0]
    for now in range(len(said)):
        given, one = pulses[now], said[now]
        order_offer(m, now == 0)
        one.load_program = m.program_start
        one.loads_scalars = m.loads_scalars
        one.first = m.first
        one.second = m.second
        one.check = m.check
        one.save = m.save
        one.columns_pass = m.columns_pass
        one.turned = m.turned
        one.finished = m.finished
        one.passes = m.passes_done
        one.whole_valid = m.whole.valid
        one.whole_address = m.whole.address
        one.whole_columns = m.whole.columns
        m.program_idle = given[0]
        m.core_done = given[3]
        m.sums_done = given[4]
        m.quiet = given[5]
        m.checked = given[7]
        m.whole.ready = given[8]
        order_step(m, given[1] != 0, given[2] != 0, given[6] != 0, ended)


def test_the_order_of_a_job() -> None:
    """Jobs with one product and with two run to their ends."""
    config = small()
    unit = Replayed(PassControl(config))
    cycles = 3000
    for seed in range(by_size(4, 8, 60)):
        rng = np.random.default_rng(seed)
        twice, passes = seed % 2, int(rng.integers(1, 5))
        job = job_registers(ROWS=9, PASSES=passes, SECOND_PRODUCT=twice, SCALARS=64, X=128)
        machines = np.zeros(1, MACHINE)
        set_up_shared(machines[0], config, job)
        machines[0]["scalars"], machines[0]["x"] = 64, 128
        pulses = (rng.random((cycles, len(PULSES))) < rng.choice([0.1, 0.5, 0.9])).astype(np.uint8)
        said = np.zeros(cycles, SAID)
        _order(machines, pulses, passes, said)
        inputs = dict(zip(PULSES, pulses.T, strict=True))
        inputs["go"] = np.arange(cycles) == 0
        for name, value in {
            "rows": 9, "passes": passes, "second_product": twice, "scalars": 64, "x": 128,
        }.items():  # fmt: skip
            inputs[f"job_{name}"] = np.full(cycles, value)
        found = unit.run(inputs, cycles)
        asks = said["whole_valid"] == 1
        for name in SAYS:
            where = asks if name in ("whole_address", "whole_columns") else slice(None)
            np.testing.assert_array_equal(found[name][where], said[name][where], name)
        assert said["finished"][-1]
        assert said["passes"][-1] == passes


@compiled
def _scalars(machines: Any, gates: Any, seen: Any) -> None:
    """Loads all scalars, then compares or saves them again and again. ``gates`` [cycle] -> (a row
    arrives, one is accepted, a request arrives, which one)."""
    m = machines[0]
    loads = True
    busy = False
    for now in range(len(seen)):
        gate, one = gates[now], seen[now]
        ready = scalars_row_ready(m)
        one.i_valid = (loads and gate[0] != 0) or (now > 0 and seen[now - 1].i_valid
                                                 and not seen[now - 1].i_ready)  # fmt: skip
        asks = not loads and not busy and gate[2] != 0
        one.check = asks and gate[3] != 0
        one.save = asks and gate[3] == 0
        busy = busy or asks
        one.i_ready = ready
        one.o_valid = m.scalars_given
        one.checked = m.checked
        one.o_ready = gate[1]
        taken = m.scalars_given != 0 and gate[1] != 0
        one.loaded, one.saved = scalars_step(m, one.i_valid != 0, one.check, one.save, taken)
        if one.loaded:
            loads = False
        if one.checked or one.saved:
            busy = False


@pytest.mark.parametrize("pes", slow_but([], (4, 16, 64), [4]))
def test_scalars(pes: int) -> None:
    """Rows of a few scalars, and rows that have room for more than all."""
    config = small(pes=pes, subtensor=64, vector_words=128)
    unit = Replayed(ScalarPort(config))
    cycles = 1500
    for seed in range(by_size(2, 4, 30)):
        rng = np.random.default_rng(seed)
        machines = np.zeros(1, MACHINE)
        set_up_shared(machines[0], config, job_registers())
        gates = (rng.random((cycles, 4)) < rng.choice([0.2, 0.5, 1.0])).astype(np.uint8)
        gates[:, 3] = rng.integers(0, 2, cycles)
        seen = np.zeros(cycles, SCALAR_SEEN)
        _scalars(machines, gates, seen)
        given = ("i_valid", "save", "o_ready", "check")
        found = unit.run({name: seen[name] for name in given}, cycles)
        for name in ("loaded", "saved", "o_valid", "checked"):
            np.testing.assert_array_equal(found[name], seen[name], name)
        rows = seen["i_valid"] == 1
        np.testing.assert_array_equal(found["i_ready"][rows], seen["i_ready"][rows])
        assert seen["i_ready"][rows].sum() == -(-SCALARS // pes)
        assert seen["saved"].any()


# Sequences of jobs without values take the same cycles as on the cycle model as a device.

CONFIG = SidaConfig(
    pes=4, subtensor=8, vector_words=64, buffer_words=64, channels=2, program_words=64
)
RULES = Rules(fmt=FORMATS["fp32"], partials=CONFIG.partials, leaves=CONFIG.pes)
MATRIX = csr_array(diags_array([-1.0, 3.0, -1.0], offsets=[-7, 0, 7], shape=(50, 50)))


def method(name: str) -> Method:
    right = np.ones(50)
    if name == "cg":
        return conjugate_gradients(RULES, MATRIX, right, tolerance=1e-6)
    if name == "bicgstab":
        return biconjugate_gradients(RULES, MATRIX, right, tolerance=1e-6)
    return minimal_residuals(RULES, MATRIX, right, tolerance=1e-6, restart=5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
def test_counters_are_those_of_the_device(name: str) -> None:
    one = method(name)
    driver = SequenceDriver(SidaCycles(CONFIG), one.setup)
    assert one.solve(driver, 4).iterations == 4
    ran = sum_of([counts for _, counts in driver.jobs])
    found = steady_jobs(CONFIG, one.setup, [job for job, _ in driver.jobs])
    names = set(found.counts) - {"ended"}
    assert {each: found.counts[each] for each in names} == {each: ran[each] for each in names}
    assert found.oracle.cycles <= found.fused.cycles <= found.ideal.cycles
    assert 0 < found.bandwidth < 2
