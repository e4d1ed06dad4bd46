"""A memory with several managers: bursts of all of them at once, with pauses everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from numpy.typing import NDArray
from tilewright.hw.board.bursts import CHANNELS
from tilewright.hw.board.sdram_memory import SdramMemory
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.sdram import Sdram
from tilewright.sim.rtl.glue import pack, unpack
from tilewright.sim.rtl.sdram_chip import PARTS, RULES, TIMES, SdramPart, with_chip
from tilewright.sim.rtl.streams import NativeSimulation, Pauses

__all__ = ["DECERR", "Burst", "Flat", "MemoryBench", "SdramBench", "bursts_in", "sdram_bench"]

DECERR = 3
_NO_PAUSES = Pauses()
_PART = PARTS["AS4C16M16SA-7"]
_UNCHANGED: Mapping[str, int] = MappingProxyType({})
_SDRAM_MANAGERS = 3
_TIME_OUT = 40_000
"""Cycles without a transfer: an SDRAM takes 200 microseconds to begin."""


class Flat(wiring.Component):
    """A memory, each of its streams under a name of its own, and other members as they are."""

    def __init__(self, memory: Any, managers: int) -> None:
        self._memory, self._managers = memory, managers
        members: dict[str, Any] = {}
        for name, member in memory.signature.members.items():
            if name not in CHANNELS:
                members[name] = member
                continue
            for number in range(managers):
                shape = member.signature.members["payload"].shape
                members[f"{name}_{number}"] = member.flow(stream.Signature(shape))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = self._memory
        for name in self._memory.signature.members:
            if name not in CHANNELS:
                wiring.connect(m, getattr(memory, name), wiring.flipped(getattr(self, name)))
                continue
            for number, inner in enumerate(getattr(memory, name)):
                outer = wiring.flipped(getattr(self, f"{name}_{number}"))
                if name in ("r", "b"):
                    wiring.connect(m, inner, outer)
                else:
                    wiring.connect(m, outer, inner)
        return m


class Burst(NamedTuple):
    """Its first byte, beats and ID."""

    address: int
    beats: int
    identity: int


def bursts_in(
    rng: np.random.Generator, region: range, count: int, width: int, *, ids: int = 8
) -> list[Burst]:
    """Bursts of up to 64 beats of so many bytes in a region, none across 4 KiB."""
    found: list[Burst] = []
    while len(found) < count:
        beats = int(rng.choice([1, 2, 7, 16, 64]))
        last = len(region) // width - beats
        if last < 0:
            continue
        address = region.start + int(rng.integers(last + 1)) * width
        if address // 4096 == (address + beats * width - 1) // 4096:
            found.append(Burst(address, beats, int(rng.integers(ids))))
    return found


class MemoryBench:
    """Drives a memory, see :class:`Flat`, and knows what it must hold: zeros at first.

    Parameters
    ----------
    rtl: the simulation
    managers: their number
    memory_bytes: size of the memory
    width: bytes of a beat
    """

    def __init__(
        self, rtl: NativeSimulation, *, managers: int, memory_bytes: int, width: int
    ) -> None:
        self.rtl = rtl
        self.managers, self.memory_bytes, self.width = managers, memory_bytes, width
        self.content = np.zeros(memory_bytes, np.uint8)

    def move(
        self,
        rng: np.random.Generator,
        *,
        writes: Mapping[int, list[Burst]] = MappingProxyType({}),
        reads: Mapping[int, list[Burst]] = MappingProxyType({}),
        pauses: Pauses = _NO_PAUSES,
        masked: bool = True,
    ) -> int:
        """Managers write random bytes, of random strobes if ``masked``, and read at the same time;
        returns cycles. No byte that is written is also read, or written by another manager.

        All answers and beats are checked.
        """
        sent, counts = {}, {}
        for number, bursts in writes.items():
            sent[f"aw_{number}"] = self.payloads(f"aw_{number}", bursts)
            sent[f"w_{number}"] = self._beats(rng, number, bursts, masked)
            counts[f"b_{number}"] = len(bursts)
        for number, bursts in reads.items():
            sent[f"ar_{number}"] = self.payloads(f"ar_{number}", bursts)
            counts[f"r_{number}"] = sum(one.beats for one in bursts)
        found, cycles = self.rtl.run_streams(sent, counts, pauses=pauses, time_out=_TIME_OUT)
        fields = {
            name: unpack(rows, self.rtl.stream(name))
            for name, rows in found.items()
            if name in counts
        }
        for number, bursts in writes.items():
            self._check_answers(bursts, fields[f"b_{number}"])
        for number, bursts in reads.items():
            self._check_beats(bursts, fields[f"r_{number}"])
        return cycles

    def payloads(self, name: str, wanted: list[Burst]) -> Any:
        """Payloads of AR or AW."""
        columns = np.array(wanted, np.uint64).reshape(-1, 3).T
        fields = {"address": columns[0], "length": columns[1] - 1, "id": columns[2]}
        return pack(fields, self.rtl.stream(name))

    def _beats(
        self, rng: np.random.Generator, number: int, bursts: list[Burst], masked: bool
    ) -> Any:
        """Payloads of W, whose bytes also go into the content."""
        data, masks, last = [], [], []
        for address, beats, _ in bursts:
            size = beats * self.width
            value = rng.integers(256, size=size, dtype=np.uint8)
            mask = rng.integers(2, size=size, dtype=np.uint8) | (not masked)
            if address < self.memory_bytes:
                region = self.content[address : address + size]
                region[:] = np.where(mask, value, region)
            data.append(value)
            masks.append(mask)
            last += [0] * (beats - 1) + [1]
        bits = np.packbits(np.concatenate(masks).reshape(-1, self.width), axis=1, bitorder="little")
        strobes = np.zeros((len(bits), 8), np.uint8)
        strobes[:, : bits.shape[1]] = bits
        fields = {
            "data": self._values(np.concatenate(data)), "strobe": strobes.view("<u8")[:, 0],
            "last": np.array(last, np.uint64),
        }  # fmt: skip
        return pack(fields, self.rtl.stream(f"w_{number}"))

    def _values(self, content: NDArray[np.uint8]) -> NDArray[Any]:
        """Bytes of beats as the values of a field: words of 32 bits if they are longer than 64."""
        rows = np.ascontiguousarray(content).reshape(-1, self.width)
        return rows.view("<u4") if self.width > 8 else rows.view(f"<u{self.width}")[:, 0]

    def _check_answers(self, bursts: list[Burst], found: dict[str, Any]) -> None:
        assert found["id"].tolist() == [one.identity for one in bursts]
        outside = [DECERR if one.address >= self.memory_bytes else 0 for one in bursts]
        assert found["response"].tolist() == outside

    def _check_beats(self, bursts: list[Burst], found: dict[str, Any]) -> None:
        place = 0
        for address, length, identity in bursts:
            rows = slice(place, place + length)
            place += length
            assert found["last"][rows].tolist() == [0] * (length - 1) + [1]
            assert set(found["id"][rows].tolist()) == {identity}
            outside = address >= self.memory_bytes
            assert set(found["response"][rows].tolist()) == {DECERR if outside else 0}
            if not outside:
                expected = self._values(self.content[address : address + length * self.width])
                np.testing.assert_array_equal(found["data"][rows], expected)


class SdramBench(MemoryBench):
    """A memory with its chip.

    Parameters
    ----------
    chip: the chip as the controller knows it
    width: bytes of a beat
    """

    def __init__(self, chip: Sdram, width: int) -> None:
        memory = SdramMemory(_SDRAM_MANAGERS, chip, addr_bits=32, data_bits=8 * width, id_bits=3)
        emitted = emit_component(Flat(memory, _SDRAM_MANAGERS), name="memory")
        with_model = with_chip(
            emitted, _PART, mhz=chip.mhz, phase=chip.clock_phase, pins="pins",
            pin_registers=chip.pin_registers,
        )  # fmt: skip
        self.chip = chip
        super().__init__(
            NativeSimulation(with_model), managers=_SDRAM_MANAGERS,
            memory_bytes=chip.geometry.memory_bytes, width=width,
        )  # fmt: skip

    def power_up(self, part: SdramPart = _PART, changed: Mapping[str, int] = _UNCHANGED) -> None:
        """Begins anew with a part, with some of the model's times changed."""
        values = {**part.at(self.chip.mhz, self.chip.clock_phase), **changed}
        for number, name in enumerate(TIMES, 1):
            self._ask(number, values[name])
        self.rtl.reset()

    def report(self) -> dict[str, int]:
        """The model's counts, and the number of the rule that was broken."""
        return self._ask(0, 0)

    def rule(self) -> str:
        """The rule that was broken; empty if none was."""
        number = self.report()["rule"]
        return RULES[number].name if number else ""

    def _ask(self, index: int, value: int) -> dict[str, int]:
        asked = pack({"index": [index], "value": [value]}, self.rtl.stream("sdram_ask"))
        found, _ = self.rtl.run_streams({"sdram_ask": asked}, {"sdram_report": 1})
        fields = unpack(found["sdram_report"], self.rtl.stream("sdram_report"))
        return {name: int(values[0]) for name, values in fields.items()}


@cache
def sdram_bench(mhz: float, width: int, pin_registers: bool = False) -> SdramBench:
    """A memory with its chip, built once."""
    return SdramBench(Sdram(mhz=mhz, pin_registers=pin_registers), width)
