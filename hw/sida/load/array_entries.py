"""An array in memory, so many of its elements at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Member, Out

from ...axi.interconnect import ReadInterconnect
from ...axi.layouts import Supervision, address_layout, beat_layout, supervise
from ...channels.striped_reader import BYTES_BITS, StripedReader
from ...spec.sida import INDEX_BITS, SidaConfig
from ...stream.fork_join import Fork
from ...stream.gearbox import Gearbox, entry_layout
from ...stream.queue import DeepQueue
from ...stream.stream_registers import SkidBuffer


def bus_id_bits(config: SidaConfig, readers: int) -> int:
    """Width of an ID of the bus: a reader's number, above the reader's own ID."""
    return (config.outstanding - 1).bit_length() + (readers - 1).bit_length()


def bus_members(config: SidaConfig, names: tuple[str, ...]) -> dict[str, Member]:
    """Returns the bus ports of a part with these readers.

    ``ar`` and ``r``: arrays by channel. ``read_beats_*``: by reader, the channels that bring it a
    beat.
    """
    id_bits = bus_id_bits(config, len(names))
    request = stream.Signature(address_layout(config.addr_bits, id_bits))
    beat = stream.Signature(beat_layout(config.data_bits, id_bits), always_ready=True)
    return {
        **{f"read_beats_{name}": Out(config.channels) for name in names},
        "ar": Out(request).array(config.channels),
        "r": In(beat).array(config.channels),
    }


def connect_bus(m: Module, config: SidaConfig, part: Any, readers: Mapping[str, Any]) -> None:
    """Connect the :func:`bus_members` of a part with its readers, in the order of their IDs."""
    for channel in range(config.channels):
        m.submodules[f"bus_{channel}"] = bus = ReadInterconnect(
            len(readers),
            addr_bits=config.addr_bits,
            data_bits=config.data_bits,
            slot_bits=(config.outstanding - 1).bit_length(),
        )
        for number, (name, reader) in enumerate(readers.items()):
            mine = bus.reader_r[number]
            wiring.connect(m, reader.ar[channel], bus.reader_ar[number])
            wiring.connect(m, mine, reader.r[channel])
            m.d.comb += getattr(part, f"read_beats_{name}")[channel].eq(mine.valid & mine.ready)
        wiring.connect(m, bus.ar, wiring.flipped(part.ar[channel]))
        wiring.connect(m, wiring.flipped(part.r[channel]), bus.r)


def entries_layout(config: SidaConfig) -> data.StructLayout:
    """Request of ``count`` entries from ``address`` on, which have ``bytes``, at least one.

    The last entry need not be whole.
    """
    return data.StructLayout(
        {"address": config.addr_bits, "bytes": BYTES_BITS, "count": INDEX_BITS}
    )


class ArrayEntries(wiring.Component):
    """Reads runs of entries of one size.

    An entry or a line per cycle, whichever is larger, if the channels deliver it. No path leads
    from ``o.ready`` to the lines: an entry that waits moves aside.

    Parameters
    ----------
    config: of the accelerator
    entry_bytes: of an entry, a power of two
    outstanding: blocks that may be under way in a channel
    requests: that may be read ahead of the one whose entries leave; if 0 a request is taken with
        the last of its entries

    Members
    -------
    request: see :func:`entries_layout`; the address is a multiple of a line
    o: ``data``, ``last`` of its request; what is behind the request's bytes means nothing
    ar, r: the bus, arrays by channel
    stop, idle, error, error_address: see ``Supervision``; ``idle`` tells of the bus alone
    """

    verilog_parameters: ClassVar = {"OUTSTANDING": "outstanding", "REQUESTS": "requests"}

    def __init__(
        self, config: SidaConfig, entry_bytes: int, *, outstanding: int, requests: int = 0
    ) -> None:
        if not 2 <= outstanding <= config.outstanding:
            most = config.outstanding
            raise ValueError(f"`outstanding` must be in 2..{most}, not {outstanding}")
        self.config: Final = config
        self._entry_bytes, self._outstanding = entry_bytes, outstanding
        self._requests = requests
        self._id_bits = (config.outstanding - 1).bit_length()
        request = address_layout(config.addr_bits, self._id_bits)
        beat = beat_layout(config.data_bits, self._id_bits)
        super().__init__(
            {
                "request": In(stream.Signature(entries_layout(config))),
                "o": Out(stream.Signature(entry_layout((entry_bytes,)))),
                "ar": Out(stream.Signature(request)).array(config.channels),
                "r": In(stream.Signature(beat, always_ready=True)).array(config.channels),
                **Supervision(config.addr_bits).members,
            }
        )

    @property
    def entry_bytes(self) -> int:
        return self._entry_bytes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.reader = reader = StripedReader(
            config.geometry,
            line_blocks=config.line_blocks,
            outstanding=self._outstanding,
            requests=2 + self._requests,
            id_bits=self._id_bits,
        )
        m.submodules.entries = entries = Gearbox(
            config.line_bytes, (self._entry_bytes,), INDEX_BITS
        )
        m.submodules.fork = fork = Fork(self.request.payload.shape(), 2, eager=True)
        wiring.connect(m, wiring.flipped(self.request), fork.i)
        m.submodules.left = left = SkidBuffer(
            self.o.payload.shape(), output_register=False, clearable=True
        )
        wiring.connect(m, entries.o, left.i)
        wiring.connect(m, left.o, wiring.flipped(self.o))
        for ar, r, its_ar, its_r in zip(self.ar, self.r, reader.ar, reader.r, strict=True):
            wiring.connect(m, its_ar, wiring.flipped(ar))
            wiring.connect(m, wiring.flipped(r), its_r)
        asked, cut = fork.o
        # Requests as the gearbox takes them.
        wanted = entries.request
        if self._requests:
            m.submodules.waiting = waiting = DeepQueue(INDEX_BITS, self._requests)
            m.d.comb += [
                waiting.clear.eq(self.stop),
                waiting.i.valid.eq(cut.valid),
                waiting.i.payload.eq(cut.payload.count),
                cut.ready.eq(waiting.i.ready),
                wanted.valid.eq(waiting.o.valid),
                wanted.payload.count.eq(waiting.o.payload),
                waiting.o.ready.eq(wanted.ready),
            ]
        else:
            m.d.comb += [
                wanted.valid.eq(cut.valid),
                wanted.payload.count.eq(cut.payload.count),
                cut.ready.eq(wanted.ready),
            ]
        # The lines of an entry of several of which only the first ones were read.
        padding = Signal()
        m.d.comb += [
            fork.clear.eq(self.stop),
            entries.clear.eq(self.stop),
            left.clear.eq(self.stop),
            reader.request.valid.eq(asked.valid),
            asked.ready.eq(reader.request.ready),
            reader.request.payload.address.eq(asked.payload.address),
            reader.request.payload.bytes.eq(asked.payload.bytes),
            entries.lines.valid.eq(reader.o.valid | padding),
            entries.lines.payload.eq(reader.o.payload.data),
            reader.o.ready.eq(entries.lines.ready & ~padding),
        ]
        with m.If(self.stop | (wanted.valid & wanted.ready)):
            m.d.sync += padding.eq(0)
        with m.Elif(reader.o.valid & reader.o.ready & reader.o.payload.last):
            m.d.sync += padding.eq(1)
        supervise(m, self, [reader])
        return m
