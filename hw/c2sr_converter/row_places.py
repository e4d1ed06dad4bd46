"""Places rows in the result, checks that they fit, and distributes them over the lanes."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..channels.channel_of_row import ChannelOfRow
from ..spec.c2sr_converter import C2srConverterConfig
from ..stream.fork_join import Fork, connect_fields
from ..stream.stream_registers import OutputRegister, SkidBuffer
from .found_rows import found_rows_layout

_BITS = 32
_END_BITS = _BITS + 2


def _entry_bits(config: C2srConverterConfig) -> int:
    return (config.layout.block_entries - 1).bit_length()


def place_layout(config: C2srConverterConfig) -> data.StructLayout:
    """Place of an entry: ``channel``, ``block`` of the channel's array, and ``entry`` there."""
    entry = _entry_bits(config)
    return data.StructLayout(
        {"entry": entry, "block": _BITS - entry, "channel": config.layout.channel_bits}
    )


def lane_row_layout(config: C2srConverterConfig) -> data.StructLayout:
    """A row with entries: its ``length``, and where its first entry is in CSR (``flat``) and in
    C2SR (``own``)."""
    place = place_layout(config)
    return data.StructLayout({"length": _BITS, "flat": place, "own": place})


def placed_row_layout() -> data.StructLayout:
    """A row: ``length``; ``pointer`` where it is read, ``begin`` where it is written."""
    return data.StructLayout({"length": _BITS, "pointer": _BITS, "begin": _BITS})


def placed_rows_layout(config: C2srConverterConfig) -> data.StructLayout:
    """Rows as in ``found_rows_layout``, and the ``channel`` of the first; ``end``: where the last
    of them ends."""
    rows = data.ArrayLayout(placed_row_layout(), config.step_rows)
    return data.StructLayout(
        {
            "rows": rows,
            "some": config.step_rows,
            "last": 1,
            "channel": config.layout.channel_bits,
            "end": _BITS,
        }
    )


