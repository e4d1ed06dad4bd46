"""The order of a job, and its scalars, in the cycle model against the hardware, in every cycle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.hw.sida.elementwise.scalar_port import ScalarPort
from tilewright.hw.sida.pass_control import PassControl
from tilewright.hw.spec.elementwise.instructions import SCALARS
from tilewright.sim.sida.cycles.compute import MACHINE
from tilewright.sim.sida.cycles.order import (
    order_offer,
    order_step,
    scalars_row_ready,
    scalars_step,
)
from tilewright.sim.sida.cycles.shared import set_up_shared
from tilewright.sim.timing.compiled import compiled
from tilewright.sim.timing.parts import fields
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.sida.configs import small
from tilewright.verif.sida.cycles.registers import job_registers
from tilewright.verif.sida.cycles.replay import Replayed

pytestmark = pytest.mark.long

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
