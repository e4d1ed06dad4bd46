"""The readers, or the writers, of one memory channel."""

from __future__ import annotations

from abc import abstractmethod

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .burst_reader import BurstReader
from .burst_writer import BurstWriter, most_unsent
from .interconnect import ReadInterconnect, WriteInterconnect
from .layouts import (
    Supervision,
    address_layout,
    beat_layout,
    data_layout,
    request_layout,
    response_layout,
    store_layout,
    supervise,
    write_layout,
    written_layout,
)

__all__ = ["ReadManager", "WriteManager"]


class _Manager(wiring.Component):
    """Base class of both managers: parts that share an interconnect, each with its streams and an
    ID.

    Parameters
    ----------
    parts: number of parts, at least 1
    id_bits: width of an ID; a part's ID is its index
    addr_bits, data_bits, outstanding, count_bits, burst_beats, buffer_beats: of each part
    reports: of each writer
    """

    _part: type[BurstReader] | type[BurstWriter]
    _kind: str
    """Name of a part."""

    def __init__(
        self,
        parts: int,
        *,
        addr_bits: int,
        data_bits: int,
        id_bits: int,
        outstanding: int,
        count_bits: int,
        burst_beats: int = 64,
        buffer_beats: int = 128,
        reports: int = 0,
    ) -> None:
        self._parts = parts
        self._bus_widths = {"addr_bits": addr_bits, "data_bits": data_bits, "id_bits": id_bits}
        self._sizes = {
            "addr_bits": addr_bits,
            "data_bits": data_bits,
            "outstanding": outstanding,
            "count_bits": count_bits,
            "burst_beats": burst_beats,
            "buffer_beats": buffer_beats,
        }
        if reports:
            self._sizes["reports"] = reports
        request = In(stream.Signature(request_layout(addr_bits, count_bits)))
        self._streams = {"request": request, **self._data(data_bits)}
        self._channels = self._bus(addr_bits, data_bits, id_bits)
        super().__init__(
            {
                **{name: member.array(parts) for name, member in self._streams.items()},
                **self._channels,
                **Supervision(addr_bits).members,
                **(self._report(addr_bits) if reports else {}),
            }
        )

    @staticmethod
    @abstractmethod
    def _data(data_bits: int) -> dict[str, wiring.Member]:
        """The stream of data of a part."""

    @staticmethod
    def _report(addr_bits: int) -> dict[str, wiring.Member]:
        """What there is with ``reports``."""
        return {}

    @staticmethod
    @abstractmethod
    def _bus(addr_bits: int, data_bits: int, id_bits: int) -> dict[str, wiring.Member]:
        """The manager's channels."""

    @abstractmethod
    def _interconnect(self) -> ReadInterconnect | WriteInterconnect:
        """Returns the component that merges the channels of the parts."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.bus = bus = self._interconnect()
        for name in self._channels:
            wiring.connect(m, getattr(bus, name), wiring.flipped(getattr(self, name)))
        parts = [self._part(**self._sizes) for _ in range(self._parts)]
        for index, part in enumerate(parts):
            m.submodules[f"{self._kind}_{index}"] = part
            for name in self._streams:
                wiring.connect(m, getattr(part, name), wiring.flipped(getattr(self, name)[index]))
            for name in self._channels:
                wiring.connect(m, getattr(part, name), getattr(bus, f"{self._kind}_{name}")[index])
        supervise(m, self, parts)
        return m


class ReadManager(_Manager):
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

    _part, _kind = BurstReader, "reader"

    @staticmethod
    def _data(data_bits: int) -> dict[str, wiring.Member]:
        return {"o": Out(stream.Signature(data_layout(data_bits)))}

    @staticmethod
    def _bus(addr_bits: int, data_bits: int, id_bits: int) -> dict[str, wiring.Member]:
        return {
            "ar": Out(stream.Signature(address_layout(addr_bits, id_bits))),
            "r": In(stream.Signature(beat_layout(data_bits, id_bits), always_ready=True)),
        }

    def _interconnect(self) -> ReadInterconnect:
        return ReadInterconnect(self._parts, **self._bus_widths)


class WriteManager(_Manager):
    """Writers that share one AXI4 manager: :class:`BurstWriter` and :class:`WriteInterconnect`.

    The data of a burst is offered after its address, and whether AWREADY has come or not; within a
    burst WVALID stays high. BREADY is high throughout.

    Parameters
    ----------
    writers: number of writers, at least 1
    id_bits: width of an ID; a writer's ID is its index
    addr_bits, data_bits, outstanding, count_bits, burst_beats, buffer_beats: of each writer
    reports: 1: there is ``written``

    Members
    -------
    request, i: of each writer (arrays)
    aw, w, b: the manager's channels, with ``id``
    stop, idle, error, error_address: of all writers; the address is that of the first that failed,
        by index
    written: out; valid, a pulse: memory has answered the burst at ``address`` of one of them
    """

    _part, _kind = BurstWriter, "writer"

    @staticmethod
    def _report(addr_bits: int) -> dict[str, wiring.Member]:
        return {"written": Out(written_layout(addr_bits))}

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        if "reports" in self._sizes:
            for index in range(self._parts):
                part: BurstWriter = getattr(m.submodules, f"writer_{index}")
                with m.If(part.written.valid):
                    m.d.comb += self.written.eq(part.written)
        return m

    @staticmethod
    def _data(data_bits: int) -> dict[str, wiring.Member]:
        return {"i": In(stream.Signature(store_layout(data_bits)))}

    @staticmethod
    def _bus(addr_bits: int, data_bits: int, id_bits: int) -> dict[str, wiring.Member]:
        return {
            "aw": Out(stream.Signature(address_layout(addr_bits, id_bits))),
            "w": Out(stream.Signature(write_layout(data_bits))),
            "b": In(stream.Signature(response_layout(id_bits), always_ready=True)),
        }

    def _interconnect(self) -> WriteInterconnect:
        unsent = most_unsent(self._sizes["outstanding"], self._sizes["buffer_beats"])
        return WriteInterconnect(self._parts, **self._bus_widths, outstanding=self._parts * unsent)
