"""The tensor loader: every slot of every row, sparse and dense, and every wrong entry."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.hw.tensaurus.layouts import SlotKind
from tilewright.verif.channels.striped.memory_bench import MANNERS, PERFECT
from tilewright.verif.kit.sampling import by_size, draw_until, slow_but
from tilewright.verif.tensaurus.load.configs import CONFIGS
from tilewright.verif.tensaurus.load.streams import DenseTile, SparseTile
from tilewright.verif.tensaurus.load.tensor_runs import Run, dense_tiles, sparse_tiles

pytestmark = pytest.mark.long

SEEDS = by_size(1, 2, 8)


every_config = pytest.mark.parametrize("name", slow_but(["small"], CONFIGS, ["four", "odd", "one"]))


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
    """Of a dense tensor of fewer slices than rows; it was the end of all requests once."""
    config = CONFIGS["small"]
    tiles = [DenseTile(config, (slices, 150), random.Random(slices)) for slices in (1, 1, 3)]
    Run(config, tiles, MANNERS["rough"])


@pytest.mark.slow
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("name", slow_but(["small"], CONFIGS, ["four"]))
def test_stop_in_the_middle_of_anything(name: str, dense: bool) -> None:
    for seed in range(SEEDS):
        tiles: list[DenseTile] | list[SparseTile] = dense_tiles(name, seed, 2)
        if not dense:
            tiles = sparse_tiles(name, seed, 2)
        stop_at = random.Random(seed).randint(2, 150)
        Run(CONFIGS[name], tiles, MANNERS["rough"], stall=0.2, seed=seed, stop_at=stop_at)


@pytest.mark.slow
def test_an_error_of_the_bus() -> None:
    """What comes is what was read before it, and nothing that is wrong."""
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
        wrong[mode - 1] = rng.choice([tile.shape[mode], tile.layout.largest_index - 1])
        if wrong[mode - 1] < tile.shape[mode]:
            return None
        return entry, row, tile.pack(value, tuple(wrong))

    return change


def _large_slice(tile: SparseTile, rng: random.Random) -> tuple[int, int, int] | None:
    places = _places(tile, SlotKind.HEADER)
    if not places:
        return None
    number = rng.choice([tile.shape[0], tile.layout.largest_slice])
    return *rng.choice(places), tile.layout.header(number)


def _slice_again(tile: SparseTile, rng: random.Random) -> tuple[int, int, int] | None:
    """A slice that an earlier header names, or one below it."""
    places = sorted(_places(tile, SlotKind.HEADER))
    if len(places) < 2:
        return None
    at = rng.randrange(1, len(places))
    entry, row = places[at - 1]
    before = tile.rows[row][entry][2][0]
    return *places[at], tile.layout.header(rng.randint(0, before))


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
    """All before it do; its first wrong slot tells what is wrong."""
    config = CONFIGS[name]
    for seed in range(by_size(1, 1, 8)):
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


@pytest.mark.parametrize("name", slow_but([], RATED, ["one channel"]))
def test_an_entry_a_cycle_or_all_of_the_ports(name: str) -> None:
    """Over the ends of two streams."""
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


@pytest.mark.parametrize("name", slow_but([], RATED, ["one channel"]))
def test_a_dense_slot_a_cycle_for_each_row(name: str) -> None:
    config = RATED[name]
    tiles = [DenseTile(config, (2 * config.rows, 3, 70), random.Random(n)) for n in range(2)]
    run = Run(config, tiles, PERFECT)
    for sink, slots in zip(run.sinks, run.expected, strict=True):
        # The first header comes before there is a value.
        assert len(slots) - 1 >= 0.98 * (sink.cycles[-1] - sink.cycles[1] + 1)


@pytest.mark.slow
def test_a_row_that_stalls_stops_no_other_until_its_queue_is_full() -> None:
    config = RATED["one channel"]
    tile = SparseTile(config, (40, 9, 9), random.Random(1), 1.0, 30)
    run = Run(config, [tile], PERFECT, slow=0.9)
    assert run.sinks[1].words
    # How far the others were ahead of the slow row, at most.
    slow, other = run.sinks[0].cycles, run.sinks[1].cycles
    ahead = max(sum(1 for at in other if at <= cycle) - number for number, cycle in enumerate(slow))
    assert config.row_queue <= ahead <= config.row_queue + 4
