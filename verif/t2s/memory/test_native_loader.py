"""A loader and its walk, natively: every bit of addresses and trip counts, and every handshake."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable
from typing import Any

import pytest
from tilewright.hw.t2s.loader import Loader, RunWalker
from tilewright.verif.native.parts import NativeParts

from .loading import Walk, around, memory_part, runs

PART = memory_part(8, "i -j k", (3,))
TRIP_BITS = 10
LONG = 0x2B5
"""A count which and whose complement use every bit."""
CONFIG = around(PART, trip_bits=TRIP_BITS, outstanding=2)
RTL = NativeParts(
    "run_walk", {"walker": lambda: RunWalker(PART, CONFIG), "loader": lambda: Loader(PART, CONFIG)}
)
LOOPS = "ijk"
MOST = 2 * CONFIG.outstanding + 8
"""Runs in flight."""


def drawn(rng: random.Random, trips: tuple[int, ...]) -> Walk:
    """A base and strides over the whole width of addresses of beats."""
    beats = range(0, 1 << CONFIG.addr_bits, CONFIG.beat_bytes)
    strides = {name: rng.choice(beats) for name in PART.strides}
    return Walk(base=rng.choice(beats), strides=strides, trips=dict(zip(LOOPS, trips, strict=True)))


def begin(sim: Any, part: Any, walk: Walk) -> None:
    """The inputs of a job, in the cycle of its start."""
    for name, value in walk.inputs.items():
        sim.set(getattr(part, name), value)
    assert not sim.get(part.running)
    sim.set(part.start, 1)


async def check_walk(sim: Any, walk: Walk, stalls: Iterable[int] = ()) -> None:
    """Compares the addresses of a walk with the loops; ``stalls``: cycles before each of the first
    is taken."""
    walker, stalling = RTL["walker"], iter(stalls)
    begin(sim, walker, walk)
    await sim.tick()
    sim.set(walker.start, 0)
    for address in runs(PART, walk):
        assert sim.get(walker.o.valid)
        assert sim.get(walker.running)
        sim.set(walker.o.ready, 0)
        for _ in range(next(stalling, 0)):
            await sim.tick()
        assert sim.get(walker.o.payload) == address % (1 << CONFIG.addr_bits)
        sim.set(walker.o.ready, 1)
        await sim.tick()
    assert not sim.get(walker.running)
    assert not sim.get(walker.o.valid)


@pytest.mark.parametrize("loop", range(3))
def test_run_walk_of_a_long_loop(loop: int) -> None:
    """Counts with every bit both 0 and 1."""
    rng = random.Random(1)

    async def bench(sim: Any) -> None:
        for count in (LONG, LONG ^ (1 << TRIP_BITS) - 1):
            await check_walk(sim, drawn(rng, tuple(count if n == loop else 1 for n in range(3))))

    RTL.simulate("walker", bench)


def test_run_walk_of_short_loops() -> None:
    """Every two bits of a base or of a stride are different in some walk."""
    rng = random.Random(3)

    async def bench(sim: Any) -> None:
        for _ in range(30):
            stalls = [rng.randrange(3) for _ in range(9)]
            await check_walk(sim, drawn(rng, tuple(rng.randint(1, 3) for _ in LOOPS)), stalls)

    RTL.simulate("walker", bench)


def check_load(
    sim: Any,
    rng: random.Random,
    stop_after: int | None,
    stall: float,
    trips: tuple[int, ...] | None = None,
) -> Any:
    """A coroutine that compares the requests and the words of a job with the loops."""
    loader = RTL["loader"]
    walk = drawn(rng, trips or tuple(rng.randint(1, 5) for _ in LOOPS))
    size, mask = CONFIG.beat_bytes, (1 << CONFIG.addr_bits) - 1
    beats_of_run = PART.run_beats(size)

    async def bench() -> None:
        wanted = deque(address & mask for address in runs(PART, walk))
        beats, words, begun = deque[int](), deque[int](), 0
        begin(sim, loader, walk)
        sim.set(loader.o.ready, 0)
        await sim.tick()
        sim.set(loader.start, 0)
        in_flight, cycle, left_in_run = 0, 0, PART.run_words
        while wanted or in_flight:
            asks, brings, takes = (rng.random() >= stall for _ in range(3))
            # In the first cycles nothing comes, so that as many runs as possible are in flight.
            brings = brings and bool(beats) and cycle > 2 * MOST
            sim.set(loader.request.ready, asks)
            sim.set(loader.i.valid, brings)
            sim.set(loader.i.payload.data, beats[0] if beats else 0)
            sim.set(loader.o.ready, takes)
            assert sim.get(loader.running)
            requests = bool(wanted) and in_flight < MOST
            assert sim.get(loader.request.valid) == requests
            if requests:
                request = sim.get(loader.request.payload)
                assert (request.address, request.beats) == (wanted[0], beats_of_run)
            if cycle == stop_after:
                sim.set(loader.stop, 1)
                assert not sim.get(loader.o.valid)
                await sim.tick()
                sim.set(loader.stop, 0)
                break
            if requests and asks:
                wanted.popleft()
                content = rng.randbytes(size * beats_of_run)
                beats.extend(
                    int.from_bytes(content[n * size : (n + 1) * size], "little")
                    for n in range(beats_of_run)
                )
                words.extend(
                    int.from_bytes(content[8 * n : 8 * n + 8], "little")
                    for n in range(PART.run_words)
                )
                in_flight += 1
            if brings and sim.get(loader.i.ready):
                beats.popleft()
                begun += 1
            if sim.get(loader.o.valid):
                assert sim.get(loader.o.payload).data == words[0]
                if takes:
                    words.popleft()
                    left_in_run = left_in_run - 1 or PART.run_words
                    in_flight -= left_in_run == PART.run_words
            await sim.tick()
            cycle += 1
            assert cycle < 10_000
        sim.set(loader.i.valid, 0)
        sim.set(loader.request.ready, 1)
        for _ in range(3):
            quiet = (loader.running, loader.request.valid, loader.o.valid)
            assert not any(sim.get(signal) for signal in quiet)
            await sim.tick()

    return bench()


def test_run_walk_of_a_loader() -> None:
    rng = random.Random(2)

    async def bench(sim: Any) -> None:
        for number in range(30):
            stop = rng.randrange(60) if number % 3 == 2 else None
            await check_load(sim, rng, stop, (0.0, 0.3, 0.6)[number % 3 - 1])
        for loop in range(len(LOOPS)):
            for count in (LONG, LONG ^ (1 << TRIP_BITS) - 1):
                trips = tuple(count if n == loop else 1 for n in range(len(LOOPS)))
                await check_load(sim, rng, None, 0.0, trips)

    RTL.simulate("loader", bench)
