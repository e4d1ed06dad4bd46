"""The elements of both vectors that the rows of sets name."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Member, Out

from ...job.activity import ones
from ...spec.sida import DELAY, SidaConfig
from ...stream.ring import moved_count, ring_address
from ...stream.stream_registers import OutputRegister
from ..elementwise.layouts import values_layout
from ..layouts import count_bits, gathered_layout, set_layout
from .miss_table import MissTable, RowLane
from .vector_banks import WAYS, VectorBanks, row_request_layout, vector_write_layout
from .window_layouts import (
    blocks,
    fetch_layout,
    place_of_line,
    report_layout,
    tag_bits,
    tag_layout,
    tag_write_layout,
)


class WindowTags(wiring.Component):
    """Looks up which block is at each bank's place, and answers the lanes a cycle later.

    Each bank has tags of its own, all alike, since each reads another line.

    Parameters
    ----------
    config: of the accelerator, whose vectors are in memory

    Members
    -------
    lines: in; by bank, what it reads
    requests: in; by lane; see :class:`VectorBanks`
    waits: in; by lane: its request of the cycle before was granted, and it waits for the answer
    hits: out; by lane, of that request: what was wanted is there
    reports: out; by bank, see :func:`report_layout`, of those that wait
    write: in; see :func:`tag_write_layout`
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        self._lanes = lanes = WAYS * config.pes
        request = row_request_layout(config)
        banks = config.gather_banks
        super().__init__(
            {
                "lines": In(data.ArrayLayout(request["line"].shape, banks)),
                "requests": In(data.ArrayLayout(request, lanes)),
                "waits": In(lanes),
                "hits": Out(lanes),
                "reports": Out(data.ArrayLayout(report_layout(config), banks)),
                "write": In(tag_write_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        banks = self.config.gather_banks
        found = [self._look_up(m, bank) for bank in range(banks)]
        has_x, has_z = (Array(pair[n] for pair in found) for n in range(2))
        served = []
        missed = []
        misses_z = []
        for lane in range(self._lanes):
            request, waits = self.requests[lane], self.waits[lane]
            bank = Signal.like(request.bank, name=f"bank_of_{lane}", reset_less=True)
            wants_z = Signal(name=f"lane_{lane}_wants_z", reset_less=True)
            lacks_z = Signal(name=f"lane_{lane}_lacks_z")
            m.d.sync += [bank.eq(request.bank), wants_z.eq(request.z)]
            m.d.comb += [
                lacks_z.eq(wants_z & ~has_z[bank]),
                self.hits[lane].eq(has_x[bank] & ~lacks_z),
            ]
            of = [waits & (bank == number) for number in range(banks)]
            served.append([mine & self.hits[lane] for mine in of])
            missed.append([mine & ~self.hits[lane] for mine in of])
            misses_z.append([mine & lacks_z for mine in of])
        for number, report in enumerate(self.reports):
            m.d.comb += [
                report.served.eq(Cat(lane[number] for lane in served).any()),
                report.missed.eq(Cat(lane[number] for lane in missed).any()),
                report.x.eq(~found[number][0]),
                report.z.eq(Cat(lane[number] for lane in misses_z).any()),
            ]
        return m

    def _look_up(self, m: Module, bank: int) -> tuple[Signal, Signal]:
        """Looks up whether x, and z, of the block that a bank was asked for are present."""
        config = self.config
        line = Signal.like(self.lines[bank], name=f"line_{bank}", reset_less=True)
        tags = Memory(shape=tag_layout(config), depth=max(2, blocks(config)), init=[])
        m.submodules[f"tags_{bank}"] = tags
        write, read = tags.write_port(), tags.read_port()
        _, place = place_of_line(config, self.lines[bank])
        block, its_place = place_of_line(config, line)
        has_x = Signal(name=f"has_x_{bank}")
        has_z = Signal(name=f"has_z_{bank}")
        same = read.data.tag == block[len(its_place) :]
        m.d.sync += line.eq(self.lines[bank])
        m.d.comb += [
            write.en.eq(self.write.valid),
            write.addr.eq(self.write.place),
            write.data.eq(self.write.tag),
            read.addr.eq(place),
            has_x.eq(read.data.present & (same if tag_bits(config) else 1)),
            has_z.eq(has_x & read.data.z),
            self.reports[bank].block.eq(block),
        ]
        return has_x, has_z


def _vector_members(config: SidaConfig) -> dict[str, Member]:
    """Returns the ports through which vectors arrive."""
    if not config.windowed:
        write = vector_write_layout(config)
        return {"x_write": In(write), "z_write": In(write)}
    return {
        "begins": In(1),
        "columns": In(count_bits(config)),
        "wants_z": In(1),
        "fetch": Out(stream.Signature(fetch_layout(config))),
        "fetched": In(stream.Signature(values_layout(config))),
    }


class Gather(wiring.Component):
    """Holds x and z, and gives each set the elements that its rows name; sets leave in order.

    A set a cycle as long as banks are not in each other's way; of random rows 0.95 with the default
    window. Up to ``window`` sets are inside, and each leaf may be ahead of the others: sets are
    dealt out to ``WAYS`` lanes of a leaf in turn (:class:`RowLane`), and each lane wants an element
    at a time. Five cycles from a set at ``i`` to ``o`` at the earliest.

    A set of step s enters when the z of ``s - 1`` steps is there, so that what it reads of the
    panels up to ``s - 2`` is; sets of the first two steps enter at once.

    Where vectors are in memory, blocks of ``config.window_elements`` of their elements are on chip,
    ``config.vector_words`` of each vector, and fetched when a lane misses one, which asks again
    until it is there. z of a block is fetched when an element of it is wanted, so what is on chip
    never changes.

    Source: Exploiting data reuse with inter-operator dataflow, the SIDA microarchitecture (vector
    loader), which leaves the banks open.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: see ``set_layout``
    o: see ``gathered_layout``
    x_write, z_write: in; see ``vector_write_layout``. What is written is there for sets that enter
        in the next cycle; x must not change while sets are inside. Where vectors are in memory, in
        their place:
    begins: in, a pulse, with no set inside: vectors have changed; sets enter some cycles later
    columns, wants_z: in; elements of the vectors; whether sets want z; constant from there on
    fetch, fetched: see :class:`MissTable`
    z_steps: in; steps whose z is written
    conflicts: out; lanes that wait for a bank in this cycle
    waits: out; a set waits for z
    idle: out; no set is inside
    clear: in; forgets all sets at the end of the cycle; the vectors stay
    """

    def __init__(self, config: SidaConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "i": In(stream.Signature(set_layout(config))),
                "o": Out(stream.Signature(gathered_layout(config))),
                **_vector_members(config),
                "z_steps": In(count_bits(config)),
                "conflicts": Out(range(WAYS * config.pes + 1)),
                "waits": Out(1),
                "idle": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.banks = banks = VectorBanks(config)
        m.submodules.left = left = OutputRegister(self.o.payload.shape(), clearable=True)
        wiring.connect(m, left.o, wiring.flipped(self.o))
        lanes = [[RowLane(config) for _ in range(config.pes)] for _ in range(WAYS)]
        enters = Signal()
        leaves = Signal()
        goes = Signal()
        for way, its in enumerate(lanes):
            for leaf, lane in enumerate(its):
                m.submodules[f"lane_{way}_{leaf}"] = lane
                self._connect(m, banks, way * config.pes + leaf, lane)
        way_in = ring_address(m, "way_in", WAYS, advance=enters, clear=self.clear)
        way_out = ring_address(m, "way_out", WAYS, advance=leaves, clear=self.clear)
        windows = None
        if config.windowed:
            windows = self._fetch(m, banks, [lane for its in lanes for lane in its])
        else:
            m.d.comb += [banks.x_write.eq(self.x_write), banks.z_write.eq(self.z_write)]
        room = Cat(its[0].i.ready for its in lanes)
        there = Cat(Cat(lane.o.valid for lane in its).all() for its in lanes)
        m.d.comb += [
            goes.eq(self._z_is_there(m) & windows.ready if windows else self._z_is_there(m)),
            enters.eq(self.i.valid & self.i.ready),
            self.i.ready.eq(Array(room)[way_in] & goes),
            self.waits.eq(self.i.valid & ~goes),
            left.clear.eq(self.clear),
            left.i.valid.eq(Array(there)[way_out]),
            leaves.eq(left.i.valid & left.i.ready),
            self.conflicts.eq(
                ones(Cat(lane.request.valid & ~lane.granted for its in lanes for lane in its))
            ),
        ]
        self._enter(m, lanes, enters, way_in)
        for leaf in range(config.pes):
            pair = Array(its[leaf].o.payload.as_value() for its in lanes)[way_out]
            found = Signal(lanes[0][0].o.payload.shape(), name=f"found_{leaf}")
            m.d.comb += [
                found.as_value().eq(pair),
                left.i.payload.x[leaf].eq(found.x),
                left.i.payload.z[leaf].eq(found.z),
            ]
            for way, its in enumerate(lanes):
                m.d.comb += its[leaf].o.ready.eq(leaves & (way_out == way))
        self._keep(m, left, enters, leaves)
        return m

    def _connect(self, m: Module, banks: VectorBanks, number: int, lane: RowLane) -> None:
        m.d.comb += [
            banks.requests[number].eq(lane.request),
            lane.granted.eq(banks.granted[number]),
            lane.pair.eq(banks.pairs[number]),
            lane.clear.eq(self.clear),
        ]

    def _fetch(self, m: Module, banks: VectorBanks, lanes: list[RowLane]) -> MissTable:
        """Connects the parts that fetch blocks missing in the banks."""
        m.submodules.tags = tags = WindowTags(self.config)
        m.submodules.misses = misses = MissTable(self.config)
        wiring.connect(m, misses.fetch, wiring.flipped(self.fetch))
        wiring.connect(m, wiring.flipped(self.fetched), misses.fetched)
        m.d.comb += [
            misses.begins.eq(self.begins),
            misses.columns.eq(self.columns),
            misses.reports.eq(tags.reports),
            misses.clear.eq(self.clear),
            tags.lines.eq(banks.lines),
            tags.requests.eq(banks.requests),
            tags.write.eq(misses.tag_write),
            tags.waits.eq(Cat(lane.waits for lane in lanes)),
            banks.x_write.eq(misses.x_write),
            banks.z_write.eq(misses.z_write),
        ]
        m.d.comb += [lane.hit.eq(tags.hits[number]) for number, lane in enumerate(lanes)]
        return misses

    def _z_is_there(self, m: Module) -> Value:
        """Tells whether the z that the set at the input needs is available."""
        step = Signal(count_bits(self.config))
        m.d.comb += step.eq(self.i.payload.base >> self.config.subtensor.bit_length() - 1)
        return self.z_steps + 1 >= step

    def _enter(self, m: Module, lanes: list[list[RowLane]], enters: Value, way_in: Value) -> None:
        """Sends a set's rows to the lanes whose turn it is."""
        bits = (self.config.gather_banks - 1).bit_length()
        step = (self.config.subtensor - 1).bit_length()
        for way, its in enumerate(lanes):
            for leaf, lane in enumerate(its):
                element = self.i.payload.leaves[leaf]
                m.d.comb += [
                    lane.i.valid.eq(enters & (way_in == way)),
                    lane.i.payload.valid.eq(element.valid),
                    lane.i.payload.bank.eq(element.row[:bits]),
                    lane.i.payload.line.eq(element.row[bits:]),
                ]
                if self.config.windowed:
                    behind = element.row[step:] + DELAY <= self.i.payload.base[step:]
                    m.d.comb += lane.i.payload.z.eq(self.wants_z & behind)

    def _keep(self, m: Module, left: OutputRegister, enters: Value, leaves: Value) -> None:
        """Queues the sets themselves."""
        config = self.config
        m.submodules.sets = sets = Memory(shape=set_layout(config), depth=config.window, init=[])
        write, read = sets.write_port(), sets.read_port(domain="comb")
        level = Signal(range(config.window + 1))
        m.d.comb += [
            write.en.eq(enters),
            write.addr.eq(
                ring_address(m, "newest", config.window, advance=enters, clear=self.clear)
            ),
            write.data.eq(self.i.payload),
            read.addr.eq(
                ring_address(m, "oldest", config.window, advance=leaves, clear=self.clear)
            ),
            left.i.payload.set.eq(read.data),
            self.idle.eq((level == 0) & ~left.o.valid),
        ]
        m.d.sync += level.eq(Mux(self.clear, 0, moved_count(level, enters, leaves)))
