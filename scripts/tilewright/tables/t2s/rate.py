"""The table of how busy the multipliers of mapped arrays are, beside what others reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import UserError
from ...synth.tables import Row, Table

if TYPE_CHECKING:
    from ...hw.spec.t2s.config import T2sConfig
    from ...sim.t2s.driver import Counts

__all__ = ["BAR", "OTHERS", "SMALL", "THESIS", "Run", "t2s_rate"]

BAR = 99.0
"""Cycles in which elements begin products, draining included, of 100 at least."""

_LATENCY = 20
"""Latency of the memory, in cycles."""


class Run(NamedTuple):
    """An array and a job.

    Parameters
    ----------
    parameters: of the array
    bounds: of the job: they fill all tiles, a few each way
    """

    parameters: dict[str, Any]
    bounds: dict[str, int]


def _small(design: str, sizes: str, **bounds: int) -> Run:
    return Run({"design": design, "sizes": sizes, "largest": 0, "format": "int8"}, bounds)


SMALL = {
    "gemm, small": _small("gemm", "II=4,JJ=4,KK=4,III=8,JJJ=8,KKK=4", i=128, j=128, k=256),
    "mttkrp, small": _small("mttkrp", "II=4,JJ=4,KK=4,III=8,JJJ=8,LLL=4", i=64, j=64, k=64, l=32),
    "ttm, small": _small(
        "ttm", "JJ=4,KK=4,LL=4,III=4,JJJ=4,KKK=4,LLL=4", i=16, j=32, k=32, l=256
    ),
    "ttmc, small": _small(
        "ttmc", "JJ=4,KK=4,LL=4,III=4,JJJ=4,KKK=4,MMM=4", i=16, j=32, k=32, l=32, m=32
    ),
}  # fmt: skip
"""Arrays of 4 x 4 elements of 4 lanes, on a channel of 128 bits."""


def _large(design: str, **bounds: int) -> Run:
    channels = {"data_bits": 512, "managers": 3, "outstanding": 16}
    return Run({"design": design, "largest": 0, **channels}, bounds)


THESIS = {
    "gemm": _large("gemm", i=1280, j=1024, k=2048),
    "mttkrp": _large("mttkrp", i=512, j=576, k=64, l=64),
    "ttm": _large("ttm", i=32, j=128, k=352, l=1024),
    "ttmc": _large("ttmc", i=32, j=64, k=80, l=64, m=64),
}
"""Kernels of the thesis' Table 3.3, on three channels of 512 bits."""

_PAPER = {
    "gemm": (10 * 8, 215, 549),
    "mttkrp": (8 * 9, 204, 700),
    "ttm": (8 * 11, 201, 562),
    "ttmc": (8 * 10, 205, 738),
}
"""Tables 3.2 and 3.4: elements, MHz, GFLOP/s."""

OTHERS: dict[str, tuple[float | None, ...]] = {
    "gemm, ninja": (1280, 245, 626, None),
    "gemm, NDRange": (1032, 189, 311, None),
    "gemm, t2sp": (None, 244, 620, 97),
    "mttkrp, AutoSA": (None, 184, 542, None),
    "ttmc, AutoSA": (None, 201, 610, None),
    "mttkrp, AutoSA, placed": (None, 300, 912, None),
    "ttmc, AutoSA, placed": (None, 300, 917, None),
}
"""Multipliers, MHz, GFLOP/s, and what share of the most that is, where it is said: those of Table
3.2, and what is published of the compiler's successor and of another one."""

_LANES = 16


def t2s_rate(target: str, progress: Callable[[str], None] = lambda said: None) -> Table:
    """Elements, lanes, cycles of the Verilog and of the cycle model, the share of those in which
    elements begin products, the least that is asked for, bytes that are read and written; of
    others' arrays clock, GFLOP/s and the most that their multipliers could do, two operations each
    a cycle.

    Raises UserError for a target other than "cmos", the default: nothing is synthesised; and if the
    model does not count what the Verilog does.
    """
    from ...hw.spec.t2s.config import T2sConfig
    from ...sim.t2s.cycles.machine import counts_of
    from ...sim.timing.memories import FLAT

    if target != "cmos":
        raise UserError(f"t2s-rate is counted by simulation: no --target, not {target!r}")
    memory = replace(FLAT, latency=_LATENCY)
    rows = []
    for label, run in {**SMALL, **THESIS}.items():
        progress(label)
        config = T2sConfig(**run.parameters)
        model = counts_of(config, run.bounds, memory=memory)
        rtl = _on_rtl(config, run.bounds) if label in SMALL else None
        if rtl not in (None, model):
            raise UserError(f"t2s-rate: the model of {label} counts {model}, the Verilog {rtl}")
        paper = _of_paper(*_PAPER[label]) if label in _PAPER else (None,) * 10
        rows.append(Row(label, paper, _ours(config, model, rtl), _DIGITS))
    for label, (multipliers, megahertz, rate, share) in OTHERS.items():
        most = 2 * multipliers * megahertz / 1000 if multipliers and megahertz else None
        found = 100 * rate / most if rate and most else share
        paper = (None, None, None, None, found, None, None, megahertz, rate, most)
        rows.append(Row(label, paper, (None,) * 10, _DIGITS))
    columns = ["elements", "lanes", "cycles", "model", "busy %", "at least", "bytes", "MHz",
               "GFLOP/s", "most"]  # fmt: skip
    return Table("t2s-rate", "verilator, cycle model", columns, rows)


_DIGITS = (0, 0, 0, 0, 1, 0, 0, 0, 0, 0)


def _of_paper(elements: int, megahertz: int, rate: int) -> tuple[float | None, ...]:
    most = 2 * elements * _LANES * megahertz / 1000
    shares = (None, None, 100 * rate / most, None, None)
    return (elements, _LANES, *shares, megahertz, rate, most)


def _ours(config: T2sConfig, model: Counts, rtl: Counts | None) -> tuple[float | None, ...]:
    program = config.plan.program
    elements = prod(one.extent or 1 for one in program.function(program.name).instances)
    lanes = config.plan.element.arithmetic.lanes
    share = 100 * model.busy_cycles / model.cycles
    cycles = rtl.cycles if rtl else None
    moved = model.bytes_read + model.bytes_written
    figures = (cycles, model.cycles, share, BAR, moved)
    return (elements, lanes, *figures, None, None, None)


def _on_rtl(config: T2sConfig, bounds: dict[str, int]) -> Counts:
    """A job on the Verilog, its result checked."""
    import numpy as np

    from ...apps.common.session import rtl_device
    from ...apps.t2s.einsum_run import expression_of
    from ...hw.spec.t2s.config import T2S
    from ...sim.t2s.driver import Driver
    from ...sim.t2s.images import operand_names
    from ...sim.t2s.sizes import shape_of

    program = config.plan.program
    rng = np.random.default_rng(1)
    operands = {
        name: rng.integers(-4, 5, shape_of(program.tensor(name).dimensions, bounds))
        for name in operand_names(program)
    }
    with rtl_device(T2S, config, 1 << 24) as device:
        driver = Driver(device)
        found = driver.compute(bounds, **operands)
        wanted = np.einsum(expression_of(program), *operands.values(), optimize=True)
        if not np.array_equal(found, wanted):
            raise UserError(f"t2s-rate: the result of {config.design} is not NumPy's")
    return driver.counts
