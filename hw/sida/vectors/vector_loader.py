"""Rows of vectors in memory: some of them ahead of a program's use, or all of a vector."""

from __future__ import annotations

from typing import Any, Final

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Member, Out

from ...axi.layouts import Supervision, address_layout, beat_layout, supervise
from ...channels.striped_reader import BYTES_BITS, StripedReader
from ...spec.elementwise.instructions import VECTORS
from ...spec.sida import SidaConfig
from ...stream.fork_join import Fork
from ...stream.queue import DeepQueue
from ...stream.ring import moved_count
from ...stream.stream_registers import OutputRegister
from ..elementwise.layouts import request_layout, row_layout, values_layout
from ..layouts import count_bits
from .row_lines import RowCut, line_rows, rows_layout

__all__ = ["VectorLoader", "loader_bus", "whole_layout"]


def whole_layout(config: SidaConfig) -> data.StructLayout:
    """A vector of so many elements, ``columns``, at least one, at ``address``, a multiple of a
    line."""
    return data.StructLayout({"address": config.addr_bits, "columns": count_bits(config)})


def loader_bus(config: SidaConfig) -> dict[str, Member]:
    """Members of a loader beside its streams."""
    id_bits = (config.outstanding - 1).bit_length()
    request = address_layout(config.addr_bits, id_bits)
    beat = beat_layout(config.data_bits, id_bits)
    return {
        "read_beats": Out(config.channels),
        "ar": Out(stream.Signature(request)).array(config.channels),
        "r": In(stream.Signature(beat, always_ready=True)).array(config.channels),
        **Supervision(config.addr_bits).members,
    }


