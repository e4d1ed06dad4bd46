"""Small writers, short traffic for them, and the cases that it is run under."""

from __future__ import annotations

import random
from collections.abc import Callable
from ctypes import c_uint64, c_void_p
from dataclasses import dataclass
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out
from tilewright.hw.axi.burst_writer import BurstWriter
from tilewright.hw.axi.managers import WriteManager
from tilewright.hw.channels import striped_writer
from tilewright.hw.channels.striped_writer import StripedWriter
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.channels import ChannelGeometry
from tilewright.verif.axi.exhaustive.libraries import (
    BASES,
    NEVER,
    Library,
    SpoiltWriter,
    Table,
    payloads,
    table_of,
)
from tilewright.verif.native.parts import pass_members, with_ready


class Arrays(wiring.Component):
    """A component with the members of another; single streams are arrays of one, and each stream
    has a port for its READY."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._single = [
            name
            for name, member in inner.signature.members.items()
            if member.is_signature and not member.dimensions
        ]
        members = dict(inner.signature.members)
        for name, member in members.items():
            if member.is_signature:
                members[name] = with_ready(member)
        super().__init__(
            {
                name: member.array(1) if name in self._single else member
                for name, member in members.items()
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inner = inner = self._inner
        pass_members(m, inner, self)
        return m


class _Watched(wiring.Component):
    """Mixin that adds the output ``answerable`` to a writer. Each bit of it stands for one burst
    writer and is 1 if the writer's address queue has an entry at its head, as it must when a
    response arrives."""

    _answerable: Signal

    @property
    def signature(self) -> wiring.Signature:
        members = dict(super().signature.members)
        return wiring.Signature({**members, "answerable": Out(len(self.answerable))})

    @property
    def answerable(self) -> Signal:
        return self._answerable

    def _connect(self, m: Module, count: int) -> Module:
        """Connects it with the output of the writers inside."""
        writers = [getattr(m.submodules, f"writer_{n}") for n in range(count)]
        m.d.comb += self.answerable.eq(Cat(writer.answerable for writer in writers))
        return m


class WatchedBurstWriter(_Watched, BurstWriter):
    """A :class:`BurstWriter`."""

    def __init__(self, **sizes: int) -> None:
        self._answerable = Signal(name="answerable")
        super().__init__(**sizes)

    def _addresses(self) -> Any:
        self._queue = super()._addresses()
        return self._queue

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.answerable.eq(self._queue.o.valid)
        return m


class WatchedManager(_Watched, WriteManager):
    """A :class:`WriteManager`."""

    _part = WatchedBurstWriter

    def __init__(self, parts: int, **sizes: int) -> None:
        self._answerable = Signal(parts, name="answerable")
        super().__init__(parts, **sizes)

    def elaborate(self, platform: object) -> Module:
        return self._connect(super().elaborate(platform), len(self.answerable))


class WatchedStripedWriter(_Watched, StripedWriter):
    """A :class:`StripedWriter`."""

    def __init__(self, geometry: ChannelGeometry, **settings: int) -> None:
        self._answerable = Signal(geometry.channels, name="answerable")
        super().__init__(geometry, **settings)

    def elaborate(self, platform: object) -> Module:
        with patch.object(striped_writer, "BurstWriter", WatchedBurstWriter):
            m = super().elaborate(platform)
        return self._connect(m, len(self.answerable))


MODES = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
"""``aw_after_w``, ``w_after_aw``, ``ready_after_valid``."""


@dataclass
class Traffic:
    """Requests and data of a writer's parts, by part and as numbers, and the bytes that memory must
    hold afterwards, by address."""

    requests: list[list[int]]
    data: list[list[int]]
    expected: dict[int, int]


@dataclass(frozen=True)
class WriterKind:
    """A writer.

    Parameters
    ----------
    top: makes it
    constants: of the bench (see writers.cpp)
    traffic: makes the traffic of a number, 0 or 1, which have no byte in common
    bursts: of the first traffic
    """

    top: Callable[[], Any]
    constants: dict[str, int]
    traffic: Callable[[int], Traffic]
    bursts: int


def _bursts(parts: int, lists: list[list[tuple[int, int]]], *, data_bits: int) -> Traffic:
    """Draws requests of (first beat, beats), in a separate region for each part."""
    width = data_bits // 8
    found = Traffic([], [], {})
    for part in range(parts):
        generator = random.Random(f"{lists} {part}")
        requests, data = [], []
        for first, beats in lists[part]:
            address = BASES[part] + first * width
            requests.append(address | beats << 16)
            for beat in range(beats):
                word, strobe = generator.getrandbits(data_bits), generator.getrandbits(width)
                strobe = strobe if beat % 3 == 1 else (1 << width) - 1
                data.append(word | strobe << data_bits)
                for lane in range(width):
                    if strobe >> lane & 1:
                        found.expected[address + beat * width + lane] = word >> 8 * lane & 0xFF
        found.requests.append(requests)
        found.data.append(data)
    return found


_LISTS = (
    # A beat alone, over a boundary, two bursts side by side, a whole burst.
    [[(9, 1), (2, 5), (10, 1), (12, 4)], [(23, 1), (7, 2), (16, 4)]],
    [[(107, 1), (102, 3), (113, 13)], [(108, 1), (110, 13)]],
)
_SIZES = {"addr_bits": 16, "data_bits": 16, "count_bits": 4, "burst_beats": 4, "buffer_beats": 8}


def _constants(*, parts: int, channels: int, outstanding: int, id_bits: int) -> dict[str, int]:
    return {
        "kParts": parts, "kChannels": channels, "kAddrBits": 16, "kDataBits": 16,
        "kIdBits": id_bits, "kBurstBeats": 4, "kOutstanding": outstanding, "kRefuses": 1,
    }  # fmt: skip


def _writer(outstanding: int) -> WriterKind:
    return WriterKind(
        top=lambda: Arrays(WatchedBurstWriter(outstanding=outstanding, **_SIZES)),
        constants=_constants(parts=1, channels=1, outstanding=outstanding, id_bits=0),
        traffic=lambda number: _bursts(1, _LISTS[number], data_bits=16),
        bursts=5,
    )


def _manager(outstanding: int) -> WriterKind:
    return WriterKind(
        top=lambda: Arrays(WatchedManager(2, id_bits=1, outstanding=outstanding, **_SIZES)),
        constants=_constants(parts=2, channels=1, outstanding=outstanding, id_bits=1),
        traffic=lambda number: _bursts(2, _LISTS[number], data_bits=16),
        bursts=9,
    )


_GEOMETRY = ChannelGeometry(channels=2, interleave=64, data_bits=64, addr_bits=32)


def _lines(number: int) -> Traffic:
    """Runs of bytes of lines of two blocks: a part of a beat, of a block, a line, more than two."""
    line = 2 * _GEOMETRY.interleave
    generator = random.Random(f"lines {number}")
    requests: list[int] = []
    data: list[int] = []
    expected: dict[int, int] = {}
    for first, count in [
        [(9, 5), (0, 37), (1, line), (4, line + 67)],
        [(20, line + 1)],
    ][number]:
        content = generator.randbytes(count)
        requests.append(first * line | count << _GEOMETRY.addr_bits)
        data += [int.from_bytes(content[at : at + line], "little") for at in range(0, count, line)]
        expected |= {first * line + n: byte for n, byte in enumerate(content)}
    return Traffic([requests], [data], expected)


def _striped(outstanding: int) -> WriterKind:
    settings = {"line_blocks": 2, "bytes_bits": 10, "outstanding": outstanding}
    return WriterKind(
        top=lambda: Arrays(WatchedStripedWriter(_GEOMETRY, **settings)),
        constants={
            "kParts": 1, "kChannels": _GEOMETRY.channels, "kAddrBits": _GEOMETRY.addr_bits,
            "kDataBits": _GEOMETRY.data_bits, "kIdBits": 0,
            "kBurstBeats": _GEOMETRY.block_beats, "kOutstanding": outstanding, "kRefuses": 0,
        },
        traffic=_lines,
        bursts=8,
    )  # fmt: skip


_SPOILT = WriterKind(
    top=lambda: SpoiltWriter(Arrays(WatchedBurstWriter(outstanding=2, **_SIZES))),
    constants=_constants(parts=1, channels=1, outstanding=2, id_bits=0),
    traffic=lambda number: _bursts(1, _LISTS[number], data_bits=16),
    bursts=5,
)

KINDS = {
    "writer": _writer(2),
    "writer, deep": _writer(16),
    "manager": _manager(2),
    "manager, deep": _manager(16),
    "striped": _striped(2),
    "striped, deep": _striped(16),
}
"""Writers, with the addresses of bursts in a queue of registers and in a deep one."""


@cache
def library_of(name: str) -> Library:
    """The library of a kind, or of "spoilt", with its traffic."""
    kind = _SPOILT if name == "spoilt" else KINDS[name]
    emitted = emit_component(kind.top(), name="watched_writer")
    library = Library(emitted, "writers", kind.constants)
    for number in range(2):
        traffic = kind.traffic(number)
        for part in range(kind.constants["kParts"]):
            for data, all_words in enumerate((traffic.requests, traffic.data)):
                content, size = payloads(all_words[part])
                count = c_uint64(len(all_words[part]))
                library.call("words", number, part, data, content, c_uint64(size), count)
        places = np.array(list(traffic.expected), np.uint32)
        content = bytes(traffic.expected.values())
        count = c_uint64(len(places))
        library.call("expect", number, c_void_p(places.ctypes.data), content, count)
    return library


def cases(
    *,
    aw: Any,
    w: Any,
    modes: Any = MODES,
    latency: Any = (1,),
    every: Any = (1,),
    order: Any = (-1,),
    spread: Any = (1,),
    stops: Any = (NEVER,),
    bad: Any = (-1,),
    patience: int,
) -> Table:
    """All combinations; see ``Case`` in writers.cpp. ``stops``: cycle, for how long, whether the
    second traffic begins with its end."""
    return table_of(aw, w, modes, latency, every, order, spread, stops, bad, [patience])