class RowPlaces(wiring.Component):
    """Computes where each row begins in the result: in C2SR by the sum of the lengths of the
    channel's rows before it, in CSR by that of all rows before it. ``step_rows`` rows per cycle,
    latency four cycles.

    A row that is wrong, or has entries after ``capacity``, sets ``unsorted`` or ``region``.
    Neither it nor any row of its step or of later ones leaves; the first such row is reported.

    Members
    -------
    start: in, a pulse while nothing is inside
    to_csr: in; direction of the job; constant from ``start`` on
    capacity: in; entries of the result, in C2SR of each channel; likewise
    i: see ``found_rows_layout``
    o: see :func:`placed_rows_layout`
    unsorted, region: out; until ``start`` or ``clear``
    row: out; the row of either
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "to_csr": In(1),
                "capacity": In(_BITS),
                "i": In(stream.Signature(found_rows_layout(config))),
                "o": Out(stream.Signature(placed_rows_layout(config))),
                "unsorted": Out(1),
                "region": Out(1),
                "row": Out(_BITS),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ended = self._end(m, self._sum(m))
        checked = self._check(m, ended)
        self._report(m, checked)
        return m

    def _stage(self, m: Module, name: str, **fields: ShapeLike) -> OutputRegister:
        """A stage that has the rows, and more."""
        layout = data.StructLayout({"found": found_rows_layout(self._config), **fields})
        m.submodules[name] = stage = OutputRegister(layout, clearable=True)
        m.d.comb += stage.clear.eq(self.clear)
        return stage

    def _sum(self, m: Module) -> OutputRegister:
        """The rows, and ``total``, the sum of their lengths."""
        m.submodules.taken = taken = SkidBuffer(self.i.payload.shape(), clearable=True)
        wiring.connect(m, wiring.flipped(self.i), taken.i)
        m.d.comb += taken.clear.eq(self.clear)
        stage = self._stage(m, "summed", total=_BITS + 1)
        rows = taken.o.payload.rows
        total = sum((row.length for row in rows), start=0)
        connect_fields(m, taken.o, stage.i, found=taken.o.payload, total=total)
        return stage

    def _end(self, m: Module, source: OutputRegister) -> OutputRegister:
        """Where each row begins and ends."""
        config, step = self._config, self._config.step_rows
        counts = range(config.channels // step)
        stage = self._stage(
            m,
            "ended",
            begins=data.ArrayLayout(_BITS, step),
            ends=data.ArrayLayout(_END_BITS, step),
            channel=config.layout.channel_bits,
        )
        moved = Signal()
        number = Signal(range(max(2, len(counts))))
        channel = Signal(config.layout.channel_bits)
        csr_end = Signal(_BITS)
        found, total = source.o.payload.found, source.o.payload.total
        ends: list[Value] = []
        begins: list[Value] = []
        for index, row in enumerate(found.rows):
            ends_of = [Signal(_BITS, name=f"end_{index}_{at}") for at in counts]
            begin = Signal(_BITS, name=f"begin_{index}")
            add = row.length if index == 0 else Mux(self.to_csr, total, row.length)
            end = Signal(_END_BITS, name=f"row_end_{index}")
            m.d.comb += [
                begin.eq(Mux(self.to_csr, csr_end, Array(ends_of)[number])),
                end.eq(begin + add),
            ]
            with m.If(moved):
                m.d.sync += Array(ends_of)[number].eq(end)
            with m.If(self.start):
                m.d.sync += [each.eq(0) for each in ends_of]
            begins.append(begin if index == 0 else Mux(self.to_csr, ends[0], begin))
            ends.append(end)
        connect_fields(m, source.o, stage.i, found=found, channel=channel)
        m.d.comb += moved.eq(source.o.valid & source.o.ready)
        for index in range(step):
            m.d.comb += [
                stage.i.payload.begins[index].eq(begins[index]),
                stage.i.payload.ends[index].eq(ends[index]),
            ]
        with m.If(moved):
            m.d.sync += [csr_end.eq(ends[-1]), number.eq(number + 1), channel.eq(channel + step)]
            with m.If(channel == config.channels - step):
                m.d.sync += [number.eq(0), channel.eq(0)]
        with m.If(self.start):
            m.d.sync += [csr_end.eq(0), number.eq(0), channel.eq(0)]
        return stage

    def _check(self, m: Module, source: OutputRegister) -> OutputRegister:
        """The rows, and which of them are ``over`` the capacity."""
        step = self._config.step_rows
        stage = self._stage(m, "checked", over=step, placed=self.o.payload.shape())
        known = source.o.payload
        over = [
            known.found.some[index] & (row.length != 0) & (known.ends[index] > self.capacity)
            for index, row in enumerate(known.found.rows)
        ]
        connect_fields(m, source.o, stage.i, found=known.found, over=Cat(over))
        placed = stage.i.payload.placed
        for index, row in enumerate(known.found.rows):
            m.d.comb += [
                placed.rows[index].length.eq(row.length),
                placed.rows[index].pointer.eq(row.pointer),
                placed.rows[index].begin.eq(known.begins[index]),
            ]
        end: Value = known.ends[0]
        for index in range(1, step):
            end = Mux(known.found.some[index], known.ends[index], end)
        m.d.comb += [
            placed.some.eq(known.found.some),
            placed.last.eq(known.found.last),
            placed.channel.eq(known.channel),
            placed.end.eq(end),
        ]
        return stage

    def _report(self, m: Module, source: OutputRegister) -> None:
        """Sends the rows if all are right; else remembers the first that is not."""
        step, known = self._config.step_rows, source.o.payload
        wrong = Cat(row.wrong for row in known.found.rows) & known.found.some
        failed = Signal()
        done = Signal(_BITS, name="rows_done")
        m.d.comb += [
            failed.eq((wrong | known.over).any()),
            self.o.valid.eq(source.o.valid & ~failed),
            source.o.ready.eq(self.o.ready & ~failed),
            self.o.payload.eq(known.placed),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += done.eq(done + step)
        with m.If(source.o.valid & failed & ~self.unsorted & ~self.region):
            for index in reversed(range(step)):
                with m.If(wrong[index] | known.over[index]):
                    m.d.sync += [
                        self.unsorted.eq(wrong[index]),
                        self.region.eq(~wrong[index]),
                        self.row.eq(done + index),
                    ]
        with m.If(self.start | self.clear):
            m.d.sync += [self.unsorted.eq(0), self.region.eq(0), done.eq(0)]


def _slot_layout(config: C2srConverterConfig) -> data.StructLayout:
    """A row on its way to its lane, if it has entries (``some``); whether its step is the
    ``last``; the ``group`` of ``step_rows`` lanes that its lane is in."""
    groups = config.lane_count // config.step_rows
    group: dict[str, ShapeLike] = {"group": (groups - 1).bit_length()} if groups > 1 else {}
    return data.StructLayout(
        {"length": _BITS, "own": place_layout(config), "some": 1, "last": 1, **group}
    )


class RowDealer(wiring.Component):
    """Distributes placed rows: all to the index of the result, each with entries to its lane.

    A lane that accepts no row holds up all later rows. ``step_rows`` rows per cycle.

    Members
    -------
    to_csr: in; direction of the job; constant
    start: in, a pulse while nothing is inside
    i: see :func:`placed_rows_layout`
    index: out; all of them
    o: array of streams, see :func:`lane_row_layout`, one for each lane
    ended: out; the last row has reached its lane
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: C2srConverterConfig) -> None:
        self._config = config
        rows = stream.Signature(placed_rows_layout(config))
        lane = stream.Signature(lane_row_layout(config))
        super().__init__(
            {
                "to_csr": In(1),
                "start": In(1),
                "i": In(rows),
                "index": Out(rows),
                "o": Out(lane).array(config.lane_count),
                "ended": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        step = self._config.step_rows
        m.submodules.taken = taken = SkidBuffer(self.i.payload.shape(), clearable=True)
        m.submodules.fork = fork = Fork(self.i.payload.shape(), step + 1, eager=True)
        wiring.connect(m, wiring.flipped(self.i), taken.i)
        wiring.connect(m, taken.o, fork.i)
        m.d.comb += [taken.clear.eq(self.clear), fork.clear.eq(self.clear)]
        *slots, index = fork.o
        wiring.connect(m, index, wiring.flipped(self.index))
        ended = [self._slot(m, number, source) for number, source in enumerate(slots)]
        m.d.comb += self.ended.eq(Cat(ended).all())
        return m

    def _slot(self, m: Module, number: int, source: Any) -> Value:
        """The way of a step's rows of a number; returns whether the last has gone."""
        config = self._config
        rows, row = source.payload, source.payload.rows[number]
        entry_bits = _entry_bits(config)
        m.submodules[f"divide_{number}"] = divide = ChannelOfRow(
            _BITS - entry_bits, config.channels, self._carried()
        )
        m.submodules[f"row_{number}"] = ready = SkidBuffer(self._ready(), clearable=True)
        # Of both forms, CSR is where channels follow from the entry's number.
        flat = Mux(self.to_csr, row.begin, row.pointer)
        own = Mux(self.to_csr, row.pointer, row.begin)
        carried, slot = divide.i.payload.carried, divide.i.payload.carried.slot
        m.d.comb += [
            divide.clear.eq(self.clear),
            ready.clear.eq(self.clear),
            divide.i.valid.eq(source.valid),
            source.ready.eq(divide.i.ready),
            divide.i.payload.row.eq(flat[entry_bits:]),
            carried.entry.eq(flat[:entry_bits]),
            slot.length.eq(row.length),
            slot.own.entry.eq(own[:entry_bits]),
            slot.own.block.eq(own[entry_bits:]),
            slot.own.channel.eq(rows.channel + number),
            slot.some.eq(rows.some[number] & (row.length != 0)),
            slot.last.eq(rows.last),
        ]
        if "group" in slot.shape().members:
            groups = [
                channel % config.lane_count // config.step_rows
                for channel in range(config.channels)
            ]
            m.d.comb += slot.group.eq(
                Array(Const(group, len(slot.group)) for group in groups)[rows.channel]
            )
        located = divide.o.payload
        connect_fields(m, divide.o, ready.i, slot=located.carried.slot)
        m.d.comb += [
            ready.i.payload.flat.entry.eq(located.carried.entry),
            ready.i.payload.flat.block.eq(located.index),
            ready.i.payload.flat.channel.eq(located.channel),
        ]
        return self._deliver(m, number, ready.o)

    def _carried(self) -> data.StructLayout:
        entry_bits = _entry_bits(self._config)
        return data.StructLayout({"slot": _slot_layout(self._config), "entry": entry_bits})

    def _ready(self) -> data.StructLayout:
        layout = {"slot": _slot_layout(self._config), "flat": place_layout(self._config)}
        return data.StructLayout(layout)

    def _deliver(self, m: Module, number: int, source: Any) -> Value:
        """Sends a slot's rows to their lanes."""
        step = self._config.step_rows
        slot, flat = source.payload.slot, source.payload.flat
        lanes = self.o[number::step]
        ended = Signal(name=f"ended_{number}")
        group: Any = slot.group if len(lanes) > 1 else 0
        readies = Array(lane.ready for lane in lanes)
        m.d.comb += source.ready.eq(~slot.some | readies[group])
        for index, lane in enumerate(lanes):
            m.d.comb += [
                lane.valid.eq(source.valid & slot.some & (group == index)),
                lane.payload.length.eq(slot.length),
                lane.payload.own.eq(slot.own),
                lane.payload.flat.eq(flat),
            ]
        with m.If(self.start | self.clear):
            m.d.sync += ended.eq(0)
        with m.Elif(source.valid & source.ready & slot.last):
            m.d.sync += ended.eq(1)
        return ended
