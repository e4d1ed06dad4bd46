"""Implementations of a design: a mapping for each of its modules, and sizes for all cells.

Timing decides between mappings: each trial puts all modules together and analyses the slowest path.
Of many instances that are alike trials analyse a few, under the loads of all; what is chosen is
analysed as a whole, and if its slowest path is in another instance, that one is added and the
choice made again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from .library.cells import Cell, Library, WireLoad
from .mapping.abc import MAPPINGS
from .mapping.fanout import add_buffers
from .mapping.hierarchy import Design
from .mapping.netlist import Kept, MappedModule, Netlist, flatten
from .timing.analysis import Timing, analyse
from .timing.families import merged_arcs
from .timing.sizing import Sizer

__all__ = ["EFFORTS", "Implementation", "Implementer"]

EFFORTS = ("area", "speed")

Modules = dict[str, MappedModule]

SAMPLE = 20_000
"""Cells of like instances that trials analyse."""
MOST_TRIALS = 60
"""Changes of mappings that are tried on the slowest path."""
POINTS = 8
"""Periods of a curve."""
GAIN = 5e-4
"""Part of the slowest path by which a change must shorten it."""
NEAR = 1.15
"""Part of the period up to which sizes may bring a design down to it."""
LEAST_SAVING = 0.002
"""Part of the area that a module's smaller mapping must save."""
MARGINS = (1.0, 1.03)
"""Parts of the period that a choice of mappings may take, before sizes bring it down to that."""


@dataclass(frozen=True)
class Implementation:
    """A design in cells.

    Members
    -------
    modules: by name
    netlist: all of it, with ``buffers`` buffers on nets of high fan-out, cells of kind ``buffer``
    area: of all cells but those at memories, which are boundaries for timing
    timing: of the whole
    """

    modules: Modules
    netlist: Netlist
    buffers: int
    buffer: Cell | None
    area: float
    timing: Timing

    @property
    def ns(self) -> float:
        """Length of the slowest path, 0 without any."""
        return self.timing.path.total if self.timing.path else 0.0


