"""Checks the descriptions of tiles with each possible fault, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from math import prod
from typing import Any

import pytest
from amaranth.hdl import Value
from tilewright.hw.spec.jobs.tensaurus_operations import TILE_BYTES, tile_words
from tilewright.hw.spec.tensaurus import KERNELS, TensaurusConfig
from tilewright.hw.tensaurus.layouts import tile_layout
from tilewright.hw.tensaurus.load.tile_fetcher import USERS, TileCheck, TileFetcher
from tilewright.verif.channels.striped.memory_bench import (
    MANNERS,
    Image,
    MemoryBench,
    high_base,
)
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.stream.agents import Agent, Sink, Wire
from tilewright.verif.tensaurus.load.lists import CONFIGS, List, fetched, under_test

SETTLING = 10
"""Cycles from a job to its first description."""


def checked(config: TensaurusConfig, lists: Sequence[List]) -> list[tuple[int, int | None]]:
    """Returns for each list the number of tiles that passed and the number of the wrong one."""
    if config == CONFIGS["small"]:
        return fetched(lists)
    part, simulate = under_test(TileCheck, config)
    found: list[tuple[int, int | None]] = []

    async def bench(sim: Any) -> None:
        sim.set(part.o.ready, 1)
        for tiles in lists:
            sim.set(Value.cast(part.job), tiles.job(0))
            sim.set(part.clear, 1)
            sim.set(part.start, 1)
            await sim.tick()
            sim.set(part.clear, 0)
            sim.set(part.start, 0)
            for _ in range(SETTLING):
                await sim.tick()
            found.append(await one(sim, tiles))

    async def one(sim: Any, tiles: List) -> tuple[int, int | None]:
        for number, fields in enumerate(tiles.fields):
            sim.set(part.words.valid, 1)
            sim.set(part.words.payload, int.from_bytes(tile_words(fields), "little"))
            for _ in range(1000):
                taken, wrong = sim.get(part.words.ready), sim.get(part.wrong)
                assert taken == sim.get(part.o.valid)
                at = sim.get(part.number)
                await sim.tick()
                sim.set(part.words.valid, int(not taken))
                if taken:
                    break
                if wrong:
                    sim.set(part.words.valid, 0)
                    return number, at
            else:
                raise AssertionError(f"nothing said of tile {number}")
        return tiles.tiles, None

    simulate(bench)
    return found


def _kernels(name: str) -> list[str]:
    found = KERNELS if CONFIGS[name].order > 2 else ("mm", "mv")
    return [f"{name} {kernel}" for kernel in found]


Change = Callable[[List, dict[str, int]], None]


def _set(name: str, value: Callable[[List], int]) -> Change:
    def change(tiles: List, fields: dict[str, int]) -> None:
        fields[name] = value(tiles)

    return change


def _line(config: TensaurusConfig) -> int:
    return config.line_bytes


def _last_mode(tiles: List, fields: dict[str, int]) -> None:
    fields[f"size_{tiles.order - 1}"] = 0


def _too_large(mode: int) -> Change:
    return _set(f"size_{mode}", lambda tiles: tiles.room(mode) + 1)


def _large_size(bit: int, last: bool, tiles: List, fields: dict[str, int]) -> None:
    """A size with this bit, or with the least bit above the scratchpad's scalars."""
    bit = max(bit, tiles.config.spm_scalars.bit_length())
    fields[f"size_{tiles.order - 1 if last else 1}"] = 1 << bit | 1


def _many_slices(bit: int, tiles: List, fields: dict[str, int]) -> None:
    """A number of slices with this bit, or with the least bit above the output buffer's."""
    fields["slices"] = 1 << max(bit, tiles.slices.bit_length()) | 1


def _operand(
    mode: int, address: Callable[[List], int], tiles: List, fields: dict[str, int]
) -> None:
    """An address of an operand that is loaded."""
    mode = min(mode, tiles.order - 1)
    fields["load"] |= 1 << mode - 1
    fields[f"operand_{mode}"] = address(tiles)


def _over_the_end(last: bool, tiles: List, fields: dict[str, int]) -> None:
    """An operand that fits into its scratchpad, but not from its region on."""
    mode = tiles.order - 1 if last else 1
    least, most = tiles.room(mode) + 1, tiles.config.spm_scalars
    fields["load"] |= 1 << mode - 1
    fields[f"size_{mode}"] = tiles.random.randint(least, max(least, most))


def _bit_outside(bit: int) -> Callable[[List], int]:
    """Returns an address with one bit that no valid address has: within a line, or above all
    addresses."""

    def address(tiles: List) -> int:
        within = _line(tiles.config).bit_length() - 1
        return 1 << (bit if bit >= tiles.config.addr_bits else bit % within)

    return address


