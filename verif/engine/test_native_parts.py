"""The engine's transfers of blocks, its sequencer and its feeder as Verilog, part by part."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import pytest
from tilewright.hw.engine.block_transfers import Loader, Storer
from tilewright.hw.engine.feeder import Feeder, Sequencer
from tilewright.hw.engine.layouts import Sizes
from tilewright.hw.spec.engine import SIZE_BITS
from tilewright.verif.engine.jobs import CONFIGS
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.native.parts import NativeParts

pytestmark = pytest.mark.slow

CONFIG = CONFIGS["small"]
SIZES = Sizes(CONFIG)
UNIT = CONFIG.unit
RTL = NativeParts(
    "engine_parts",
    {
        **{f"load_{x}": partial(Loader, CONFIG, x) for x in "abc"},
        "store": lambda: Storer(CONFIG),
        "sequence": lambda: Sequencer(CONFIG),
        "feed": lambda: Feeder(CONFIG),
    },
)
DOWN, ACROSS = SIZES.block_rows * SIZES.rows, SIZES.block_cols * SIZES.cols
DEEP = SIZES.block_depth * SIZES.depth
RESULT_BITS = CONFIG.result_widths[0]
ADDRESSES = 1 << CONFIG.addr_bits


@dataclass(frozen=True)
class Product:
    """The sizes of a job less one, and its other fields."""

    m1: int
    n1: int
    k1: int
    transposed: bool
    use_c: bool
    fields: dict[str, int]

    @property
    def job(self) -> dict[str, int]:
        sizes = {"m1": self.m1, "n1": self.n1, "k1": self.k1}
        flags = {"transposed_b": int(self.transposed), "use_c": int(self.use_c)}
        return {**sizes, **flags, **self.fields, "element": 1, "result": 1}

    def blocks(self) -> Iterator[tuple[int, int, int]]:
        """Block row, block column, chunk of k."""
        down, across, deep = (
            range(last // size + 1)
            for last, size in ((self.m1, DOWN), (self.n1, ACROSS), (self.k1, DEEP))
        )
        return product(down, across, deep)

    def rows(self, operand: str) -> Iterator[tuple[int, int, int, bool, bool]]:
        """Address and beats of each row of an operand, its number in the block, whether it is the
        block's last, and whether its last beat holds the last column of the matrix."""
        lane = UNIT.lane_bits
        base, stride = self.fields[f"{operand}_base"], self.fields[f"{operand}_stride"]
        for i, j, k in self.blocks():
            down = min(DOWN, self.m1 + 1 - i * DOWN)
            across = min(ACROSS, self.n1 + 1 - j * ACROSS)
            deep = min(DEEP, self.k1 + 1 - k * DEEP)
            rows, first, offset, bits = {
                "a": (down, i * DOWN, k * DEEP * lane, deep * lane),
                "b": (deep, k * DEEP, j * ACROSS * lane, across * lane),
                "c": (down, i * DOWN, j * ACROSS * RESULT_BITS, across * RESULT_BITS),
            }["c" if operand in "cd" else operand]
            if operand == "b" and self.transposed:
                rows, first = across, j * ACROSS
                offset, bits = k * DEEP * lane, deep * lane
            if operand in "cd" and k:
                continue
            right = (j + 1) * ACROSS > self.n1
            for row in range(rows):
                address = (base + (first + row) * stride + offset // 8) % ADDRESSES
                yield address, -(-bits // CONFIG.data_bits), row, row == rows - 1, right


def drawn(rng: random.Random, most: int = 14) -> Product:
    """Any addresses and distances of rows."""
    fields = {f"{x}_base": rng.getrandbits(CONFIG.addr_bits) for x in "abcd"}
    fields |= {f"{x}_stride": rng.getrandbits(32) for x in "abcd"}
    fields["op"] = rng.choice([one.opcode for one in UNIT.operations.values()])
    m1, n1, k1 = (rng.randrange(most) for _ in range(3))
    return Product(m1, n1, k1, rng.random() < 0.5, rng.random() < 0.5, fields)


LONG = 0x96B5
"""A last row, column or k, which and whose complement use every bit."""


async def begin(sim: Any, part: Any, job: Product) -> None:
    sim.set(part.job, job.job)
    assert not sim.get(part.running)
    sim.set(part.start, 1)
    await sim.tick()
    sim.set(part.start, 0)


@pytest.mark.parametrize("operand", ["a", "b", "c"])
def test_every_beat_of_an_operand_has_its_place(operand: str) -> None:
    """At most two blocks are claimed, beats arrive whenever they like, and a stop drops all."""
    rng = random.Random(f"load {operand}")

    async def bench(sim: Any) -> None:
        part = RTL[f"load_{operand}"]
        for number in range(by_size(10, 60, 600)):
            job = drawn(rng)
            stall = (0.0, 0.3, 0.6)[number % 3]
            stop_at = rng.randrange(60) if number % 4 == 3 else None
            await begin(sim, part, job)
            wanted = deque(job.rows(operand))
            places, beats = deque[tuple[int, int, int, bool]](), deque[tuple[int, bool]]()
            claimed = loaded = block = 0
            first = True
            for cycle in range(20_000):
                asks, brings, frees = (rng.random() >= stall for _ in range(3))
                frees &= loaded > 0 and rng.random() < 0.3
                brings &= bool(beats) and cycle > (number % 5) * 20
                sim.set(part.request.ready, asks)
                sim.set(part.i.valid, brings)
                sim.set(part.freed, frees)
                sim.set(part.stop, cycle == stop_at)
                if beats:
                    sim.set(part.i.payload, {"data": beats[0][0], "last": beats[0][1]})
                write = sim.get(part.write)
                if cycle == stop_at:
                    await sim.tick()
                    break
                assert write == (brings and sim.get(part.i.ready))
                if brings:
                    assert sim.get(part.i.ready)
                    place = sim.get(part.place)
                    assert (place.row, place.beat, place.buffer, place.last) == places[0]
                    assert sim.get(part.data) == beats[0][0]
                    assert sim.get(part.loaded) == places[0][3]
                    loaded += places[0][3]
                    places.popleft()
                    beats.popleft()
                else:
                    assert not sim.get(part.loaded)
                if asks and sim.get(part.request.valid):
                    address, count, row, last, _ = wanted.popleft()
                    if first:
                        assert claimed < 2
                        claimed += 1
                    request = sim.get(part.request.payload)
                    assert (request.address, request.beats) == (address, count)
                    for beat in range(count):
                        ends = beat == count - 1
                        places.append((row, beat, block % 2, last and ends))
                        beats.append((rng.getrandbits(CONFIG.data_bits), ends))
                    first = last
                    block += last
                claimed -= frees
                loaded -= frees
                running = sim.get(part.running)
                await sim.tick()
                if not wanted and not beats:
                    break
                assert running
            for port in (part.i.valid, part.freed, part.stop, part.request.ready):
                sim.set(port, 0)
            for _ in range(40):
                # Places that a stop leaves are dropped, one a cycle.
                if stop_at is None or not sim.get(part.running):
                    break
                sim.set(part.stop, 1)
                await sim.tick()
            sim.set(part.stop, 0)
            assert not sim.get(part.running)
            assert not sim.get(part.request.valid)
            assert stop_at is not None or not wanted

    RTL.simulate(f"load_{operand}", bench)


def test_every_row_of_a_result_is_stored() -> None:
    rng = random.Random("store")

    async def bench(sim: Any) -> None:
        part = RTL["store"]
        for number in range(by_size(10, 60, 600)):
            job = drawn(rng)
            stall = (0.0, 0.3, 0.6)[number % 3]
            await begin(sim, part, job)
            wanted = list(job.rows("d"))
            requests = deque((address, count) for address, count, *_ in wanted)
            reads = deque[tuple[int, int, int, bool]]()
            blocks, computed, left = 0, 0, sum(one[3] for one in wanted)
            strobes, ends = deque[int](), deque[bool]()
            whole = (1 << CONFIG.beat_bytes) - 1
            for _, count, row, last, right in wanted:
                columns = job.n1 % (CONFIG.data_bits // RESULT_BITS) + 1
                for beat in range(count):
                    final = beat == count - 1
                    reads.append((row, beat, blocks % 2, last and final))
                    part_of_it = (1 << columns * RESULT_BITS // 8) - 1
                    strobes.append(part_of_it if right and final else whole)
                    ends.append(last and final)
                blocks += last
            content = deque[int]()
            fetched = advanced = False
            for _ in range(20_000):
                asks, takes, comes = (rng.random() >= stall for _ in range(3))
                comes &= left > 0 and computed < 2 and rng.random() < 0.4
                beat = rng.getrandbits(CONFIG.data_bits)
                if advanced:
                    content.append(beat)
                    sim.set(part.beat, beat)
                sim.set(part.request.ready, asks)
                sim.set(part.o.ready, takes)
                sim.set(part.computed, comes)
                if asks and sim.get(part.request.valid):
                    request = sim.get(part.request.payload)
                    assert (request.address, request.beats) == requests.popleft()
                if takes and sim.get(part.o.valid):
                    found = sim.get(part.o.payload)
                    assert (found.data, found.strobe) == (content.popleft(), strobes.popleft())
                    stored = ends.popleft()
                    assert sim.get(part.stored) == stored
                    computed -= stored
                else:
                    assert not sim.get(part.stored)
                advanced = bool(sim.get(part.advance))
                assert fetched or not advanced
                if sim.get(part.read):
                    assert advanced or not fetched
                    place = sim.get(part.place)
                    assert (place.row, place.beat, place.buffer, place.last) == reads.popleft()
                    fetched = True
                elif advanced:
                    fetched = False
                computed += comes
                left -= comes
                await sim.tick()
                if not strobes:
                    break
                assert sim.get(part.running)
            sim.set(part.computed, 0)
            sim.set(part.o.ready, 0)
            assert not sim.get(part.running)
            assert not requests
            assert not reads

    RTL.simulate("store", bench)


def steps_of(job: Product) -> Iterator[tuple[dict[str, int], int, bool, bool]]:
    """Each operation: its fields, the tiles of its block, whether it begins the block, whether it
    ends the chunk."""
    chunk_buffer = block_buffer = 0
    for i, j in product(range(job.m1 // DOWN + 1), range(job.n1 // ACROSS + 1)):
        rows = -(-min(DOWN, job.m1 + 1 - i * DOWN) // SIZES.rows)
        cols = -(-min(ACROSS, job.n1 + 1 - j * ACROSS) // SIZES.cols)
        chunks = job.k1 // DEEP + 1
        for chunk in range(chunks):
            depth = -(-min(DEEP, job.k1 + 1 - chunk * DEEP) // SIZES.depth)
            for k, row, col in product(range(depth), range(rows), range(cols)):
                last = chunk == chunks - 1
                ends = (k, row, col) == (depth - 1, rows - 1, cols - 1)
                first = chunk == k == 0
                fields = {
                    "row": row, "col": col, "k": k, "chunk_buffer": chunk_buffer,
                    "block_buffer": block_buffer, "first": int(first),
                    "cut": int(last and k == depth - 1), "block_end": int(last and ends),
                }  # fmt: skip
                yield fields, rows * cols, first and row == col == 0, ends
            chunk_buffer ^= 1
        block_buffer ^= 1


def check_sequence(sim: Any, job: Product, rng: random.Random, stall: float) -> Any:
    """A coroutine that compares every operation with the loops, and when it comes with the rules of
    the buffers."""

    async def bench() -> None:
        part = RTL["sequence"]
        await begin(sim, part, job)
        full = dict.fromkeys("abc", 0)
        occupied = under_way = to_store = 0
        steps = steps_of(job)
        step = next(steps, None)
        cycle = 0
        while step is not None or under_way:
            loads = {x: full[x] < 2 and rng.random() >= stall for x in "abc"}
            # The unit has no room for more.
            ready = rng.random() >= stall and under_way < CONFIG.sum_cycles
            written = under_way > 0 and rng.random() < 0.5
            stored = to_store > 0 and rng.random() < 0.5
            for x, one in loads.items():
                sim.set(getattr(part, f"{x}_loaded"), one)
            sim.set(part.o.ready, ready)
            sim.set(part.written, written)
            sim.set(part.stored, stored)
            valid = sim.get(part.o.valid)
            assert sim.get(part.running)
            moved = chunk_ends = block_ends = False
            if step is not None:
                fields, tiles, begins, ends = step
                if fields["first"]:
                    may = full["c"] > 0 if job.use_c else occupied < 2 or not begins
                else:
                    may = under_way < tiles
                assert valid == (full["a"] > 0 and full["b"] > 0 and may), (cycle, fields)
                if valid:
                    found = sim.get(part.o.payload)
                    assert {name: found[name] for name in fields} == fields
                moved = bool(valid and ready)
                chunk_ends, block_ends = moved and ends, moved and bool(fields["block_end"])
            else:
                assert not valid
            assert sim.get(part.chunk_done) == chunk_ends
            occupied += int(moved and step is not None and step[2]) - stored
            full = {
                x: count + loads[x] - (block_ends and job.use_c if x == "c" else chunk_ends)
                for x, count in full.items()
            }
            under_way += moved - written
            to_store += block_ends - stored
            await sim.tick()
            if moved:
                step = next(steps, None)
            cycle += 1
            assert cycle < 200_000
        for name in ("a_loaded", "b_loaded", "c_loaded", "written", "stored"):
            sim.set(getattr(part, name), 0)
        assert not sim.get(part.running)
        assert not sim.get(part.o.valid)
        for _ in range(2):
            # The buffers of results are free for the next job.
            await sim.tick()

    return bench()


def test_the_order_of_operations() -> None:
    rng = random.Random("sequence")

    async def bench(sim: Any) -> None:
        for number in range(by_size(10, 80, 800)):
            await check_sequence(sim, drawn(rng, 11), rng, (0.0, 0.3, 0.6)[number % 3])

    RTL.simulate("sequence", bench)


@pytest.mark.parametrize("size", range(3))
def test_operations_of_a_long_loop(size: int) -> None:
    """A matrix with many rows, columns or k, and one of the others."""
    rng = random.Random("long")
    few = 1 << SIZE_BITS - 6

    async def bench(sim: Any) -> None:
        for last in (LONG % few, ~LONG % few) if by_size(True, True, False) else (LONG, ~LONG):
            lasts = [last % (1 << SIZE_BITS) if n == size else 0 for n in range(3)]
            job = Product(lasts[0], lasts[1], lasts[2], False, False, drawn(rng).fields)
            await check_sequence(sim, job, rng, 0.0)

    RTL.simulate("sequence", bench)


def test_operands_are_padded_and_sums_begin() -> None:
    rng = random.Random("feed")
    operations = {one.opcode: one for one in UNIT.operations.values()}
    lane_bits = UNIT.lane_bits

    def words(bits: int, *shape: int) -> Any:
        if not shape:
            return rng.getrandbits(bits)
        return [words(bits, *shape[1:]) for _ in range(shape[0])]

    async def bench(sim: Any) -> None:
        part = RTL["feed"]
        job = drawn(rng)
        # The step whose tiles the scratchpads show, and the operation at the output.
        fetched: dict[str, int] | None = None
        offered: tuple[dict[str, int], Any, Any, Any] | None = None
        for cycle in range(by_size(200, 1500, 15_000)):
            if cycle % 20 == 0 and fetched is offered is None:
                job = drawn(rng)
                sim.set(part.job, job.job)
            gives, ready = rng.random() < 0.7, rng.random() < 0.7
            following = {
                name: rng.getrandbits(field.width)
                for name, field in part.i.payload.shape().members.items()
                for field in [part.i.payload.shape()[name]]
            }
            a = words(lane_bits, SIZES.rows, SIZES.depth)
            b = words(lane_bits, SIZES.depth, SIZES.cols)
            c = words(SIZES.c_bits, SIZES.rows, SIZES.cols)
            sim.set(part.i.valid, gives)
            sim.set(part.i.payload, following)
            sim.set(part.o.ready, ready)
            for port, value in ((part.a, a), (part.b, b), (part.c, c)):
                sim.set(port, value)
            advances = offered is None or ready
            accepts = fetched is None or advances
            assert sim.get(part.i.ready) == accepts
            assert sim.get(part.o.valid) == (offered is not None)
            assert sim.get(part.read) == (gives and accepts)
            if offered is not None:
                check_operation(sim, part, job, offered)
            await sim.tick()
            if advances:
                offered = None if fetched is None else (fetched, a, b, c)
            if accepts:
                fetched = following if gives else None

    def check_operation(sim: Any, part: Any, job: Product, offered: Any) -> None:
        step, a, b, c = offered
        operation = operations[job.fields["op"]]
        found, tag = sim.get(part.o.payload), sim.get(part.tag)
        assert found.op == operation.opcode
        assert (tag.tile.row, tag.tile.col) == (step["row"], step["col"])
        assert (tag.tile.buffer, tag.block_end) == (step["block_buffer"], step["block_end"])
        last = job.k1 % SIZES.depth
        for lane in range(SIZES.depth):
            padded = bool(step["cut"]) and last < lane
            for row in range(SIZES.rows):
                pad = _pad(operation, 0, lane, a[row][0])
                assert found.a[row][lane] == (pad if padded else a[row][lane])
            for col in range(SIZES.cols):
                pad = _pad(operation, 1, lane, b[0][col])
                assert found.b[lane][col] == (pad if padded else b[lane][col])
        neutral = step["first"] and not job.use_c
        for row, col in product(range(SIZES.rows), range(SIZES.cols)):
            wanted = (operation.addend or 0) if neutral else c[row][col]
            assert found.c[row][col] == wanted

    RTL.simulate("feed", bench)


def _pad(operation: Any, side: int, lane: int, first: int) -> int:
    if operation.padding is None:
        return first
    lanes = max(1, operation.operand_bits // UNIT.lane_bits)
    mask = (1 << UNIT.lane_bits) - 1
    return int(operation.padding[side] >> lane % lanes * UNIT.lane_bits & mask)
