"""GTA on the paper's nine workloads, beside a vector unit and fixed arrays: models of all three."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, log
from typing import TYPE_CHECKING

from ...errors import UserError
from ...synth.tables import Row, Table
from .setting import modelled

if TYPE_CHECKING:
    from ...hw.spec.gta import GtaConfig
    from ...sim.gta.nine_workloads import Workload
    from ...sim.gta.schedule.cost import Cost

__all__ = ["COLUMNS", "gta_workloads"]

COLUMNS = [
    "million cycles", "busy, %", "vector unit: at peak", "cycles", "accesses", "time", "bytes",
    "fixed array: cycles", "accesses",
]  # fmt: skip
_DIGITS = (3, 1, *[2] * 7)
_PAPER_CYCLES, _PAPER_ACCESSES = 6.45, 7.76
"""Over Ara, in the mean, at the same clock."""


def gta_workloads(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    only: str = "",
    settings: Sequence[str] = (),
) -> Table:
    """Runs each workload at its full size, every p-GEMM of it by the schedule that is chosen.

    Cycles are the array's, of chains of commands whose operands are on chip in time; accesses are
    elements that the array reads and writes in the memories of lanes. Both are given as those of a
    vector unit over GTA's: larger is better for GTA. *At peak* is the same of the multiply-adds a
    cycle that both can do at most. *Time* has the memory port, too, by the schedules that are
    chosen for it, and *bytes* is what goes through the port then.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    only: part of a workload's name
    settings: parameters of the accelerator, NAME=VALUE

    Raises
    ------
    UserError for another target, a wrong parameter, a workload of a format that is left out, or if
    none is chosen.
    """
    config = modelled("gta-workloads", target, settings)
    from ...sim.gta.nine_workloads import WORKLOADS

    chosen = {name: one for name, one in WORKLOADS.items() if only in name}
    if not chosen:
        raise UserError(f"--only must be part of one of {', '.join(WORKLOADS)}, not {only!r}")
    found = {}
    for name, workload in chosen.items():
        if workload.format not in (*config.integers, *config.floats):
            raise UserError(f"gta: {name} needs {workload.format}, which the configuration has not")
        progress(name)
        found[f"{name}, {workload.format}"] = _figures(config, workload)
    none: list[float | None] = [None] * len(COLUMNS)
    rows = [Row(label, none, ours, _DIGITS) for label, ours in found.items()]
    if len(found) > 1:
        ratios = list(zip(*found.values(), strict=True))[2:]
        means = [exp(sum(map(log, each)) / len(each)) for each in ratios]
        paper = [None, None, None, _PAPER_CYCLES, _PAPER_ACCESSES, *none[5:]]
        rows.append(Row("geometric mean", paper, [None, None, *means], _DIGITS))
    return Table("gta-workloads, others over GTA", "model", COLUMNS, rows)


def _figures(config: GtaConfig, workload: Workload) -> list[float]:
    from ...hw.spec.gta import COLS, ROWS, limbs
    from ...sim.gta.baseline_units import fixed_array_cost, vector_rate, vector_unit_cost
    from ...sim.gta.schedule.explain import ranked, space

    array, ported, vectors, fixed = [], [], [], []
    for count, part in workload.parts:
        found = space(config, part)
        array += [ranked(found)[0].evaluated.cost] * count
        ported += [ranked(found, port=True)[0].evaluated.cost] * count
        vectors += [vector_unit_cost(config, part)] * count
        fixed += [fixed_array_cost(config, part)] * count
    length, places = limbs(workload.format), ROWS * COLS
    step = config.interval(workload.format) if workload.format in config.floats else length**2
    cycles, accesses = _cycles(array), _accesses(array)
    time, moved = sum(one.time for one in ported), sum(one.moved.total for one in ported)
    return [
        cycles / 1e6,
        100 * workload.products * length**2 / (cycles * places * config.lanes),
        places / step / vector_rate(workload.format),
        _cycles(vectors) / cycles,
        _accesses(vectors) / accesses,
        sum(one.time for one in vectors) / time,
        sum(one.moved.total for one in vectors) / moved,
        _cycles(fixed) / cycles,
        _accesses(fixed) / accesses,
    ]


def _cycles(costs: list[Cost]) -> int:
    return sum(one.cycles for one in costs)


def _accesses(costs: list[Cost]) -> int:
    return sum(one.accesses.total for one in costs)
