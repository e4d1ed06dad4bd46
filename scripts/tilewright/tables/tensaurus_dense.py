"""Measures the utilisation of Tensaurus' array by dense tensors on the RTL."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ..hw.spec.tensaurus import TENSAURUS, TensaurusConfig
from ..sim.numbers.values import encode
from ..sim.tensaurus.driver import TensorDriver, plan_of
from ..sim.tensaurus.model import TensaurusModel
from ..sim.tensaurus.work import Work
from ..synth.tables import Row, Table
from .matraptor import needs_simulation

__all__ = ["CASES", "FULL", "SMALL", "tensaurus_dense"]

Case = tuple[str, tuple[int, ...], tuple[int, ...], float | None]

CASES: dict[str, Case] = {
    "GEMM, 128 x 256, F = 16": ("mm", (128, 256), (16,), 506.5),
    "DMTTKRP, 16 x 64 x 64, F = 16": ("mttkrp", (16, 64, 64), (16, 16), 511.9),
    "DTTMc, 16 x 64 x 64, F = 4, 4": ("ttmc", (16, 64, 64), (4, 4), 498.9),
    "GEMV, 64 x 1024": ("mv", (64, 1024), (1,), None),
}
"""Kernel, shape of the tensor, ranks, and what the paper has of its 512 GOP/s (table of dense
kernels)."""

FULL: dict[str, Case] = {
    "GEMM, 256 x 256, F = 128": ("mm", (256, 256), (128,), 506.5),
    "DMTTKRP, 32 x 64 x 64, F = 128": ("mttkrp", (32, 64, 64), (128, 128), 511.9),
    "DTTMc, 32 x 64 x 64, F = 4, 32": ("ttmc", (32, 64, 64), (4, 32), 498.9),
    "GEMV, 256 x 1024": ("mv", (256, 1024), (1,), None),
}
"""Cases at the paper's size."""

SMALL = TensaurusConfig(rows=4, cols=2, vlen=2, channels=4, data_bits=64, spm_bytes=4096)

_PAPERS_PEAK = 512
_MEMORY_BYTES = 1 << 21


def tensaurus_dense(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    full: bool = False,
    cases: Mapping[str, Case] | None = None,
) -> Table:
    """Operations performed by 4 x 2 elements of two fp32 values, of an operation a lane and cycle;
    of GEMV of one lane a row. A memory of four channels of 64 bits that answers in the next cycle.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    full: the default unit, which has the paper's size, on eight channels of 128 bits; building it
        takes some minutes
    cases: see ``CASES``, which they are, or ``FULL``, unless they are given

    Raises UserError for another target, or if there is no Verilator, or no compiler, and
    RuntimeError if a result is not the model's.
    """
    with needs_simulation("tensaurus-dense", target):
        from ..hw.emit.unit import emit
        from ..sim.rtl.accelerator import NativeAccelerator

        config = TensaurusConfig() if full else SMALL
        cases = cases or (FULL if full else CASES)
        rows = []
        progress(f"building {config.rows} x {config.cols} elements")
        emitted = emit(TENSAURUS, config)
        with NativeAccelerator(emitted, config, memory_bytes=_MEMORY_BYTES) as device:
            for label, case in cases.items():
                progress(label)
                rows.append(_row(label, case, TensorDriver(device)))
    columns = ["from the first product to the last, %", "of the whole job, %"]
    return Table("tensaurus-dense", "RTL", columns, rows)


def _row(label: str, case: Case, driver: TensorDriver) -> Row:
    kernel, shape, ranks, published = case
    config, rng = driver.config, np.random.default_rng(1)
    work = Work(kernel=kernel, shape=shape, ranks=ranks, dense=True)
    tensor = encode(rng.standard_normal(shape), config.format)
    operands = {
        mode: encode(rng.standard_normal((shape[mode], rank)), config.format)
        for mode, rank in enumerate(ranks, 1)
    }
    cut = plan_of(config, work, tensor).cut
    found = driver.dense(work, cut, tensor, operands)
    model = TensorDriver(TensaurusModel(config, _MEMORY_BYTES))
    if not np.array_equal(found, model.dense(work, cut, tensor, operands)):
        raise RuntimeError(f"the result of {label} is not the model's")
    counts = driver.counts
    peak = 2 * config.rows * (1 if kernel == "mv" else config.unit_values)
    busy = counts["busy_cycles"] + counts["stalls"]
    ours = [100 * counts["operations"] / (peak * cycles) for cycles in (busy, counts["cycles"])]
    paper = None if published is None else 100 * published / _PAPERS_PEAK
    return Row(label, [None, paper], ours, [2, 1])