class Implementer:
    """Finds implementations of a design.

    Parameters
    ----------
    mapped: from the name of a mapping to the modules of the design
    wires: model of the wires, free without one
    progress: is told what comes next
    """

    def __init__(
        self,
        design: Design,
        library: Library,
        mapped: Callable[[str], Modules],
        wires: WireLoad | None = None,
        progress: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.design, self.library, self.wires = design, library, wires
        self._mapped, self._progress = mapped, progress
        self._mappings: dict[str, Modules] = {}
        self._merged = merged_arcs(library)
        self._found: list[Implementation] = []
        self._counts = design.counts()
        self._always: set[str] = set()
        self._fastest: Implementation | None = None

    def mapping(self, name: str) -> Modules:
        """The modules in one of the mappings."""
        if name not in self._mappings:
            self._mappings[name] = self._mapped(name)
        return self._mappings[name]

    def implement(self, modules: Modules) -> Implementation:
        """Put modules together, and analyse the whole."""
        flat = flatten(modules, self.design.top, self.library)
        netlist, buffers, buffer = add_buffers(flat, self.library)
        timing = analyse(netlist, self.library, self.wires)
        area = sum(map(self._area, modules.values())) + (buffers * buffer.area if buffer else 0.0)
        return Implementation(modules, netlist, buffers, buffer, area, timing)

    @cached_property
    def plain(self) -> Implementation:
        """The mapping for area, with the sizes that it has."""
        return self.implement(self.mapping("area"))

    def fastest(self) -> Implementation:
        """The fastest implementation that is found, and of these the smallest."""
        if self._fastest is None:
            found = self.plain
            if found.ns:
                found = self._whole(self._fast)
                found = self.smallest(found.ns, found)
            self._fastest = found
        return self._fastest

    def smallest(self, period: float, start: Implementation | None = None) -> Implementation:
        """The smallest implementation that is found to meet a period, or the fastest if none does.

        ``start``: an implementation to begin with, by default the fastest.
        """
        start = start or self.fastest()
        if start.ns > period:
            return start
        self._progress(f"looking for the smallest area at {period:.4g} ns")
        begin = [self._cheaper(start.modules, margin * period) for margin in MARGINS]
        if self._trial(self.mapping("area")).ns <= NEAR * period:
            begin.append(self.mapping("area"))
        self._found.append(start)
        for modules in begin:
            self._found.append(self._whole(partial(self._sized, modules, period)))
        fitting = [one for one in self._found if one.ns <= period]
        return min(fitting, key=lambda one: one.area)

    def curve(self) -> list[tuple[float, float, float]]:
        """Periods from the fastest implementation to the mapping for area; of the smallest
        implementation that meets each, the slowest path and the area."""
        fast = self.fastest()
        slow = self.plain
        if not fast.ns:
            return []
        growth = max(slow.ns / fast.ns, 1.0)
        periods = [fast.ns * growth ** (n / (POINTS - 1)) for n in range(POINTS)]
        for period in periods[1:] if growth > 1 + GAIN else ():
            self.smallest(period)
        points = []
        for period in periods:
            fitting = [one for one in (fast, slow, *self._found) if one.ns <= period * (1 + 1e-9)]
            best = min(fitting, key=lambda one: one.area)
            points.append((period, best.ns, best.area))
        return points

    def _area(self, module: MappedModule) -> float:
        """Area of all instances of a module, without those inside."""
        if self.design.modules[module.name].memory_bits:
            return 0.0
        cells = self.library.cells
        one = sum(cells[kind].area * len(pins) for kind, pins in module.cells.items())
        return one * self._counts[module.name]

    def _whole(self, choose: Callable[[], Modules]) -> Implementation:
        """Implement a choice; repeat it until trials have seen the slowest path of the whole."""
        while True:
            found = self.implement(choose())
            steps = found.timing.path.steps if found.timing.path else ()
            new = {step.instance for step in steps} - {""} - self._always
            unseen = found.ns > self._trial(found.modules).ns * (1 + GAIN)
            if not new or not unseen:
                return found
            self._always |= new

    def _sampled(self, modules: Modules) -> tuple[Netlist, Kept]:
        flat = flatten(modules, self.design.top, self.library)
        netlist, _, _ = add_buffers(flat, self.library)
        return netlist, netlist.sample(SAMPLE, self._always)

    def _trial(self, modules: Modules) -> _Trial:
        """The slowest path of a sample of the instances."""
        netlist, kept = self._sampled(modules)
        path = analyse(netlist, self._merged, self.wires, kept).path
        times: dict[str, float] = defaultdict(float)
        before = 0.0
        for step in path.steps if path else ():
            times[step.module] += step.arrival - before
            before = step.arrival
        order = sorted(times, key=lambda name: -times[name])
        return _Trial(modules, path.total if path else 0.0, order)

    def _sized(self, modules: Modules, period: float | None) -> Modules:
        netlist, kept = self._sampled(modules)
        sizer = Sizer(netlist, modules, self.library, self.wires, kept)
        return sizer.resized(sizer.run(period))

    def _fast(self) -> Modules:
        """The best mapping of all modules, changed module by module along the slowest path, and
        with sizes for speed."""
        self._progress("choosing mappings for speed")
        best = min((self._trial(self.mapping(name)) for name in MAPPINGS), key=lambda one: one.ns)
        trials = 0
        better: _Trial | None = best
        while better is not None:
            best, better = better, None
            changes = (
                {**best.modules, name: self.mapping(mapping)[name]}
                for name in best.order
                for mapping in MAPPINGS
                if self.mapping(mapping)[name] is not best.modules[name]
            )
            for change in changes:
                trials += 1
                trial = self._trial(change)
                if trial.ns < best.ns * (1 - GAIN):
                    better = trial
                if better is not None or trials >= MOST_TRIALS:
                    break
        self._progress("choosing sizes for speed")
        return self._sized(best.modules, None)

    def _cheaper(self, modules: Modules, period: float) -> Modules:
        """Modules with smaller mappings for those that the period does not need as they are."""
        for mapping in ("area", "balanced"):
            small = self.mapping(mapping)
            savings = {
                name: self._area(module) - self._area(small[name])
                for name, module in modules.items()
            }
            names = sorted(savings, key=lambda name: -savings[name])
            least = LEAST_SAVING * sum(map(self._area, modules.values()))
            worth = [name for name in names if savings[name] > least]
            modules = self._replaced(modules, small, worth, period)
        return modules

    def _replaced(
        self, modules: Modules, small: Modules, names: Sequence[str], period: float
    ) -> Modules:
        """Replace all of these modules, or as many of each half as meet the period."""
        if not names:
            return modules
        changed = {**modules, **{name: small[name] for name in names}}
        if self._trial(changed).ns <= period:
            return changed
        if len(names) == 1:
            return modules
        half = len(names) // 2
        for part in (names[:half], names[half:]):
            modules = self._replaced(modules, small, part, period)
        return modules


@dataclass(frozen=True)
class _Trial:
    """Modules, the length of their slowest path, and the modules along it, slowest first."""

    modules: Modules
    ns: float
    order: list[str]
