"""Takes jobs from the registers, checks them, and starts, ends and stops them."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..channels.c2sr_row_writer import lane_channel, lane_share
from ..job.checks import first_broken
from ..job.states import JobStates, code_shape, control_members, first_failure, run_states
from ..spec.jobs.matraptor import job_spec
from ..spec.matraptor import MatRaptorConfig
from .layouts import job_layout, row_layout

COUNT_BITS = 32
_B = ("b_pairs", "b_entries", "b_rows")
"""Registers that say where B is."""
_CACHED = ("b_pairs", "b_entries", "c_pairs", "c_entries")
"""Bases of what is in the cache, or drops blocks of it."""


def walk_layout(config: MatRaptorConfig) -> data.StructLayout:
    """A row, its ``channel``, whether it is the ``first`` of the lane in its block of pairs, and
    whether it is the ``last`` of the lane."""
    return data.StructLayout(
        {"row": row_layout(config), "channel": config.layout.channel_bits, "first": 1, "last": 1}
    )


class RowWalk(wiring.Component):
    """Walks the rows whose number modulo the number of lanes is the lane's.

    They come by blocks of pairs: of a block, the lane's channels in turn; of a channel, its rows
    in order. One row a cycle, the first in the cycle after ``start``.

    Source: MatRaptor, section on the sparse matrix format.

    Members
    -------
    start: in, a pulse while no row is left
    clear: in; forgets all rows at the end of the cycle
    lane: in; the lane's number
    rows, rows_in_lane: in; of the matrix, and those of them that are the lane's; constant
    o: see :func:`walk_layout`
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        super().__init__(
            {
                "start": In(1),
                "clear": In(1),
                "lane": In(config.lane_bits),
                "rows": In(COUNT_BITS),
                "rows_in_lane": In(COUNT_BITS),
                "o": Out(stream.Signature(walk_layout(config))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        left = Signal(COUNT_BITS)
        moved = Signal()
        row = self.o.payload
        m.d.comb += [
            self.o.valid.eq(left != 0),
            moved.eq(self.o.valid & self.o.ready),
            row.last.eq(left == 1),
        ]
        with m.If(self.start):
            m.d.sync += left.eq(self.rows_in_lane)
        with m.Elif(moved):
            m.d.sync += left.eq(left - 1)
        with m.If(self.clear):
            m.d.sync += left.eq(0)
        if self._config.lane_channels == 1:
            self._walk_channel(m, moved)
        else:
            self._walk_channels(m, moved)
        return m

    def _walk_channel(self, m: Module, moved: Value) -> None:
        """All rows in one channel, which other lanes may share."""
        config, row = self._config, self.o.payload
        index = Signal(config.index_bits, reset_less=True)
        following = Signal(config.index_bits)
        first = Signal(reset_less=True)
        block = (config.layout.block_pairs - 1).bit_length()
        m.d.comb += [
            following.eq(index + config.channel_lanes),
            row.row.index.eq(index),
            row.first.eq(first),
            row.channel.eq(lane_channel(config.lane_map, self.lane, row.row)),
        ]
        with m.If(self.start):
            m.d.sync += [index.eq(lane_share(config.lane_map, self.lane)), first.eq(1)]
        with m.Elif(moved):
            m.d.sync += [index.eq(following), first.eq(index[block:] != following[block:])]

    def _walk_channels(self, m: Module, moved: Value) -> None:
        """Walks rows in several channels, each of which belongs to the lane alone."""
        config, row = self._config, self.o.payload
        block = (config.layout.block_pairs - 1).bit_length()
        # The row's number, with room beyond the last one for the block that would be next.
        bits = COUNT_BITS + 1 + (config.layout.block_pairs * config.channels).bit_length()
        index = Signal(config.index_bits, reset_less=True)
        slot = Signal((config.lane_channels - 1).bit_length(), reset_less=True)
        channel = Signal(len(row.channel), reset_less=True)
        number = Signal(bits, reset_less=True)
        first_number = Signal(bits, reset_less=True)
        beyond = Signal(bits)
        other = Signal(bits)
        block_ends = Signal()
        last_slot = Signal()
        step = (config.layout.block_pairs - 1) * config.channels + config.lanes
        m.d.comb += [
            row.row.index.eq(index),
            row.row.slot.eq(slot),
            row.channel.eq(channel),
            row.first.eq(index[:block] == 0),
            beyond.eq(number + config.channels),
            block_ends.eq(index[:block].all() | (beyond >= self.rows)),
            last_slot.eq(slot == config.lane_channels - 1),
            other.eq(first_number + Mux(last_slot, step, config.lanes)),
        ]
        with m.If(self.start):
            m.d.sync += [index.eq(0), slot.eq(0), channel.eq(self.lane)]
            m.d.sync += [number.eq(self.lane), first_number.eq(self.lane)]
        with m.Elif(moved & block_ends):
            begun = Cat(Const(0, block), index[block:] + last_slot)
            m.d.sync += [index.eq(begun), number.eq(other), first_number.eq(other)]
            with m.If(last_slot):
                m.d.sync += [slot.eq(0), channel.eq(self.lane)]
            with m.Else():
                m.d.sync += [slot.eq(slot + 1), channel.eq(channel + config.lanes)]
        with m.Elif(moved):
            m.d.sync += [index.eq(index + 1), number.eq(beyond)]


_BITS = 32


class LaneRows(wiring.Component):
    """Divides the rows among the lanes: lane ``n`` has rows ``n``, ``n + lanes`` and so on.

    Source: MatRaptor, section on the sparse matrix format.

    Parameters
    ----------
    lanes: number of lanes, at least 1

    Members
    -------
    start: pulse: divide
    rows: sampled with ``start``
    ready: the counts are there: 33 cycles after ``start``, or one if ``lanes`` is a power of two
    counts: rows of each lane
    """

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        super().__init__(
            {
                "start": In(1),
                "rows": In(_BITS),
                "ready": Out(1),
                "counts": Out(data.ArrayLayout(_BITS, lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = self._lanes
        shift = lanes.bit_length() - 1
        quotient: Value
        rest: Value
        if lanes == 1 << shift:
            rows = Signal(_BITS)
            with m.If(self.start):
                m.d.sync += rows.eq(self.rows)
            m.d.comb += self.ready.eq(1)
            quotient, rest = rows[shift:], rows[:shift]
        else:
            quotient, rest = self._divide(m)
        for lane in range(lanes):
            # The rest is less than the number of lanes.
            count = quotient + (rest > lane) if lane < lanes - 1 else quotient
            m.d.comb += self.counts[lane].eq(count)
        return m

    def _divide(self, m: Module) -> tuple[Value, Value]:
        """A bit of the quotient a cycle, the highest one first."""
        left = Signal(range(_BITS + 1))
        # The bits of the quotient take the place of those of the dividend.
        quotient = Signal(_BITS)
        rest = Signal(range(self._lanes))
        following = Signal(range(2 * self._lanes))
        fits = Signal()
        m.d.comb += [
            following.eq(Cat(quotient[-1], rest)),
            fits.eq(following >= self._lanes),
            self.ready.eq(left == 0),
        ]
        with m.If(self.start):
            m.d.sync += [left.eq(_BITS), quotient.eq(self.rows), rest.eq(0)]
        with m.Elif(~self.ready):
            m.d.sync += [
                left.eq(left - 1),
                quotient.eq(Cat(fits, quotient)),
                rest.eq(Mux(fits, following - self._lanes, following)),
            ]
        return quotient, rest


def is_multiple(value: Value, odd: int) -> Value:
    """Returns whether a value is a multiple of an odd number below 16, as its sum of digits is."""
    if odd == 1:
        return Const(1)
    digit = next(bits for bits in range(1, odd) if (1 << bits) % odd == 1)
    total = value
    while len(total) > digit + 1:
        digits = [total[low : low + digit] for low in range(0, len(total), digit)]
        most = len(digits) * ((1 << digit) - 1)
        total = sum(digits, Const(0))[: most.bit_length()]
    return total % odd == 0


def failure_layout(config: MatRaptorConfig) -> data.StructLayout:
    """Why a lane cannot go on: ``code`` (0: it can), and the ``address`` on the bus or the ``row``,
    whichever belongs to the code."""
    return data.StructLayout(
        {
            "code": code_shape(job_spec(config)),
            "address": config.addr_bits,
            "row": row_layout(config),
        }
    )


class Control(wiring.Component):
    """Controls the state of the accelerator, see :class:`JobStates`.

    ``start`` takes the job registers, which are free for the next job at once. Their check is
    that of ``hw/spec/jobs/matraptor.py``.

    Parameters
    ----------
    config: see :class:`MatRaptorConfig`

    Members
    -------
    the job registers, as :class:`AxiLiteRegisters` names them
    start, soft_reset: pulses, as written to CTRL; soft_reset wins
    failures: of each lane, see :func:`failure_layout`; held until ``stop``
    write_error, write_address: of the bus, held until ``stop``
    finished: all lanes have written their rows, and nothing is in flight
    quiet: nothing is in flight on the bus
    job: the current job, constant while it runs
    flush: with a cache of B, a pulse with ``go`` unless its blocks are kept
    lane_rows: how many rows of it each lane has
    taken, go, stop, busy, done, error, code, detail: see :class:`JobStates`
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self._config = config
        self._spec = job_spec(config)
        super().__init__(
            {
                **control_members(self._spec),
                "failures": In(data.ArrayLayout(failure_layout(config), config.lanes)),
                "write_error": In(1),
                "write_address": In(config.addr_bits),
                "job": Out(job_layout(config)),
                "lane_rows": Out(data.ArrayLayout(32, config.lanes)),
                **({"flush": Out(1)} if config.cache_bytes else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self._config
        m.submodules.lane_counts = rows = LaneRows(config.lanes)
        wrong = first_broken(m, self._spec, self)
        failed = self._failure(m)
        states = run_states(m, self, wrong, failed, rows.ready, registered=True)
        no_end = self.end_column == 0
        m.d.comb += [
            rows.start.eq(states.taken),
            rows.rows.eq(self.rows),
            self.lane_rows.eq(rows.counts),
        ]
        with m.If(states.taken):
            for name in self._spec.members:
                # The end of all columns is one that they do not reach.
                end = name == "end_column"
                value = Cat(self.end_column, no_end) if end else getattr(self, name)
                m.d.sync += self.job[name].eq(value)
            m.d.sync += self.job.ranged.eq(self._ranged(no_end))
        if config.cache_bytes:
            self._keep(m, states)
        return m

    def _in_channels(self) -> Value:
        """Whether the arrays begin with a stripe: a block is in the cache of one channel."""
        config = self._config
        number, blocks = config.channels, 0
        while number % 2 == 0:
            number, blocks = number // 2, blocks + 1
        low = (config.interleave << blocks).bit_length() - 1
        names = (*_CACHED, "b_values") if config.csr else _CACHED
        bases = [self.job[name] for name in names]
        aligned = [base[:low] == 0 for base in bases]
        return Cat(*aligned, *(is_multiple(base[low:], number) for base in bases)).all()

    def _ranged(self, no_end: Value) -> Value:
        """Whether a job of rows leaves out columns of B."""
        some = (self.first_column != 0) | ~no_end
        return some & ~self.mode if self._config.outer_product else some

    def _keep(self, m: Module, states: JobStates) -> None:
        """Whether cached blocks of B outlive the start of a job: its driver says so, B is at the
        place of that of the last job, and all has gone well since."""
        kept = Signal()
        spoiled = Signal(init=1)
        names = (*_B, "b_values", "b_format") if self._config.csr else _B
        same = [self.job[name] == getattr(self, name) for name in names]
        with m.If(states.taken):
            m.d.sync += kept.eq(self.keep & Cat(same).all())
        m.d.comb += self.flush.eq(states.go & (~kept | spoiled))
        with m.If(states.go):
            m.d.sync += spoiled.eq(~self._in_channels())
        with m.If(self.soft_reset | states.error):
            m.d.sync += spoiled.eq(1)

    def _failure(self, m: Module) -> tuple[Value, Value]:
        """The code (0: none) and the detail of the first lane that cannot go on."""
        config, spec = self._config, self._spec
        lane = Signal(range(max(2, config.lanes)))
        code = Signal(code_shape(spec))
        row = Signal(row_layout(config))
        for number in reversed(range(config.lanes)):
            failure = self.failures[number]
            with m.If(failure.code != 0):
                m.d.comb += [lane.eq(number), code.eq(failure.code), row.eq(failure.row)]
        addresses = Array(failure.address for failure in self.failures)
        on_bus = (code == spec.code("bus_read")) | (code == spec.code("bus_write"))
        channel = lane_channel(config.lane_map, lane, row)
        detail = Mux(on_bus, addresses[lane], row.index * config.channels + channel)
        write = (self.write_error, spec.code("bus_write"), self.write_address)
        # A lane's code is not known beforehand.
        found_code, found_detail = first_failure(m, spec, "bus", [write])
        with m.If(code != 0):
            m.d.comb += [found_code.eq(code), found_detail.eq(detail)]
        return found_code, found_detail
