"""Lowers a configuration to the parts of its hardware."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, wraps
from pathlib import Path

from ...spec.host.words import unknown
from ...spec.t2s.config import T2sConfig, parsed_sizes
from ...spec.t2s.design import Design
from ...spec.t2s.parts import ElementPart
from ...spec.t2s.timing import interval_of, timing_of
from .. import designs
from ..compiler.passes import compiled
from ..language import Computation, MappingError
from ..language.computation import load_mapping
from ..language.isolated import Isolated
from .completion import complete
from .elements import (
    arithmetic_of,
    element_part,
    staged,
    summed_loops,
    sums_side_by_side,
    word_bits,
)
from .moving import check_managers, feeder_part, memory_part, mover_part, stored_lanes
from .periods import Period, periods
from .queues import Queues, all_copies, depth_of, links
from .routing import routes_of
from .sparse.design import sparse_design
from .words_through import Stopped, run

# Depths of a design's queues with which it never deadlocks, for any trip counts.
#
# Each queue has a register, or two where `ready` is cut, too. Where functions would wait for each
# other in one of the periods of a run, the queues that are full then are made longer, all of a
# channel alike (T. M. Parks, "Bounded scheduling of process networks", 1995). In the end each is
# made as short as the others allow.

Said = Mapping[str, tuple[int, str]]
"""Depths that the mapping gives, with places, by channel."""


def with_depths(design: Design, said: Said) -> Design:
    """The design with depths of its queues, those of channels that are ``said`` kept.

    Raises ValueError for a design that would stop, or for which no depths are known that are enough
    for all trip counts of registers.
    """
    queues = Queues(design)
    found = _Depths(design, queues, periods(design, queues), said)
    more = found.shortened(found.grown())
    links = tuple(replace(one, depth=depth_of(design, one, more)) for one in design.links)
    return replace(design, links=links)


class _Depths:
    """Words by channel, beyond what its queues have anyway, with which runs end."""

    def __init__(self, design: Design, queues: Queues, runs: Sequence[Period], said: Said) -> None:
        self._design, self._queues, self._runs, self._said = design, queues, list(runs), said

    def grown(self) -> dict[str, int]:
        """Grows full queues until all runs end; returns the additional words by channel.

        Raises ValueError if no depths suffice.
        """
        more: dict[str, int] = {}
        while (stopped := self._stopped(more)) is not None:
            full = [name for name in sorted(stopped.full) if name not in self._said]
            if not full:
                raise self._refused(stopped)
            shortest = min(more.get(name, 0) for name in full)
            for name in full:
                if more.get(name, 0) == shortest:
                    more[name] = max(1, 2 * shortest)
        return more

    def shortened(self, more: Mapping[str, int]) -> dict[str, int]:
        """Shortens each queue as far as the others allow."""
        found = dict(more)
        for name in found:
            # One word less is room enough, or is not.
            low, high = -1, found[name]
            while high - low > 1:
                middle = (low + high) // 2
                if self._stopped({**found, name: middle}) is None:
                    high = middle
                else:
                    low = middle
            found[name] = high
        return found

    def _stopped(self, more: Mapping[str, int]) -> Stopped | None:
        """Executes the runs; returns the first deadlock, or None if all runs end."""
        rooms = self._queues.rooms(more)
        for number, one in enumerate(self._runs):
            try:
                run(one, self._queues, rooms)
            except Stopped as stopped:
                # A run that has stopped once may well stop again.
                self._runs.insert(0, self._runs.pop(number))
                return stopped
        return None

    def _refused(self, stopped: Stopped) -> ValueError:
        """Returns the error for a design that stops whatever depths its other queues have."""
        for name in sorted(stopped.full & set(self._said)):
            depth, place = self._said[name]
            return ValueError(f"{place}: {name}.fifo: with a depth of {depth} the design stops")
        name = self._design.program.name
        return ValueError(f"{name} would stop, whatever queues hold: {stopped}")


_ABOUT = re.compile(r"^(\w+) (has no hardware yet|would stop)\b|^no depths of queues are known")
_LOOP = re.compile(r"loop `(\w+)`")

Lowering = Callable[[Computation, T2sConfig], Design]


def with_places(lowering: Lowering) -> Lowering:
    """Have messages about functions of a mapping begin with a file and a line: of the directive on
    a function that has to do with it, else of the definition."""

    @wraps(lowering)
    def lowered(computation: Computation, config: T2sConfig) -> Design:
        try:
            return lowering(computation, config)
        except MappingError:
            raise
        except ValueError as error:
            if (about := _ABOUT.match(str(error))) is None:
                raise
            place = _place(computation, about[1] or computation.name, str(error))
            raise ValueError(f"{place}: {error}") from error

    return lowered


def _place(computation: Computation, function: str, message: str) -> str:
    for chain in computation.chains.values():
        for isolated in chain:
            if isolated.name == function:
                return next(_directives(isolated, message), isolated.place)
    return computation.place


def _directives(isolated: Isolated, message: str) -> Iterator[str]:
    """Places of what a message says of a function."""
    if "unrolled" in message:
        named = _LOOP.findall(message)
        yield from (place for loop, place in isolated.unrolled if loop in named)
    if "buffer" in message and isolated.buffered:
        yield isolated.buffered[2]
    if isolated.scattered and ("scattered" in message or "pass" in message):
        yield isolated.scattered[2]


def check_stalls(computation: Computation, element: ElementPart, *, cut: bool) -> None:
    """Refuse an element that keeps fewer sums than a sum takes cycles, unless the mapping allows
    it.

    Parameters
    ----------
    cut: whether factors are cut for a trial: then it is allowed if the mapping says nothing

    Raises ValueError.
    """
    said, place = computation.stall or ("allowed" if cut else "refused", computation.place)
    interval = interval_of(element)
    if said == "allowed" or interval.cycles == 1:
        return
    latency = timing_of(element).latency
    sums = "1 sum" if element.sums == 1 else f"{element.sums} sums"
    operations = "an operation" if interval.operations == 1 else f"{interval.operations} operations"
    raise ValueError(
        f"{place}: {computation.name}.accumulate: an element keeps {sums}, and one takes {latency} "
        f"cycles: {operations} every {interval.cycles} cycles; to allow that, write "
        f'{computation.name}.accumulate(stall="allowed")'
    )


_FOLDER = Path(designs.__file__).parent

DESIGNS = (
    *sorted(one.stem for one in _FOLDER.glob("[a-z]*.py")),
    *(
        f"{folder}/{one.stem}"
        for folder in ("cgra", "sparse")
        for one in sorted(_FOLDER.glob(f"{folder}/[a-z]*.py"))
    ),
)
"""Names of the designs that ship."""


def design_of(config: T2sConfig) -> Design:
    """Returns the design of a configuration: the parts of its hardware.

    Raises ValueError for a design that there is not, a file that does not define one, a mapping
    that cannot be followed or has no hardware, and formats that do not fit it.
    """
    file = Path(config.design)
    if not config.design.endswith(".py"):
        file = _FOLDER / f"{config.design}.py"
        if not file.is_file():
            raise ValueError(
                unknown("design", config.design, DESIGNS, "tilewright table t2s-designs")
            )
    try:
        return _design(config, file, file.read_bytes())
    except OSError as error:
        raise ValueError(
            f"`design` must be a file that can be read, not {config.design!r}: {error.strerror}"
        ) from error


@lru_cache(maxsize=64)
def _design(config: T2sConfig, file: Path, content: bytes) -> Design:
    """Returns the design that a file with this content defines."""
    computation = load_mapping(file, parsed_sizes(config.sizes), config.largest_factor or None)
    return lowered(computation, config)


@with_places
def lowered(computation: Computation, config: T2sConfig) -> Design:
    """Lowers a mapping to its design. Raises ValueError, see :func:`design_of`."""
    return (sparse_design if computation.sparse else _dense)(computation, config)


def _dense(computation: Computation, config: T2sConfig) -> Design:
    program = compiled(complete(computation))
    arithmetic = arithmetic_of(
        program, computation, config.format, config.accumulator, config.pipeline
    )
    element = element_part(program, arithmetic, sums_side_by_side(computation))
    if not (config.pipeline or computation.stages):
        element = staged(element)
    summed = [one.name for one in summed_loops(program.function(program.name))]
    feeders, movers, loaders = [], [], []
    for operand in computation.operands:
        name = operand.tensor.name
        bits = word_bits(element, name)
        feeder, loader = (program.function(f"{name}_{role}") for role in ("feeder", "loader"))
        for loop in feeder.instances:
            if loop.reduces:
                raise ValueError(
                    f"{feeder.name} has no hardware yet: loop `{loop.name}`, which is summed over, "
                    "is unrolled in it"
                )
        flagged = name == element.operands[0].name
        if feeder.buffers:
            feeders.append(feeder_part(feeder, bits, summed, flagged=flagged))
        else:
            movers.append(mover_part(feeder, "feeder", bits, summed, flagged=flagged))
        fmt = element.word_format(element.operand(name))
        loaders.append(memory_part(program, loader, name, bits, fmt))
    bits = word_bits(element, program.name)
    for isolated in computation.chain(program.name):
        if isolated.role in ("drainer", "collector"):
            function = program.function(isolated.name)
            movers.append(mover_part(function, isolated.role, bits, (), flagged=False))
    check_managers(program, len(loaders), config.managers)
    unloader = program.function(f"{program.name}_unloader")
    stored = stored_lanes(unloader) * arithmetic.result.container_bits
    routes = routes_of(program, element)
    found = Design(
        program=program,
        element=element,
        feeders=tuple(feeders),
        movers=tuple(movers),
        loaders=tuple(loaders),
        unloader=memory_part(program, unloader, program.name, stored, arithmetic.result),
        routes=routes,
        copies=all_copies(program, routes),
        links=links(program, routes),
    )
    check_stalls(computation, element, cut=config.largest_factor > 0)
    return with_depths(found, computation.depths)
