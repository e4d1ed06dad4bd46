"""Brings rows from memory into the lanes."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..axi.layouts import data_layout, request_layout
from ..spec.gta import BANKS, LEFT_WORD_BYTES, GtaConfig
from ..spec.jobs.gta_commands import DEALS, MEMORIES, Deal
from ..stream.fork_join import Fork, connect_fields
from ..stream.stream_registers import OutputRegister, SkidBuffer
from .control.layouts import chunk_bytes, load_layout, place_layout, request_bits
from .control.row_walk import RowRequests, RowWalk, log2
from .layouts import write_layout


def _spread(deal: Deal, chunk: int) -> int:
    """Returns the number of banks that a chunk is distributed to."""
    return min(deal.banks, max(1, chunk // deal.element))


def _source(deal: Deal, bank: int, byte: int) -> int:
    """Returns which byte of 16 is written to a byte of a bank's word, if that byte is written."""
    banks = _spread(deal, LEFT_WORD_BYTES)
    nth, within = divmod(byte % (LEFT_WORD_BYTES // banks), deal.element)
    return (nth * banks + bank % banks) * deal.element + within


class Dealer(wiring.Component):
    """Distributes a chunk of a row to the banks of a lane. No latency.

    A chunk of 8 bytes is doubled: where they go is a matter of the mask.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    deal, memory: in; their numbers
    place: in; of the chunk
    data, valid: in; its bytes, and which of them count
    write: out; all of it but ``enable``
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        chunk = chunk_bytes(config)
        super().__init__(
            {
                "deal": In(range(len(DEALS))),
                "memory": In(range(len(MEMORIES))),
                "place": In(place_layout(config)),
                "data": In(8 * chunk),
                "valid": In(chunk),
                "write": Out(write_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        chunk = chunk_bytes(self._config)
        copies = LEFT_WORD_BYTES // chunk
        # Each byte with its valid bit, moved together.
        marked = [Cat(self.data.word_select(n, 8), self.valid[n]) for n in range(chunk)] * copies
        here, there = self._targets(m, chunk)
        ways: dict[tuple[int, ...], int] = {}
        numbers = []
        for deal in DEALS:
            way = tuple(_source(deal, bank, 0) for bank in range(BANKS))
            way += tuple(_source(deal, 0, byte) for byte in range(LEFT_WORD_BYTES))
            numbers.append(ways.setdefault(way, len(ways)))
        way_of = Array(Const(number, range(len(ways))) for number in numbers)
        way_now = Signal(range(len(ways)))
        m.d.comb += way_now.eq(way_of[self.deal])
        firsts = [DEALS[numbers.index(number)] for number in range(len(ways))]
        for bank in range(BANKS):
            for byte in range(LEFT_WORD_BYTES):
                chosen = Signal(9, name=f"byte_{bank}_{byte}")
                sources = [marked[_source(deal, bank, byte)] for deal in firsts]
                m.d.comb += [
                    chosen.eq(Array(sources)[way_now]),
                    self.write.data[bank].word_select(byte, 8).eq(chosen[:8]),
                    self.write.mask[bank][byte].eq(chosen[8] & here[bank] & there[byte]),
                ]
        m.d.comb += [
            self.write.memory.eq(self.memory),
            self.write.address.eq(self.place.word),
            self.write.lanes.eq(Cat(self.place.lane == n for n in range(self._config.lanes))),
        ]
        return m

    def _targets(self, m: Module, chunk: int) -> tuple[Value, Value]:
        """Selects the banks, and the bytes of their words, that a chunk is written to."""
        here = Signal(BANKS)
        there = Signal(LEFT_WORD_BYTES)
        spreads = sorted({_spread(deal, chunk) for deal in DEALS})
        spread_of = Array(
            Const(spreads.index(_spread(deal, chunk)), range(len(spreads))) for deal in DEALS
        )
        spread = Signal(range(len(spreads)))
        m.d.comb += spread.eq(spread_of[self.deal])
        banks, bytes_ = [], []
        for count in spreads:
            width = chunk // count
            banks.append(
                Cat(self.place.bank[log2(count) :] == n // count for n in range(BANKS))
                if count < BANKS
                else Const((1 << BANKS) - 1, BANKS)
            )
            bytes_.append(
                Cat(
                    self.place.position[log2(width) :] == n // width for n in range(LEFT_WORD_BYTES)
                )
                if width < LEFT_WORD_BYTES
                else Const((1 << LEFT_WORD_BYTES) - 1, LEFT_WORD_BYTES)
            )
        m.d.comb += [here.eq(Array(banks)[spread]), there.eq(Array(bytes_)[spread])]
        return here, there


class LaneLoader(wiring.Component):
    """Executes LOADs in order; requests of the next overlap with the data of the one before.

    A beat a cycle, or 16 bytes of it; a pause of one cycle between LOADs.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    command: LOADs that hold, and may begin
    request, i: streams of a burst reader
    write, write_ready: to the lanes; a write is done if it is ready while enabled
    done: out, a pulse: the last byte of a LOAD is written
    memory: out; of the LOAD whose data come
    stop: in; forgets everything at the end of the cycle
    busy: out; LOADs are inside
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        request = request_layout(config.addr_bits, request_bits(config))
        super().__init__(
            {
                "command": In(stream.Signature(load_layout(config))),
                "request": Out(stream.Signature(request)),
                "i": In(stream.Signature(data_layout(config.data_bits))),
                "write": Out(write_layout(config)),
                "write_ready": In(1),
                "done": Out(1),
                "memory": Out(range(len(MEMORIES))),
                "stop": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.command_fork = fork = Fork(load_layout(config), 2, eager=True)
        m.submodules.requests = requests = RowRequests(config)
        m.submodules.held = held = SkidBuffer(load_layout(config), clearable=True)
        wiring.connect(m, wiring.flipped(self.command), fork.i)
        asked, kept = fork.o
        shift = log2(config.data_bits // 8)
        rows = asked.payload
        whole = (rows.row_bytes + (config.data_bits // 8 - 1))[shift:]
        fields = {name: rows[name] for name in ("base", "stride", "rows")}
        connect_fields(m, asked, requests.i, **fields, beats=whole)
        wiring.connect(m, kept, held.i)
        wiring.connect(m, requests.request, wiring.flipped(self.request))
        active = Signal()
        deals = self._deal(m, held.o.payload, active)
        m.d.comb += [
            fork.clear.eq(self.stop),
            requests.clear.eq(self.stop),
            held.clear.eq(self.stop),
            self.memory.eq(held.o.payload.memory),
            self.busy.eq(requests.busy | held.o.valid | deals),
        ]
        walk: RowWalk = m.submodules.walk
        finished = Signal()
        m.d.comb += [
            walk.start.eq(held.o.valid & ~active),
            finished.eq(walk.advance & walk.ends),
            held.o.ready.eq(finished),
        ]
        with m.If(self.stop | finished):
            m.d.sync += active.eq(0)
        with m.Elif(held.o.valid):
            m.d.sync += active.eq(1)
        return m

    def _deal(self, m: Module, load: Value, active: Value) -> Value:
        """Beats to chunks, chunks to banks; returns whether a chunk is on its way."""
        config = self._config
        chunk = chunk_bytes(config)
        m.submodules.walk = walk = RowWalk(config, chunk)
        m.submodules.dealer = dealer = Dealer(config)
        layout = data.StructLayout(
            {
                "deal": range(len(DEALS)),
                "memory": range(len(MEMORIES)),
                "place": place_layout(config),
                "data": 8 * chunk,
                "valid": chunk,
                "ends": 1,
            }
        )
        m.submodules.chunk = register = OutputRegister(layout, clearable=True)
        part, beat_end = self._part(m, walk, chunk)
        made, ready = register.o.payload, register.o
        m.d.comb += [walk.rows[name].eq(load[name]) for name, _ in walk.rows.shape()]
        m.d.comb += [
            register.clear.eq(self.stop),
            register.i.valid.eq(self.i.valid & active),
            register.i.payload.deal.eq(load.deal),
            register.i.payload.memory.eq(load.memory),
            register.i.payload.place.eq(walk.place),
            register.i.payload.data.eq(part),
            register.i.payload.valid.eq(Cat(walk.bytes > n for n in range(chunk))),
            register.i.payload.ends.eq(walk.ends),
            walk.advance.eq(register.i.valid & register.i.ready),
            self.i.ready.eq(active & register.i.ready & beat_end),
            dealer.deal.eq(made.deal),
            dealer.memory.eq(made.memory),
            dealer.place.eq(made.place),
            dealer.data.eq(made.data),
            dealer.valid.eq(made.valid),
            self.write.eq(dealer.write),
            self.write.enable.eq(ready.valid),
            ready.ready.eq(self.write_ready),
            self.done.eq(ready.valid & ready.ready & made.ends),
        ]
        return ready.valid

    def _part(self, m: Module, walk: RowWalk, chunk: int) -> tuple[Value, Value]:
        """Selects the chunk of the beat; returns it and whether it is the last valid one."""
        beat = self._config.data_bits // 8
        if beat == chunk:
            whole: Value = self.i.payload.data
            return whole, Const(1)
        index = walk.at[log2(chunk) : log2(beat)]
        part = self.i.payload.data.word_select(index, 8 * chunk)
        return part, walk.row_end | index.all()
