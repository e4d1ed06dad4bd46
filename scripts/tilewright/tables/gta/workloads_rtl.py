"""GTA on the paper's nine workloads, reduced, on the RTL: jobs from memory to memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import UserError
from ...synth.tables import Row, Table
from ..matraptor import needs_simulation

if TYPE_CHECKING:
    from ...hw.spec.gta import GtaConfig
    from ...sim.gta.nine_workloads import Workload
    from ...sim.gta.schedule.cost import PGemm

__all__ = ["COLUMNS", "MOST", "gta_workloads_rtl"]

COLUMNS = [
    "p-GEMMs", "thousand limb products", "cycles of jobs", "by the cycle model",
    "with the array at work", "array model", "busy, %", "wrong results",
]  # fmt: skip
_DIGITS = (0, 1, 0, 0, 0, 0, 1, 0)

MOST = 1 << 21
"""Multiplications of limbs of a workload."""

_MEMORY_BYTES = 1 << 22
_LATENCY = 20


def gta_workloads_rtl(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    only: str = "",
    settings: Sequence[str] = (),
) -> Table:
    """Runs each workload at a reduced size, on the RTL by the driver, on random operands.

    Jobs go from memory to memory, on a memory that answers after 20 cycles; all their results are
    compared with the golden model's. Beside their cycles: those of the cycle model of whole jobs,
    those in which the array is at work, and those of the array's model, whose operands are on chip
    in time, by the schedule that it chooses. *Busy* are the multiplications of limbs over those
    that all lanes could do in the jobs' cycles.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    only: part of a workload's name
    settings: parameters of the accelerator, NAME=VALUE

    Raises
    ------
    UserError for another target, a wrong parameter, if the RTL cannot be built, or if no workload
    is chosen that has a format of the configuration.
    """
    with needs_simulation("gta-workloads-rtl", target):
        from ...hw.emit.unit import emit
        from ...hw.spec.gta import GTA, GtaConfig
        from ...settings import read_config
        from ...sim.gta.nine_workloads import WORKLOADS, reduced
        from ...sim.rtl.accelerator import AxiBehaviour, NativeAccelerator

        config = read_config(GTA, None, settings)
        assert isinstance(config, GtaConfig)
        known = (*config.integers, *config.floats)
        chosen = {
            name: one for name, one in WORKLOADS.items() if only in name and one.format in known
        }
        if not chosen:
            raise UserError(
                f"--only must be part of one of {', '.join(WORKLOADS)} whose format the "
                f"configuration has, not {only!r}"
            )
        progress("building gta")
        rows = []
        with NativeAccelerator(
            emit(GTA, config),
            config,
            memory_bytes=_MEMORY_BYTES,
            behaviour=AxiBehaviour(latency=(_LATENCY, _LATENCY)),
            time_out=1 << 40,
        ) as device:
            for name, workload in chosen.items():
                progress(name)
                small = reduced(workload, MOST)
                rows.append(Row(f"{name}, {workload.format}", [None] * len(COLUMNS),
                                _figures(config, device, small), _DIGITS))  # fmt: skip
    return Table("gta-workloads-rtl", "RTL", COLUMNS, rows)


def _figures(config: GtaConfig, device: Any, workload: Workload) -> list[float]:
    from ...hw.spec.gta import COLS, ROWS
    from ...sim.gta.driver import GtaDriver
    from ...sim.gta.schedule.explain import choose
    from ...sim.gta.timed import TimedGta

    counts: Counter[str] = Counter()
    products = modelled = array = wrong = 0
    for number, (_, part) in enumerate(workload.parts):
        driver = GtaDriver(device)
        wrong += _compute(driver, part, number)
        counts.update(driver.counts)
        clock = GtaDriver(TimedGta(config, _MEMORY_BYTES))
        _compute(clock, part, number)
        modelled += clock.counts["cycles"]
        array += choose(config, part).cost.cycles
        products += part.limb_products
    return [
        len(workload.parts),
        products / 1e3,
        counts["cycles"],
        modelled,
        counts["busy_cycles"],
        array,
        100 * products / (counts["cycles"] * ROWS * COLS * config.lanes),
        wrong,
    ]


def _compute(driver: Any, part: PGemm, seed: int) -> int:
    """A p-GEMM of random numbers; returns how many results are not the golden model's."""
    import numpy as np

    from ...hw.spec.formats import FORMATS, FloatFormat
    from ...sim.gta.golden.pgemm import pgemm

    rng, fmt = np.random.default_rng(seed), FORMATS[part.format]
    first, count = 0, 1 << fmt.bits
    if isinstance(fmt, FloatFormat):
        # From 1/2 to 2: nothing overflows.
        first = ((1 << (fmt.exponent_bits - 1)) - 2) << fmt.fraction_bits
        count = 2 << fmt.fraction_bits
    a, b = (
        rng.integers(first, first + count, shape, np.uint64)
        for shape in ((part.m, part.k), (part.k, part.n))
    )
    c = np.zeros((part.m, part.n), np.uint64) if part.accumulate else None
    found = driver.pgemm(part.format, a, b, c)
    return int(np.count_nonzero(found != pgemm(part.format, a, b, c)))
