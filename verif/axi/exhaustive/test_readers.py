"""A small ``ReadManager``, ordered readers at a crossbar, and a reader of blocks: under all
patterns of READY and of responses, all modes of a memory, and all moments of a stop.

In every cycle of every run: ARVALID and its payload stay until ARREADY, and follow it not in the
same cycle; data stays until it is taken; bursts in their bounds, IDs, ``outstanding``; RREADY is
high but behind a crossbar, whose conflicts are counted; no ``idle`` with data inside, or while the
bus owes something. Data comes in order, and none during a stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from ctypes import c_uint64, c_void_p
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from tilewright.hw.axi.block_reader import BlockReader
from tilewright.hw.axi.managers import ReadManager
from tilewright.hw.emit.unit import emit_component
from tilewright.verif.axi.exhaustive.libraries import (
    ALWAYS,
    BASES,
    NEVER,
    Found,
    Library,
    SpoiltPart,
    Table,
    all_patterns,
    payloads,
    table_of,
)
from tilewright.verif.axi.exhaustive.writers import Arrays
from tilewright.verif.axi.parts_top import RoutedSizes, SupervisedReaders
from tilewright.verif.kit.sampling import by_size, slow_but

WAYS = {
    "ARVALID follows ARREADY": "a VALID follows a READY",
    "ARVALID is taken back": "ar changes before ready",
    "ARADDR does not stay": "ar changes before ready",
    "an address is wrong": "other data than asked",
    "RREADY is low": "rready is low when a response comes",
    "data is wrong": "other data than asked",
    "data does not stay": "data changes before ready",
    "data is offered during a stop": "data is offered during a stop",
    "requests are taken during a stop": "a request is taken during a stop",
    "idle does not wait for responses": "idle while the bus owes something",
    "idle does not wait for data": "idle with data inside",
    "idle never comes": "not done",
    "errors are kept back": "no error after a bad response",
}
"""Defects of a reader, each with the fault that must be found."""


class SpoiltReader(SpoiltPart):
    """A reader of one channel."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner, WAYS)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inner, way = self._inner, self.pass_through(m)
        time = Signal(2)
        m.d.sync += time.eq(time + 1)
        (ar,), (r,), o = inner.ar, inner.r, inner.o[0]
        bus, response, data = self.ar[0], self.r[0], self.o[0]
        bus_held, data_held = self.held(m, bus, data)
        for name, allowed in (
            ("ARVALID follows ARREADY", bus.ready),
            ("ARVALID is taken back", time[0]),
        ):
            with m.If(way[name] & ~allowed):
                m.d.comb += [bus.valid.eq(0), ar.ready.eq(0)]
        with m.If(way["ARADDR does not stay"] & bus_held):
            m.d.comb += bus.payload.address.eq(~ar.payload.address)
        with m.If(way["an address is wrong"]):
            m.d.comb += bus.payload.address.eq(ar.payload.address ^ 0x800)
        with m.If(way["RREADY is low"] & time[1]):
            m.d.comb += [response.ready.eq(0), r.valid.eq(0)]
        with m.If(way["data is wrong"] | (way["data does not stay"] & data_held)):
            m.d.comb += data.payload.data.eq(~o.payload.data)
        with m.If(way["data is offered during a stop"] & self.stop):
            m.d.comb += data.valid.eq(1)
        with m.If(way["requests are taken during a stop"] & self.stop):
            m.d.comb += self.request[0].ready.eq(1)
        early = (way["idle does not wait for responses"] & self.stop) | (
            way["idle does not wait for data"] & ~ar.valid
        )
        with m.If(early):
            m.d.comb += self.idle.eq(1)
        with m.If(way["idle never comes"]):
            m.d.comb += self.idle.eq(0)
        with m.If(way["errors are kept back"]):
            m.d.comb += self.error.eq(0)
        return m


_SIZES = {"addr_bits": 16, "data_bits": 16}
_LISTS = (
    # Over a boundary, a beat alone, two of them side by side, a whole burst.
    [[(2, 5), (9, 1), (10, 1), (12, 4)], [(7, 2), (16, 4), (23, 1)]],
    [[(102, 3), (107, 1), (113, 13)], [(108, 1), (110, 13)]],
)
"""Requests of (first beat, beats) by traffic and part, in a region for each part."""

_CHANNELS = (
    # A lane's two parts, then the other's: channels that all name, one that none does, turns.
    [
        [(0, 2, 2), (1, 9, 1), (0, 10, 2), (1, 12, 4)],
        [(0, 7, 1), (0, 16, 4), (1, 20, 2), (0, 23, 1)],
        [(1, 1, 1), (1, 4, 2), (0, 8, 2), (1, 11, 1)],
        [(0, 3, 1), (1, 8, 1), (0, 10, 2), (1, 13, 1)],
    ],
    [[(1, 102, 2)], [(0, 106, 1), (1, 111, 1)], [(0, 100, 4), (0, 110, 1)], [(1, 101, 3)]],
)
"""Likewise, of (channel, first beat, beats)."""

_BLOCKS = ([[9, 10, 4, 5, 31, 16, 8]], [[100, 101, 90]])
"""Likewise, blocks of two beats."""

