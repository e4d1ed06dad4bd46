"""Takes rows of results from the lanes to memory."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import request_layout
from ...axi.layouts import store_layout as beat_layout
from ...spec.gta import BANKS, LEFT_WORD_BYTES, GtaConfig
from ...spec.jobs.gta_commands import DEALS
from ...stream.fork_join import Fork, connect_fields
from ...stream.queue import DeepQueue
from ...stream.ring import moved_count
from ...stream.stream_registers import SkidBuffer
from ..control.layouts import place_layout, request_bits, store_layout
from ..control.row_walk import RowRequests, RowWalk, log2
from ..layouts import read_data_layout, read_layout
from .beat_builder import BeatBuilder, Narrower, wide_layout

_HALF = LEFT_WORD_BYTES // 2


class Gatherer(wiring.Component):
    """Gathers 16 bytes of a row from the words of a lane's banks. No latency.

    The bytes are distributed as results are.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    deal: in; the number of the deal, of elements of 4 bytes or more
    place: in; of the bytes
    words: in; of all banks, 16 bytes each
    data: out; the bytes
    """

    def __init__(self, config: GtaConfig) -> None:
        super().__init__(
            {
                "deal": In(range(len(DEALS))),
                "place": In(place_layout(config)),
                "words": In(data.ArrayLayout(8 * LEFT_WORD_BYTES, BANKS)),
                "data": Out(8 * LEFT_WORD_BYTES),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pair = Signal(data.ArrayLayout(8 * LEFT_WORD_BYTES, 2))
        first, half = self.place.bank[0], self.place.position[log2(_HALF)]
        pairs = [Cat(self.words[bank], self.words[bank + 1]) for bank in range(0, BANKS, 2)]
        one = Signal(8 * LEFT_WORD_BYTES)
        halves = Signal(data.ArrayLayout(8 * _HALF, 2))
        m.d.comb += [
            pair.eq(Array(pairs)[self.place.bank[1:]]),
            one.eq(Array([pair[0], pair[1]])[first]),
            *(halves[n].eq(pair[n].word_select(half, 8 * _HALF)) for n in range(2)),
        ]
        # Elements of 4 bytes lie in turn in two banks, of 8 bytes there is one in each half.
        words = [halves[n % 2].word_select(n // 2, 32) for n in range(4)]
        ways = {4: Cat(words), 8: Cat(halves[0], halves[1])}
        choice = [one if deal.banks == 1 else ways.get(deal.element, one) for deal in DEALS]
        m.d.comb += self.data.eq(Array(choice)[self.deal])
        return m


READ_CYCLES = 2
"""Cycles from a read of the memory of results to its data."""

_WAITING = 8
"""Parts that may be in flight: read, and not yet accepted."""


class LaneStorer(wiring.Component):
    """Executes STOREs in order.

    16 bytes a cycle are read; a pause of one cycle between STOREs.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    command: STOREs that hold, and may begin
    request, o: streams to a burst writer
    read, read_ready: of a lane's results; a read is done if it is ready while enabled
    words: in; of the banks that were read, two cycles later
    sent: out, a pulse: the last beat of a STORE leaves
    stop: in; forgets everything at the end of the cycle
    busy: out; STOREs are inside
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        request = request_layout(config.addr_bits, request_bits(config))
        super().__init__(
            {
                "command": In(stream.Signature(store_layout(config))),
                "request": Out(stream.Signature(request)),
                "o": Out(stream.Signature(beat_layout(config.data_bits))),
                "read": Out(read_layout(config)),
                "read_ready": In(1),
                "words": In(read_data_layout()),
                "sent": Out(1),
                "stop": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.command_fork = fork = Fork(store_layout(config), 2, eager=True)
        m.submodules.requests = requests = RowRequests(config)
        m.submodules.held = held = SkidBuffer(store_layout(config), clearable=True)
        m.submodules.walk = walk = RowWalk(config, LEFT_WORD_BYTES)
        wiring.connect(m, wiring.flipped(self.command), fork.i)
        asked, kept = fork.o
        rows, shift = asked.payload, log2(config.data_bits // 8)
        in_memory = Mux(rows.narrow != 0, rows.row_bytes[1:], rows.row_bytes)
        beats = (in_memory + (config.data_bits // 8 - 1))[shift:]
        fields = {name: rows[name] for name in ("base", "stride", "rows")}
        connect_fields(m, asked, requests.i, **fields, beats=beats)
        wiring.connect(m, kept, held.i)
        wiring.connect(m, requests.request, wiring.flipped(self.request))
        active = Signal()
        finished = Signal()
        way = self._read(m, held.o.payload, walk, active)
        m.d.comb += [
            fork.clear.eq(self.stop),
            requests.clear.eq(self.stop),
            held.clear.eq(self.stop),
            walk.start.eq(held.o.valid & ~active),
            finished.eq(walk.advance & walk.ends),
            held.o.ready.eq(finished),
            self.busy.eq(requests.busy | held.o.valid | way),
        ]
        m.d.comb += [walk.rows[name].eq(held.o.payload[name]) for name, _ in walk.rows.shape()]
        with m.If(self.stop | finished):
            m.d.sync += active.eq(0)
        with m.Elif(held.o.valid):
            m.d.sync += active.eq(1)
        return m

    def _banks(self, m: Module, deal: Value, bank: Value) -> Value:
        """Returns the banks that hold a part: one, or two neighbours."""
        pair = Signal(name="lies_in_two")
        m.d.comb += pair.eq(Array(Const(known.part_banks == 2, 1) for known in DEALS)[deal])
        return Cat((bank[1:] == n // 2) & (pair | (bank[0] == n % 2)) for n in range(BANKS))

    def _read(self, m: Module, store: Value, walk: RowWalk, active: Value) -> Value:
        """Reads parts and queues them; returns whether a read is in flight."""
        config = self._config
        tag = data.StructLayout(
            {
                "deal": range(len(DEALS)),
                "place": place_layout(config),
                **{name: shape for name, shape in wide_layout().members.items() if name != "data"},
            }
        )
        m.submodules.waiting = waiting = DeepQueue(wide_layout(), _WAITING)
        m.submodules.gatherer = gatherer = Gatherer(config)
        m.submodules.narrower = narrower = Narrower()
        m.submodules.builder = builder = BeatBuilder(config.data_bits)
        now = Signal(tag)
        m.d.comb += [
            now.deal.eq(store.deal),
            now.place.eq(walk.place),
            now.valid.eq(Cat(walk.bytes > n for n in range(LEFT_WORD_BYTES))),
            now.last.eq(walk.row_end),
            now.ends.eq(walk.ends),
            now.narrow.eq(store.narrow),
            now.long.eq(Array(Const(deal.element == 16, 1) for deal in DEALS)[store.deal]),
        ]
        # Parts that are read and have not been taken on.
        owed = Signal(range(_WAITING + 1))
        issue = Signal()
        taken = Signal()
        m.d.comb += [
            self.read.enable.eq(active & (owed != _WAITING) & ~self.stop),
            self.read.lane.eq(walk.place.lane),
            self.read.banks.eq(self._banks(m, store.deal, walk.place.bank)),
            self.read.address.eq(walk.place.word),
            issue.eq(self.read.enable & self.read_ready),
            walk.advance.eq(issue),
        ]
        valid, tags = [issue], [now]
        for cycle in range(1, READ_CYCLES + 1):
            here = Signal(name=f"read_{cycle}")
            held = Signal(tag, name=f"tag_{cycle}", reset_less=True)
            m.d.sync += [here.eq(valid[-1] & ~self.stop), held.eq(tags[-1])]
            valid.append(here)
            tags.append(held)
        come = tags[-1]
        m.d.comb += [
            gatherer.deal.eq(come.deal),
            gatherer.place.eq(come.place),
            gatherer.words.eq(self.words),
            waiting.i.valid.eq(valid[-1]),
            # Bytes that are not valid are 0, whatever the memory holds.
            waiting.i.payload.data.eq(gatherer.data & Cat(bit.replicate(8) for bit in come.valid)),
            taken.eq(waiting.o.valid & waiting.o.ready),
        ]
        names = [name for name, _ in wide_layout() if name != "data"]
        m.d.comb += [waiting.i.payload[name].eq(come[name]) for name in names]
        m.d.sync += owed.eq(moved_count(owed, issue, taken))
        with m.If(self.stop):
            m.d.sync += owed.eq(0)
        wiring.connect(m, waiting.o, narrower.i)
        wiring.connect(m, narrower.o, builder.i)
        wiring.connect(m, builder.o, wiring.flipped(self.o))
        for part in (waiting, narrower, builder):
            m.d.comb += part.clear.eq(self.stop)
        m.d.comb += self.sent.eq(builder.o.valid & builder.o.ready & builder.ends)
        return (owed != 0) | narrower.o.valid | builder.busy
