"""The cache of reads: every beat is one that memory had, and never an old one."""

from __future__ import annotations

import random
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

import pytest
from amaranth.sim import Simulator
from tilewright.hw.axi.cache_tags import CacheShape, CacheTags
from tilewright.hw.axi.read_cache import EVENTS, ReadCache
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import by_size

BEAT, IDS, CACHED = 8, 8, 1 << 4
"""Bytes of a beat; IDs below each of the two kinds of reads; the bit that tells them apart."""
SHAPES = {
    "small": CacheShape(sets=2, ways=2, block_bytes=16),
    "skipped": CacheShape(sets=4, ways=4, block_bytes=32, skipped_bits=1),
    "beat": CacheShape(sets=8, ways=2, block_bytes=8),
}
CYCLES = by_size(400, 3000, 20000)


def cache(shape: CacheShape, outstanding: int = 4, waiting: int = 8) -> ReadCache:
    return ReadCache(
        shape,
        addr_bits=16,
        data_bits=8 * BEAT,
        id_bits=5,
        cached_bit=4,
        fill_id=CACHED,
        outstanding=outstanding,
        waiting=waiting,
    )


@dataclass
class Read:
    """A read in flight: its beats, when it was accepted, and how many beats have come."""

    address: int
    beats: int
    since: int
    come: int = 0


