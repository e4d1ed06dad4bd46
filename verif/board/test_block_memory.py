"""The memory of a board: bursts of several managers at once, with pauses everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from tilewright.hw.board.block_memory import BlockMemory
from tilewright.hw.emit.unit import emit_component
from tilewright.sim.rtl.glue import pack, unpack
from tilewright.sim.rtl.streams import NativeSimulation, Pauses
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import by_size, rng_of

MANAGERS, BYTES, WIDTH = 3, 8192, 8
DECERR = 3


class Flat(wiring.Component):
    """The memory, each of its streams under a name of its own."""

    def __init__(self) -> None:
        self._memory = memory = BlockMemory(
            MANAGERS, BYTES, addr_bits=32, data_bits=8 * WIDTH, id_bits=3
        )
        members: dict[str, Any] = {}
        for name, member in memory.signature.members.items():
            for number in range(MANAGERS):
                shape = member.signature.members["payload"].shape
                members[f"{name}_{number}"] = member.flow(stream.Signature(shape))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = self._memory
        for name in ("ar", "r", "aw", "w", "b"):
            for number, inner in enumerate(getattr(self._memory, name)):
                outer = wiring.flipped(getattr(self, f"{name}_{number}"))
                if name in ("r", "b"):
                    wiring.connect(m, inner, outer)
                else:
                    wiring.connect(m, outer, inner)
        return m


@pytest.fixture(scope="module")
def rtl() -> NativeSimulation:
    return NativeSimulation(emit_component(Flat(), name="memory"))


def bursts(rng: np.random.Generator, region: range, count: int) -> list[tuple[int, int, int]]:
    """Address, beats and ID of bursts in a region, none across 4 KiB."""
    found = []
    for _ in range(count):
        beats = int(rng.choice([1, 2, 7, 16, 64]))
        most = len(region) - beats * WIDTH
        address = region.start + int(rng.integers(0, most // WIDTH + 1)) * WIDTH
        if address // 4096 == (address + beats * WIDTH - 1) // 4096:
            found.append((address, beats, int(rng.integers(8))))
    return found


def requests(rtl: NativeSimulation, name: str, wanted: list[tuple[int, int, int]]) -> Any:
    address, beats, identity = (np.array(column, np.uint64) for column in zip(*wanted, strict=True))
    fields = {"address": address, "length": beats - 1, "id": identity}
    return pack(fields, rtl.stream(name))


def clear(rtl: NativeSimulation) -> None:
    """Sets the whole memory to zero."""
    beats = BYTES // WIDTH
    wanted = [(address, 64, 0) for address in range(0, BYTES, 64 * WIDTH)]
    zeros = np.zeros(beats, np.uint64)
    fields = {"data": zeros, "strobe": zeros + 255, "last": (np.arange(beats) % 64 == 63) * 1}
    sent = {"aw_0": requests(rtl, "aw_0", wanted), "w_0": pack(fields, rtl.stream("w_0"))}
    rtl.run_streams(sent, {"b_0": len(wanted)})


@pytest.mark.parametrize("seed", range(by_size(1, 3, 20)))
def test_bursts(rtl: NativeSimulation, seed: int) -> None:
    """Each manager writes its region and reads it again; another region is the next one's."""
    rng = rng_of(seed)
    rtl.reset()
    pauses = Pauses(gap=0.3, stall=0.3, seed=seed) if seed else Pauses()
    size = BYTES // 4
    content = np.zeros(BYTES + size, np.uint8)
    clear(rtl)
    sent, counts, wrote = {}, {}, {}
    for number in range(MANAGERS):
        # The last region is outside the memory.
        region = range((number + 2) * size, (number + 3) * size) if number else range(size)
        wanted = bursts(rng, region, 20)
        wrote[number] = wanted
        sent[f"aw_{number}"] = requests(rtl, f"aw_{number}", wanted)
        data, strobe, last = [], [], []
        for address, beats, _ in wanted:
            for beat in range(beats):
                value, mask = rng.bytes(WIDTH), int(rng.integers(256))
                data.append(int.from_bytes(value, "little"))
                strobe.append(mask)
                last.append(int(beat == beats - 1))
                for lane in range(WIDTH):
                    if mask >> lane & 1:
                        content[address + beat * WIDTH + lane] = value[lane]
        fields = {
            "data": np.array(data, np.uint64), "strobe": np.array(strobe, np.uint64),
            "last": np.array(last, np.uint64),
        }  # fmt: skip
        sent[f"w_{number}"] = pack(fields, rtl.stream(f"w_{number}"))
        counts[f"b_{number}"] = len(wanted)
    content[BYTES:] = 0
    found, _ = rtl.run_streams(sent, counts, pauses=pauses)
    for number, wanted in wrote.items():
        answers = unpack(found[f"b_{number}"], rtl.stream(f"b_{number}"))
        assert answers["id"].tolist() == [identity for _, _, identity in wanted]
        outside = [DECERR if address >= BYTES else 0 for address, _, _ in wanted]
        assert answers["response"].tolist() == outside
    sent = {
        f"ar_{number}": requests(rtl, f"ar_{number}", wanted) for number, wanted in wrote.items()
    }
    counts = {
        f"r_{number}": sum(beats for _, beats, _ in wanted) for number, wanted in wrote.items()
    }
    found, cycles = rtl.run_streams(sent, counts, pauses=pauses)
    for number, wanted in wrote.items():
        r = unpack(found[f"r_{number}"], rtl.stream(f"r_{number}"))
        place = 0
        for address, length, identity in wanted:
            rows = slice(place, place + length)
            place += length
            assert r["last"][rows].tolist() == [0] * (length - 1) + [1]
            assert set(r["id"][rows].tolist()) == {identity}
            is_outside = address >= BYTES
            assert set(r["response"][rows].tolist()) == {DECERR if is_outside else 0}
            if not is_outside:
                expected = content[address : address + length * WIDTH].view("<u8")
                assert r["data"][rows].tolist() == expected.tolist()
    if not seed:  # A beat a cycle, and two or three cycles for each burst.
        everything = sum(counts.values())
        assert cycles <= everything + 4 * sum(map(len, wrote.values())) + 10


@pytest.mark.parametrize("size", [0, 100, 4097])
def test_sizes(size: int) -> None:
    said = refusal(lambda: BlockMemory(1, size, addr_bits=32, data_bits=64, id_bits=1))
    assert said == f"`memory_bytes` must be a multiple of 4096, not {size}"