MODES = [(a, b) for a in (0, 1) for b in (0, 1)]
"""``one_read``, ``ready_after_valid``."""


@dataclass(frozen=True)
class ReaderKind:
    """Something that reads.

    Parameters
    ----------
    top: makes it
    constants: of the bench (see readers.cpp), but for those of :data:`_CONSTANTS`
    traffic: by number and part, requests: the payload, and channel and address of each beat
    word: beats of a word of data, and whether a word ends with ``last`` of its request
    """

    top: Callable[[], Any]
    constants: dict[str, int]
    traffic: Sequence[Sequence[Sequence[tuple[int, list[tuple[int, int]]]]]]
    word: tuple[int, bool] = (1, True)


_CONSTANTS = {
    "kParts": 1, "kChannels": 1, "kAddrBits": 16, "kDataBits": 16, "kBurstBeats": 4,
    "kOutstanding": 1, "kOwnerShift": 0, "kAlwaysReady": 1, "kExact": 0, "kErrorAfter": 1,
    "kLanes": 0,
}  # fmt: skip


def _burst(base: int, channel: int, first: int, beats: int) -> tuple[int, list[tuple[int, int]]]:
    """A request of a ``BurstReader``."""
    address = base + 2 * first
    return address | beats << 16, [(channel, address + 2 * beat) for beat in range(beats)]


def _routed(part: int, channel: int, first: int, beats: int) -> tuple[int, list[tuple[int, int]]]:
    """A request of an ``OrderedReader``, for a burst that crosses no boundary."""
    base = BASES[part & 1] & ~7 ^ part << 10
    _, places = _burst(base, channel, first, beats)
    return places[0][1] | beats - 1 << 16 | channel << 24, places


def _block(first: int) -> tuple[int, list[tuple[int, int]]]:
    """A request of a ``BlockReader``."""
    address = (BASES[0] & ~3) + 4 * first
    return address, [(0, address), (0, address + 2)]


def _manager() -> Any:
    sizes = {**_SIZES, "count_bits": 4, "burst_beats": 4, "buffer_beats": 8}
    return Arrays(ReadManager(2, id_bits=1, outstanding=2, **sizes))


KINDS = {
    "manager": ReaderKind(
        top=_manager,
        constants={"kParts": 2, "kIdBits": 1, "kOutstanding": 2, "kExact": 1},
        traffic=[
            [
                [_burst(base, 0, *request) for request in part]
                for base, part in zip(BASES, lists, strict=True)
            ]
            for lists in _LISTS
        ],
    ),
    "crossbar": ReaderKind(
        top=lambda: SupervisedReaders(
            RoutedSizes(lanes=2, channels=2, readers=2, outstanding=3, burst_beats=4, **_SIZES)
        ),
        constants={
            "kParts": 4, "kChannels": 2, "kIdBits": 4, "kOwnerShift": 2, "kAlwaysReady": 0,
            "kErrorAfter": 6, "kLanes": 2,
        },
        traffic=[
            [[_routed(part, *request) for request in found] for part, found in enumerate(lists)]
            for lists in _CHANNELS
        ],
    ),
    "blocks": ReaderKind(
        top=lambda: Arrays(BlockReader(block_beats=2, outstanding=3, **_SIZES)),
        constants={"kIdBits": 2, "kOwnerShift": 2, "kBurstBeats": 2},
        traffic=[[[_block(first) for first in part] for part in lists] for lists in _BLOCKS],
        word=(2, False),
    ),
}  # fmt: skip


@cache
def library(name: str = "manager", *, spoilt: bool = False) -> Library:
    """The library of a kind, with its traffic; ``spoilt``: of a ``SpoiltReader``."""
    kind = KINDS[name]
    top = SpoiltReader(kind.top()) if spoilt else kind.top()
    found = Library(emit_component(top, name="readers"), "readers", _CONSTANTS | kind.constants)
    beats_of_word, marked = kind.word
    for number, lists in enumerate(kind.traffic):
        for index, requests in enumerate(lists):
            content, size = payloads([payload for payload, _ in requests])
            places = [channel << 32 | at for _, beats in requests for channel, at in beats]
            last = [n == len(beats) - 1 for _, beats in requests for n in range(len(beats))]
            found.call(
                "words",
                number,
                index,
                content,
                c_uint64(size),
                c_uint64(len(requests)),
                c_void_p(np.array(places, np.uint64).ctypes.data),
                bytes(last),
                c_uint64(len(places)),
                c_uint64(beats_of_word),
                int(marked),
            )
    return found


def cases(
    *,
    ar: Iterable[Any],
    r: Iterable[Any] = ((1, 1, 1),),
    o: Iterable[Any] = ((1, 1, 1),),
    modes: Iterable[Any] = MODES,
    latency: Iterable[int] = (1,),
    order: Iterable[int] = (-1,),
    stops: Iterable[Any] = (NEVER,),
    bad: Iterable[int] = (-1,),
    patience: int,
) -> Table:
    """All combinations; see ``Case`` in readers.cpp. ``stops``: cycle, for how long, whether the
    second traffic begins with its end."""
    return table_of(ar, r, o, modes, latency, order, stops, bad, [patience])


