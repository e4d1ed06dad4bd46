"""GTA's control and the loader of its lanes as Verilog, part by part, natively."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from tilewright.hw.gta.control.command_check import CommandCheck
from tilewright.hw.gta.control.job_control import CommandReader, ExecutesUnderWay, MaskCheck
from tilewright.hw.gta.lane_loader import LaneLoader
from tilewright.hw.spec.gta import BANKS, LEFT_WORD_BYTES, GtaConfig
from tilewright.hw.spec.jobs.gta import beat_bytes, job_spec
from tilewright.hw.spec.jobs.gta_commands import (
    COMMAND_BYTES,
    DEALS,
    FIELDS,
    KINDS,
    MEMORIES,
    command_bytes,
)
from tilewright.sim.gta.lane_memories import LaneMemories, row_places
from tilewright.sim.gta.model import first_fault
from tilewright.sim.gta.regions import first_torn
from tilewright.verif.gta.lists import ListCase, random_case, random_command, spoilt_case
from tilewright.verif.kit.sampling import by_size, rng_of
from tilewright.verif.native.parts import NativeParts

pytestmark = pytest.mark.slow

CONFIG = GtaConfig(
    lanes=4,
    formats=("int8", "int16", "fp16"),
    vector_bytes=2048,
    mask_bits=2,
    data_bits=64,
    outstanding=2,
    partial_bits=24,
)
RTL = NativeParts(
    "gta_parts",
    {
        "check": lambda: CommandCheck(CONFIG),
        "loader": lambda: LaneLoader(CONFIG),
        "reader": lambda: CommandReader(CONFIG),
        "executes": lambda: ExecutesUnderWay(CONFIG),
        "masks": lambda: MaskCheck(CONFIG),
    },
)
SIZE = 1 << 16
BEAT = beat_bytes(CONFIG)


def contents(case: ListCase) -> list[bytes]:
    size = COMMAND_BYTES
    return [case.memory[n * size : (n + 1) * size].tobytes() for n in range(len(case.commands))]


def edge_cases(rng: np.random.Generator) -> list[ListCase]:
    """A command with a field that could not be larger, and the same with the next value."""
    case = random_case(rng, CONFIG, SIZE, most=1)
    kind, fields = random_command(rng, CONFIG, case.layout, case.masks, SIZE)
    names = [name for name in FIELDS[kind] if name not in ("kind", "loads", "executes", "stores")]
    name = names[int(rng.integers(len(names)))]

    def holds(value: int) -> bool:
        content = command_bytes(kind, {**fields, name: value})
        before = dict.fromkeys(KINDS, 0)
        return first_fault(CONFIG, case.masks, case.layout, content, before) is None

    most = 1 << FIELDS[kind][name][1]
    good, bad = fields.get(name, 0), most
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    values = [good, *([bad] if bad < most else [])]
    return [case.with_list((kind, {**fields, name: value})) for value in values]


def order_cases(rng: np.random.Generator) -> list[ListCase]:
    """Some commands, then one that waits for as many as were before it, and one that waits for
    more of them, by each bit of their number."""
    found = []
    bits = FIELDS["load"]["loads"][1]
    for at in range(by_size(4, bits, 4 * bits)):
        case = random_case(rng, CONFIG, SIZE, most=1)
        commands = [
            random_command(rng, CONFIG, case.layout, case.masks, SIZE)
            for _ in range(int(rng.integers(1, 14)))
        ]
        for name in KINDS:
            passed = sum(kind == name for kind, _ in commands)
            kind, fields = commands[-1]
            passed -= kind == name
            waits = {f"{name}s": passed}
            late = {f"{name}s": passed | 1 << at % bits}
            before = commands[:-1]
            found.append(case.with_list(*before, (kind, fields | waits), (kind, fields | late)))
    # Numbers of commands with many bits.
    commands = [random_command(rng, CONFIG, case.layout, case.masks, SIZE) for _ in range(60)]
    found.append(case.with_list(*(commands * by_size(1, 5, 16))))
    return found


@cache
def spoilt_cases() -> list[tuple[ListCase, list[tuple[bytes, str | None]]]]:
    """Lists, and their commands up to the first wrong one, each with what is wrong with it."""
    rng, found = rng_of(1), []
    count = by_size(20, 300, 5000)
    drawn = [spoilt_case(rng, CONFIG, SIZE) for _ in range(count)]
    edges = (one for _ in range(count) for one in edge_cases(rng))
    for case in [*drawn, *edges, *order_cases(rng)]:
        before, judged = dict.fromkeys(KINDS, 0), list[tuple[bytes, str | None]]()
        for content in contents(case):
            fault = first_fault(CONFIG, case.masks, case.layout, content, before)
            judged.append((content, fault))
            if fault is not None:
                break
            before[KINDS[content[0] - 1]] += 1
        found.append((case, judged))
    return found


def test_commands_that_are_right_and_wrong() -> None:
    """Every command goes to its kind's queue, up to the first wrong one, whose fault is reported as
    the model finds it."""
    draws = random.Random(1)
    spec, seen = job_spec(CONFIG), Counter[str]()

    async def bench(sim: Any) -> None:
        part = RTL["check"]
        for number, (case, judged) in enumerate(spoilt_cases()):
            sim.set(part.csr, {"layout": case.layout, "masks": list(case.masks)})
            sim.set(part.clear, 1)
            sim.set(part.start, 1)
            await sim.tick()
            sim.set(part.clear, 0)
            sim.set(part.start, 0)
            before = dict.fromkeys(KINDS, 0)
            for at, (content, fault) in enumerate(judged):
                sim.set(part.words.valid, 1)
                sim.set(part.words.payload, int.from_bytes(content, "little"))
                for _ in range(400):
                    ready = [draws.random() < 0.6 for _ in KINDS]
                    for o, one in zip(part.o, ready, strict=True):
                        sim.set(o.ready, one)
                    offered = [sim.get(o.valid) for o in part.o]
                    wrong, taken = sim.get(part.wrong), sim.get(part.words.ready)
                    assert taken == any(v and r for v, r in zip(offered, ready, strict=True))
                    assert sim.get(part.number) == at
                    passed = sim.get(part.passed)
                    assert {kind: passed[f"{kind}s"] for kind in KINDS} == before
                    if any(offered):
                        kind = KINDS[content[0] - 1]
                        assert offered == [int(kind == name) for name in KINDS]
                        word = sim.get(part.o[KINDS.index(kind)].payload)
                        assert word == int.from_bytes(content, "little")
                        assert fault is None, (fault, case.commands)
                    await sim.tick()
                    if wrong or taken:
                        break
                else:
                    raise AssertionError("a command is neither taken nor wrong")
                sim.set(part.words.valid, 0)
                if fault is not None:
                    assert wrong == spec.code(fault), (fault, case.commands)
                    seen[fault] += 1
                    break
                assert not wrong, (wrong, case.commands)
                seen["none"] += 1
                before[kind] += 1
            if number % 5 == 0:
                # `clear` drops the word that is being checked, and a wrong one.
                sim.set(part.words.valid, 1)
                for _ in range(draws.randrange(12)):
                    await sim.tick()
                sim.set(part.clear, 1)
                await sim.tick()
                sim.set(part.clear, 0)
                sim.set(part.words.valid, 0)
                assert not sim.get(part.wrong)
                assert not any(sim.get(o.valid) for o in part.o)

    RTL.simulate("check", bench)
    assert len(seen) >= 8


def test_any_load() -> None:
    """All of the lanes' memories, as the model has them; some LOADs are stopped in the middle."""
    draws = random.Random(2)

    async def bench(sim: Any) -> None:
        part = RTL["loader"]
        lanes = LaneMemories(CONFIG)
        found = {name: lanes.memory(name).copy() for name in MEMORIES}
        for number in range(0, len(loads()), 3):
            group = loads()[number : number + 3]
            commands, beats = deque(group), deque[int]()
            requests = deque(one for load in group for one in rows_of(*load))
            stall = (0.0, 0.3, 0.6)[number % 5 % 3]
            stop_at = draws.randrange(100) if number % 4 == 3 else None
            known = {name: content.copy() for name, content in found.items()}
            assert not sim.get(part.busy)
            done = 0
            for cycle in range(20_000):
                asks, brings, writes = (draws.random() >= stall for _ in range(3))
                brings = brings and bool(beats)
                sim.set(part.command.valid, bool(commands))
                if commands:
                    sim.set(part.command.payload, commands[0][0])
                sim.set(part.request.ready, asks)
                sim.set(part.i.valid, brings)
                sim.set(part.i.payload, {"data": beats[0] if beats else 0})
                sim.set(part.write_ready, writes)
                sim.set(part.stop, cycle == stop_at)
                if cycle == stop_at:
                    await sim.tick()
                    break
                # A row is there once it is requested.
                if asks and sim.get(part.request.valid):
                    request = sim.get(part.request.payload)
                    address, row = requests.popleft()
                    assert (request.address, request.beats) == (address, len(row) // BEAT)
                    beats.extend(
                        int.from_bytes(row[at : at + BEAT], "little")
                        for at in range(0, len(row), BEAT)
                    )
                if commands and sim.get(part.command.ready):
                    commands.popleft()
                if brings and sim.get(part.i.ready):
                    beats.popleft()
                write, ends = sim.get(part.write), sim.get(part.done)
                assert ends <= (write.enable & writes)
                if write.enable and writes:
                    apply(found, write)
                    assert sim.get(part.memory) == group[done][0]["memory"] or ends
                done += ends
                await sim.tick()
                if done == len(group):
                    break
                assert sim.get(part.busy) or len(commands) + done == len(group)
            for port in (part.i.valid, part.command.valid, part.stop):
                sim.set(port, 0)
            assert not sim.get(part.busy)
            if stop_at is not None and done < len(group):
                # Only rows of these LOADs were written; the rows may overlap.
                for name in MEMORIES:
                    own = np.zeros(found[name].shape, np.bool_)
                    for fields, _ in group:
                        if name == MEMORIES[fields["memory"]]:
                            own[row_places(fields)] = True
                    assert ((found[name] == known[name]) | own).all()
                    lanes.memory(name)[:] = found[name]
                continue
            assert done == len(group)
            assert not requests
            assert not beats
            for fields, rows in group:
                lanes.load(fields, rows)
            for name in MEMORIES:
                assert np.array_equal(found[name], lanes.memory(name)), group

    RTL.simulate("loader", bench)


def test_the_beginning_of_a_load_of_many_rows() -> None:
    """A number of rows with each of its bits: requests and writes go on until a stop."""
    draws = random.Random(6)
    bits, deals = FIELDS["load"]["rows"][1], range(len(DEALS))

    async def bench(sim: Any) -> None:
        part = RTL["loader"]
        for bit in range(6, bits):
            fields = {
                "memory": draws.randrange(len(MEMORIES)), "deal": draws.choice(deals),
                "rows": draws.randint(1, 5), "row_bytes": draws.randint(1, 2 * BEAT),
                "base": draws.getrandbits(CONFIG.addr_bits) // BEAT * BEAT,
                "stride": draws.getrandbits(30) // BEAT * BEAT,
                "first": 0, "step": 1, "lanes": CONFIG.lanes, "word": 0, "words": 2,
            }  # fmt: skip
            beats = -(-fields["row_bytes"] // BEAT)
            sim.set(part.command.payload, fields | {"rows": fields["rows"] | 1 << bit})
            sim.set(part.command.valid, 1)
            for port in (part.request.ready, part.i.valid, part.write_ready):
                sim.set(port, 1)
            row = brought = 0
            for cycle in range(60):
                assert cycle < 2 or sim.get(part.busy)
                assert not sim.get(part.done)
                if sim.get(part.request.valid):
                    request = sim.get(part.request.payload)
                    address = (fields["base"] + row * fields["stride"]) % (1 << CONFIG.addr_bits)
                    assert (request.address, request.beats) == (address, beats)
                    row += 1
                brought += sim.get(part.i.ready)
                taken = sim.get(part.command.ready)
                await sim.tick()
                if taken:
                    sim.set(part.command.valid, 0)
            assert row > 50
            assert brought > 12
            sim.set(part.i.valid, 0)
            sim.set(part.stop, 1)
            await sim.tick()
            sim.set(part.stop, 0)
            await sim.tick()
            assert not sim.get(part.busy)

    RTL.simulate("loader", bench)


@cache
def loads() -> list[tuple[dict[str, int], Any]]:
    """LOADs and their rows, not too many bytes. Addresses use all bits."""
    rng, found = rng_of(2), list[tuple[dict[str, int], Any]]()
    while len(found) < by_size(10, 60, 1000):
        kind, fields = random_command(rng, CONFIG, 1, (0, 0, 1, 1), SIZE)
        if kind == "load" and fields["rows"] * fields["row_bytes"] < 2000:
            base = int(rng.integers(1 << CONFIG.addr_bits)) // BEAT * BEAT
            shape = fields["rows"], fields["row_bytes"]
            rows = rng.integers(0, 256, shape, dtype=np.uint8)
            found.append(({**fields, "base": base}, rows))
    return found


def rows_of(fields: dict[str, int], rows: Any) -> Iterator[tuple[int, bytes]]:
    """Address and whole beats of each row of a LOAD."""
    for number, row in enumerate(rows):
        address = (fields["base"] + number * fields["stride"]) % (1 << CONFIG.addr_bits)
        content = row.tobytes()
        yield address, content + bytes(-len(content) % BEAT)


def apply(memories: dict[str, Any], write: Any) -> None:
    """Does what a write to the lanes does."""
    first = write.address * LEFT_WORD_BYTES
    content = memories[MEMORIES[write.memory]]
    for lane in range(CONFIG.lanes):
        if not write.lanes >> lane & 1:
            continue
        for bank in range(BANKS):
            mask = write.mask[bank]
            for byte in range(LEFT_WORD_BYTES):
                if mask >> byte & 1:
                    content[lane, bank, first + byte] = write.data[bank] >> 8 * byte & 0xFF


def test_the_list_is_read_in_order() -> None:
    draws = random.Random(3)

    async def bench(sim: Any) -> None:
        part = RTL["reader"]
        for number in range(by_size(8, 60, 600)):
            commands = draws.choice([1, 2, 9, 70, draws.randrange(1, 40)])
            base = draws.getrandbits(CONFIG.addr_bits) // COMMAND_BYTES * COMMAND_BYTES
            base = min(base, (1 << CONFIG.addr_bits) - commands * COMMAND_BYTES)
            content = draws.randbytes(commands * COMMAND_BYTES)
            stop_at = draws.randrange(80) if number % 4 == 3 else None
            bad = draws.randrange(len(content) // BEAT) if number % 4 == 2 else None
            sim.set(part.list, base)
            sim.set(part.commands, commands)
            sim.set(part.start, 1)
            assert sim.get(part.idle)
            await sim.tick()
            sim.set(part.start, 0)
            bursts, got, error, quiet = deque[list[int]](), 0, None, 0
            stall = (0.0, 0.4)[number % 2]
            for cycle in range(20_000):
                asks, brings, takes = (draws.random() >= stall for _ in range(3))
                sim.set(part.ar.ready, asks)
                sim.set(part.o.ready, takes)
                beat = bursts[0][0] if bursts and brings else None
                sim.set(part.r.valid, beat is not None)
                if beat is not None:
                    data = int.from_bytes(content[beat * BEAT : beat * BEAT + BEAT], "little")
                    response, last = 2 * (beat == bad), len(bursts[0]) == 1
                    sim.set(part.r.payload, {"data": data, "response": response, "last": last})
                sim.set(part.stop, cycle == stop_at)
                if asks and sim.get(part.ar.valid):
                    request = sim.get(part.ar.payload)
                    first = (request.address - base) // BEAT
                    assert 0 <= first <= len(content) // BEAT - request.length - 1
                    last_byte = request.address + (request.length + 1) * BEAT - 1
                    assert request.address >> 12 == last_byte >> 12
                    bursts.append(list(range(first, first + request.length + 1)))
                if beat is not None:
                    bursts[0].pop(0)
                    if not bursts[0]:
                        bursts.popleft()
                if takes and sim.get(part.o.valid) and cycle != stop_at:
                    size = COMMAND_BYTES
                    word = int.from_bytes(content[got * size : got * size + size], "little")
                    assert sim.get(part.o.payload) == word
                    got += 1
                await sim.tick()
                if sim.get(part.error):
                    error = sim.get(part.error_address)
                    assert error == base + bad * BEAT if bad is not None else False
                idle = sim.get(part.idle)
                assert not (idle and bursts), "idle though the bus owes something"
                quiet = quiet + 1 if not bursts else 0
                if (error is not None and quiet > 50) or (idle and cycle > (stop_at or 0)):
                    break
            else:
                raise AssertionError("the reader does not end")
            if error is not None:
                assert bad is not None
                assert got <= bad * BEAT // COMMAND_BYTES
                sim.set(part.r.valid, 0)
                sim.set(part.stop, 1)
                await sim.tick()
                sim.set(part.stop, 0)
                await sim.tick()
                assert not sim.get(part.error)
            elif stop_at is None:
                assert bad is None
                assert got == commands
            assert sim.get(part.idle)

    RTL.simulate("reader", bench)


def test_products_that_end_in_any_order() -> None:
    """Groups end in any order; one product is complete when all before it are."""
    draws = random.Random(4)
    most = 2 * CONFIG.lanes

    async def bench(sim: Any) -> None:
        part = RTL["executes"]
        order: list[tuple[int, bool]] = []
        complete = 0
        masks = [0] * CONFIG.lanes
        for cycle in range(by_size(500, 4000, 40_000)):
            if cycle % 50 == 0:
                masks = [draws.randrange(4) for _ in range(CONFIG.lanes)]
                for port, mask in zip(part.masks, masks, strict=True):
                    sim.set(port, mask)
            clear = draws.random() < 0.005
            gives, group = draws.random() < 0.5, draws.randrange(4)
            running = {one for one, ended in order if not ended}
            ends = {one for one in running if draws.random() < 0.2}
            sim.set(part.clear, clear)
            sim.set(part.i.valid, gives)
            sim.set(part.i.payload, group)
            sim.set(part.ended, sum(1 << one for one in ends))
            assert sim.get(part.some) == bool(order)
            active = sum(1 << lane for lane, mask in enumerate(masks) if mask in running)
            assert sim.get(part.active) == active
            assert sim.get(part.complete) == complete
            pops = bool(order) and order[0][1]
            assert sim.get(part.completes) == (pops and not clear)
            accepts = len(order) < most
            assert sim.get(part.i.ready) == accepts
            for one in ends:
                at = next(n for n, (its, ended) in enumerate(order) if its == one and not ended)
                order[at] = one, True
            if pops:
                order.pop(0)
                complete += 1
            if gives and accepts:
                order.append((group, False))
            if clear:
                order, complete = [], 0
            await sim.tick()

    RTL.simulate("executes", bench)


def test_masks_that_are_no_rectangles() -> None:
    """The first lane whose region is torn is reported."""
    draws, seen = random.Random(5), Counter[bool]()

    async def bench(sim: Any) -> None:
        part = RTL["masks"]
        for _ in range(by_size(50, 400, 4000)):
            layout = draws.randrange(CONFIG.lanes.bit_length())
            masks = [draws.choice([0, 1, 2, 3][: draws.randint(1, 4)]) for _ in range(CONFIG.lanes)]
            sim.set(part.csr, {"layout": layout, "masks": masks})
            sim.set(part.start, 1)
            await sim.tick()
            sim.set(part.start, 0)
            for _ in range(100):
                if sim.get(part.done):
                    break
                await sim.tick()
            torn = first_torn(masks, layout)
            assert sim.get(part.done)
            assert sim.get(part.wrong) == (torn is not None)
            if torn is not None:
                assert sim.get(part.lane) == torn
            seen[torn is None] += 1

    RTL.simulate("masks", bench)
    assert min(seen.values()) > 10
