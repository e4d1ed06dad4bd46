"""Cycle model of an array from memory to memory: its parts put together, and a job run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from graphlib import TopologicalSorter
from typing import Any

import numpy as np

from ....hw.spec.jobs.t2s import memory_parts
from ....hw.spec.t2s.config import T2sConfig
from ....hw.spec.t2s.design import End
from ....hw.spec.t2s.parts import ElementPart, MemoryPart
from ...timing.bound_broken import BoundBroken
from ...timing.bursts.bus import arbitrate, data_step, managers_idle, serve_dram
from ...timing.bursts.state import Reader, Writer, managers
from ...timing.compiled import compiled, inlined
from ...timing.dram import FLAT, MemoryModel, timing
from ...timing.jobs import TimedDevice, ended, looks, stands_still, watch
from ..driver import Counts
from ..images import placement
from ..job import Job, job_at, run_count
from ..model import T2sModel
from .array import array_step, load, offer, offer_word, queues_step, store, unload
from .network import (
    ELEMENT,
    ELEMENTS,
    IMAGE,
    MACHINE,
    MOVES,
    PROCESS,
    QUEUE,
    SEGMENT,
    Array,
    Network,
)

_TO_MANAGER = 1
"""Registers from the writer to the manager that it shares."""

_MOST_STORED = 7
"""Runs that the unloader has requested and not handed over."""


def set_up(
    config: T2sConfig, job: Job, memory: MemoryModel, gigahertz: float, turns: tuple[int, ...]
) -> Array:
    """See :func:`tilewright.sim.t2s.cycles.machine.run_job`."""
    design = config.plan
    network = Network(design, job.trips)
    order = _order(network)
    queues = np.zeros(len(network.queues), QUEUE)
    for record, queue in zip(queues, network.queues, strict=True):
        record["depth"], record["passes"] = queue.depth, queue.passes
    queues["wire"][np.array(sorted(network.wires), np.int64)] = 1
    segments = [one for number in order for one in network.processes[number].segments]
    processes, ports = _processes(network, order)
    images, walks = _images(config, job, network)
    burst, outstanding = config.burst_beats, config.outstanding
    buffer = max(2 * burst, min(128, outstanding * burst))
    sizes = {"burst": burst, "buffer": buffer, "outstanding": outstanding}
    return Array(
        m=np.zeros(1, MACHINE),
        queues=queues,
        processes=processes,
        offers=_offers(network, order),
        segments=np.array(segments, SEGMENT),
        ports=ports,
        elements=_elements(network, design.element),
        images=images,
        trips=walks[0],
        strides=walks[1],
        numbers=walks[2],
        begins=walks[3],
        b=managers(
            [Reader(**sizes, manager=n % config.managers) for n in range(len(design.loaders))],
            Writer(**sizes, registers=_TO_MANAGER),
            config.managers,
            beat=config.beat_bytes,
            memory=memory,
            gigahertz=gigahertz,
            turns=turns,
        ),
    )


def _order(network: Network) -> list[int]:
    """Processes, so that what takes from a queue that passes on room stands before what puts
    there, and what takes results before their element."""
    sinks = {queue: n for n, one in enumerate(network.processes) for queue in one.takes}
    sorter: TopologicalSorter[int] = TopologicalSorter()
    elements = iter(network.elements)
    for number, one in enumerate(network.processes):
        passed = [queue for queue in one.puts if network.queues[queue].passes]
        if one.kind == ELEMENT:
            passed.append(next(elements).output)
        # The unloader, which is none of them, takes what is left.
        sorter.add(number, *(sinks[queue] for queue in passed if queue in sinks))
    return list(sorter.static_order())


def _offers(network: Network, order: list[int]) -> Any:
    """Places of what puts into wires, so that what puts stands before what takes."""
    elements = [n for n, one in enumerate(network.processes) if one.kind == ELEMENT]
    results = {n: one.results for n, one in zip(elements, network.elements, strict=True)}
    found = [
        place
        for place, number in enumerate(order)
        if network.wires & {*network.processes[number].puts, results.get(number, -1)}
    ]
    return np.array(found[::-1], np.int64)


def _processes(network: Network, order: list[int]) -> tuple[Any, Any]:
    """The records in this order, and the queues of those that do not move single words."""
    found = np.zeros(len(order), PROCESS)
    ports: list[int] = []
    segments = 0
    numbers = [n for n, one in enumerate(network.processes) if one.kind == ELEMENT]
    for record, number in zip(found, order, strict=True):
        one = network.processes[number]
        record["kind"] = one.kind
        if one.kind == MOVES:
            record["first"], record["count"] = segments, len(one.segments)
            record["left"] = one.segments[0][0]
            segments += len(one.segments)
            continue
        record["first"], record["count"] = len(ports), len(one.takes)
        ports += one.takes
        record["puts"], record["put_count"] = len(ports), len(one.puts)
        ports += one.puts
        if one.kind == ELEMENT:
            record["at"] = numbers.index(number)
    return found, np.array(ports, np.int64)


def _elements(network: Network, part: ElementPart) -> Any:
    sums = part.sums
    found = np.zeros(len(network.elements), ELEMENTS)
    found["period"], found["completes"] = network.period, network.period - sums
    found["latency"], found["sums"], found["waits"] = network.latency, sums, network.waits
    found["overlaps"] = part.overlaps
    for record, one in zip(found, network.elements, strict=True):
        record["results"], record["output"] = one.results, one.output
        record["start_takes"], record["start_puts"] = one.start_takes, one.start_puts
    return found


def _images(config: T2sConfig, job: Job, network: Network) -> tuple[Any, tuple[Any, ...]]:
    """The records of all images; of their walks trip counts, strides, iterations and places."""
    parts = memory_parts(config)
    loops = max(1, *(len(one.steps) for one in parts))
    found = np.zeros(len(parts), IMAGE)
    trips, strides, numbers, begins = (np.zeros((len(parts), loops), np.int64) for _ in range(4))
    for index, part in enumerate(parts):
        record, beat = found[index], config.beat_bytes
        walked = [one for one in part.steps if one.count.extent != 1]
        record["loops"], record["running"] = len(walked), 1
        record["place"] = job.base[part.tensor] // beat
        record["beats"], record["run"] = part.run_beats(beat), part.run_words
        record["word"], record["repeats"] = part.word_bits // 8, part.repeats
        loads = part is not config.plan.unloader
        record["most"] = 2 * config.outstanding + 8 if loads else _MOST_STORED
        record["queue"] = network.at[_end(part, loads=loads, network=network)]
        for level, step in enumerate(walked):
            name = step.count.name
            trips[index, level] = step.count.extent or job.trips[name]
            numbers[index, level] = 1
            begins[index, level] = record["place"]
            if step.moves:
                strides[index, level] = job.strides[part.tensor][name] // beat
    return found, (trips, strides, numbers, begins)


def _end(part: MemoryPart, *, loads: bool, network: Network) -> End:
    """The port on its array's side."""
    port = "o" if loads else "i"
    (found,) = (one for one in network.at if one.function == part.name and one.port == port)
    return found


