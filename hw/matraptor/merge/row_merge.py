"""Phase II of a row: all its queues into one stream."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arith.compare import MinimumColumn
from ...arith.scalar_operators import OptionalSum, delay
from ...spec.formats import Format
from ...spec.matraptor import MatRaptorConfig
from ...spec.semirings import Semiring
from ...stream.queue import read_ahead
from ...stream.stream_registers import SkidBuffer
from ...stream.valid_pipeline import ValidPipeline
from ..layouts import entry_layout, result_layout
from .partial_row_merge import row_end_layout


class SortingQueue(wiring.Component):
    """Queue of entries in order, in a memory with one write port and one synchronous read port.

    It is filled, then emptied, never both at a time, so that its addresses begin at 0 each time.
    An entry is claimed when it is known to come, and is written any number of cycles later (or at
    once): ``empty`` and ``single`` count what is claimed. An entry is at ``head`` three cycles
    after it was written, at best; then one leaves per cycle. Registers separate the memory from
    ``head``, so a period has either an access to the memory or the search for the smallest column.

    Source: MatRaptor, section on the implementation of the row-wise product.

    Parameters
    ----------
    entry: shape of an entry
    depth: entries that it takes
    direct: shape of ``direct`` (see ``direct_layout``), if the memory has another use, too

    Members
    -------
    claim: in; an entry more will be written. Not together with ``pop``
    write, entry: in; the next entry, which is or was claimed
    pop: in; takes the head away, with ``valid`` only
    clear: in; forgets everything at the end of the cycle
    directly, direct: in; while ``directly``, the memory does what ``direct`` says; of the queue
        nothing may be asked, which is empty
    word: out; where there is ``direct``, what the memory has read
    head, valid: out; the first entry; ``valid`` also says that it is there already
    empty: out; no entries are claimed
    single: out; only one is, if any
    """

    def __init__(
        self, entry: ShapeLike, depth: int, direct: data.StructLayout | None = None
    ) -> None:
        self._depth = depth
        self._entry = entry
        self._direct = direct
        members: dict[str, wiring.Member] = {}
        if direct is not None:
            members = {"directly": In(1), "direct": In(direct), "word": Out(entry)}
        super().__init__(
            {
                **members,
                "claim": In(1),
                "write": In(1),
                "entry": In(entry),
                "pop": In(1),
                "clear": In(1),
                "head": Out(entry),
                "valid": Out(1),
                "empty": Out(1),
                "single": Out(1),
            }
        )

    @property
    def depth(self) -> int:
        return self._depth

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.storage = storage = Memory(shape=self._entry, depth=self._depth, init=[])
        write = storage.write_port()
        read = storage.read_port()
        claimed = Signal(range(self._depth + 1))
        written = Signal(range(self._depth + 1))
        fetched = Signal(range(self._depth + 1))
        empty = Signal(init=1)
        single = Signal()
        fetch = Signal()
        fetches = Signal()
        next_fetch = Signal(range(self._depth + 1))
        head, valid = read_ahead(
            m,
            Value.cast(read.data),
            fetch=fetch,
            more=(next_fetch != written) & ~empty,
            take=self.pop,
            clear=self.clear,
            register=True,
        )
        m.d.comb += [
            next_fetch.eq(fetched + fetches),
            self.empty.eq(empty),
            self.single.eq(single),
            self.valid.eq(valid),
            self.head.eq(head),
            write.en.eq(self.write),
            write.addr.eq(Mux(empty, 0, written[: len(write.addr)])),
            write.data.eq(self.entry),
            read.en.eq(fetch),
            read.addr.eq(next_fetch[: len(read.addr)]),
        ]
        if self._direct is not None:
            m.d.comb += self.word.eq(read.data)
            with m.If(self.directly):
                m.d.comb += [
                    write.en.eq(self.direct.write),
                    write.addr.eq(self.direct.write_address),
                    write.data.eq(self.direct.entry),
                    read.en.eq(self.direct.read),
                    read.addr.eq(self.direct.read_address),
                ]
        # Claims and pops arrive late, and fetches with them: they drive few registers, and are
        # counted a cycle later. Addresses begin at 0 again when the queue is empty, not when it
        # becomes so.
        claims = Signal()
        pops = Signal()
        two = Mux(pops, claimed == 3, Mux(claims, claimed == 1, claimed == 2))
        m.d.sync += [claims.eq(self.claim), pops.eq(self.pop), fetches.eq(fetch)]
        with m.If(self.clear):
            m.d.sync += [claims.eq(0), pops.eq(0), claimed.eq(0), empty.eq(1), single.eq(0)]
        with m.Else():
            m.d.sync += claimed.eq(claimed + claims - pops)
            with m.If(self.claim):
                m.d.sync += [empty.eq(0), single.eq(empty)]
            with m.Elif(self.pop):
                m.d.sync += [empty.eq(single), single.eq(two)]
        with m.If(empty):
            m.d.sync += [written.eq(self.write), fetched.eq(0)]
        with m.Else():
            m.d.sync += fetched.eq(next_fetch)
            with m.If(self.write):
                m.d.sync += written.eq(written + 1)
        return m


class AdderTree(wiring.Component):
    """Adds values that may be absent, in a balanced binary tree of adders.

    The values' places are padded to a power of two. An adder both of whose sides have a present
    value joins them, left (+) right; any other passes the one on, unchanged. Latency ``latency``
    cycles, a sum a cycle. Registers have no reset and move only while ``advance`` is set.

    Source: MatRaptor, section on its architecture.

    Parameters
    ----------
    semiring: whose (+) is computed
    format: of the values
    count: number of values, at least 2
    stages: register stages of an adder

    Members
    -------
    values, present: in; the values, and which of them count
    advance: in; enables all registers
    o: out; their sum, arbitrary if none is present
    """

    def __init__(self, semiring: Semiring, format: Format, *, count: int, stages: int) -> None:
        self._semiring = semiring
        self._format = format
        self._count = count
        self._stages = stages
        super().__init__(
            {
                "values": In(data.ArrayLayout(format.bits, count)),
                "present": In(count),
                "advance": In(1),
                "o": Out(format.bits),
            }
        )

    @property
    def semiring(self) -> Semiring:
        return self._semiring

    @property
    def format(self) -> Format:
        return self._format

    @property
    def count(self) -> int:
        return self._count

    @property
    def stages(self) -> int:
        return self._stages

    @property
    def latency(self) -> int:
        """Latency in cycles."""
        return (self._count - 1).bit_length() * self._stages

    def elaborate(self, platform: object) -> Module:
        m = Module()
        level: list[Value] = [Value.cast(self.values[i]) for i in range(self._count)]
        present: Value = self.present
        depth = 0
        while len(level) > 1:
            following: list[Value] = []
            for n in range(len(level) // 2):
                m.submodules[f"sum_{depth}_{n}"] = node = OptionalSum(
                    self._semiring, self._format, self._stages
                )
                m.d.comb += [
                    node.a.eq(level[2 * n]),
                    node.b.eq(level[2 * n + 1]),
                    node.a_present.eq(present[2 * n]),
                    node.b_present.eq(present[2 * n + 1]),
                    node.advance.eq(self.advance),
                ]
                following.append(node.o)
            if len(level) % 2:
                alone = level[-1]
                following.append(delay(m, alone, self._stages, self.advance, f"alone_{depth}"))
            pairs = [present[2 * n : 2 * n + 2].any() for n in range(len(following))]
            joined = Signal(len(following), name=f"joined_{depth}")
            m.d.comb += joined.eq(Cat(*pairs))
            present = delay(m, joined, self._stages, self.advance, f"present_{depth}")
            level, depth = following, depth + 1
        m.d.comb += self.o.eq(level[0])
        return m


class RowMerge(wiring.Component):
    """Merges the queues of a set, smallest column first, equal columns summed: one entry per cycle.

    It waits while a queue's first entry is on its way into it. A row without entries gives one
    token that is not ``present``.

    Source: MatRaptor, section on the implementation of the row-wise product.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    active: in; a row is to be merged, until ``done``
    filled: in; the queues hold it, else it has no entries, and they are not looked at
    ended: in; which one, see :func:`row_end_layout`
    heads, valid, empty, single: in; of each queue, see :class:`SortingQueue`
    step: out; the heads of the queues that are ``popped`` are removed
    popped: out; the queues whose heads have the smallest column
    done: out; with the last of them
    clear: in; forgets everything at the end of the cycle
    o: the row's entries, see :func:`result_layout`
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self.config: Final = config
        count = config.queues
        super().__init__(
            {
                "active": In(1),
                "filled": In(1),
                "ended": In(row_end_layout(config)),
                "heads": In(data.ArrayLayout(entry_layout(config), count)),
                "valid": In(count),
                "empty": In(count),
                "single": In(count),
                "clear": In(1),
                "step": Out(1),
                "popped": Out(count),
                "done": Out(1),
                "o": Out(stream.Signature(result_layout(config))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, count = self.config, self.config.queues
        m.submodules.minimum = minimum = MinimumColumn(count, config.index_bits)
        m.submodules.tree = tree = AdderTree(
            config.operators, config.format, count=count, stages=config.adder_stages
        )
        advance = Signal()
        step = self.step
        for q in range(count):
            m.d.comb += [
                minimum.columns[q].eq(self.heads[q].column),
                tree.values[q].eq(self.heads[q].value),
            ]
        m.d.comb += [
            minimum.present.eq(~self.empty),
            step.eq(self.active & advance & (~self.filled | (self.empty | self.valid).all())),
            self.popped.eq(minimum.popped),
            self.done.eq(
                step & (~self.filled | (self.empty | (self.single & minimum.popped)).all())
            ),
            tree.present.eq(minimum.chosen),
            tree.advance.eq(advance),
        ]
        token = Signal(result_layout(config))
        m.d.comb += [
            token.column.eq(minimum.column),
            token.present.eq(self.filled & ~self.empty.all()),
            token.row_last.eq(self.done),
            token.lane_last.eq(self.done & self.ended.lane_last),
            token.row.eq(self.ended.row),
        ]
        # What moves the whole tree comes straight from a register.
        m.submodules.results = results = SkidBuffer(result_layout(config), clearable=True)
        wiring.connect(m, results.o, wiring.flipped(self.o))
        m.submodules.valids = valids = ValidPipeline(tree.latency)
        m.d.comb += [
            valids.i.eq(step),
            valids.advance.eq(advance),
            valids.clear.eq(self.clear),
        ]
        # Beside the tree; the value is the tree's.
        beside = data.StructLayout(
            {name: field.shape for name, field in token.shape() if name != "value"}
        )
        early = Signal(beside)
        late = Signal(beside)
        m.d.comb += late.eq(delay(m, early.as_value(), tree.latency, advance, "beside"))
        for name in beside.members:
            m.d.comb += [early[name].eq(token[name]), results.i.payload[name].eq(late[name])]
        m.d.comb += [
            results.clear.eq(self.clear),
            results.i.payload.value.eq(tree.o),
            results.i.valid.eq(valids.o),
            advance.eq(results.i.ready),
        ]
        return m
