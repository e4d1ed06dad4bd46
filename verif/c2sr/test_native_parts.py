"""The converter's reader of rows, and a lane, as Verilog: rows and bytes of any matrix."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.axi.layouts import Supervision, beat_layout, routed_layout
from tilewright.hw.c2sr_converter.found_rows import IndexReader
from tilewright.hw.c2sr_converter.lane import EntryLane
from tilewright.hw.c2sr_converter.row_places import RowPlaces, placed_rows_layout
from tilewright.hw.spec.c2sr_converter import POINTER_BYTES, C2srConverterConfig
from tilewright.hw.spec.jobs.c2sr_converter import MODES
from tilewright.registry import entries
from tilewright.verif.c2sr.jobs import ConverterCase, any_case, matrix_of, place
from tilewright.verif.channels.striped.memory_bench import MANNERS, ReaderMemory
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.native.parts import NativeParts
from tilewright.verif.stream.agents import Pulse, Sink, Source, Wire, run_agents

pytestmark = pytest.mark.slow

CONFIG = C2srConverterConfig(**entries()["c2sr_converter"].small)
STRIPE, WIDTH = CONFIG.layout.stripe_bytes, CONFIG.beat_bytes
HIGH = 0xB4_D2_6A_59_C5
"""High bits of addresses; their complement is used, too."""
_SIGNALS = {"to_csr": 1, "rows": 32, "capacity": 32, "base": CONFIG.addr_bits, "start": 1}


class Front(wiring.Component):
    """The reader of the index, and what places the rows; members are theirs."""

    def __init__(self) -> None:
        request = routed_layout(CONFIG.addr_bits, CONFIG.geometry.channel_bits, CONFIG.slot_bits)
        beat = beat_layout(CONFIG.data_bits, CONFIG.slot_bits)
        super().__init__(
            {
                **{name: In(bits) for name, bits in _SIGNALS.items()},
                "ar": Out(stream.Signature(request)),
                "r": In(stream.Signature(beat, always_ready=True)),
                "read_beat": Out(1),
                "o": Out(stream.Signature(placed_rows_layout(CONFIG))),
                **{name: Out(bits) for name, bits in (("unsorted", 1), ("region", 1), ("row", 32))},
                **Supervision(CONFIG.addr_bits).members,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.reader = reader = IndexReader(CONFIG)
        m.submodules.places = places = RowPlaces(CONFIG)
        wiring.connect(m, reader.o, places.i)
        wiring.connect(m, places.o, wiring.flipped(self.o))
        wiring.connect(m, reader.ar, wiring.flipped(self.ar))
        wiring.connect(m, wiring.flipped(self.r), reader.r)
        inputs: dict[Any, str] = {
            reader: "to_csr rows base start stop",
            places: "to_csr capacity start",
        }
        outputs: dict[Any, str] = {
            reader: "read_beat idle error error_address",
            places: "unsorted region row",
        }
        for part, names in inputs.items():
            m.d.comb += [getattr(part, name).eq(getattr(self, name)) for name in names.split()]
        m.d.comb += places.clear.eq(self.stop)
        for part, names in outputs.items():
            m.d.comb += [getattr(self, name).eq(getattr(part, name)) for name in names.split()]
        return m


RTL = NativeParts("converter_parts", {"front": Front, "lane": partial(EntryLane, CONFIG)})


def memory_of(part: Any, blocks: dict[int, bytes], manner: str, seed: int, *bad: int) -> Any:
    ports = SimpleNamespace(bus_ar=part.ar, bus_r=part.r, read_beats_bus=part.read_beat)
    return ReaderMemory(
        ports, "bus", CONFIG.geometry, blocks, MANNERS[manner], seed, frozenset(bad)
    )


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


def index_of(case: ConverterCase, far: int = 0) -> bytes:
    """The index of a matrix; pointers of C2SR are moved by ``far`` entries."""
    halves = np.frombuffer(case.source()[0].data.tobytes(), np.uint32).copy()
    if case.direction == "c2sr_to_csr":
        halves[1::2] += np.uint32(far)
    return halves.tobytes()


def lengths_of(case: ConverterCase) -> Any:
    return np.diff(case.matrix.patterns().starts)


def begins_of(case: ConverterCase) -> Any:
    """Where each row begins in the result."""
    lengths, to_csr = lengths_of(case), case.direction == "c2sr_to_csr"
    begins, groups = np.zeros_like(lengths), 1 if to_csr else CONFIG.channels
    for group in range(groups):
        part = lengths[group::groups]
        begins[group::groups] = np.cumsum(part) - part
    return begins


def rows_of(case: ConverterCase, far: int = 0) -> list[dict[str, int]]:
    """The placed rows of a matrix."""
    to_csr = case.direction == "c2sr_to_csr"
    pointers = case.matrix.pointers + far if to_csr else case.matrix.patterns().starts[:-1]
    names = ("length", "pointer", "begin")
    columns = (lengths_of(case).tolist(), pointers.tolist(), begins_of(case).tolist())
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def wires_of(case: ConverterCase, **changes: int) -> list[tuple[Any, int]]:
    part, to_csr = RTL["front"], case.direction == "c2sr_to_csr"
    values = {
        "to_csr": int(to_csr),
        "rows": case.matrix.shape[0],
        "capacity": case.capacity,
        "base": case.base["c2sr_pairs" if to_csr else "csr_pointers"],
        **changes,
    }
    return [(getattr(part, name), value) for name, value in values.items()]


def read(
    case: ConverterCase,
    seed: int,
    *,
    far: int = 0,
    stop_at: int | None = None,
    wrong: tuple[str, int] | None = None,
    index: bytes | None = None,
    bad: tuple[int, ...] = (),
    **changes: int,
) -> list[dict[str, int]]:
    """Reads and places the rows; of a matrix with a ``wrong`` row or a ``bad`` beat those before
    it. Returns the rows that left."""
    part = RTL["front"]
    at = case.base["c2sr_pairs" if case.direction == "c2sr_to_csr" else "csr_pointers"]
    blocks = {at: index or index_of(case, far)}
    memory = memory_of(part, blocks, "rough" if seed % 2 else "even", seed, *bad)
    sink, start = Sink(part.o, stall=0.3 * (seed % 3), seed=seed), Pulse(part.start)
    rows = changes.get("rows", case.matrix.shape[0])
    steps = -(-rows // CONFIG.step_rows)
    stopped, quiet_for, length = stop_at is None, 0, 1 + seed % 3
    agents: list[Any] = [sink, start, memory]
    if stop_at is not None:
        agents.append(Wire(part.stop, lambda cycle: int(stop_at <= cycle < stop_at + length)))
    else:
        agents.append(Wire(part.stop, lambda cycle: 0))

    def until(sim: Any, cycle: int) -> bool:
        nonlocal stopped, quiet_for
        idle = bool(sim.get(part.idle))
        assert memory.quiet or not idle, "idle though the bus owes something"
        if not stopped:
            assert stop_at is not None
            if cycle == stop_at:
                sink.forget()
            if cycle >= stop_at + length and idle:
                stopped = True
                assert not sim.get(part.unsorted)
                assert not sim.get(part.region)
                sink.words.clear()
                start.due = True
            return False
        if bad:
            quiet_for = quiet_for + 1 if sim.get(part.error) and memory.quiet else 0
            assert not sim.get(part.error) or sim.get(part.error_address) in bad
            return quiet_for > 60
        assert not sim.get(part.error)
        if wrong is not None:
            name, row = wrong
            if not sim.get(getattr(part, name)):
                return False
            assert sim.get(part.row) == row
            assert not sim.get(part.unsorted if name == "region" else part.region)
            quiet_for += memory.quiet
            return quiet_for > 60
        assert not sim.get(part.unsorted)
        assert not sim.get(part.region)
        return len(sink.words) == steps and idle

    run_agents(partial(RTL.simulate, "front"), agents, until=until, most=30_000,
               wires=wires_of(case, **changes))  # fmt: skip
    # The next bench begins with nothing inside.
    run_agents(partial(RTL.simulate, "front"), [Wire(part.stop, lambda cycle: int(cycle < 2))],
               until=lambda sim, cycle: cycle > 2 and bool(sim.get(part.idle)))  # fmt: skip
    return unpack(sink.words)


def unpack(words: list[int]) -> list[dict[str, int]]:
    """The rows of steps; checks their channels, their numbers and their ends."""
    layout, found = RTL["front"].o.payload.shape(), []
    for number, word in enumerate(words):
        step = layout.from_bits(word)
        some = [index for index in range(CONFIG.step_rows) if step.some >> index & 1]
        assert some == list(range(len(some)))
        assert some
        assert step.channel == number * CONFIG.step_rows % CONFIG.channels
        for index in some:
            row = step.rows[index]
            found.append({name: row[name] for name in ("length", "pointer", "begin")})
        if step.last:
            assert number == len(words) - 1
        else:
            assert len(some) == CONFIG.step_rows
        total = sum(row["length"] for row in found)
        last = found[-1]["begin"] + found[-1]["length"]
        assert step.end in (total, last)
    return found


def far_entries(rng: np.random.Generator) -> int:
    """An entry that is at most in a pointer, with room for those of a matrix."""
    return int(rng.integers((1 << 32) - 10_000))


@pytest.mark.parametrize("direction", MODES)
def test_every_row_of_a_matrix(direction: str) -> None:
    rng = np.random.default_rng(5)
    for seed, case in enumerate(cases_of(direction)):
        far = far_entries(rng)
        assert read(case, seed, far=far) == rows_of(case, far)


@pytest.mark.parametrize("direction", MODES)
def test_a_stop_in_the_middle_of_reading(direction: str) -> None:
    rng = np.random.default_rng(2)
    for seed, case in enumerate(cases_of(direction)[:10]):
        assert read(case, seed, stop_at=int(rng.integers(1, 150))) == rows_of(case)


@pytest.mark.parametrize("direction", MODES)
def test_a_capacity_with_each_of_its_bits(direction: str) -> None:
    """The first row that does not fit is reported; those of the steps before it have left."""
    rng = np.random.default_rng(4)
    small = [case for case in cases_of(direction) if 2 < case.matrix.nnz < 200]
    for bit in range(32):
        case = small[bit % len(small)]
        ends = begins_of(case) + lengths_of(case)
        few = int(rng.integers(1, ends.max()))
        assert read(case, bit, capacity=few | 1 << max(bit, 9)) == rows_of(case)
        row = int(np.argmax((ends > few) & (lengths_of(case) > 0)))
        found = read(case, bit, capacity=few, wrong=("region", row))
        assert found == rows_of(case)[: row // CONFIG.step_rows * CONFIG.step_rows]


@pytest.mark.parametrize("direction", MODES)
def test_a_length_with_each_of_its_bits(direction: str) -> None:
    """A row that is longer than any capacity but the largest."""
    for bit in range(8, 32):
        case = cases_of(direction)[1]
        assert case.matrix.shape[0] == 1
        halves = np.frombuffer(index_of(case), np.uint32).copy()
        length = int(halves[1] if direction == "csr_to_c2sr" else halves[0]) + (1 << bit)
        halves[1 if direction == "csr_to_c2sr" else 0] = length
        index = halves.tobytes()
        (row,) = read(case, bit, index=index, capacity=length)
        assert (row["length"], row["begin"]) == (length, 0)
        assert read(case, bit, index=index, capacity=length - 1, wrong=("region", 0)) == []


def test_pointers_that_do_not_ascend() -> None:
    rng = np.random.default_rng(3)
    for seed, case in enumerate(cases_of("csr_to_c2sr")):
        starts, rows = case.matrix.patterns().starts, case.matrix.shape[0]
        later = [row for row in range(rows) if starts[row]]
        if not later:
            continue
        row = 0 if seed % 4 == 0 else int(rng.choice(later))
        at = row if row == 0 else row + 1
        words = np.frombuffer(index_of(case), np.uint32).copy()
        words[at] = 1 << int(rng.integers(32)) if row == 0 else int(starts[row]) - 1
        found = read(case, seed, index=words.tobytes(), wrong=("unsorted", row),
                     capacity=(1 << 32) - 1)  # fmt: skip
        assert found == rows_of(case)[: row // CONFIG.step_rows * CONFIG.step_rows]


@pytest.mark.parametrize("direction", MODES)
def test_a_bad_beat_of_the_index(direction: str) -> None:
    rng = np.random.default_rng(8)
    for seed, case in enumerate(cases_of(direction)):
        to_csr = direction == "c2sr_to_csr"
        base = case.base["c2sr_pairs" if to_csr else "csr_pointers"]
        size = POINTER_BYTES * (case.matrix.shape[0] + 1)
        # In C2SR, of the first channel's first block.
        beats = 1 if to_csr else -(-size // WIDTH)
        found = read(case, seed, bad=(base + int(rng.integers(beats)) * WIDTH,))
        assert found == rows_of(case)[: len(found)]


def lane_rows(case: ConverterCase, lane: int, far: int) -> list[int]:
    """The rows of a lane, as bits; the source is ``far`` blocks of each channel further."""
    part, channels, per_block = RTL["lane"], CONFIG.channels, CONFIG.layout.block_entries
    to_csr, found = case.direction == "c2sr_to_csr", []
    for number, row in enumerate(rows_of(case)):
        if number % CONFIG.lane_count != lane or not row["length"]:
            continue
        flat, own = (row["begin"], row["pointer"]) if to_csr else (row["pointer"], row["begin"])
        block, entry = divmod(flat, per_block)
        own_block, own_entry = divmod(own, per_block)
        found.append(part.i.payload.shape().const({
            "length": row["length"],
            "flat": {"entry": entry, "channel": block % channels,
                     "block": block // channels + (0 if to_csr else far)},
            "own": {"entry": own_entry, "channel": number % channels,
                    "block": own_block + (far if to_csr else 0)},
        }).as_bits())  # fmt: skip
    return found


def copied_bytes(case: ConverterCase, lane: int) -> dict[int, int]:
    """The bytes that a lane writes, by address."""
    layout, found = CONFIG.layout, dict[int, int]()
    base, size = min(case.base.values()), layout.entry_bytes
    near = replace(case, base={name: at - base for name, at in case.base.items()})
    image = near.result()[1]
    content = image.data.reshape(-1)
    for number, row in enumerate(rows_of(case)):
        if number % CONFIG.lane_count != lane:
            continue
        for entry in range(row["begin"], row["begin"] + row["length"]):
            if case.direction == "c2sr_to_csr":
                at = near.base["csr_entries"] + size * entry
            else:
                channel = number % CONFIG.channels
                at = layout.flat(near.base["c2sr_entries"], channel, size * entry)
            for byte in range(size):
                found[base + at + byte] = int(content[at + byte - image.address])
    return found


@pytest.mark.parametrize("direction", MODES)
def test_every_byte_that_a_lane_copies(direction: str) -> None:
    """Each byte is written once, where the packets say, with strobes."""
    rng = np.random.default_rng(6)
    for seed, case in enumerate(cases_of(direction)):
        copy(case, seed, far=int(rng.integers((1 << 26) - 1000)))


@pytest.mark.parametrize("direction", MODES)
def test_a_stop_in_the_middle_of_copying(direction: str) -> None:
    rng = np.random.default_rng(7)
    for seed, case in enumerate(cases_of(direction)[:10]):
        copy(case, seed, stop_at=int(rng.integers(1, 200)))


def copy(case: ConverterCase, seed: int, *, far: int = 0, stop_at: int = -1) -> None:
    """Copies the rows of a lane, perhaps again after a stop."""
    part, lane = RTL["lane"], seed % CONFIG.lane_count
    to_csr = case.direction == "c2sr_to_csr"
    entries_ = case.source()[1]
    blocks = {entries_.address + far * STRIPE: entries_.data.tobytes()}
    memory = memory_of(part, blocks, "rough" if seed % 2 else "even", seed)
    words = lane_rows(case, lane, far)
    stall = 0.3 * (seed % 3)
    source = Source(part.i, words, gap=0.2 * (seed % 2), begin=3, seed=seed)
    packets = Sink(part.packet, stall=stall, seed=f"packets {seed}")
    beats = Sink(part.beats, stall=stall, seed=f"beats {seed}")
    stopped, starts_at = stop_at < 0, 0
    start = Pulse(part.start)
    ends = Wire(part.ended, lambda cycle: int(stopped and source.done))
    stop = Wire(part.stop, lambda cycle: int(cycle == stop_at))

    def until(sim: Any, cycle: int) -> bool:
        nonlocal stopped, starts_at
        assert not sim.get(part.error)
        if not stopped:
            if cycle == stop_at - 1:
                source.forget()
            if cycle == stop_at:
                packets.forget()
                beats.forget()
            if cycle > stop_at and sim.get(part.idle) and not starts_at:
                packets.words.clear()
                beats.words.clear()
                start.due, starts_at = True, cycle + 1
            elif starts_at and cycle > starts_at:
                stopped = True
                source.words.extend(words)
            return False
        wanted = sum(part.packet.payload.shape().from_bits(word).beats for word in packets.words)
        done = bool(sim.get(part.finished)) and cycle > 5 and not start.due
        return done and len(beats.words) == wanted and source.done

    names = {"c2sr_entries", "csr_entries"}
    read_name = "c2sr_entries" if to_csr else "csr_entries"
    (write_name,) = names - {read_name}
    run_agents(partial(RTL.simulate, "lane"), [source, packets, beats, start, memory, ends, stop],
               until=until, most=40_000,
               wires=[(part.to_csr, int(to_csr)), (part.read_base, case.base[read_name]),
                      (part.write_base, case.base[write_name])])  # fmt: skip
    written = dict[int, int]()
    sent = iter(beats.words)
    for word in packets.words:
        packet = part.packet.payload.shape().from_bits(word)
        assert packet.address // CONFIG.interleave % CONFIG.channels == packet.channel
        last = packet.address + packet.beats * WIDTH - 1
        assert packet.address // CONFIG.interleave == last // CONFIG.interleave
        for number in range(packet.beats):
            beat = part.beats.payload.shape().from_bits(next(sent))
            for byte in range(WIDTH):
                if beat.strobe >> byte & 1:
                    address = packet.address + number * WIDTH + byte
                    assert address not in written, "a byte is written twice"
                    written[address] = beat.data >> 8 * byte & 0xFF
    assert written == copied_bytes(case, lane)
