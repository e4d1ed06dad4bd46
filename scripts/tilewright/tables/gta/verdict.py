"""What GTA gains at equal area: rates by models, areas and clocks by synthesis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ...clocks import reached_clocks
from ...errors import UserError
from ...synth.tables import Row, Table, Tables
from .workloads import PAPER_ACCESSES, PAPER_CYCLES, accesses, costs_of, cycles, mean, peak

if TYPE_CHECKING:
    from ...hw.spec.gta import GtaConfig
    from ...sim.gta.nine_workloads import Workload
    from .workloads import Costs

__all__ = ["AREAS", "FORMATS", "WORKLOADS_GAIN", "gta_verdict"]

AREAS = ["area", "share, %", "clock, MHz"]

FORMATS = [
    "products a lane and cycle: separate", "GTA", "per unit of area: separate", "GTA",
    "equal lanes", "equal area", "own clocks",
]  # fmt: skip

WORKLOADS_GAIN = [
    "products a lane and cycle: separate", "GTA", "equal lanes: cycles", "accesses", "time",
    "equal area: cycles", "time", "own clocks", "whole lane: cycles", "own clocks",
]  # fmt: skip

_ADDERS = (8, 64)

_STAGES = 3
"""Register stages of the separate units: the most that they have."""


class _Lane(NamedTuple):
    """A lane of GTA beside one of separate units.

    Members
    -------
    config: of the accelerator
    areas: of the separate units, and of the lane's arithmetic, as they are printed
    whole: area of the whole lane over that of the separate units
    clock: GTA's over that of the separate units; None if one is not measured
    """

    config: GtaConfig
    areas: tuple[float, float]
    whole: float
    clock: float | None

    @property
    def ratio(self) -> float:
        """Area of the arithmetic over that of the separate units."""
        return self.areas[1] / self.areas[0]

    def timed(self, gain: float) -> float | None:
        """A gain with both at clocks of their own."""
        return None if self.clock is None else gain * self.clock


def gta_verdict(
    target: str = "cmos",
    progress: Callable[[str], None] = lambda said: None,
    *,
    settings: Sequence[str] = (),
) -> Tables:
    """Gains of GTA over lanes with separate units: as many lanes, and as much area.

    Rates of formats are the most possible, those of workloads as of `gta-workloads`. Areas are
    those of `gta-area`: mapped for area, in million transistors or mm2, without memories. *Equal
    area* is the ratio of rates over that of areas, arithmetic with arithmetic. *Whole lane* is the
    same with all of GTA's lane, over the arithmetic of the separate units, which is not all of
    theirs. *Time* has the memory port, which does not grow with the separate units' lanes. *Own
    clocks* are those of the record, of both units mapped for speed. Workloads of formats that are
    left out are omitted.

    Parameters
    ----------
    target: "cmos" or "liberty:FILE"
    progress: is told what comes next
    settings: parameters of the accelerator, NAME=VALUE; with floats 8 and 64 adders are measured

    Raises
    ------
    UserError for a wrong parameter, or without a format of integers; ValueError for another target.
    """
    from ...hw.spec.gta import GTA, GtaConfig
    from ...settings import read_config
    from ...sim.gta.nine_workloads import WORKLOADS

    config = read_config(GTA, None, settings)
    assert isinstance(config, GtaConfig)
    if not config.integers:
        raise UserError("gta-verdict needs a format of integers")
    adders = _ADDERS if len(config.integers) < len(config.formats) else (0,)
    lanes, areas = _lanes([replace(config, float_adders=n) for n in adders], target, progress)
    chosen = {name: one for name, one in WORKLOADS.items() if one.format in config.formats}
    found: dict[tuple[str, int], Costs] = {}
    parts = [areas]
    for lane in lanes:
        title = f"gta-verdict, {lane.config.float_adders} adders"
        formats = [_of_format(lane, name) for name in config.formats]
        parts.append(Table(f"{title}, formats", target, FORMATS, formats))
        rows = []
        for name, workload in chosen.items():
            integers = workload.format in config.integers
            key = name, 0 if integers else lane.config.float_adders
            if key not in found:
                progress(f"{name}, {lane.config.float_adders} adders")
                found[key] = costs_of(lane.config, workload)
            label = f"{name}, {workload.format}"
            rows.append(_of_workload(lane, label, workload, found[key]))
        parts.append(Table(f"{title}, workloads", target, WORKLOADS_GAIN, _with_mean(rows)))
    return Tables("gta-verdict", parts)


def _lanes(
    configs: Sequence[GtaConfig], target: str, progress: Callable[[str], None]
) -> tuple[list[_Lane], Table]:
    """Measures lanes; returns their table, too."""
    from ...hw.spec.gta_lane.separate import GTA_SEPARATE, GtaSeparateConfig
    from ...synth.tables.gta_parts import LaneParts
    from ...synth.tables.measure import measure

    theirs = GtaSeparateConfig(formats=configs[0].formats, pipeline=_STAGES)
    name = f"separate units, {_STAGES} stages"
    base = measure("gta-verdict", {name: (GTA_SEPARATE, theirs)}, target, progress)[name].area
    clock = _megahertz("gta_separate", theirs, target)

    def row(label: str, area: float, megahertz: float | None) -> Row:
        return Row(label, [None] * 3, [1e-6 * area, 100 * area / base, megahertz], (3, 1, 0))

    rows, lanes = [row(name, base, clock)], []
    for config in configs:
        parts = LaneParts(config, target, progress)
        area = parts.fused()
        whole = area + parts.control() + parts.interconnect()
        own = _megahertz("gta", config, target)
        ratio = own / clock if own and clock else None
        lanes.append(_Lane(config, (1e-6 * base, 1e-6 * area), whole / base, ratio))
        label = f"GTA, {config.float_adders} adders"
        rows += [row(f"{label}, arithmetic", area, None), row(f"{label}, whole lane", whole, own)]
    return lanes, Table("gta-verdict, a lane", target, AREAS, rows)


def _megahertz(unit: str, config: object, target: str) -> float | None:
    """The clock of a unit in the record, of the nearest configuration; None if there is none."""
    found = reached_clocks(unit, config.resolved(), (target,))  # type: ignore[attr-defined]
    return 1000 * found[0].gigahertz if found else None


def _of_format(lane: _Lane, name: str) -> Row:
    from ...sim.gta.baseline_units import vector_rate

    rates = vector_rate(name), peak(lane.config, name)
    dense = [rate / area for rate, area in zip(rates, lane.areas, strict=True)]
    lanes, area = rates[1] / rates[0], dense[1] / dense[0]
    ours = [*rates, *dense, lanes, area, lane.timed(area)]
    return Row(name, [None] * len(ours), ours)


def _of_workload(lane: _Lane, label: str, workload: Workload, costs: Costs) -> Row:
    machines = (costs.vectors, costs.array)
    each = [workload.products / cycles(one) / lane.config.lanes for one in machines]
    time = sum(one.time for one in costs.ported)
    gain = cycles(costs.vectors) / cycles(costs.array)
    grown = sum(max(one.cycles / lane.ratio, one.port_cycles) for one in costs.vectors)
    ours = [
        *each,
        gain,
        accesses(costs.vectors) / accesses(costs.array),
        sum(one.time for one in costs.vectors) / time,
        gain / lane.ratio,
        grown / time,
        lane.timed(gain / lane.ratio),
        gain / lane.whole,
        lane.timed(gain / lane.whole),
    ]
    return Row(label, [None] * len(ours), ours)


def _with_mean(rows: list[Row]) -> list[Row]:
    """Adds the geometric means of all but the rates, beside the paper's."""
    columns = zip(*(row.ours[2:] for row in rows), strict=True)
    means = [None if None in each else mean([x for x in each if x]) for each in columns]
    paper = [None, None, None, PAPER_ACCESSES, None, PAPER_CYCLES, *[None] * 4]
    return [*rows, Row("geometric mean", paper, [None, None, *means])] if rows else rows
