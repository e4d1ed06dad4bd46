"""Sequences of jobs without values take the same cycles as on the cycle model as a device."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array
from tilewright.hw.spec.formats import FORMATS
from tilewright.hw.spec.sida import SidaConfig
from tilewright.sim.sida.cycles.device import SidaCycles
from tilewright.sim.sida.cycles.steady import steady_jobs
from tilewright.sim.sida.iterations.biconjugate import biconjugate_gradients
from tilewright.sim.sida.iterations.conjugate import conjugate_gradients
from tilewright.sim.sida.iterations.jobs import Method
from tilewright.sim.sida.iterations.minimal_residuals import minimal_residuals
from tilewright.sim.sida.result.products import Rules
from tilewright.sim.sida.sequence_driver import SequenceDriver, sum_of

pytestmark = pytest.mark.long

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
