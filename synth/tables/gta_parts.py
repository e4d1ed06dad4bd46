"""The arithmetic of GTA's lane, part by part."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tilewright.hw.spec.gta import COLS, ROWS, GtaConfig

from ..report import AsicReport
from .measure import Progress, measure_component, part_area

if TYPE_CHECKING:
    from amaranth.lib.wiring import Component

__all__ = ["ELEMENTS", "LaneParts", "all_of"]

ELEMENTS = ROWS * COLS
"""Elements of a lane's array."""


def all_of(report: AsicReport, name: str) -> float:
    """Area of all instances of a component."""
    area, count = part_area(report, name)
    return area * count


class LaneParts:
    """Areas of a lane's arithmetic, part by part.

    Parameters
    ----------
    config: of the accelerator
    target: a library
    progress: called with a line of text before each synthesis
    """

    def __init__(self, config: GtaConfig, target: str, progress: Progress) -> None:
        self._config, self._target, self._progress = config, target, progress
        self._found: dict[str, AsicReport] = {}

    def _measure(
        self, label: str, name: str, make: Callable[[], Component], **how: bool
    ) -> AsicReport:
        """Measures each part once."""
        if label not in self._found:
            self._progress(label)
            self._found[label] = measure_component(name, make(), self._target, **how)
        return self._found[label]

    def element(self) -> AsicReport:
        from tilewright.hw.gta.mpra import LimbElement

        label = f"an element of {self._named}"
        return self._measure(label, "limb_element", lambda: LimbElement(self._config))

    def accumulator(self) -> float:
        """The multi-precision accumulator: nothing without integers."""
        from tilewright.hw.gta.lane.multi_precision_accumulator import MultiPrecisionAccumulator

        if not self._config.integers:
            return 0.0
        label = f"the accumulator of {self._named}"

        def make() -> Component:
            return MultiPrecisionAccumulator(self._config)

        return self._measure(label, "accumulator", make, together=False).area

    def row_adder(self, number: int = 0) -> AsicReport:
        from tilewright.hw.gta.float.row_adder import RowAdder

        label = f"adder {number} of a row, stages: {self._config.adder_stages}, of {self._named}"
        return self._measure(label, "row_adder", lambda: RowAdder(self._config, number))

    def row_adders(self) -> float:
        """Area of all row adders of a lane: each row has a first one, and others, which are
        alike."""
        if not self._config.floats:
            return 0.0
        first, others = self.row_adder().area, self._config.row_adders - 1
        narrow = [name for name in self._config.floats if name != "fp64"]
        more = others * self.row_adder(1).area if others and narrow else 0.0
        return ROWS * (first + more)

    def float_back(self) -> float:
        from tilewright.hw.gta.float.float_back import FloatBack

        if not self._config.floats:
            return 0.0

        def make() -> Component:
            return FloatBack(self._config)

        return self._measure("all adders of a lane", "float_back", make, together=False).area

    def cluster(self) -> AsicReport:
        from tilewright.hw.gta.lane_cluster import LaneCluster

        def make() -> Component:
            return LaneCluster(self._config)

        return self._measure("lanes, joined", "lane_cluster", make, together=False)

    def array(self) -> float:
        """The array with its accumulator."""
        return ELEMENTS * self.element().area + self.accumulator()

    def fused(self) -> float:
        """The array, its accumulator and all adders of a lane."""
        return self.array() + self.float_back()

    def control(self) -> float:
        """Feeders, results and control of a lane."""
        cluster = self.cluster()
        inside = ("limb_element", "multi_precision_accumulator", "float_back")
        known = sum(all_of(cluster, name) for name in inside)
        return (all_of(cluster, "lane") - known) / self._config.lanes

    def interconnect(self) -> float:
        """A lane's share of the connections among lanes."""
        cluster = self.cluster()
        return (cluster.area - all_of(cluster, "lane")) / self._config.lanes

    def arithmetic(self) -> float:
        """Area of a lane's arithmetic, without the interconnect of the adders."""
        return ELEMENTS * self.element().area + self.accumulator() + self.row_adders()

    @property
    def _named(self) -> str:
        return ", ".join(self._config.formats)
