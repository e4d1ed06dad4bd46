"""The readers, or the writers, of one memory channel."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .burst_reader import BurstReader
from .burst_writer import BurstWriter, most_unsent
from .interconnect import ReadInterconnect, WriteInterconnect
from .layouts import (
    address_layout,
    beat_layout,
    data_layout,
    request_layout,
    response_layout,
    store_layout,
    write_layout,
)

__all__ = ["ReadManager", "WriteManager"]


def _control(
    m: Module, manager: wiring.Component, parts: Sequence[BurstReader | BurstWriter]
) -> None:
    """``stop`` to all; ``idle`` of all; the error of the first that has one."""
    m.d.comb += [
        manager.idle.eq(Cat(part.idle for part in parts).all()),
        manager.error.eq(Cat(part.error for part in parts).any()),
    ]
    for part in reversed(parts):
        m.d.comb += part.stop.eq(manager.stop)
        with m.If(part.error):
            m.d.comb += manager.error_address.eq(part.error_address)


class ReadManager(wiring.Component):
    """Readers that share one AXI4 manager: :class:`BurstReader` and :class:`ReadInterconnect`.

    Parameters
    ----------
    readers: number of readers, at least 1
    id_bits: width of an ID; a reader's ID is its index
    addr_bits, data_bits, outstanding, count_bits, burst_beats, buffer_beats: of each reader

    Members
    -------
    request, o: of each reader (arrays)
    ar, r: the manager's channels, with ``id``
    stop, idle, error, error_address: of all readers; the address is that of the first that failed,
        by index
    """

    def __init__(
        self,
        readers: int,
        *,
        addr_bits: int,
        data_bits: int,
        id_bits: int,
        outstanding: int,
        count_bits: int,
        burst_beats: int = 64,
        buffer_beats: int = 128,
    ) -> None:
        self._readers, self._id_bits = readers, id_bits
        self._widths = {"addr_bits": addr_bits, "data_bits": data_bits}
        self._sizes = {
            "outstanding": outstanding,
            "count_bits": count_bits,
            "burst_beats": burst_beats,
            "buffer_beats": buffer_beats,
        }
        request = stream.Signature(request_layout(addr_bits, count_bits))
        super().__init__(
            {
                "request": In(request).array(readers),
                "o": Out(stream.Signature(data_layout(data_bits))).array(readers),
                "ar": Out(stream.Signature(address_layout(addr_bits, id_bits))),
                "r": In(stream.Signature(beat_layout(data_bits, id_bits))),
                "stop": In(1),
                "idle": Out(1),
                "error": Out(1),
                "error_address": Out(addr_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.bus = bus = ReadInterconnect(
            self._readers, **self._widths, id_bits=self._id_bits
        )
        wiring.connect(m, bus.ar, wiring.flipped(self.ar))
        wiring.connect(m, bus.r, wiring.flipped(self.r))
        parts = []
        for index in range(self._readers):
            part = BurstReader(**self._widths, **self._sizes)
            m.submodules[f"reader_{index}"] = part
            wiring.connect(m, part.request, wiring.flipped(self.request[index]))
            wiring.connect(m, part.o, wiring.flipped(self.o[index]))
            wiring.connect(m, part.ar, bus.reader_ar[index])
            wiring.connect(m, part.r, bus.reader_r[index])
            parts.append(part)
        _control(m, self, parts)
        return m


class WriteManager(wiring.Component):
    """Writers that share one AXI4 manager: :class:`BurstWriter` and :class:`WriteInterconnect`.

    Parameters
    ----------
    writers: number of writers, at least 1
    id_bits: width of an ID; a writer's ID is its index
    addr_bits, data_bits, outstanding, count_bits, burst_beats, buffer_beats: of each writer

    Members
    -------
    request, i: of each writer (arrays)
    aw, w, b: the manager's channels, with ``id``
    stop, idle, error, error_address: of all writers; the address is that of the first that failed,
        by index
    """

    def __init__(
        self,
        writers: int,
        *,
        addr_bits: int,
        data_bits: int,
        id_bits: int,
        outstanding: int,
        count_bits: int,
        burst_beats: int = 64,
        buffer_beats: int = 128,
    ) -> None:
        self._writers, self._id_bits = writers, id_bits
        self._widths = {"addr_bits": addr_bits, "data_bits": data_bits}
        self._sizes = {
            "outstanding": outstanding,
            "count_bits": count_bits,
            "burst_beats": burst_beats,
            "buffer_beats": buffer_beats,
        }
        request = stream.Signature(request_layout(addr_bits, count_bits))
        super().__init__(
            {
                "request": In(request).array(writers),
                "i": In(stream.Signature(store_layout(data_bits))).array(writers),
                "aw": Out(stream.Signature(address_layout(addr_bits, id_bits))),
                "w": Out(stream.Signature(write_layout(data_bits))),
                "b": In(stream.Signature(response_layout(id_bits))),
                "stop": In(1),
                "idle": Out(1),
                "error": Out(1),
                "error_address": Out(addr_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        unsent = most_unsent(self._sizes["outstanding"], self._sizes["buffer_beats"])
        m.submodules.bus = bus = WriteInterconnect(
            self._writers,
            **self._widths,
            id_bits=self._id_bits,
            outstanding=self._writers * unsent,
        )
        for name in ("aw", "w", "b"):
            wiring.connect(m, getattr(bus, name), wiring.flipped(getattr(self, name)))
        parts = []
        for index in range(self._writers):
            part = BurstWriter(**self._widths, **self._sizes)
            m.submodules[f"writer_{index}"] = part
            wiring.connect(m, part.request, wiring.flipped(self.request[index]))
            wiring.connect(m, part.i, wiring.flipped(self.i[index]))
            for name in ("aw", "w", "b"):
                wiring.connect(m, getattr(part, name), getattr(bus, f"writer_{name}")[index])
            parts.append(part)
        _control(m, self, parts)
        return m