FEW = [ALWAYS, (0b10, 2, 1), (0b100, 3, 1), (0, 6, 0)]
LONG = 60
"""More cycles than the traffic takes on a memory that is always ready."""


every_kind = pytest.mark.parametrize("name", slow_but(["manager"], KINDS, []))


def judged(name: str, what: str, table: Table) -> Found:
    """Run cases, say how many, and fail with the first fault."""
    found = library(name).run(table)
    print(f"{name}, {what}: {found.runs} runs, {found.cycles} cycles, the longest {found.longest}, "
          f"idle {found.idle_after} cycles after a stop at most, {found.moved} bursts, "
          f"{found.overtakes} beats before older ones")  # fmt: skip
    assert found.fault == ""
    assert found.runs == len(table)
    return found


@every_kind
def test_any_repeated_pattern_of_addresses_and_beats(name: str) -> None:
    """Repeats AR patterns of four cycles and R patterns of five, so that all their phases meet."""
    table = cases(
        ar=all_patterns(4, repeats=True),
        r=all_patterns(5, repeats=True),
        latency=by_size((1,), (1, 2, 9), (1, 2, 3, 9, 40)),
        order=by_size((-1,), (-1, 0b0101, 0b0110), (-1, *range(16))),
        patience=25 * LONG,
    )
    judged(name, "patterns", table)


@every_kind
def test_any_repeated_pattern_of_data_that_is_taken(name: str) -> None:
    """Accepts data by every pattern, or stalls until more arrives than the buffer holds."""
    table = cases(
        ar=FEW, r=all_patterns(4, repeats=True), o=[*all_patterns(5, repeats=True), (0, 31, 0)],
        latency=(1, 3), patience=25 * LONG,
    )  # fmt: skip
    judged(name, "data taken", table)


@every_kind
def test_any_beginning_of_ready(name: str) -> None:
    """Tries every READY pattern from the first ARVALID; READY then stays high and all ends soon."""
    count = by_size(4, 8, 12)
    table = cases(ar=all_patterns(count, repeats=False), patience=LONG + 2 * count)
    judged(name, "beginnings", table)


@every_kind
def test_beats_of_two_ids_in_any_order(name: str) -> None:
    table = cases(
        ar=FEW, r=FEW, order=range(16), latency=by_size((1, 12), (1, 3, 12), (1, 2, 3, 7, 12)),
        patience=25 * LONG,
    )  # fmt: skip
    assert judged(name, "orders", table).overtakes > 0


@every_kind
def test_a_stop_in_any_cycle(name: str) -> None:
    """A pulse, two cycles, or until idle; the next traffic at once, or when idle."""
    table = cases(
        ar=by_size(FEW[:2], FEW, all_patterns(3, repeats=True)),
        r=by_size(FEW[:2], FEW, all_patterns(4, repeats=True)),
        order=(-1, 5), latency=(1, 12),
        stops=[(cycle, *how) for cycle in range(LONG + 10)
               for how in ((1, 0), (1, 1), (2, 1), (0, 0))],
        patience=25 * LONG,
    )  # fmt: skip
    assert 0 < judged(name, "stops", table).idle_after < 3 * LONG


@every_kind
def test_any_beat_may_be_bad(name: str) -> None:
    """A bad beat is reported with its address. The reader delivers the data before it and none
    after it, and works again after a stop."""
    stops = [(-1, *how) for how in ((1, 0), (1, 1), (0, 0))]
    table = cases(
        ar=FEW, r=FEW, latency=(1, 6), order=(-1, 5), bad=range(20), stops=stops,
        patience=25 * LONG,
    )  # fmt: skip
    judged(name, "bad beats", table)


@every_kind
def test_a_stop_around_a_bad_beat(name: str) -> None:
    stops = [(cycle, *how) for cycle in range(5, LONG, by_size(3, 1, 1))
             for how in ((1, 0), (1, 1), (0, 0))]  # fmt: skip
    table = cases(ar=FEW, bad=range(20), latency=(1, 6), stops=stops, patience=25 * LONG)
    judged(name, "bad beats and stops", table)


def test_the_patience_is_that_of_a_run_without_a_stop() -> None:
    found = library().run(cases(ar=[ALWAYS], stops=[NEVER], patience=LONG))
    assert (found.fault, found.longest < LONG) == ("", True)
    assert "not done" in library().run(cases(ar=[ALWAYS], patience=9)).fault


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_what_is_wrong_is_found(way: str) -> None:
    spoilt = library(spoilt=True)
    spoilt.call("spoil", 0)
    table = cases(ar=FEW, o=FEW, stops=[NEVER, (9, 1, 0), (9, 1, 1)], patience=300)
    bad = cases(ar=FEW, bad=range(2), patience=300)
    assert [spoilt.run(rows).fault for rows in (table, bad)] == ["", ""]
    spoilt.call("spoil", 1 + [*WAYS].index(way))
    assert WAYS[way] in spoilt.run(bad if "errors" in way else table).fault