ADDRESS_BITS = (0, 1, 2, 3, 4, 5, *range(32, 64))
FAULTS: tuple[Change, ...] = (
    _set("size_1", lambda tiles: 0),
    _last_mode,
    _too_large(1),
    *(partial(_over_the_end, last) for last in (True, False) for _ in range(4)),
    _set("slices", lambda tiles: 0),
    _set("slices", lambda tiles: tiles.slices + 1),
)
"""Faults in jobs of any kind."""

BIT_FAULTS: tuple[Change, ...] = (
    *(partial(_large_size, bit, last) for last in (False, True) for bit in range(9, 32)),
    *(partial(_many_slices, bit) for bit in range(10, 32)),
    *(_set(name, _bit_outside(bit)) for name in ("tensor", "output") for bit in ADDRESS_BITS),
    *(partial(_operand, mode, _bit_outside(bit)) for mode in (1, 2, 3) for bit in ADDRESS_BITS),
)
"""Faults of one bit in jobs of any kind; each kernel gets a third of them."""

DENSE_FAULTS = tuple(_set("pitch", _bit_outside(bit)) for bit in range(6))
SPARSE_FAULTS = (_set("entries", lambda tiles: 0),)


@pytest.mark.parametrize(
    "job",
    slow_but(
        [],
        [job for name in CONFIGS for job in _kernels(name)],
        _kernels("small"),
    ),
)
def test_what_is_wrong_is_found(job: str) -> None:
    """No other tile fails: all tiles before the wrong one pass, and so do those of correct
    lists."""
    name, kernel = job.split()
    third = KERNELS.index(kernel) % 3
    faults = [
        *((fault, dense) for fault in FAULTS for dense in (0, 1)),
        *[(fault, dense) for fault in BIT_FAULTS for dense in (0, 1)][third::3],
        *((fault, 1) for fault in DENSE_FAULTS),
        *((fault, 0) for fault in SPARSE_FAULTS),
    ]
    lists: list[List] = []
    expected: list[tuple[int, int | None]] = []
    for seed, (fault, dense) in enumerate(faults):
        if seed % 3 == 0:
            lists.append(List(name, seed, tiles=3, kernel=kernel, dense=dense))
            expected.append((3, None))
        tiles = List(name, seed, tiles=3, kernel=kernel, dense=dense)
        at = tiles.random.randrange(3)
        fault(tiles, tiles.fields[at])
        lists.append(tiles)
        expected.append((at, at))
    assert checked(CONFIGS[name], lists) == expected


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["mttkrp", "mv"])
def test_an_operand_that_begins_behind_its_scratchpad(kernel: str) -> None:
    """Regions with each bit above the scratchpad's scalars."""
    lists = []
    for bit in range(CONFIGS["small"].spm_scalars.bit_length(), 32):
        tiles = List("small", bit, tiles=2, kernel=kernel)
        for mode in range(1, tiles.order):
            lists.append(deepcopy(tiles))
            lists[-1].regions[mode] = 1 << bit
    assert checked(CONFIGS["small"], lists) == [(0, 0)] * len(lists)


@pytest.mark.slow
def test_a_job_of_very_many_tiles_begins() -> None:
    """Each bit of their number, and the tiles before the last one are not the last."""
    lists = [List("small", bit, tiles=4, further=1 << bit) for bit in range(3, 31)]
    assert fetched(lists) == [(4, None)] * len(lists)


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "direct"), [("mttkrp", True), ("mv", False)])
def test_more_slices_by_any_bit(kernel: str, direct: bool) -> None:
    """The output is in memory, or has as many values as the buffer."""
    lists = []
    for bit in range(32):
        tiles = List("small", bit, tiles=2, kernel=kernel, direct=direct)
        tiles.fields[1]["slices"] = min(tiles.slices + (1 << bit), (1 << 32) - 1)
        lists.append(tiles)
    assert checked(CONFIGS["small"], lists) == [(1, 1)] * 32


@pytest.mark.slow
def test_the_last_tile_ends_an_output() -> None:
    tiles = List("small", 5, tiles=3)
    tiles.fields[2]["last"] = 2
    assert checked(tiles.config, [tiles]) == [(2, 2)]


@pytest.mark.slow
@pytest.mark.parametrize("dense", [0, 1])
def test_operands_are_loaded_before_they_are_used(dense: int) -> None:
    """The job itself must load its operands, with enough rows, whatever the job before has
    loaded."""
    held = List("small", 7, tiles=3, kernel="mttkrp", dense=dense)
    never, fewer = (List("small", 7, tiles=3, kernel="mttkrp", dense=dense) for _ in range(2))
    for fields in never.fields:
        fields["load"] &= ~2
    for fields, load, size in zip(fewer.fields, (1, 0, 0), (2, 2, 3), strict=True):
        fields |= {"load": fields["load"] & ~1 | load, "size_1": size, "operand_1": 0}
    assert checked(held.config, [held, never, held, fewer]) == [
        (3, None), (0, 0), (3, None), (2, 2)
    ]  # fmt: skip


