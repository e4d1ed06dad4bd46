"""GTA on the paper's nine workloads, beside a vector unit and fixed arrays: models of all three."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, log
from typing import TYPE_CHECKING, NamedTuple

from ...errors import UserError
from ...synth.tables import Row, Table
from .setting import modelled

if TYPE_CHECKING:
    from ...hw.spec.gta import GtaConfig
    from ...sim.gta.nine_workloads import Workload
    from ...sim.gta.schedule.cost import Cost

__all__ = [
    "COLUMNS",
    "PAPER_ACCESSES",
    "PAPER_CYCLES",
    "Costs",
    "accesses",
    "costs_of",
    "cycles",
    "gta_workloads",
    "mean",
    "peak",
]

COLUMNS = [
    "million cycles", "busy, %", "vector unit: at peak", "cycles", "accesses", "time", "bytes",
    "fixed array: cycles", "accesses",
]  # fmt: skip
_DIGITS = (3, 1, *[2] * 7)
PAPER_CYCLES, PAPER_ACCESSES = 6.45, 7.76
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
        means = [mean(each) for each in ratios]
        paper = [None, None, None, PAPER_CYCLES, PAPER_ACCESSES, *none[5:]]
        rows.append(Row("geometric mean", paper, [None, None, *means], _DIGITS))
    return Table("gta-workloads, others over GTA", "model", COLUMNS, rows)


def mean(each: Sequence[float]) -> float:
    """Returns the geometric mean."""
    return exp(sum(map(log, each)) / len(each))


class Costs(NamedTuple):
    """Costs of a workload's p-GEMMs, one after another, each as often as the workload has it.

    Members
    -------
    array: on GTA, by the schedules that are chosen for the array
    ported: on GTA, by those that are chosen for the memory port, too
    vectors, fixed: on the vector unit, and on a fixed array
    """

    array: list[Cost]
    ported: list[Cost]
    vectors: list[Cost]
    fixed: list[Cost]


def costs_of(config: GtaConfig, workload: Workload) -> Costs:
    """Chooses the schedules of a workload."""
    from ...sim.gta.baseline_units import fixed_array_cost, vector_unit_cost
    from ...sim.gta.schedule.explain import ranked, space

    costs = Costs([], [], [], [])
    for count, part in workload.parts:
        found = space(config, part)
        each = (
            ranked(found)[0].evaluated.cost,
            ranked(found, port=True)[0].evaluated.cost,
            vector_unit_cost(config, part),
            fixed_array_cost(config, part),
        )
        for costs_of_one, one in zip(costs, each, strict=True):
            costs_of_one += [one] * count
    return costs


def peak(config: GtaConfig, name: str) -> float:
    """Products of a lane and cycle that a format can have at most."""
    from ...hw.spec.gta import COLS, ROWS, limbs

    return ROWS * COLS / (config.interval(name) if name in config.floats else limbs(name) ** 2)


def _figures(config: GtaConfig, workload: Workload) -> list[float]:
    from ...hw.spec.gta import COLS, ROWS, limbs
    from ...sim.gta.baseline_units import vector_rate

    array, ported, vectors, fixed = costs_of(config, workload)
    length = limbs(workload.format)
    total, accessed = cycles(array), accesses(array)
    time, moved = sum(one.time for one in ported), sum(one.moved.total for one in ported)
    return [
        total / 1e6,
        100 * workload.products * length**2 / (total * ROWS * COLS * config.lanes),
        peak(config, workload.format) / vector_rate(workload.format),
        cycles(vectors) / total,
        accesses(vectors) / accessed,
        sum(one.time for one in vectors) / time,
        sum(one.moved.total for one in vectors) / moved,
        cycles(fixed) / total,
        accesses(fixed) / accessed,
    ]


def cycles(costs: list[Cost]) -> int:
    """Cycles of all."""
    return sum(one.cycles for one in costs)


def accesses(costs: list[Cost]) -> int:
    """Accesses of all."""
    return sum(one.accesses.total for one in costs)