@dataclass
class Scene:
    """Memory and reader around a cache, cycle by cycle.

    ``versions`` has for each beat its contents with the cycles from which and up to which a read
    may see them; ``bad`` are beats that answer with an error. Memory answers a write ``lag`` cycles
    after it has changed, and may read a burst at once or beat by beat.
    """

    shape: CacheShape
    seed: str
    gap: float
    stall: float
    blocks: int = 40
    flows: bool = False
    lag: int = 0
    reads: dict[int, Read] = field(default_factory=dict)
    events: Counter[str] = field(default_factory=Counter)
    fills: Counter[int] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    answered: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.block_beats = self.shape.block_bytes // BEAT
        self.versions: dict[int, list[list[int]]] = {}
        self.bad: set[int] = set()
        self.bus: list[list[Any]] = []
        self.answers: deque[tuple[int, int]] = deque()
        self.early: dict[int, list[int] | None] = {}
        self.written = 0

    def contents(self, beat: int) -> list[list[int]]:
        return self.versions.setdefault(beat, [[beat << 8, -1, 1 << 60]])

    def write(self, beat: int, now: int) -> None:
        """Memory changes; reads accepted until it has answered may see what was there."""
        history = self.contents(beat)
        self.written += 1
        history[-1][2] = now + self.lag
        history.append([beat << 8 | self.written % 256, now, 1 << 60])

    def check(self, found: Any, now: int) -> None:
        id_, data, response, last = (found[name] for name in ("id", "data", "response", "last"))
        read = self.reads[id_]
        beat = read.address // BEAT + read.come
        read.come += 1
        block = beat // self.block_beats
        whole = range(block * self.block_beats, (block + 1) * self.block_beats)
        of_block = not self.bad.isdisjoint(whole)
        failed = of_block if id_ & CACHED else beat in self.bad
        assert response == (2 if failed else 0), (id_, beat, now)
        self.seen["failed"] += failed
        if not failed:
            allowed = [word for word, _, end in self.contents(beat) if end >= read.since]
            assert data in allowed, (id_, beat, now, allowed)
        assert last == (read.come == read.beats)
        if last:
            del self.reads[id_]
            self.answered.append((read.since, now))
            self.seen["cached" if id_ & CACHED else "passed"] += 1

    # The bus.

    def accept(self, address: int, length: int, id_: int, now: int) -> None:
        if id_ & CACHED:
            assert length == self.block_beats - 1
            assert address % self.shape.block_bytes == 0
            assert sum(1 for burst in self.bus if burst[0] & CACHED) < 4
            self.fills[address // self.shape.block_bytes] += 1
        assert id_ not in [burst[0] for burst in self.bus]
        wait = 0 if self.flows else self.rng.choice([0, 3, 20])
        first = address // BEAT
        words = [self.contents(beat)[-1][0] for beat in range(first, first + length + 1)]
        self.bus.append([id_, first, length + 1, 0, now + 1 + wait])
        self.early[id_] = words if self.rng.random() < 0.5 else None

    def beat(self, now: int) -> Any:
        """One of the bursts that may answer, or one that has begun."""
        ready = [burst for burst in self.bus if burst[4] <= now]
        if not ready or self.rng.random() < self.gap:
            return None
        return ready[0] if self.flows else self.rng.choice(ready)


async def run(sim: Any, part: ReadCache, scene: Scene, cycles: int, reads: Any) -> None:
    """Runs until all reads are answered; ``reads`` gives the next one, or None."""
    rng, offer, beat = scene.rng, None, None
    held: dict[str, int] = {}
    for now in range(scene.seen["cycle"], scene.seen["cycle"] + 40 * cycles):
        ending = now >= scene.seen["cycle"] + cycles
        if offer is None and not ending and rng.random() >= scene.gap:
            offer = reads(scene)
        sim.set(part.ar.valid, offer is not None)
        if offer is not None:
            id_, address, beats = offer
            sim.set(part.ar.payload, {"address": address, "length": beats - 1, "id": id_})
        beat = beat or scene.beat(now)
        sim.set(part.bus_r.valid, beat is not None)
        if beat is not None:
            id_, first, beats, index, _ = beat
            early = scene.early[id_]
            word = early[index] if early else scene.contents(first + index)[-1][0]
            failed = 2 * (first + index in scene.bad)
            last = index == beats - 1
            sim.set(part.bus_r.payload, {"data": word, "response": failed, "last": last, "id": id_})
        sim.set(part.r.ready, rng.random() >= scene.stall)
        sim.set(part.bus_ar.ready, rng.random() >= scene.stall)
        if not scene.flows and not ending and rng.random() < 0.05:
            # The write is in memory when it is answered, which is what `drop` says.
            block = rng.randrange(scene.blocks if rng.random() < 0.5 else 6)
            scene.write(block * scene.block_beats + rng.randrange(scene.block_beats), now)
            address = block * scene.shape.block_bytes + rng.randrange(BEAT)
            scene.answers.append((now + scene.lag, address))
        drops = bool(scene.answers) and scene.answers[0][0] == now
        sim.set(part.drop.valid, drops)
        if drops:
            sim.set(part.drop.address, scene.answers.popleft()[1])
        for name in ("r", "bus_ar"):
            port = getattr(part, name)
            found = sim.get(port.valid), sim.get(port.payload).as_bits()
            if name in held:
                assert found == (1, held[name]), name
            held = {key: value for key, value in held.items() if key != name}
            if found[0] and not sim.get(port.ready):
                held[name] = found[1]
        if offer is not None and sim.get(part.ar.ready):
            id_, address, beats = offer
            scene.reads[id_] = Read(address, beats, now)
            offer = None
        if beat is not None and sim.get(part.bus_r.ready):
            beat[3] += 1
            if beat[3] == beat[2]:
                scene.bus.remove(beat)
            beat = None
        if sim.get(part.bus_ar.valid) and sim.get(part.bus_ar.ready):
            asked = sim.get(part.bus_ar.payload)
            scene.accept(asked["address"], asked["length"], asked["id"], now)
        if sim.get(part.r.valid) and sim.get(part.r.ready):
            scene.check(sim.get(part.r.payload), now)
        for name in EVENTS:
            scene.events[name] += sim.get(getattr(part, name))
        await sim.tick()
        if ending and offer is None and not scene.reads and not scene.answers:
            break
    assert not scene.reads
    assert not scene.bus
    scene.seen["cycle"] = now + 1
    sim.set(part.drop.valid, 0)
    await sim.tick()
    assert sim.get(part.idle)


async def flush(sim: Any, part: ReadCache, scene: Scene, bad: float) -> None:
    """Memory changes everywhere, some beats fail from now on, and the cache forgets all."""
    beats = range(scene.blocks * scene.block_beats)
    for beat in beats:
        scene.write(beat, scene.seen["cycle"] - 1 - scene.lag)
    scene.bad = {beat for beat in beats if scene.rng.random() < bad}
    scene.fills.clear()
    # Perhaps again while it forgets.
    for wait in range(scene.rng.randint(1, 2)):
        await sim.tick().repeat(wait + 1)
        sim.set(part.flush, 1)
        await sim.tick()
        sim.set(part.flush, 0)


def simulated(part: ReadCache, bench: Any) -> None:
    simulator = Simulator(part)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def anywhere(scene: Scene) -> Any:
    """A read of part of a block, or one that passes by; often one of a few blocks."""
    rng = scene.rng
    free = [n for n in range(2 * CACHED) if n % CACHED < IDS and n not in scene.reads]
    if not free:
        return None
    block = rng.randrange(scene.blocks if rng.random() < 0.5 else 6)
    first = rng.randrange(scene.block_beats)
    beats = rng.randint(1, scene.block_beats - first)
    return rng.choice(free), block * scene.shape.block_bytes + first * BEAT, beats


@pytest.mark.parametrize(("gap", "stall"), [(0.0, 0.0), (0.3, 0.0), (0.1, 0.5)])
@pytest.mark.parametrize("name", SHAPES)
def test_every_beat_is_one_that_memory_had(name: str, gap: float, stall: float) -> None:
    """Under random latency, order and stalls, with writes, flushes and errors."""
    shape = SHAPES[name]
    part, scene = cache(shape), Scene(shape, f"{name} {gap} {stall}", gap, stall)
    scene.lag = scene.rng.choice([0, 1, 7])

    async def bench(sim: Any) -> None:
        for bad in (0.0, 0.03, 0.0, 0.3):
            await flush(sim, part, scene, bad)
            await run(sim, part, scene, CYCLES // 4, anywhere)

    simulated(part, bench)
    events, seen = scene.events, scene.seen
    assert events["hit"] + events["miss"] + events["merged"] == seen["cached"]
    assert 0 < events["eviction"] < events["miss"]
    assert min(seen.values()) > 10
    assert min(events.values()) > 10


def test_a_block_is_read_once() -> None:
    """While a set has room, and after a flush again; merged misses ask for nothing."""
    shape = SHAPES["skipped"]
    part, scene = cache(shape), Scene(shape, "once", 0.0, 0.0, blocks=16, flows=True)

    misses, asked = 0, set()

    def noted(scene: Scene) -> Any:
        read = anywhere(scene)
        if read is not None and read[0] & CACHED:
            asked.add(read[1] // shape.block_bytes)
        return read

    async def bench(sim: Any) -> None:
        nonlocal misses
        for _ in range(3):
            asked.clear()
            await flush(sim, part, scene, 0)
            await run(sim, part, scene, 400, noted)
            assert scene.fills == dict.fromkeys(asked, 1)
            misses += len(asked)

    simulated(part, bench)
    assert scene.events["miss"] == misses > 30
    assert scene.events["eviction"] == 0
    assert scene.events["merged"] > 0


def test_the_least_recently_used_block_goes() -> None:
    """Of a set of two ways, in turn with blocks of the other set."""
    shape = SHAPES["small"]
    part, scene = cache(shape), Scene(shape, "least", 0.0, 0.0, flows=True)
    order = [0, 2, 0, 1, 4, 0, 2, 3, 0]
    expected = ["miss", "miss", "hit", "miss", "evict", "hit", "evict", "miss", "hit"]
    found = []

    async def bench(sim: Any) -> None:
        for block in order:
            before = scene.events.copy()
            todo = [(CACHED, block * shape.block_bytes, 1)]
            await run(sim, part, scene, 20, lambda _, todo=todo: todo.pop() if todo else None)
            new = scene.events - before
            found.append("evict" if new["eviction"] else next(iter(+new)))

    simulated(part, bench)
    assert found == expected


def test_hits_take_five_cycles_and_come_every_cycle() -> None:
    shape = SHAPES["beat"]
    part, scene = cache(shape, waiting=16), Scene(shape, "hits", 0.0, 0.0, flows=True)

    # The blocks first, then reads of them alone.
    async def whole(sim: Any) -> None:
        fill = iter(range(4))
        await run(
            sim, part, scene, 40,
            lambda s: next(((CACHED + n, n * BEAT, 1) for n in fill), None),
        )  # fmt: skip
        scene.answered.clear()
        hits = iter(range(40))

        def again(scene: Scene) -> Any:
            n = next(hits, None)
            return None if n is None else (CACHED + n % IDS, n % 4 * BEAT, 1)

        await run(sim, part, scene, 60, again)

    simulated(part, whole)
    assert [end - since for since, end in scene.answered] == [5] * 40
    assert [end for _, end in scene.answered] == list(
        range(scene.answered[0][1], scene.answered[0][1] + 40)
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sets": 1}, "`sets` must be a power of two of at least 2, not 1"),
        ({"ways": 3}, "`ways` must be a power of two of at least 2, not 3"),
    ],
)
def test_what_a_shape_refuses(settings: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        CacheShape(**{"sets": 2, "ways": 2, "block_bytes": 16, **settings})


def test_tags_need_the_bits_of_a_set() -> None:
    shape = CacheShape(sets=8, ways=2, block_bytes=64, skipped_bits=2)
    said = refusal(lambda: CacheTags(shape, 4))
    assert said == "`block_bits` must be at least 5, not 4"
