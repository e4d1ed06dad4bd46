"""Large numbers of results of every semiring through the RTL, all kinds of operands."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.hw.spec.simd2 import Simd2Config
from tilewright.sim.rtl.streams import Pauses
from tilewright.verif.kit.sampling import SIZE, cases, slow_but
from tilewright.verif.matrix_units.matrix_stimuli import operations
from tilewright.verif.matrix_units.simd2.semiring_rtl import rtl

pytestmark = pytest.mark.long

RESULTS = {
    "fp16": 10**6, "bf16": 10**6, "fp8e4m3": 10**5, "fp8e5m2": 10**5, "fp32": 10**5,
    "fp64": 10**5, "int8": 10**5, "int16": 10**5, "int32": 10**5,
}  # fmt: skip
"""Results of each semiring."""

_CHUNK = 20_000
"""Operations of a run, which bounds the memory taken."""


@pytest.mark.parametrize("element", slow_but(["fp16"], RESULTS, ["fp32", "int8"]))
def test_results_are_the_models(element: str) -> None:
    """Semirings and kinds mixed at random, every other run with gaps and stalls."""
    config = Simd2Config(tile=2, format=element)
    wanted = cases(RESULTS[element])
    done = dict.fromkeys(config.ops, 0)
    run = 0
    while min(done.values()) < wanted:
        sent = operations(config, _CHUNK, 831_000 + run)
        pauses = Pauses(seed=832, gap=0.2, stall=0.2) if run % 2 else Pauses()
        rtl(config).check(sent, pauses)
        for name, code in config.opcodes.items():
            done[name] += int(np.count_nonzero(sent.op == code)) * config.tile**2
        run += 1
    assert run > 1 or SIZE == "quick"
