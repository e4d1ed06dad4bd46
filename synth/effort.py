"""Implementations of a design: a mapping for each of its modules, and sizes for all cells.

Timing decides between mappings: each trial analyses the slowest path of the whole. How, depends on
the size of the design:

* up to ``MOST_FLAT`` cells all modules are put together. Of many instances that are alike trials
  analyse a few, under the loads of all;
* a larger design is timed by models of its modules, in trials as well, and buffers of nets with
  many loads are in its modules.

Sizes are chosen in a netlist with a few of many instances that are alike, under the loads of all;
those for speed of a large design twice, since loads of the others stay as they were. What is chosen
is analysed as a whole; if its slowest path is in an instance that was not looked at, that one is
added and the choice made again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from tilewright.hw.spec.host.words import not_one_of

from .base.memo import Memo
from .library.cells import Cell, Library, WireLoad
from .mapping.abc import MAPPINGS
from .mapping.fanout import add_buffers, choose_buffer
from .mapping.flattening import Sample, flatten, joined_through
from .mapping.hierarchy import Design
from .mapping.module_buffers import buffered
from .mapping.netlist import Kept, MappedModule, Netlist, cell_count
from .timing.analysis import Path, Timing, analyse
from .timing.families import merged_arcs
from .timing.loads import boundary_loads
from .timing.models import ModuleTiming
from .timing.sizing import Sizer

__all__ = ["EFFORTS", "MOST_FLAT", "Implementation", "ImplementationRequest", "Implementer"]

EFFORTS = ("area", "speed")

Modules = dict[str, MappedModule]

MOST_FLAT = 300_000
"""Cells of the largest design that is put together to one netlist."""
SAMPLE = 20_000
"""Cells of like instances that trials analyse."""
MOST_TRIALS = 60, 20
"""Changes of mappings that are tried on the slowest path: of a design that is put together, and of
a larger one."""
POINTS = 8
"""Periods of a curve."""
GAIN = 5e-4
"""Part of the slowest path by which a change must shorten it."""
NEAR = 1.15
"""Part of the period up to which sizes may bring a design down to it."""
LEAST_SAVING = 0.002, 0.01
"""Part of the area that a module's smaller mapping must save, of the same two."""
MARGINS = (1.0, 1.03)
"""Parts of the period that a choice of mappings may take, before sizes bring it down to that."""


@dataclass(frozen=True, kw_only=True)
class ImplementationRequest:
    """How a design is to be implemented.

    Members
    -------
    period: of the clock in ns; None for none
    effort, wires: as of :func:`.flow.synthesize_verilog`

    Raises ValueError for a value that is not allowed.
    """

    period: float | None = None
    effort: str = "speed"
    wires: str = "none"

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("`effort`", self.effort, EFFORTS),
            ("`wires`", self.wires, ("none", "wireload")),
        ):
            if value not in allowed:
                raise ValueError(not_one_of(name, allowed, value))

    def wired(self, library: Library) -> bool:
        """Whether wires have a load. Raises ValueError if the library has no model of it."""
        wired = self.wires == "wireload"
        if wired and library.wires(0.0) is None:
            raise ValueError(
                f"`wires` must be none: library {library.name} has no default wire-load model"
            )
        return wired


