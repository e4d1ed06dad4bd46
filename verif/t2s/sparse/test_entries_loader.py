"""Loaders of entries beside the vectors that lie in memory."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Any

import pytest
from amaranth.back import rtlil
from tilewright.hw.spec.formats import FORMATS
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.parts import Count
from tilewright.hw.spec.t2s.sparse_parts import Coordinate, EntriesPart, SparsePlan, TokenLayout
from tilewright.hw.t2s.sparse.entries_loader import EntriesLoader, ImageSize
from tilewright.verif.kit.sampling import by_size, cases, slow_but
from tilewright.verif.stream.agents import Pulse, run_agents
from tilewright.verif.t2s.memory.bus import Manner
from tilewright.verif.t2s.memory.loading import Loading, around, memory_part

from .element_work import draw_layout

pytestmark = pytest.mark.long

SIZE = 1 << 14
ROUGH = Manner(latency=(1, 20), stall=0.3)
LATENCY = 12


def entries_part(layout: TokenLayout, elements: int, again: str = "") -> EntriesPart:
    """A part. Loops around: ``j`` has a trip count of a register, ``j3`` goes round 3 times."""
    counts = tuple(Count(word[0], int(word[1:]) if word[1:] else None) for word in again.split())
    return EntriesPart("A_loader", "A", layout, elements, counts, "csr")


def layout_of(token_bytes: int) -> TokenLayout:
    """Returns a layout of ``token_bytes`` bytes, at least 3, with unused bits."""
    coordinate = Coordinate("k", "kk", 1 << (8 * token_bytes - 14))
    layout = TokenLayout(FORMATS["int8"], (coordinate,), 2, ("i", "k"))
    assert (layout.bytes, layout.bits % 8) == (token_bytes, 6)
    return layout


def config_of(part: EntriesPart, **parameters: Any) -> T2sConfig:
    """A configuration whose design has this part."""
    config = around(memory_part(4, "i"), **parameters)
    nothing: Any = None
    plan = SparsePlan((part,), "", (), nothing, (), nothing, nothing)
    vars(config)["plan"] = replace(config.plan, sparse=plan)
    return config


@dataclass(frozen=True)
class Image:
    """The registers of a job: where vectors lie, how many, and how often they are read."""

    base: int
    steps: int
    trips: Mapping[str, int]

    @property
    def inputs(self) -> dict[str, int]:
        trips = {f"trips_{name}": count for name, count in self.trips.items()}
        return {"base": self.base, "steps": self.steps, **trips}

    def times(self, part: EntriesPart) -> int:
        return prod(one.extent or self.trips[one.name] for one in part.again)

    def tokens(self, part: EntriesPart, content: bytearray) -> list[list[int]]:
        """Returns the tokens of each element, without padding."""
        size, mask = part.layout.bytes, (1 << part.layout.bits) - 1

        def token(vector: int, element: int) -> int:
            place = self.base + vector * part.vector_bytes + element * size
            return int.from_bytes(content[place : place + size], "little") & mask

        return [
            [token(vector, element) for vector in range(self.steps)] * self.times(part)
            for element in range(part.elements)
        ]


class Bench:
    """A loader on random memory. Members: see :class:`Loading`."""

    def __init__(
        self,
        part: EntriesPart,
        *,
        manner: Manner = ROUGH,
        stall: float = 0.3,
        seed: Any = 0,
        **parameters: Any,
    ) -> None:
        self.part, self.config = part, config_of(part, **parameters)
        self.content = bytearray(random.Random(f"content {seed}").randbytes(SIZE))
        loader = EntriesLoader(part, self.config)
        self.loading = Loading(
            loader, loader.o, self.config, self.content, manner, stall=stall, seed=seed
        )

    def run(self, images: list[tuple[Image, int | None]]) -> list[list[list[int]]]:
        return self.loading.run([(image.inputs, stop_after) for image, stop_after in images])

    def wanted(self, image: Image) -> list[list[int]]:
        return image.tokens(self.part, self.content)

    def beats(self, image: Image) -> int:
        """Returns the number of all beats that are read."""
        beat = self.config.beat_bytes
        return image.times(self.part) * -(-image.steps * self.part.vector_bytes // beat)


def draw(rng: random.Random) -> EntriesPart:
    """Vectors from a part of a beat to several beats."""
    again = " ".join(rng.sample(["j", "n", "m2", "o1"], rng.randrange(3)))
    return entries_part(draw_layout(rng), rng.choice([1, 1, 2, 3, 4, 8]), again)


def draw_image(part: EntriesPart, beat: int, rng: random.Random, most_bytes: int = 1500) -> Image:
    """Draws an image of one vector up to as many as fit."""
    most = max(1, most_bytes // part.vector_bytes)
    steps = 1 if rng.random() < 0.2 else rng.randint(1, most)
    trips = {one.name: rng.randint(1, 3) for one in part.again if one.from_register}
    return Image(beat * rng.randrange(64), steps, trips)


@pytest.mark.parametrize("seed", range(cases(40)))
def test_random(seed: int) -> None:
    """The layout and the width of memory are drawn; several jobs run."""
    rng = random.Random(f"entries {seed}")
    part = draw(rng)
    data_bits = rng.choice([64, 128, 128, 256])
    stall = rng.choice([0.0, 0.3, 0.6])
    bench = Bench(part, stall=stall, seed=seed, data_bits=data_bits)
    images = [draw_image(part, bench.config.beat_bytes, rng) for _ in range(2)]
    found = bench.run([(image, None) for image in images])
    assert found == [bench.wanted(image) for image in images]
    assert bench.loading.memory.beats == sum(map(bench.beats, images))


@pytest.mark.parametrize("stop_after", slow_but([11], [1, 2, 5, 11, 19, 30, 47, 80], [5, 30]))
@pytest.mark.parametrize("elements", [1, 4])
def test_after_a_stop_it_begins_anew(elements: int, stop_after: int) -> None:
    """The stop may find some elements with their tokens of a vector and others without, or an image
    that is partly requested."""
    part = entries_part(layout_of(5), elements, "j")
    for seed in range(by_size(1, 2, 8)):
        bench = Bench(part, seed=f"{stop_after} {seed}", outstanding=2)
        rng = random.Random(f"{stop_after} {seed}")
        first = Image(16 * rng.randrange(64), 8000 // part.vector_bytes, {"j": 2})
        second = draw_image(part, 16, rng)
        stopped, whole = bench.run([(first, stop_after), (second, None)])
        for tokens, expected in zip(stopped, bench.wanted(first), strict=True):
            assert tokens == expected[: len(tokens)]
        assert max(map(len, stopped)) - min(map(len, stopped)) <= 1
        assert whole == bench.wanted(second)


def test_after_an_error_it_begins_anew() -> None:
    """No token of the bad beat arrives, nor a later one."""
    part = entries_part(layout_of(4), 2, "j")
    bench = Bench(part)
    image = Image(64, 40, {"j": 3})
    bench.loading.memory.bad = frozenset({64 + 7 * 16})
    healthy = Image(1024, 40, {"j": 2})
    failed, whole = bench.run([(image, None), (healthy, None)])
    assert bench.loading.error
    for tokens, expected in zip(failed, bench.wanted(image), strict=True):
        assert tokens == expected[: min(len(tokens), 14)]
    assert whole == bench.wanted(healthy)


STREAMS = {
    "a_beat": (4, 4, 100, 2),
    "four_a_beat": (4, 1, 200, 2),
    "odd": (7, 1, 150, 2),
    "one_vector": (3, 4, 1, 60),
    "one_beat": (4, 4, 1, 60),
    "wider": (5, 8, 40, 2),
}
"""Bytes of a token, elements, vectors, how often they come."""


@pytest.mark.parametrize("name", slow_but(["odd", "one_vector"], STREAMS))
def test_no_pause(name: str) -> None:
    """A vector, or a beat, arrives in each cycle, also from an image's end to its beginning, with a
    slow memory."""
    token_bytes, elements, steps, times = STREAMS[name]
    part = entries_part(layout_of(token_bytes), elements, "j")
    manner = Manner(latency=(LATENCY, LATENCY))
    bench = Bench(part, manner=manner, stall=0.0, outstanding=LATENCY + 4)
    image = Image(512, steps, {"j": times})
    (found,) = bench.run([(image, None)])
    assert found == bench.wanted(image)
    for sink in bench.loading.sinks:
        spent = sink.cycles[-1] - sink.cycles[0] + 1
        assert spent <= max(steps * times, bench.beats(image))


def test_images_that_wait() -> None:
    """The reader has space for more images than bursts may be in flight."""
    part = entries_part(layout_of(4), 1, "j")
    bench = Bench(part, stall=1.0, manner=Manner(), outstanding=4)
    (sink,) = bench.loading.sinks

    class Awakes:
        def drive(self, sim: Any, cycle: int) -> None:
            sink.stall = float(cycle < 300)

        def observe(self, sim: Any, cycle: int) -> None: ...

    image = Image(48, 1, {"j": 100})
    (found,) = bench.loading.run([(image.inputs, None)], Awakes())
    assert found == bench.wanted(image)


def test_an_element_that_waits() -> None:
    """An element that waits keeps the others from the next vector, but not from their own
    tokens."""
    part = entries_part(layout_of(4), 3)
    bench = Bench(part, stall=0.0, manner=Manner())
    late, *others = bench.loading.sinks
    late.stall = 0.8
    image = Image(0, 60, {})
    (found,) = bench.run([(image, None)])
    assert found == bench.wanted(image)
    for other in others:
        ahead = [a - b for a, b in zip(late.cycles, other.cycles, strict=True)]
        assert min(ahead) == 0
        assert max(ahead) > 2
        assert all(b > a for a, b in zip(late.cycles, other.cycles[1:], strict=False))


PLACES = [(0, 192), (48, 200), (4096 - 16, 9), (496, 5)]
"""Places of images, and the number of their vectors of half a beat."""


@pytest.mark.parametrize("place", slow_but([(48, 200)], PLACES))
def test_requests_are_bursts(place: tuple[int, int]) -> None:
    """Each ends where a burst must, or with the image."""
    base, steps = place
    part = entries_part(layout_of(4), 2, "j2")
    bench = Bench(part, stall=0.0, manner=Manner())
    loader, asked = bench.loading.loader, list[tuple[int, int]]()

    class Asked:
        def drive(self, sim: Any, cycle: int) -> None: ...

        def observe(self, sim: Any, cycle: int) -> None:
            if sim.get(loader.request.valid) and sim.get(loader.request.ready):
                payload = loader.request.payload
                asked.append((sim.get(payload.address), sim.get(payload.beats)))

    image = Image(base, steps, {})
    (found,) = bench.loading.run([(image.inputs, None)], Asked())
    assert found == bench.wanted(image)
    end = base + 16 * bench.beats(image) // 2
    edges = [base, *range(base // 512 * 512 + 512, end, 512), end]
    assert asked == [(a, (b - a) // 16) for a, b in pairwise(edges)] * 2


@pytest.mark.parametrize("seed", range(cases(20)))
def test_sizes(seed: int) -> None:
    """The images go up to the largest size. The count takes one cycle per digit of the vector's
    size."""
    rng = random.Random(f"sizes {seed}")
    vector, beat = rng.randint(1, 600), 1 << rng.randint(3, 7)
    steps = rng.choice([1, 2**32 - 1, rng.getrandbits(32) | 1, rng.randint(1, 100)])
    size = ImageSize(vector, beat)
    found = []

    def until(sim: Any, cycle: int) -> bool:
        if sim.get(size.counted):
            found.append(sim.get(size.beats))
        return bool(found)

    ran = run_agents(size, [Pulse(size.start)], until=until, wires=[(size.steps, steps)])
    assert found == [-(-steps * vector // beat)]
    assert ran <= 1 + vector.bit_length()


@pytest.mark.long
@pytest.mark.parametrize("elements", [1, 5, 16, 64])
@pytest.mark.parametrize("data_bits", [64, 512, 1024])
def test_any_width(elements: int, data_bits: int) -> None:
    part = entries_part(layout_of(6), elements, "j")
    bench = Bench(part, data_bits=data_bits)
    rng = random.Random(f"{elements} {data_bits}")
    image = draw_image(part, bench.config.beat_bytes, rng, most_bytes=6000)
    (found,) = bench.run([(image, None)])
    assert found == bench.wanted(image)


def test_many_elements() -> None:
    """Text is as long as vectors are wide, not as these squared: Amaranth has at most 65,536 bits
    at the outputs of a module."""
    part = entries_part(layout_of(6), 100, "j")
    assert 100 * 8 * part.vector_bytes > 1 << 16
    text = rtlil.convert(EntriesLoader(part, config_of(part)))
    assert f"wire width {8 * part.vector_bytes} " in text


@pytest.mark.long
def test_a_long_image() -> None:
    """The image has thousands of beats."""
    part = entries_part(layout_of(7), 4, "j")
    bench = Bench(part, manner=Manner(), stall=0.0)
    bench.content += random.Random("more").randbytes(100_000)
    image = Image(80, 4000, {"j": 2})
    (found,) = bench.run([(image, None)])
    assert found == bench.wanted(image)
    assert bench.loading.cycles < bench.beats(image) + 60