class VectorLoader(wiring.Component):
    """Reads rows of vectors in whole lines, and no line after a vector's last element.

    A row or a line per cycle, whichever is larger, if the channels deliver it.

    As many requests as ``config.outstanding`` may be under way, and in a channel half as many
    blocks. Where several rows are in a line, and a request begins or ends within it, the line is
    read again for the next one.

    Parameters
    ----------
    config: the accelerator's

    Members
    -------
    bases: in; where vectors begin, multiples of a line; looked at with a request
    columns: in; elements of each of these vectors, likewise
    requests: rows that are in their vector; see ``request_layout``
    loaded: the rows' values, in the order of requests; what is behind the last element is anything
    whole: see :func:`whole_layout`
    rows: of these vectors, all of them, ascending; see ``row_layout``. Not while ``requests`` are
        under way, nor these while they are
    read_beats: out; channels that bring a beat
    ar, r: the bus, arrays by channel
    stop, idle, error, error_address: see ``Supervision``; ``idle``: all rows were taken; after an
        error nothing comes that has bytes of the bad block, or any behind it
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        self._id_bits = (config.outstanding - 1).bit_length()
        super().__init__(
            {
                "bases": In(data.ArrayLayout(config.addr_bits, VECTORS)),
                "columns": In(count_bits(config)),
                "requests": In(stream.Signature(request_layout(config))),
                "loaded": Out(stream.Signature(values_layout(config))),
                "whole": In(stream.Signature(whole_layout(config))),
                "rows": Out(stream.Signature(row_layout(config))),
                **loader_bus(config),
            }
        )

    @property
    def id_bits(self) -> int:
        """Width of an ID of the bus."""
        return self._id_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        most = config.outstanding
        m.submodules.reader = reader = StripedReader(
            config.geometry,
            line_blocks=config.line_blocks,
            outstanding=max(2, most // 2),
            requests=most,
            id_bits=self._id_bits,
        )
        m.submodules.runs = runs = DeepQueue(rows_layout(config), most)
        m.submodules.cut = cut = RowCut(config)
        wiring.connect(m, runs.o, cut.runs)
        wiring.connect(m, reader.o, cut.lines)
        pending = Signal(range(most + 1))
        asked = self._ask(m, pending != most)
        m.d.comb += [
            runs.clear.eq(self.stop),
            cut.clear.eq(self.stop),
            asked[0].ready.eq(reader.request.ready),
            reader.request.valid.eq(asked[0].valid),
            reader.request.payload.address.eq(asked[0].payload.address),
            reader.request.payload.bytes.eq(asked[0].payload.bytes),
            asked[1].ready.eq(runs.i.ready),
            runs.i.valid.eq(asked[1].valid),
            runs.i.payload.eq(asked[1].payload.rows),
        ]
        found = cut.o.payload
        m.d.comb += [
            self.loaded.valid.eq(cut.o.valid & ~found.whole),
            self.loaded.payload.eq(found.row["values"]),
            self.rows.valid.eq(cut.o.valid & found.whole),
            self.rows.payload.eq(found.row),
            cut.o.ready.eq(Mux(found.whole, self.rows.ready, self.loaded.ready)),
        ]
        came = (self.requests.valid & self.requests.ready) | (self.whole.valid & self.whole.ready)
        left = cut.o.valid & cut.o.ready & found.last
        m.d.sync += pending.eq(moved_count(pending, came, left))
        with m.If(self.stop):
            m.d.sync += pending.eq(0)
        supervise(m, self, [reader], busy=pending != 0)
        for number, (ar, r) in enumerate(zip(self.ar, self.r, strict=True)):
            wiring.connect(m, reader.ar[number], wiring.flipped(ar))
            wiring.connect(m, wiring.flipped(r), reader.r[number])
            m.d.comb += self.read_beats[number].eq(r.valid & r.ready)
        return m

    def _ask(self, m: Module, free: Value) -> Any:
        """Computes the requests of a job: a stream of byte ranges, and one of rows."""
        config = self.config
        count = count_bits(config)
        # Elements of lines, from the first one's beginning to behind the last one wanted.
        extent = {"lower": count, "upper": count, "rows": rows_layout(config)}
        m.submodules.chosen = chosen = OutputRegister(
            data.StructLayout({"origin": config.addr_bits, **extent}), clearable=True
        )
        m.submodules.located = located = OutputRegister(
            data.StructLayout(
                {
                    "address": config.addr_bits,
                    "bytes": BYTES_BITS,
                    "rows": rows_layout(config),
                }
            ),
            clearable=True,
        )
        m.submodules.fork = fork = Fork(located.o.payload.shape(), 2, eager=True)
        self._choose(m, chosen, free)
        source, place = chosen.o.payload, located.i.payload
        shift = (config.format.bits // 8).bit_length() - 1
        m.d.comb += [
            chosen.clear.eq(self.stop),
            located.clear.eq(self.stop),
            fork.clear.eq(self.stop),
            located.i.valid.eq(chosen.o.valid),
            chosen.o.ready.eq(located.i.ready),
            place.address.eq(source.origin + source.lower.shift_left(shift)),
            place.bytes.eq((source.upper - source.lower)[:count].shift_left(shift)),
            place.rows.eq(source.rows),
        ]
        wiring.connect(m, located.o, fork.i)
        return fork.o

    def _choose(self, m: Module, chosen: OutputRegister, free: Value) -> None:
        """Rows of one of the vectors, or a vector in whole."""
        config, count = self.config, count_bits(self.config)
        asked, whole, o = self.requests.payload, self.whole.payload, chosen.i.payload
        shift = config.pes.bit_length() - 1
        places = line_rows(config).bit_length() - 1
        upto = Signal(count + 1)
        final = Signal(count)
        m.d.comb += [
            upto.eq(asked.base + asked.rows.shift_left(shift)),
            chosen.i.valid.eq((self.requests.valid | self.whole.valid) & free),
            self.requests.ready.eq(chosen.i.ready & free),
            self.whole.ready.eq(chosen.i.ready & free & ~self.requests.valid),
        ]
        with m.If(self.requests.valid):
            first = asked.base >> shift
            m.d.comb += [
                o.origin.eq(Array(self.bases[n] for n in range(VECTORS))[asked.vector]),
                o.lower.eq(first[places:].shift_left(shift + places)),
                o.upper.eq(Mux(upto > self.columns, self.columns, upto)),
                final.eq(first + asked.rows - 1),
                o.rows.first.eq(first[:places] if places else Const(0)),
            ]
        with m.Else():
            m.d.comb += [
                o.origin.eq(whole.address),
                o.upper.eq(whole.columns),
                final.eq((whole.columns - 1)[:count] >> shift),
                o.rows.tail.eq(whole.columns),
                o.rows.whole.eq(1),
            ]
        m.d.comb += o.rows.final.eq(final[:places] if places else 0)