@dataclass(frozen=True)
class Implementation:
    """A design in cells.

    Members
    -------
    modules: by name, without buffers on nets of high fan-out
    netlist: all of it, with its buffers; None of a design that is timed by models of its modules
    buffers: how many there are, cells of kind ``buffer``
    area: of all cells but those at memories, which are boundaries for timing
    timing: of the whole
    """

    modules: Modules
    netlist: Netlist | None
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
    wired: whether wires have a load, by the library's model for a design of this area
    progress: is told what comes next
    """

    def __init__(
        self,
        design: Design,
        library: Library,
        mapped: Callable[[str], Modules],
        wired: bool = False,
        progress: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.design, self.library, self._wired = design, library, wired
        self._mapped, self._progress = mapped, progress
        self._mappings: dict[str, Modules] = {}
        self._merged = merged_arcs(library)
        self._found: list[Implementation] = []
        self._counts = design.counts()
        self._order = design.order()
        self._memo = Memo()
        self._always: set[str] = set()
        self._fastest: Implementation | None = None

    def mapping(self, name: str) -> Modules:
        """The modules in one of the mappings."""
        if name not in self._mappings:
            self._mappings[name] = self._mapped(name)
        return self._mappings[name]

    @cached_property
    def wires(self) -> WireLoad | None:
        """The model of the wires, by the area of the cells mapped for area; None for free ones."""
        if not self._wired:
            return None
        return self.library.wires(sum(map(self._area, self.mapping("area").values())))

    @cached_property
    def flat(self) -> bool:
        """True if the modules are assembled into one netlist."""
        mapped = self.mapping("area")
        return sum(cell_count(mapped[name]) * self._counts[name] for name in mapped) <= MOST_FLAT

    def implement(self, modules: Modules) -> Implementation:
        """Put modules together, and analyse the whole."""
        area = sum(map(self._area, modules.values()))
        buffer = choose_buffer(self.library)
        netlist: Netlist | None = None
        if self.flat:
            joined = flatten(modules, self.design.top, self.library)
            netlist, buffers, _ = add_buffers(joined, self.library)
            timing = analyse(netlist, self.library, self.wires)
        else:
            ready = self._ready(modules)
            added = {name: sum(map(len, one.buffers.values())) for name, one in ready.items()}
            buffers = sum(count * self._counts[name] for name, count in added.items())
            timing = self._models(ready, self.library)
        area += buffers * buffer.area if buffer else 0.0
        return Implementation(modules, netlist, buffers, buffer, area, timing)

    def netlist(self, one: Implementation) -> Netlist:
        """All of an implementation as one netlist, however large."""
        return one.netlist or flatten(self._ready(one.modules), self.design.top, self.library)

    def _ready(self, modules: Modules) -> Modules:
        """The modules of a design that is not put together, with their buffers."""
        joined = joined_through(modules, self._order, self._memo)
        return buffered(joined, self._order, self.library, self._memo)

    def _models(self, ready: Modules, library: Library) -> Timing:
        return ModuleTiming(ready, self._order, library, self._memo, self.wires).timing()

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
        margins = MARGINS if self.flat else MARGINS[:1]
        begin = [self._cheaper(start.modules, margin * period) for margin in margins]
        if self.flat and self._trial(self.mapping("area")).ns <= NEAR * period:
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
        """Implement a choice; repeat it until a sample has had the slowest path of the whole."""
        while True:
            found = self.implement(choose())
            steps = found.timing.path.steps if found.timing.path else ()
            new = {step.instance for step in steps} - {""} - self._always
            path = self._analysed(*self._sampled(found.modules)) if new else None
            if path is None or found.ns <= path.total * (1 + GAIN):
                return found
            self._always |= new

    def _sampled(self, modules: Modules) -> tuple[Netlist, Kept | None]:
        """A netlist in which a few of many instances that are alike count."""
        if self.flat:
            flat = flatten(modules, self.design.top, self.library)
            netlist, _, _ = add_buffers(flat, self.library)
            return netlist, netlist.sample(SAMPLE, self._always)
        ready, order = self._ready(modules), self._order
        sizes: dict[str, int] = {}
        for name in order:
            inside = sum(sizes[child] for _, child, _ in ready[name].children)
            sizes[name] = cell_count(ready[name]) + inside
        loads = boundary_loads(ready, order, self.library, self._memo)
        sample = Sample(SAMPLE, self._always, loads, sizes)
        return flatten(ready, self.design.top, self.library, sample), None

    def _analysed(self, netlist: Netlist, kept: Kept | None) -> Path | None:
        return analyse(netlist, self._merged, self.wires, kept).path

    def _trial(self, modules: Modules) -> _Trial:
        """The slowest path: of a sample of the instances, or by models of the modules."""
        if self.flat:
            path = self._analysed(*self._sampled(modules))
        else:
            ready = self._ready(modules)
            path = self._models(ready, self._merged).path
        times: dict[str, float] = defaultdict(float)
        before = 0.0
        for step in path.steps if path else ():
            times[step.module] += step.arrival - before
            before = step.arrival
        order = sorted(times, key=lambda name: -times[name])
        return _Trial(modules, path.total if path else 0.0, order)

    def _sized(self, modules: Modules, period: float | None) -> Modules:
        """The modules with sizes for a period, or for the shortest one."""
        for _ in range(2 if period is None and not self.flat else 1):
            netlist, kept = self._sampled(modules)
            counts = None if self.flat else self._counts
            sizer = Sizer(netlist, modules, self.library, self.wires, kept, counts)
            modules = sizer.resized(sizer.run(period))
        return modules

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
                if better is not None or trials >= MOST_TRIALS[not self.flat]:
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
            least = LEAST_SAVING[not self.flat] * sum(map(self._area, modules.values()))
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
