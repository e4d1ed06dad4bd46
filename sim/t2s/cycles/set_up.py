"""An array at the beginning of a job."""

from __future__ import annotations

from graphlib import TopologicalSorter
from typing import Any

import numpy as np

from ....hw.spec.jobs.t2s import memory_parts
from ....hw.spec.t2s.config import T2sConfig
from ....hw.spec.t2s.network import End
from ....hw.spec.t2s.parts import ElementPart, MemoryPart
from ...timing.bursts.state import Reader, Writer, managers
from ...timing.dram import MemoryModel
from ..job import Job
from .network import Network
from .state import (
    ELEMENT,
    ELEMENTS,
    IMAGE,
    MACHINE,
    MOVES,
    PROCESS,
    QUEUE,
    SEGMENT,
    Array,
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