@pytest.mark.parametrize("name", slow_but([], ["small", "odd"], ["small"]))
def test_scalars_begin_with_a_vector(name: str) -> None:
    tiles = List(name, 6, tiles=2, kernel="mv")
    tiles.regions[1] = 1
    for fields in tiles.fields:
        fields["size_1"] = 1
    assert checked(tiles.config, [tiles]) == [(0, 0)]


# The list of tiles: each to all its users, under memories of every kind.

SEEDS = by_size(1, 12, 12)


class Run:
    """The tiles that the users get."""

    def __init__(
        self,
        tiles: List,
        manner: str = "even",
        *,
        stall: float = 0.3,
        stop_at: int | None = None,
        bad: int | None = None,
        wrong: bool = False,
    ) -> None:
        self.list, config = tiles, tiles.config
        image = Image(config, tiles.seed, high_base(config, config.addr_bits, tiles.seed))
        self.base = image.place(b"".join(map(tile_words, tiles.fields)))
        self.part, simulate = under_test(TileFetcher, config)
        part = self.part
        self.starts = {2}
        stalls = [stall, stall / 2, 0.9 if stall else 0.0]
        self.sinks = [
            Sink(tiles_o, stall=stalls[n], seed=f"{tiles.seed} {n}")
            for n, tiles_o in enumerate(part.tiles)
        ]
        agents: list[Agent] = [*self.sinks, Wire(part.start, self._starts)]
        self.cycle = 0
        self.bench = MemoryBench(
            config, part, image.bytes, MANNERS[manner], agents,
            wires=[(part.job, tiles.job(self.base))], seed=tiles.seed, stop_at=stop_at,
            simulate=simulate, base=image.base,
            again=self._again, bad=frozenset() if bad is None else frozenset([self.base + bad]),
        )  # fmt: skip
        self.wrong: int | None = None
        self._goes_wrong = wrong
        self.bench.run(self._done, settles=wrong or bad is not None)

    def _starts(self, cycle: int) -> int:
        self.cycle = cycle
        return int(cycle in self.starts)

    def _again(self) -> None:
        self.starts.add(self.cycle + 1)
        for sink in self.sinks:
            sink.words.clear()

    def _done(self, sim: Any) -> bool:
        if sim.get(self.part.wrong):
            assert self._goes_wrong
            self.wrong = sim.get(self.part.number)
        complete = all(len(sink.words) == self.list.tiles for sink in self.sinks)
        if self.cycle > max(self.starts) and sim.get(self.part.idle):
            assert complete or self.wrong is not None
        return complete

    def check(self, count: int) -> None:
        """Everyone has the first ``count`` tiles, and no others."""
        tiles, config = self.list, self.list.config
        layout = tile_layout(config)
        for user, sink in zip(USERS, self.sinks, strict=True):
            assert len(sink.words) == count, user
            for number, word in enumerate(sink.words):
                found, fields = layout.from_bits(word), dict(tiles.fields[number])
                used = [f"size_{mode}" for mode in range(1, tiles.order)]
                used += [
                    f"operand_{m}" for m in range(1, tiles.order) if fields["load"] >> m - 1 & 1
                ]
                for name in ("slices", "entries", "tensor", "output", "pitch", *used):
                    assert found[name] == fields[name], (user, number, name)
                assert found.load == fields["load"] & 7
                assert found.last == fields["last"] & 1
                assert found.number == number
                assert found.final == (number == tiles.tiles - 1)
                if tiles.dense:
                    sizes = [fields[f"size_{mode}"] for mode in range(1, tiles.order)]
                    assert found.elements == prod(sizes)


every_config = pytest.mark.parametrize("name", slow_but([], CONFIGS, ["small"]))


@every_config
def test_every_tile_reaches_everyone(name: str) -> None:
    for seed in range(SEEDS):
        tiles = List(name, seed)
        Run(tiles, "rough" if seed % 2 else "even").check(tiles.tiles)


@pytest.mark.slow
def test_nothing_goes_on_behind_a_wrong_tile() -> None:
    tiles = List("small", 5, tiles=4)
    tiles.fields[2]["slices"] = 0
    run = Run(tiles, stall=0.1, wrong=True)
    run.check(2)
    assert run.wrong == 2


@every_config
def test_stop_in_the_middle_of_anything(name: str) -> None:
    for seed in range(SEEDS):
        tiles = List(name, seed, tiles=6)
        stop_at = tiles.random.randint(2, 150)
        Run(tiles, "rough", stop_at=stop_at).check(tiles.tiles)


@pytest.mark.slow
def test_an_error_of_the_bus() -> None:
    tiles = List("small", 3)
    bad = 5 * TILE_BYTES + 64
    run = Run(tiles, bad=bad)
    assert run.bench.error == run.base + bad
    run.check(5)
