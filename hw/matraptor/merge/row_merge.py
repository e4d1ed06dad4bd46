"""Phase II of a row: all its queues into one stream."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...arith.scalar_operators import OptionalSum, delay
from ...spec.formats import Format
from ...spec.matraptor import MatRaptorConfig
from ...spec.semirings import Semiring
from ...stream.valid_pipeline import ValidPipeline
from ..layouts import entry_layout, result_layout
from .partial_row_merge import row_end_layout


class SortingQueue(wiring.Component):
    """Queue of entries in order, in a memory with one write port and one synchronous read port.

    It is filled, then emptied, never both at a time, so that its addresses begin at 0 each time.
    An entry is claimed when it is known to come, and is written any number of cycles later (or at
    once): ``empty`` and ``single`` count what is claimed. An entry is at ``head`` two cycles after
    it was written, at best; then one leaves per cycle.

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
        members = {} if direct is None else {"directly": In(1), "direct": In(direct)}
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
        valid = Signal()
        fetch = Signal()
        m.d.comb += [
            fetch.eq((fetched != written) & (self.pop | ~valid)),
            self.empty.eq(claimed == 0),
            self.single.eq(claimed == 1),
            self.valid.eq(valid),
            self.head.eq(read.data),
            write.en.eq(self.write),
            write.addr.eq(written[: len(write.addr)]),
            write.data.eq(self.entry),
            read.en.eq(fetch),
            read.addr.eq(fetched[: len(read.addr)]),
        ]
        if self._direct is not None:
            with m.If(self.directly):
                m.d.comb += [
                    write.en.eq(self.direct.write),
                    write.addr.eq(self.direct.write_address),
                    write.data.eq(self.direct.entry),
                    read.en.eq(self.direct.read),
                    read.addr.eq(self.direct.read_address),
                ]
        with m.If(self.clear | (self.pop & self.single)):
            m.d.sync += [claimed.eq(0), written.eq(0), fetched.eq(0), valid.eq(0)]
        with m.Else():
            m.d.sync += valid.eq(fetch | (valid & ~self.pop))
            # These arrive late: they drive enables and selects, not the carry chains.
            with m.If(self.claim):
                m.d.sync += claimed.eq(claimed + 1)
            with m.Elif(self.pop):
                m.d.sync += claimed.eq(claimed - 1)
            with m.If(self.write):
                m.d.sync += written.eq(written + 1)
            with m.If(fetch):
                m.d.sync += fetched.eq(fetched + 1)
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


class MinimumColumn(wiring.Component):
    """Finds all entries with the smallest column, by comparing all pairs of columns at once.

    Combinational: one comparison deep, whatever the number of entries.

    Source: MatRaptor, section on its architecture (minimum column index logic).

    Parameters
    ----------
    count: number of entries
    column_bits: width of a column

    Members
    -------
    columns: their columns
    present: which of them count
    chosen: out; those among them with the smallest column
    column: out; that column, 0 if there is no entry
    """

    def __init__(self, count: int, column_bits: int) -> None:
        self._count = count
        self._column_bits = column_bits
        super().__init__(
            {
                "columns": In(data.ArrayLayout(column_bits, count)),
                "present": In(count),
                "chosen": Out(count),
                "column": Out(column_bits),
            }
        )

    @property
    def count(self) -> int:
        return self._count

    @property
    def column_bits(self) -> int:
        return self._column_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # One row of bits for each entry: which of the others are smaller.
        smaller = [Signal(self._count, name=f"smaller_than_{i}") for i in range(self._count)]
        for i in range(self._count):
            for j in range(i):
                less = Signal(name=f"less_{i}_{j}")
                equal = Signal(name=f"equal_{i}_{j}")
                m.d.comb += [
                    less.eq(self.columns[i] < self.columns[j]),
                    equal.eq(self.columns[i] == self.columns[j]),
                    smaller[i][j].eq(~less & ~equal),
                    smaller[j][i].eq(less),
                ]
        column: Value = Value.cast(0)
        for i in range(self._count):
            m.d.comb += self.chosen[i].eq(self.present[i] & ~(smaller[i] & self.present).any())
        for i in range(self._count):
            column = column | Mux(self.chosen[i], self.columns[i], 0)
        m.d.comb += self.column.eq(column)
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
    active: in; the queues hold a row, until ``done``
    ended: in; which one, see :func:`row_end_layout`
    heads, valid, empty, single: in; of each queue, see :class:`SortingQueue`
    pop: out; the queues whose heads are removed
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
                "ended": In(row_end_layout(config)),
                "heads": In(data.ArrayLayout(entry_layout(config), count)),
                "valid": In(count),
                "empty": In(count),
                "single": In(count),
                "clear": In(1),
                "pop": Out(count),
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
        step = Signal()
        for q in range(count):
            m.d.comb += [
                minimum.columns[q].eq(self.heads[q].column),
                tree.values[q].eq(self.heads[q].value),
            ]
        m.d.comb += [
            minimum.present.eq(~self.empty),
            step.eq(self.active & advance & (self.empty | self.valid).all()),
            self.pop.eq(Mux(step, minimum.chosen, 0)),
            self.done.eq(step & (self.empty | (self.single & minimum.chosen)).all()),
            tree.present.eq(minimum.chosen),
            tree.advance.eq(advance),
        ]
        token = Signal(result_layout(config))
        m.d.comb += [
            token.column.eq(minimum.column),
            token.present.eq(~self.empty.all()),
            token.row_last.eq(self.done),
            token.lane_last.eq(self.done & self.ended.lane_last),
            token.row.eq(self.ended.row),
        ]
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
            m.d.comb += [early[name].eq(token[name]), self.o.payload[name].eq(late[name])]
        m.d.comb += [
            self.o.payload.value.eq(tree.o),
            self.o.valid.eq(valids.o),
            advance.eq(self.o.ready | ~valids.o),
        ]
        return m
