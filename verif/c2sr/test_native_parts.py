"""The converter's reader and writer as Verilog: tokens and bytes of any matrix, natively."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from tilewright.hw.c2sr_converter.reader import ConverterReader
from tilewright.hw.c2sr_converter.writer import ConverterWriter
from tilewright.hw.channels.c2sr_row_writer import WRITERS
from tilewright.hw.spec.c2sr_converter import POINTER_BYTES, C2srConverterConfig
from tilewright.hw.spec.jobs.c2sr_converter import MODES
from tilewright.registry import entries
from tilewright.verif.c2sr.jobs import ConverterCase, any_case, matrix_of, place
from tilewright.verif.channels.striped.memory_bench import MANNERS, ReaderMemory
from tilewright.verif.kit.sampling import by_size, draw_until
from tilewright.verif.native.parts import NativeParts
from tilewright.verif.stream.agents import Pulse, Sink, Wire, run_agents

pytestmark = pytest.mark.slow

CONFIG = C2srConverterConfig(**entries()["c2sr_converter"].small)
RTL = NativeParts(
    "converter_parts",
    {"reader": lambda: ConverterReader(CONFIG), "writer": lambda: ConverterWriter(CONFIG)},
)
STRIPE = CONFIG.layout.stripe_bytes
HIGH = 0xB4_D2_6A_59_C5
"""High bits of addresses; their complement is used, too."""


@cache
def cases_of(direction: str) -> list[ConverterCase]:
    """Matrices of any shape at addresses that use every bit."""
    rng, found = np.random.default_rng(1), []
    for number in range(by_size(4, 24, 200)):
        rows = (None, 1, 5, 40)[number % 4]
        case = any_case(rng, CONFIG, direction, rows=rows)
        while case.matrix.nnz > 900 or case.matrix.shape[0] > 150:
            case = any_case(rng, CONFIG, direction)
        high = (HIGH if number % 2 else ~HIGH) % (1 << CONFIG.addr_bits - 1) // STRIPE * STRIPE
        found.append(replace(case, base={name: high + at for name, at in case.base.items()}))
    # Long rows and many rows, so that places and counts have many bits.
    for lengths in ([2135, 0, 3, 843, 1], [1, 0, 0] * 111):
        matrix = matrix_of(rng, CONFIG, np.array(lengths, np.int64), 3000)
        found.append(place(rng, CONFIG, direction, matrix, spare=3))
    return found


def job_of(case: ConverterCase) -> dict[str, int]:
    return {name.lower(): value for name, value in case.registers.items()}


@cache
def tokens_of(case: ConverterCase) -> list[dict[str, int]]:
    patterns = case.matrix.patterns()
    rows = case.matrix.shape[0]
    found = []
    for row in range(rows):
        begin, end = int(patterns.starts[row]), int(patterns.starts[row + 1])
        for at in range(begin, max(end, begin + 1)):
            present = end > begin
            row_last = not present or at == end - 1
            found.append({
                "value": int(patterns.values[at]) if present else 0,
                "column": int(patterns.columns[at]) if present else 0,
                "present": int(present), "row_last": int(row_last),
                "last": int(row_last and row == rows - 1),
            })  # fmt: skip
    return found


def blocks_of(case: ConverterCase, far: int = 0) -> dict[int, bytes]:
    """Memory before a job; in C2SR the first entry of each channel is moved by ``far`` blocks."""
    index, entries = ((block.address, block.data.tobytes()) for block in case.source())
    if case.direction == "csr_to_c2sr":
        return dict([index, entries])
    halves = np.frombuffer(index[1], np.uint32).copy()
    halves[1::2] += np.uint32(far * CONFIG.layout.block_entries)
    return {index[0]: halves.tobytes(), entries[0] + far * STRIPE: entries[1]}


def far_blocks(rng: np.random.Generator) -> int:
    """Blocks that are at most in a pointer, with room for those of a matrix."""
    return int(rng.integers((1 << 32) // CONFIG.layout.block_entries - 1000))


def read(
    case: ConverterCase,
    seed: int,
    *,
    stop_at: int | None = None,
    unsorted: int | None = None,
    blocks: dict[int, bytes] | None = None,
) -> None:
    """Reads a matrix; one whose row ``unsorted`` ends before it begins, up to there."""
    part = RTL["reader"]
    content = blocks or blocks_of(case)
    manner = MANNERS["rough" if seed % 2 else "even"]
    memories = [ReaderMemory(part, name, CONFIG.geometry, content, manner, seed)
                for name in ("pairs", "entries")]  # fmt: skip
    sink, start = Sink(part.o, stall=0.3 * (seed % 3), seed=seed), Pulse(part.start)
    wanted = tokens_of(case)
    rows = 0
    stopped, quiet_for = stop_at is None, 0
    length = 1 + seed % 3
    agents: list[Any] = [sink, start, *memories]
    if stop_at is not None:
        agents.append(Wire(part.stop, lambda cycle: int(stop_at <= cycle < stop_at + length)))

    def until(sim: Any, cycle: int) -> bool:
        nonlocal stopped, quiet_for
        quiet, idle = all(memory.quiet for memory in memories), bool(sim.get(part.idle))
        assert quiet or not idle, "idle though the bus owes something"
        assert not sim.get(part.error)
        if not stopped:
            assert stop_at is not None
            if cycle == stop_at:
                sink.forget()
            if cycle >= stop_at + length and idle:
                stopped = True
                assert not sim.get(part.unsorted)
                sink.words.clear()
                start.due = True
            return False
        if unsorted is not None:
            if not sim.get(part.unsorted):
                return False
            assert sim.get(part.unsorted_row) == unsorted
            quiet_for += quiet
            return quiet_for > 150
        assert not sim.get(part.unsorted)
        return len(sink.words) == len(wanted) and idle

    run_agents(partial(RTL.simulate, "reader"), agents, until=until, most=30_000,
               wires=[(part.job, part.job.shape().const(job_of(case)).as_bits())])  # fmt: skip
    layout = part.o.payload.shape()
    for number, word in enumerate(sink.words):
        token = layout.from_bits(word)
        names = wanted[number] if wanted[number]["present"] else ("present", "row_last", "last")
        assert [token[name] for name in names] == [wanted[number][name] for name in names]
        rows += token.row_last
    if unsorted is not None:
        assert rows <= unsorted
        assert len(sink.words) == sum(1 for _ in _before(wanted, unsorted))


def _before(tokens: list[dict[str, int]], row: int) -> Any:
    rows = 0
    for token in tokens:
        if rows == row:
            return
        yield token
        rows += token["row_last"]


@pytest.mark.parametrize("direction", MODES)
def test_every_token_of_a_matrix(direction: str) -> None:
    rng = np.random.default_rng(5)
    for seed, case in enumerate(cases_of(direction)):
        read(case, seed, blocks=blocks_of(case, far_blocks(rng)))


def begin(
    case: ConverterCase, wanted: list[dict[str, int]], blocks: dict[int, bytes], **job: int
) -> None:
    """Reads the beginning of a matrix that is too long for a test, then stops."""
    part = RTL["reader"]
    memories = [ReaderMemory(part, name, CONFIG.geometry, blocks, MANNERS["even"], 0)
                for name in ("pairs", "entries")]  # fmt: skip
    sink, stops_at = Sink(part.o), -1

    def until(sim: Any, cycle: int) -> bool:
        nonlocal stops_at
        assert not sim.get(part.error)
        if stops_at < 0:
            assert not sim.get(part.unsorted)
            assert not sim.get(part.idle) or cycle < 2
            # Some more come, of whatever is in memory.
            if len(sink.words) >= len(wanted) + 2:
                stops_at = cycle + 1
                sink.forget()
            return False
        return cycle > stops_at and bool(sim.get(part.idle))

    stop = Wire(part.stop, lambda cycle: int(cycle == stops_at))
    fields = {**job_of(case), **job}
    run_agents(partial(RTL.simulate, "reader"), [sink, Pulse(part.start), *memories, stop],
               until=until, most=3000,
               wires=[(part.job, part.job.shape().const(fields).as_bits())])  # fmt: skip
    layout = part.o.payload.shape()
    for word, token in zip(sink.words, wanted, strict=False):
        found = layout.from_bits(word)
        names = token if token["present"] else ("present", "row_last", "last")
        assert [found[name] for name in names] == [token[name] for name in names]


@pytest.mark.parametrize("direction", MODES)
def test_the_beginning_of_many_rows(direction: str) -> None:
    """A number of rows with each of its bits."""
    rng = np.random.default_rng(6)
    for bit in range(5, 32):
        rows = 4 if rng.random() < 0.6 else int(rng.integers(1, 9))
        case = any_case(rng, CONFIG, direction, rows=rows, most=4)
        wanted = [token | {"last": 0} for token in tokens_of(case)]
        blocks = blocks_of(case, far_blocks(rng))
        if direction == "csr_to_c2sr":
            # The pointers that follow do not descend.
            blocks[case.base["csr_pointers"]] += bytes([0xFF]) * 1000
        begin(case, wanted, blocks, rows=rows + (1 << bit))


@pytest.mark.parametrize("direction", MODES)
def test_the_beginning_of_a_long_row(direction: str) -> None:
    """A length with each of its bits."""
    rng = np.random.default_rng(7)

    def with_two_rows() -> ConverterCase | None:
        case = any_case(rng, CONFIG, direction, rows=3, most=12)
        before, after = case.matrix.patterns().starts[1:3]
        return case if 0 < before < after else None

    for bit in range(6, 32):
        case = draw_until(with_two_rows)
        before, after = (int(n) for n in case.matrix.patterns().starts[1:3])
        long = [token | {"row_last": 0, "last": 0, "present": 1} for token in tokens_of(case)]
        wanted, blocks = long[:after], blocks_of(case, far_blocks(rng))
        wanted[before - 1]["row_last"] = 1
        index = case.base["csr_pointers" if direction == "csr_to_c2sr" else "c2sr_pairs"]
        words = np.frombuffer(blocks[index], np.uint32).copy()
        if direction == "csr_to_c2sr":
            words[2:] += np.uint32(1 << bit)
        else:
            # Row 1 is the first of channel 1.
            words[CONFIG.interleave // 4] += np.uint32(1 << bit)
        begin(case, wanted, {**blocks, index: words.tobytes()})


@pytest.mark.parametrize("direction", MODES)
def test_a_stop_in_the_middle_of_reading(direction: str) -> None:
    rng = np.random.default_rng(2)
    for seed, case in enumerate(cases_of(direction)[:10]):
        read(case, seed, stop_at=int(rng.integers(1, 150)))


@pytest.mark.parametrize("direction", MODES)
def test_an_error_of_the_bus(direction: str) -> None:
    """It is reported with the address of the beat, and only what was read before is sent."""
    rng = np.random.default_rng(8)
    for seed, case in enumerate(case for case in cases_of(direction) if case.matrix.nnz):
        blocks = blocks_of(case, far_blocks(rng))
        used = [address for address, content in blocks.items() if content]
        address = used[seed % len(used)]
        beats = min(len(blocks[address]), 4 * STRIPE) // CONFIG.beat_bytes
        fail(case, blocks, address + int(rng.integers(max(1, beats))) * CONFIG.beat_bytes, seed)


def fail(case: ConverterCase, blocks: dict[int, bytes], bad: int, seed: int) -> None:
    """Reads a matrix of which a beat is bad; perhaps that beat is not read."""
    part = RTL["reader"]
    memories = [
        ReaderMemory(part, name, CONFIG.geometry, blocks, MANNERS["even"], seed, frozenset([bad]))
        for name in ("pairs", "entries")
    ]
    sink, wanted = Sink(part.o), tokens_of(case)
    moved, since, stops_at = (0, 0), 0, -1

    def until(sim: Any, cycle: int) -> bool:
        nonlocal moved, since, stops_at
        if stops_at >= 0:
            return cycle > stops_at and bool(sim.get(part.idle)) and not sim.get(part.error)
        now = len(sink.words), sum(memory.beats for memory in memories)
        since, moved = since + 1 if now == moved else 0, now
        if since > 100 and all(memory.quiet for memory in memories):
            is_read = any(bad in memory.addresses for memory in memories)
            assert sim.get(part.error) == is_read
            assert not is_read or sim.get(part.error_address) == bad
            assert is_read or len(sink.words) == len(wanted)
            stops_at = cycle + 1
            sink.forget()
        return False

    stop = Wire(part.stop, lambda cycle: int(cycle == stops_at))
    run_agents(partial(RTL.simulate, "reader"), [sink, Pulse(part.start), *memories, stop],
               until=until, most=30_000,
               wires=[(part.job, part.job.shape().const(job_of(case)).as_bits())])  # fmt: skip
    assert [part.o.payload.shape().from_bits(word).present for word in sink.words] == [
        token["present"] for token in wanted[: len(sink.words)]
    ]


def test_pointers_that_do_not_ascend() -> None:
    rng = np.random.default_rng(3)
    for seed, case in enumerate(cases_of("csr_to_c2sr")):
        starts, rows = case.matrix.patterns().starts, case.matrix.shape[0]
        later = [row for row in range(rows) if starts[row]]
        if not later:
            continue
        row = 0 if seed % 4 == 0 else int(rng.choice(later))
        place_ = row if row == 0 else row + 1
        value = 1 << int(rng.integers(32)) if row == 0 else int(starts[row]) - 1
        at = case.base["csr_pointers"]
        content = bytearray(blocks_of(case)[at])
        content[place_ * POINTER_BYTES : (place_ + 1) * POINTER_BYTES] = value.to_bytes(4, "little")
        read(case, seed, unsorted=row, blocks={**blocks_of(case), at: bytes(content)})


@pytest.mark.parametrize("direction", MODES)
def test_every_byte_of_a_result(direction: str) -> None:
    """Each byte is written where the requests say, with strobes; a result that is larger than
    announced is reported."""
    rng = np.random.default_rng(4)

    async def bench(sim: Any) -> None:
        for number, case in enumerate(cases_of(direction)):
            await write(sim, rng, case, (0.0, 0.3, 0.6)[number % 3], number % 5 == 2)
        # A capacity with each of its bits; without one it would not do.
        small = [case for case in cases_of(direction) if 2 < case.matrix.nnz < 40]
        for bit in range(6, 32):
            case = small[bit % len(small)]
            need = case.capacity if direction == "c2sr_to_csr" else case.matrix.channel_entries
            few = int(rng.integers(1, min(need, case.matrix.nnz)))
            await write(sim, rng, replace(case, capacity=few + (1 << bit)), 0.0, False)

    RTL.simulate("writer", bench)


async def write(
    sim: Any, rng: np.random.Generator, case: ConverterCase, stall: float, short: bool
) -> None:
    part, width = RTL["writer"], CONFIG.beat_bytes
    capacity = case.capacity
    if short:
        capacity = int(rng.integers(1, max(2, case.matrix.channel_entries)))
    row, fits = first_row_that_does_not_fit(case, capacity)
    sim.set(part.job, {**job_of(case), "capacity": capacity})
    sim.set(part.start, 1)
    sim.set(part.i.valid, 0)
    await sim.tick()
    sim.set(part.start, 0)
    sides = [(name, n) for name in WRITERS for n in range(CONFIG.channels)]
    requests = {side: deque[int]() for side in sides}
    beats = {side: deque[Any]() for side in sides}
    tokens, memory, quiet = deque(tokens_of(case)), dict[int, int](), 0
    token_at = 0
    for _ in range(30_000):
        gives = bool(tokens) and rng.random() >= stall
        sim.set(part.i.valid, gives)
        if tokens:
            sim.set(part.i.payload, tokens[0])
        ready = rng.random((2, len(sides))) >= stall
        for number, (name, channel) in enumerate(sides):
            request = getattr(part, f"{name}_request")[channel]
            data = getattr(part, f"{name}_data")[channel]
            sim.set(request.ready, ready[0, number])
            sim.set(data.ready, ready[1, number])
        moved = False
        for number, side in enumerate(sides):
            name, channel = side
            request = getattr(part, f"{name}_request")[channel]
            data = getattr(part, f"{name}_data")[channel]
            if ready[0, number] and sim.get(request.valid):
                asked = sim.get(request.payload)
                assert asked.address // CONFIG.interleave % CONFIG.channels == channel
                last = asked.address + asked.beats * width - 1
                assert asked.address // CONFIG.interleave == last // CONFIG.interleave
                requests[side].extend(asked.address + n * width for n in range(asked.beats))
                moved = True
            if ready[1, number] and sim.get(data.valid):
                beats[side].append(sim.get(data.payload))
                moved = True
            while requests[side] and beats[side]:
                address, beat = requests[side].popleft(), beats[side].popleft()
                for byte in range(width):
                    if beat.strobe >> byte & 1:
                        assert address + byte not in memory, "a byte is written twice"
                        memory[address + byte] = beat.data >> 8 * byte & 0xFF
        taken = gives and sim.get(part.i.ready)
        token = tokens[0] if tokens else {"present": 0, "row_last": 0}
        assert sim.get(part.stored_entry) == (taken and token["present"])
        assert sim.get(part.stored_row) == (taken and token["row_last"])
        assert fits or not sim.get(part.finished) or tokens
        ended = sim.get(part.region) if not fits else sim.get(part.finished)
        quiet = quiet + 1 if ended and not moved else 0
        await sim.tick()
        if taken:
            tokens.popleft()
            token_at += 1
        if quiet > 20:
            break
    else:
        raise AssertionError("the result is not complete")
    sim.set(part.i.valid, 0)
    assert sim.get(part.region) == (not fits)
    if fits:
        assert not tokens
        assert memory == expected_bytes(case)
    else:
        assert sim.get(part.row) == row
        allowed = expected_bytes(case)
        assert all(allowed.get(address, value) == value for address, value in memory.items())
    sim.set(part.stop, 1)
    await sim.tick()
    await sim.tick()
    sim.set(part.stop, 0)
    assert not sim.get(part.region)


def first_row_that_does_not_fit(case: ConverterCase, capacity: int) -> tuple[int, bool]:
    """The first row with an entry beyond the capacity, and whether all fit."""
    lengths = np.diff(case.matrix.patterns().starts)
    groups = 1 if case.direction == "c2sr_to_csr" else CONFIG.channels
    sums = np.zeros(len(lengths), np.int64)
    for group in range(groups):
        sums[group::groups] = np.cumsum(lengths[group::groups])
    return int(np.argmax(sums > capacity)), bool(sums.max() <= capacity)


@cache
def expected_bytes(case: ConverterCase) -> dict[int, int]:
    """The bytes that a result consists of; addresses are counted from the first array."""
    low = min(case.base.values())
    near = replace(case, base={name: at - low for name, at in case.base.items()})
    size = max(block.address + len(block.data) for block in near.result())
    inside = near.written(size + STRIPE * 4)
    found = dict[int, int]()
    for block in near.result():
        for at, value in enumerate(block.data.tolist()):
            if inside[block.address + at]:
                found[low + block.address + at] = value
    return found
