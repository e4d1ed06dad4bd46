"""The tensor loader: every slot of every row, sparse and dense, and every wrong entry."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from amaranth.hdl import Value
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.hw.tensaurus.layouts import SlotKind, slot_layout
from tilewright.hw.tensaurus.load.tensor_loader import TensorLoader
from tilewright.verif.channels.striped.memory_bench import (
    MANNERS,
    PERFECT,
    ChannelMemory,
    Image,
    Manner,
    MemoryBench,
    high_base,
)
from tilewright.verif.kit.sampling import by_size, draw_until, slow_but
from tilewright.verif.stream.agents import Sink, Source
from tilewright.verif.tensaurus.load.lists import (
    CONFIGS,
    DenseTile,
    Slot,
    SparseTile,
    job_bits,
    tile_bits,
    under_test,
)

_ERRORS = ("stream", "slice", "index")


class Run:
    """Tiles, and the slots that the rows get.

    Parameters
    ----------
    stall: share of the cycles in which a row takes nothing; the first row ``slow`` instead
    """

    def __init__(
        self,
        config: TensaurusConfig,
        tiles: Sequence[SparseTile | DenseTile],
        manner: Manner,
        *,
        stall: float = 0.0,
        slow: float | None = None,
        seed: Any = 0,
        stop_at: int | None = None,
        bad: tuple[int, int] | None = None,
        wrong: bool = False,
    ) -> None:
        self.config, self.tiles = config, tiles
        order = len(tiles[0].shape)
        dense = isinstance(tiles[0], DenseTile)
        image = Image(config, seed, high_base(config, config.addr_bits, len(tiles)))
        self.bases = [image.place(tile.bytes) for tile in tiles]
        self.first = random.Random(f"first {seed}").getrandbits(32) >> 1
        words = [self._tile(number, base) for number, base in enumerate(self.bases)]
        self.part, simulate = under_test(TensorLoader, config)
        part = self.part
        self._source = source = Source(part.tiles, words, gap=stall / 2, seed=seed)
        self._stopped = 0
        self.sinks = [
            Sink(slots, stall=stall if row or slow is None else slow, seed=f"{seed} {row}")
            for row, slots in enumerate(part.slots)
        ]
        self.expected = [
            [slot for tile in tiles for slot in tile.rows[row]] for row in range(config.rows)
        ]

        def again() -> None:
            self._stopped = len(source.cycles)
            source.words += words
            for sink in self.sinks:
                sink.words.clear()

        self.bad = None if bad is None else self.bases[bad[0]] + bad[1]
        self.bench = MemoryBench(
            config, part, image.bytes, manner, [source, *self.sinks],
            wires=[(part.job, job_bits(config, order=order, dense=int(dense)))], seed=seed,
            stop_at=stop_at, again=again, simulate=simulate, base=image.base,
            bad=frozenset() if self.bad is None else frozenset([self.bad]),
        )  # fmt: skip
        self.errors: list[str] = []
        self.where: tuple[int, int] | None = None
        self._goes_wrong = wrong
        self.bench.run(self._done, settles=wrong or bad is not None)
        if not wrong and bad is None:
            self.check([len(slots) for slots in self.expected])

    def _tile(self, number: int, base: int) -> int:
        tile = self.tiles[number]
        sizes = {f"size_{mode}": size for mode, size in enumerate(tile.shape) if mode}
        fields: dict[str, int] = {"slices": tile.shape[0], "tensor": base}
        fields["number"] = self.first + number
        if isinstance(tile, DenseTile):
            fields["pitch"] = tile.pitch
            fields["elements"] = len(tile.rows[0]) and self._elements(tile)
        else:
            fields["entries"] = len(tile.entries)
        return tile_bits(self.config, **fields, **sizes)

    @staticmethod
    def _elements(tile: DenseTile) -> int:
        found = 1
        for size in tile.shape[1:]:
            found *= size
        return found

    def _done(self, sim: Any) -> bool:
        part = self.part
        self.errors = [name for name in _ERRORS if sim.get(getattr(part, f"{name}_error"))]
        if self.errors:
            assert self._goes_wrong
            self.where = sim.get(part.error_tile) - self.first, sim.get(part.error_entry)
        if sim.get(part.idle):
            # Every row has its end of every tile.
            took = len(self._source.cycles) - self._stopped
            ends = [tile.rows for tile in self.tiles[:took]]
            counts = [sum(len(rows[n]) for rows in ends) for n in range(self.config.rows)]
            assert [len(sink.words) for sink in self.sinks] == counts, "idle too early"
        return all(
            len(sink.words) >= len(slots)
            for sink, slots in zip(self.sinks, self.expected, strict=True)
        )

    def check(self, counts: Sequence[int]) -> None:
        """Each row has so many of its slots, and no others."""
        for row, (sink, slots, count) in enumerate(
            zip(self.sinks, self.expected, counts, strict=True)
        ):
            got = [slot_of(self.config, len(self.tiles[0].shape), word) for word in sink.words]
            assert got == slots[:count], row


def slot_of(config: TensaurusConfig, order: int, word: int) -> Slot:
    """Returns the fields of a slot word that its kind uses."""
    slot = slot_layout(config).from_bits(word)
    kind = SlotKind(slot.kind)
    modes = {SlotKind.END: 0, SlotKind.HEADER: 1}.get(kind, order - 1)
    index = tuple(slot.index[n] for n in range(modes))
    return kind, slot.value if kind == SlotKind.VALUE else 0, index


def _shape(config: TensaurusConfig, rng: random.Random) -> tuple[int, ...]:
    order = rng.randint(2, config.order)
    widest = min(config.spm_scalars, 1 << config.index_bits - 1)
    most = config.layout(order).largest_slice
    many = most >> rng.randrange(most.bit_length() - 10)
    slices = rng.choice([1, config.rows, 3 * config.rows + 1, rng.randint(many // 2, many)])
    return slices, *(rng.choice([1, 2, 7, widest]) for _ in range(order - 1))


def sparse_tiles(name: str, seed: int, count: int = 4) -> list[SparseTile]:
    """Random streams of as many modes each, for a configuration by its name."""
    config, rng = CONFIGS[name], random.Random(f"sparse {name} {seed}")
    order = len(_shape(config, rng))
    tiles: list[SparseTile] = []
    while len(tiles) < count:
        shape = _shape(config, rng)
        if len(shape) == order:
            share, longest = rng.choice([0.0, 0.3, 1.0]), rng.choice([1, 4, 20])
            first_row = rng.choice([0, 0, config.rows - 1])
            tiles.append(SparseTile(config, shape, rng, share, longest, first_row))
    return tiles


def dense_tiles(name: str, seed: int, count: int = 3) -> list[DenseTile]:
    """The same of dense tensors."""
    config, rng = CONFIGS[name], random.Random(f"dense {name} {seed}")
    order = rng.randint(2, config.order)
    found = []
    for _ in range(count):
        slices = rng.choice([1, config.rows, 2 * config.rows + 1])
        sizes = [rng.choice([1, 2, 3, 5]) for _ in range(order - 1)]
        sizes[rng.randrange(order - 1)] *= rng.choice([1, 4, 8])
        found.append(DenseTile(config, (slices, *sizes), rng))
    return found


SEEDS = by_size(1, 12, 12)


every_config = pytest.mark.parametrize("name", slow_but([], CONFIGS, ["small"]))


@every_config
def test_every_slot_of_a_stream_reaches_its_row(name: str) -> None:
    for seed in range(SEEDS):
        manner = MANNERS["rough" if seed % 2 else "even"]
        Run(CONFIGS[name], sparse_tiles(name, seed), manner, stall=0.3 * (seed % 3), seed=seed)


@every_config
def test_every_value_of_a_dense_tensor_reaches_its_row(name: str) -> None:
    for seed in range(SEEDS):
        manner = MANNERS["rough" if seed % 2 else "even"]
        Run(CONFIGS[name], dense_tiles(name, seed), manner, stall=0.3 * (seed % 3), seed=seed)


@pytest.mark.slow
def test_rows_without_a_slice_end_before_all_lines_are_asked_for() -> None:
    """A dense tensor has fewer slices than rows. Such rows once waited for the end of all
    requests."""
    config = CONFIGS["small"]
    tiles = [DenseTile(config, (slices, 150), random.Random(slices)) for slices in (1, 1, 3)]
    Run(config, tiles, MANNERS["rough"])


@pytest.mark.slow
def test_a_long_dense_slice() -> None:
    """Its elements have 15 bits, and its indices 8."""
    Run(CONFIGS["small"], [DenseTile(CONFIGS["small"], (1, 150, 130), random.Random(1))], PERFECT)


class AnyMemory(ChannelMemory):
    """Memory with a value at every address."""

    def word(self, address: int) -> bytes:
        width = self.geometry.beat_bytes
        return b"".join(
            value_at(at).to_bytes(4, "little") for at in range(address, address + width, 4)
        )


def value_at(address: int) -> int:
    return (address * 0x9E37_79B1 ^ address >> 7) % (1 << 32)


def begun(tiles: Sequence[dict[str, int]], cycles: int) -> list[list[list[Slot]]]:
    """Returns the slots of each row that the loader sends of each tile, dense, in so many cycles,
    after which it is stopped."""
    config = CONFIGS["small"]
    part, simulate = under_test(TensorLoader, config)
    found: list[list[list[Slot]]] = []

    async def bench(sim: Any) -> None:
        for seed, fields in enumerate(tiles):
            rows: list[list[Slot]] = [[] for _ in part.slots]
            found.append(rows)
            memory = AnyMemory(part.ar[0], part.r[0], config.geometry, 0, b"", PERFECT, seed=seed)
            order = 3 if "size_2" in fields else 2
            sim.set(Value.cast(part.job), job_bits(config, order=order, dense=1))
            sim.set(Value.cast(part.tiles.payload), tile_bits(config, **fields))
            sim.set(part.tiles.valid, 1)
            for cycle in range(cycles + 40):
                memory.drive(sim, cycle)
                memory.observe(sim, cycle)
                sim.set(part.stop, int(cycle >= cycles))
                for slots, row in zip(part.slots, rows, strict=True):
                    sim.set(slots.ready, 1)
                    if sim.get(slots.valid) and cycle < cycles:
                        word = sim.get(Value.cast(slots.payload))
                        row.append(slot_of(config, order, word))
                taken = sim.get(part.tiles.ready)
                await sim.tick()
                if taken or cycle >= cycles:
                    sim.set(part.tiles.valid, 0)
            assert memory.quiet
            assert sim.get(part.idle)
            sim.set(part.stop, 0)

    simulate(bench)
    return found


@pytest.mark.slow
def test_a_dense_tensor_of_any_size_begins() -> None:
    """Each bit of the number of slices, of the pitch, and of the elements of a slice."""
    config, rng = CONFIGS["small"], random.Random(1)
    plain = {"slices": 1 << 20, "pitch": 64, "size_1": 3, "elements": 3}
    tiles = [
        *(plain | {"slices": 1 << bit} for bit in range(5, 32)),
        *(plain | {"pitch": 1 << bit} for bit in range(6, 32)),
        *(plain | {"size_1": 1 << n, "size_2": 3, "elements": 3 << n} for n in range(5, 9)),
        *(plain | {"size_1": 3, "size_2": 1 << n, "elements": 3 << n} for n in range(5, 9)),
        *(plain | {"size_1": 256, "size_2": 1 << n, "elements": 256 << n} for n in range(9)),
    ]
    tiles = [one | {"tensor": rng.getrandbits(26) << 6} for one in tiles]
    for fields, rows in zip(tiles, begun(tiles, 150), strict=True):
        sizes = [fields[name] for name in ("size_1", "size_2") if name in fields]
        indices = list(itertools.islice(itertools.product(*map(range, sizes)), 400))
        for number, row in enumerate(rows):
            expected: list[Slot] = []
            for slice_ in range(number, 40, config.rows):
                expected.append((SlotKind.HEADER, 0, (slice_,)))
                base = fields["tensor"] + slice_ * fields["pitch"]
                for place, index in enumerate(indices):
                    value = value_at((base + 4 * place) % (1 << config.addr_bits))
                    expected.append((SlotKind.VALUE, value, index))
            assert len(row) > 20
            assert row == expected[: len(row)], fields


@pytest.mark.slow
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("name", slow_but([], CONFIGS, ["small"]))
def test_stop_in_the_middle_of_anything(name: str, dense: bool) -> None:
    for seed in range(SEEDS):
        tiles: list[DenseTile] | list[SparseTile] = dense_tiles(name, seed, 2)
        if not dense:
            tiles = sparse_tiles(name, seed, 2)
        stop_at = random.Random(seed).randint(2, 150)
        Run(CONFIGS[name], tiles, MANNERS["rough"], stall=0.2, seed=seed, stop_at=stop_at)


@pytest.mark.slow
def test_an_error_of_the_bus() -> None:
    """The rows receive only entries that were read before the error, and nothing wrong."""
    for seed in range(SEEDS):
        rng = random.Random(seed)
        streams = sparse_tiles("small", seed, 2)
        at = rng.randrange(len(streams[1].bytes)) & -8
        run = Run(CONFIGS["small"], streams, MANNERS["rough"], seed=seed, bad=(1, at))
        assert run.bench.error == run.bad
        counts = [len(sink.words) for sink in run.sinks]
        run.check(counts)
        before = streams[1].before(at // streams[1].layout.entry_bytes)
        most = [len(a) + b for a, b in zip(streams[0].rows, before, strict=True)]
        assert all(count <= n for count, n in zip(counts, most, strict=True))


@pytest.mark.slow
def test_an_error_of_the_bus_in_a_dense_tensor() -> None:
    for seed in range(SEEDS):
        tiles = dense_tiles("small", seed, 2)
        run = Run(CONFIGS["small"], tiles, MANNERS["rough"], seed=seed, bad=(1, 0))
        assert run.bench.error == run.bad
        run.check([len(sink.words) for sink in run.sinks])
        assert len(run.sinks[0].words) <= len(tiles[0].rows[0]) + 1


Change = Callable[[SparseTile, random.Random], tuple[int, int, int] | None]
"""Makes a slot wrong. Returns entry, row, and the slot; None if there is no such place."""


def _places(tile: SparseTile, kind: SlotKind) -> list[tuple[int, int]]:
    return [
        (entry, row)
        for row, slots in enumerate(tile.rows)
        for entry, slot in enumerate(slots)
        if slot[0] == kind
    ]


def _index(mode: int) -> Change:
    def change(tile: SparseTile, rng: random.Random) -> tuple[int, int, int] | None:
        places = _places(tile, SlotKind.VALUE)
        if not places or mode >= len(tile.shape):
            return None
        entry, row = rng.choice(places)
        _, value, index = tile.rows[row][entry]
        wrong = list(index)
        bit = 1 << rng.randrange(tile.config.index_bits - 1)
        wrong[mode - 1] = rng.choice(
            [tile.shape[mode], tile.layout.largest_index - 1, wrong[mode - 1] | bit]
        )
        if wrong[mode - 1] < tile.shape[mode]:
            return None
        return entry, row, tile.pack(value, tuple(wrong))

    return change


def _large_slice(tile: SparseTile, rng: random.Random) -> tuple[int, int, int] | None:
    places = _places(tile, SlotKind.HEADER)
    if not places:
        return None
    bit = 1 << rng.randrange(tile.layout.largest_slice.bit_length() - 1)
    number = rng.choice([tile.shape[0], tile.layout.largest_slice, tile.shape[0] | bit])
    return *rng.choice(places), tile.layout.header(number)


def _slice_again(tile: SparseTile, rng: random.Random) -> tuple[int, int, int] | None:
    """A slice that an earlier header names, or one below it, by any or by one bit."""
    places = sorted(_places(tile, SlotKind.HEADER))
    if len(places) < 2:
        return None
    at = rng.randrange(1, len(places))
    entry, row = places[at - 1]
    before = tile.rows[row][entry][2][0]
    number = rng.choice([before, rng.randint(0, before), before & ~(1 << rng.randrange(32))])
    return *places[at], tile.layout.header(number)


def _headless(tile: SparseTile, rng: random.Random) -> tuple[int, int, int] | None:
    row = rng.randrange(tile.config.rows)
    return 0, row, tile.pack(1, (0,) * (len(tile.shape) - 1))


def _behind(header: bool) -> Change:
    def change(tile: SparseTile, rng: random.Random) -> tuple[int, int, int] | None:
        places = [
            (entry, row)
            for row, slots in enumerate(tile.rows)
            for entry in range(len(slots), len(tile.entries))
        ]
        if not places:
            return None
        zero = (0,) * (len(tile.shape) - 1)
        slot = tile.layout.header(tile.shape[0] - 1) if header else tile.pack(1, zero)
        return *rng.choice(places), slot

    return change


def _unended(tile: SparseTile, rng: random.Random) -> tuple[int, int, int] | None:
    """The last entry has something else for a row that should end there."""
    last = len(tile.entries) - 1
    rows = [row for row, slots in enumerate(tile.rows) if len(slots) == last + 1]
    if last == 0:
        return None
    return last, rng.choice(rows), tile.pack(1, (0,) * (len(tile.shape) - 1))


FAULTS: list[tuple[str, Change, int, int]] = [
    ("index", _index(1), 2, 1),
    ("index", _index(2), 3, 1),
    ("index", _index(3), 4, 1),
    ("slice", _large_slice, 2, 1),
    ("slice", _slice_again, 2, 1),
    ("stream", _headless, 2, 1),
    ("stream", _behind(True), 2, 2),
    ("stream", _behind(False), 2, 2),
    ("stream", _unended, 2, 1),
]
"""The error, how it is made, and the modes and rows that it takes."""


@pytest.mark.parametrize("name", slow_but([], CONFIGS, ["small"]))
def test_a_wrong_entry_reaches_no_row(name: str) -> None:
    """All entries before it arrive; its first wrong slot determines the error."""
    config = CONFIGS[name]
    for seed in range(by_size(1, 5, 8)):
        for number, (fault, change, modes, rows) in enumerate(FAULTS):
            if config.order < modes or config.rows < rows:
                continue
            rng = random.Random(f"{name} {seed} {number}")

            def draw(rng: random.Random = rng, change: Change = change) -> Any:
                tiles = sparse_tiles(name, rng.randrange(1 << 30), 2)
                made = change(tiles[1], rng)
                return made and (tiles, made)

            tiles, (entry, row, slot) = draw_until(draw)
            tiles[1].entries[entry][row] = slot
            run = Run(config, tiles, PERFECT, stall=0.2, seed=seed, wrong=True)
            assert run.errors == [fault], (seed, number)
            assert run.where == (1, entry), (seed, number)
            before = tiles[1].before(entry)
            run.check([len(a) + b for a, b in zip(tiles[0].rows, before, strict=True)])


@pytest.mark.slow
def test_a_late_entry_is_wrong() -> None:
    """Its number has eleven bits."""
    config = CONFIGS["small"]
    tile = SparseTile(config, (300, 7), random.Random(1), 1.0, 30)
    values = [place for place in _places(tile, SlotKind.VALUE) if place[0] < 1 << 11]
    entry, row = max(values)
    assert entry > 2000
    tile.entries[entry][row] = tile.pack(1, (7,))
    run = Run(config, [tile], PERFECT, wrong=True)
    assert (run.errors, run.where) == (["index"], (0, entry))
    run.check(tile.before(entry))


@pytest.mark.long
def test_the_first_wrong_slot_of_an_entry_counts() -> None:
    tiles = [SparseTile(CONFIGS["four"], (9, 4), random.Random(3), 1.0, 5)]
    entry = tiles[0].entries[1]
    layout = tiles[0].layout
    entry[0], entry[1], entry[2] = tiles[0].pack(1, (4,)), layout.header(9), layout.no_op
    run = Run(CONFIGS["four"], tiles, PERFECT, wrong=True)
    assert (run.errors, run.where) == (["index"], (0, 1))
    entry[0] = tiles[0].pack(1, (3,))
    run = Run(CONFIGS["four"], tiles, PERFECT, wrong=True)
    assert (run.errors, run.where) == (["slice"], (0, 1))


RATED = {
    "default": TensaurusConfig(addr_bits=32, cols=1),
    "one channel": TensaurusConfig(addr_bits=32, cols=1, channels=1, rows=4, data_bits=256),
}


@pytest.mark.parametrize("name", slow_but([], RATED, []))
def test_an_entry_a_cycle_or_all_of_the_ports(name: str) -> None:
    """This rate holds across the ends of two streams."""
    config = RATED[name]
    rng = random.Random(name)
    tiles = [SparseTile(config, (4 * config.rows, 9, 9), rng, 1.0, 80) for _ in range(3)]
    run = Run(config, tiles, PERFECT)
    entries = sum(len(tile.entries) for tile in tiles)
    last = max(sink.cycles[-1] for sink in run.sinks)
    cycles = last - min(sink.cycles[0] for sink in run.sinks) + 1
    if name == "default":
        # Channels that deliver more than an entry a cycle.
        assert entries >= 0.98 * cycles
    else:
        assert run.bench.port_use() >= 0.98


@pytest.mark.parametrize("name", slow_but([], RATED, []))
def test_a_dense_slot_a_cycle_for_each_row(name: str) -> None:
    config = RATED[name]
    tiles = [DenseTile(config, (2 * config.rows, 3, 70), random.Random(n)) for n in range(2)]
    run = Run(config, tiles, PERFECT)
    for sink, slots in zip(run.sinks, run.expected, strict=True):
        # The first header comes before there is a value.
        assert len(slots) - 1 >= 0.98 * (sink.cycles[-1] - sink.cycles[1] + 1)


@pytest.mark.long
def test_a_row_that_stalls_stops_no_other_until_its_queue_is_full() -> None:
    config = RATED["one channel"]
    tile = SparseTile(config, (40, 9, 9), random.Random(1), 1.0, 30)
    run = Run(config, [tile], PERFECT, slow=0.9)
    assert run.sinks[1].words
    # Largest lead of the others over the slow row.
    slow, other = run.sinks[0].cycles, run.sinks[1].cycles
    ahead = max(sum(1 for at in other if at <= cycle) - number for number, cycle in enumerate(slow))
    assert config.row_queue <= ahead <= config.row_queue + 4
