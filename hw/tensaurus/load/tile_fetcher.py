"""Reads the list of tiles, and hands each tile to all that work on it."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...axi.layouts import supervise
from ...channels.channel_of_row import ChannelOfRow
from ...channels.striped_reader import StripedReader
from ...spec.jobs.tensaurus_operations import TILE_BYTES, TILE_WORDS
from ...spec.tensaurus import KERNELS, TensaurusConfig
from ...stream.fork_join import Fork
from ...stream.gearbox import Gearbox
from ...stream.stream_registers import SkidBuffer
from ..layouts import job_layout, tile_layout
from .lines import connect_bus, is_scalar, line_reader, reader_members, row_parts


class TileCheck(wiring.Component):
    """Reads descriptions, rejects faulty ones, and counts a dense slice's elements.

    Some five cycles a tile; of a dense tensor a bit of a size more for each mode behind the first.
    After a tile that is wrong nothing is accepted any more, until ``clear``.

    Wrong are addresses that are no multiples of a line or too wide, those of operands that are
    loaded; such a pitch; an operand of nothing, or beyond its scratchpad, or with more rows than
    were loaded last; no slices, or more than the output buffer holds or an index counts, or, where
    sums are in memory, than are allowed there; no entries; a job's end without that of an output.

    Members
    -------
    job: in; constant from some cycles before the first description on
    words: descriptions, as they are in memory
    o: see ``tile_layout``
    wrong: out; the tile ``number`` is wrong
    start: in, a pulse: tile 0 comes next
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                "job": In(job_layout(config)),
                "words": In(stream.Signature(8 * TILE_BYTES)),
                "o": Out(stream.Signature(tile_layout(config))),
                "wrong": Out(1),
                "number": Out(32),
                "start": In(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        modes = range(1, self._config.order)
        fields = {
            name: self.words.payload[low : low + bits] for name, (low, bits) in TILE_WORDS.items()
        }
        used = {mode: self.job.order > mode for mode in modes}
        final = Signal()
        m.d.comb += final.eq(self.number == self.job.tiles - 1)
        faults = Cat(
            *(self._operand_fault(m, mode, fields) & used[mode] for mode in modes),
            *(self._not_loaded(m, mode, fields) & used[mode] for mode in modes),
            self._slices_fault(m, fields),
            *(
                self._misplaced(fields[name]) & chosen
                for name, chosen in [
                    ("tensor", Const(1)),
                    ("output", Const(1)),
                    ("pitch", self.job.dense),
                    *((f"operand_{mode}", used[mode] & fields["load"][mode - 1]) for mode in modes),
                ]
            ),
            (fields["entries"] == 0) & ~self.job.dense,
            final & ~fields["last"][0],
        )
        fault = Signal()
        m.d.sync += fault.eq(faults.any())
        elements = self._states(m, fields, fault)
        self._offer(m, fields, final, elements)
        return m

    def _states(self, m: Module, fields: dict[str, Value], fault: Value) -> Signal:
        """Computes and returns the product of sizes of a description."""
        config = self._config
        tile = self.o.payload
        bits = len(tile.size_1)
        # Sums and products of the check are behind two registers.
        waited = Signal(2)
        elements = Signal(len(tile.elements))
        product = Signal(len(tile.elements))
        factor = Signal(bits)
        step = Signal(range(bits))
        mode = Signal(range(config.order))
        sizes = {n: fields[f"size_{n}"][:bits] for n in range(1, config.order)}
        following = Signal.like(product)
        m.d.comb += following.eq(product.shift_left(1) + Mux(factor[bits - 1], elements, 0))
        with m.FSM(name="state"):
            with m.State("look"):
                m.d.sync += [waited.eq(waited + self.words.valid), elements.eq(sizes[1])]
                m.d.sync += [mode.eq(2), factor.eq(sizes.get(2, 0))]
                with m.If(waited == 3):
                    with m.If(fault):
                        m.next = "wrong"
                    with m.Elif(self.job.dense & (self.job.order > 2)):
                        m.next = "multiply"
                    with m.Else():
                        m.next = "offer"
                self._forget(m)
            with m.State("multiply"):
                m.d.sync += [
                    product.eq(following),
                    factor.eq(factor.shift_left(1)),
                    step.eq(step + 1),
                ]
                with m.If(step == bits - 1):
                    m.d.sync += [elements.eq(following), product.eq(0), step.eq(0)]
                    m.d.sync += [mode.eq(mode + 1), factor.eq(sizes.get(3, 0))]
                    with m.If(mode == self.job.order - 1):
                        m.next = "offer"
                self._forget(m)
            with m.State("offer"):
                m.d.comb += [self.o.valid.eq(1), self.words.ready.eq(self.o.ready)]
                with m.If(self.o.ready):
                    m.d.sync += self.number.eq(self.number + 1)
                    m.next = "look"
                self._forget(m)
            with m.State("wrong"):
                m.d.comb += self.wrong.eq(1)
                self._forget(m)
        with m.If(self.clear):
            m.d.sync += [waited.eq(0), product.eq(0), step.eq(0)]
        with m.If(self.start):
            m.d.sync += self.number.eq(0)
        return elements

    def _forget(self, m: Module) -> None:
        """Returns to the first state on ``clear``, from any state."""
        with m.If(self.clear):
            m.next = "look"

    def _offer(self, m: Module, fields: dict[str, Value], final: Value, elements: Value) -> None:
        tile = self.o.payload
        for name, field in fields.items():
            m.d.comb += tile[name].eq(field)
        m.d.comb += [
            tile.number.eq(self.number),
            tile.final.eq(final),
            tile.elements.eq(elements),
        ]

    def _misplaced(self, address: Value) -> Value:
        """Returns whether an address is not at the beginning of a line, or has too many bits."""
        config = self._config
        line = config.line_bytes
        return address[: line.bit_length() - 1].any() | address[config.addr_bits :].any()

    def _operand_fault(self, m: Module, mode: int, fields: dict[str, Value]) -> Value:
        """Returns whether an operand is empty, or exceeds its scratchpad."""
        config, job = self._config, self.job
        size, region = fields[f"size_{mode}"], getattr(job, f"region_{mode}")
        most = min(config.spm_scalars, 1 << config.index_bits)
        bits = config.spm_scalars.bit_length()
        factor = Signal.like(job.vectors, name=f"parts_{mode}")
        scalar = Signal(name=f"scalar_{mode}")
        product = Signal(bits + len(factor), name=f"product_{mode}")
        end = Signal(max(len(product), len(region)) + 1, name=f"end_{mode}")
        limit = Mux(scalar, config.spm_scalars, config.spm_units)
        m.d.sync += [
            scalar.eq(is_scalar(job, mode)),
            factor.eq(row_parts(job, mode)),
            product.eq(size[:bits] * factor),
            end.eq(product + region),
        ]
        return (
            (size == 0)
            | (size > most)
            | (end > limit)
            | (scalar & self._unaligned(m, mode, region))
        )

    def _not_loaded(self, m: Module, mode: int, fields: dict[str, Value]) -> Value:
        """Returns whether the tile uses rows of an operand that no tile of the job has loaded."""
        loads, size = fields["load"][mode - 1], self.o.payload[f"size_{mode}"]
        there = Signal(len(size), name=f"loaded_{mode}")
        with m.If(self.start):
            m.d.sync += there.eq(0)
        with m.Elif(self.o.valid & self.o.ready & loads):
            m.d.sync += there.eq(size)
        return ~loads & (size > there)

    def _unaligned(self, m: Module, mode: int, region: Value) -> Value:
        """Returns whether scalars do not begin with a vector."""
        config = self._config
        m.submodules[f"vector_{mode}"] = vector = ChannelOfRow(
            config.spm_scalars.bit_length(), config.vlen, 1
        )
        m.d.comb += [
            vector.i.valid.eq(1),
            vector.i.payload.row.eq(region),
            vector.o.ready.eq(1),
            vector.clear.eq(0),
        ]
        if config.vlen == 1:
            return Const(0)
        return vector.o.payload.channel != 0

    def _slices_fault(self, m: Module, fields: dict[str, Value]) -> Value:
        """Returns whether a tile has no slices, or more than the output buffer can hold."""
        config, job = self._config, self.job
        slices = fields["slices"]
        buffered = min(config.out_units * config.unit_values, 1 << config.index_bits)
        most = Mux(job.direct, config.memory_slices, buffered)
        bits = config.slice_numbers.bit_length()
        pair = Signal(range(max(config.tlen, config.olen) + 1))
        units = Signal.like(pair)
        product = Signal(bits + len(units), name="slices_units")
        mv = job.kernel == KERNELS.index("mv")
        m.d.sync += [
            pair.eq(job.scalars_1 * job.scalars_2),
            units.eq(pair * job.vectors),
            product.eq(slices[:bits] * units),
        ]
        too_many = ~mv & ~job.direct & (product > config.out_units)
        return (slices == 0) | (slices > most) | too_many


USERS = ("matrices", "tensor", "store")
"""Receivers of each tile."""

_BLOCKS = 2
"""Slots of a channel: a description is short."""


class TileFetcher(wiring.Component):
    """Prefetches descriptions, checks them (:class:`TileCheck`) and offers each tile to its users.

    Each user has room for two tiles that wait for it.

    Members
    -------
    job: in; constant from ``start`` on
    start: in, a pulse when ``idle``
    tiles: array of streams, by ``USERS``, see ``tile_layout``
    wrong, number: out; the tile ``number`` is wrong: those before it go to all users, it does not,
        and nothing behind it; until ``stop``
    ar, r: the bus, arrays by channel
    stop, idle, error, error_address: see ``Supervision``; ``idle``: all tiles were taken
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self._config = config
        super().__init__(
            {
                "job": In(job_layout(config)),
                "start": In(1),
                "tiles": Out(stream.Signature(tile_layout(config))).array(len(USERS)),
                "wrong": Out(1),
                "number": Out(32),
                **reader_members(config),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.reader = reader = line_reader(self._config, _BLOCKS, requests=2)
        m.submodules.words = words = Gearbox(config.line_bytes, (TILE_BYTES,), 32)
        m.submodules.check = check = TileCheck(config)
        m.submodules.fork = fork = Fork(tile_layout(config), len(USERS), eager=True)
        wiring.connect(m, check.o, fork.i)
        for index, (user, tiles) in enumerate(zip(USERS, self.tiles, strict=True)):
            queue = SkidBuffer(tile_layout(config), clearable=True)
            m.submodules[f"{user}_queue"] = queue
            wiring.connect(m, fork.o[index], queue.i)
            wiring.connect(m, queue.o, wiring.flipped(tiles))
            m.d.comb += queue.clear.eq(self.stop)
        busy = Signal()
        m.d.comb += [
            words.clear.eq(self.stop),
            check.clear.eq(self.stop),
            fork.clear.eq(self.stop),
            check.job.eq(self.job),
            check.start.eq(self.start),
            words.lines.valid.eq(reader.o.valid),
            reader.o.ready.eq(words.lines.ready),
            words.lines.payload.eq(reader.o.payload.data),
            check.words.valid.eq(words.o.valid),
            words.o.ready.eq(check.words.ready),
            check.words.payload.eq(words.o.payload.data),
            self.wrong.eq(check.wrong),
            self.number.eq(check.number),
        ]
        self._request(m, reader, words)
        with m.If(self.start):
            m.d.sync += busy.eq(1)
        with m.Elif(check.o.valid & check.o.ready & check.o.payload.final):
            m.d.sync += busy.eq(0)
        with m.If(self.stop):
            m.d.sync += busy.eq(0)
        supervise(m, self, [reader], busy=busy | Cat(tiles.valid for tiles in self.tiles).any())
        connect_bus(m, self, reader)
        return m

    def _request(self, m: Module, reader: StripedReader, words: Gearbox) -> None:
        """The whole list."""
        asks = Signal()
        cuts = Signal()
        m.d.comb += [
            reader.request.valid.eq(asks),
            reader.request.payload.address.eq(self.job.list),
            reader.request.payload.bytes.eq(self.job.tiles * TILE_BYTES),
            words.request.valid.eq(cuts),
            words.request.payload.count.eq(self.job.tiles),
        ]
        with m.If(self.start):
            m.d.sync += [asks.eq(1), cuts.eq(1)]
        with m.Else():
            with m.If(reader.request.ready):
                m.d.sync += asks.eq(0)
            with m.If(words.request.ready):
                m.d.sync += cuts.eq(0)
        with m.If(self.stop):
            m.d.sync += [asks.eq(0), cuts.eq(0)]