def bound(
    config: T2sConfig, job: Job, operations: int, memory: MemoryModel, gigahertz: float
) -> float:
    """Cycles that a job takes at least, of a design without sparse operands; ``operations``: of an
    element.

    It is certain

    1. that the last element begins all its operations, one in a cycle;
    2. that every manager moves all beats of its images, one a cycle each way;
    3. that a DRAM moves at least as many accesses as hold the beats of each run, one after the
       other, but for the last ones that are written: it answers a write as soon as that is in its
       queue. No more can be left than fill the queue, than its controller may decide ahead (within
       the time of a precharge and an activate), and one burst.

    The bound is the largest of these times. It leaves out every latency, every dependence and every
    bank; the cycle model and the Verilog have them, so that they are above it.
    """
    beat = config.beat_bytes

    def moved(parts: Iterable[MemoryPart], bytes_each: int) -> int:
        """Beats, or accesses of so many bytes."""
        return sum(
            run_count(job, one) * -(-one.run_beats(beat) * beat // bytes_each) for one in parts
        )

    found: list[float] = [operations]
    times, access = timing(memory, gigahertz), memory.access_bytes
    ahead = math.ceil((times.precharge + times.activate) / times.burst)
    late = (memory.write_queue + 1) * -(-config.burst_beats * beat // access) + ahead
    for number in range(config.managers):
        reads = [one for one in config.readers(number) if isinstance(one, MemoryPart)]
        writes = config.writers(number)
        found += [moved(reads, beat), moved(writes, beat)]
        if not memory.flat:
            accesses = moved(reads, access) + max(0, moved(writes, access) - late)
            found.append(accesses * times.burst)
    return max(found)


_END = 2
"""Cycles of a job beside those from its first request on: its check, and that of its end."""

_PATIENCE = 1 << 20
"""Cycles without an operation, a beat or a response, after which the model has come to a
standstill."""


@dataclass(frozen=True, kw_only=True)
class Timed:
    """Counters of a job.

    Parameters
    ----------
    counts: the counters
    turns: by manager, the loader that was served last, see :func:`run_job`
    """

    counts: Counts
    turns: tuple[int, ...]


@inlined
def _rests(g: Array) -> bool:
    """Tells whether every word of the result is stored and acknowledged."""
    for image in range(len(g.images)):
        if g.images[image].running | g.images[image].under:
            return False
    return managers_idle(g.b)


@inlined
def _cycle(g: Array, now: int) -> None:
    """A cycle: who takes something goes before who gives it."""
    b, m = g.b, g.m[0]
    data_step(b, now)
    for image in range(b.c.readers):
        offer_word(g, image)
    offer(g)
    unload(g)
    if array_step(g):
        if not m.busy:
            m.first = now
        m.busy += 1
        m.latest = now
    store(g, now)
    arbitrate(b, now)
    for image in range(b.c.readers):
        load(g, image)
    queues_step(g)
    serve_dram(b, now)


@compiled
def _run(g: Array, watch: Any) -> int:
    """Runs a job to its end; returns the cycles, negative if it never ends."""
    m, now = g.m[0], 0
    while not _rests(g):
        _cycle(g, now)
        now += 1
        if looks(watch, now):
            moved = m.busy + g.b.writer[0].answers_out
            for manager in range(g.b.c.managers):
                moved += g.b.managers[manager].sends_out
            if stands_still(watch, now, moved):
                return -now
    return now


def run_job(
    config: T2sConfig,
    job: Job,
    *,
    memory: MemoryModel = FLAT,
    gigahertz: float = 1.0,
    turns: tuple[int, ...] = (),
) -> Timed:
    """Predicts cycles and traffic of a job that obeys the rules; values of words do not matter.

    Parameters
    ----------
    job: the registers
    memory: of each manager
    gigahertz: clock of the array
    turns: by manager, which of its loaders was served last, before the job; none: behind a reset

    Raises ValueError for a design with sparse operands; RuntimeError as :func:`ended`, and
    :class:`BoundBroken`, which no job of a model that is right does.
    """
    if config.plan.sparse:
        tensor = config.plan.sparse.entries[0].tensor
        raise ValueError(f"cycles are not predicted yet of a design in which {tensor} is sparse")
    g = set_up(config, job, memory, gigahertz, turns)
    cycles = ended(_run(g, watch(_PATIENCE)))
    busy, first, latest = (int(g.m[0][name]) for name in ("busy", "first", "latest"))
    limit = bound(config, job, busy, memory, gigahertz)
    if cycles + _END < limit:
        raise BoundBroken(cycles + _END, limit)
    design, beat = config.plan, config.beat_bytes
    beats = sum(run_count(job, one) * one.run_beats(beat) for one in design.loaders)
    counts = Counts(
        cycles=cycles + _END,
        busy_cycles=busy,
        stalls=latest - first + 1 - busy if busy else 0,
        operations=busy,
        bytes_read=beats * beat,
        bytes_written=run_count(job, design.unloader) * design.unloader.run_bytes,
    )
    return Timed(counts=counts, turns=tuple(g.b.managers["served"].tolist()))


def counts_of(
    config: T2sConfig,
    bounds: Mapping[str, int],
    *,
    memory: MemoryModel = FLAT,
    gigahertz: float = 1.0,
) -> Counts:
    """Predicts the counters of the first job after a reset for these bounds, with images one after
    the other as the driver places them.

    Raises ValueError for bounds that are not the design's, or need more iterations than registers
    hold.
    """
    address, places = 0, {}
    for part in memory_parts(config):
        places[part.tensor] = address
        address += placement(config.plan, part.tensor, bounds, config.beat_bytes).size
    job = job_at(config, bounds, places)
    return run_job(config, job, memory=memory, gigahertz=gigahertz).counts


class T2sCycles(TimedDevice, T2sModel):
    """The model of results, with all counters of the cycle model for jobs that end well."""

    _turns: tuple[int, ...] = ()
    """Loaders that were served last; a soft reset does not change them."""

    def _timed(self, before: Any, counts: dict[str, int]) -> tuple[str, int, dict[str, int]]:
        job = Job.of_registers(self.config, self._values)
        timed = run_job(self.config, job, turns=self._turns, **self._timing)
        self._turns = timed.turns
        return "none", 0, asdict(timed.counts)
