"""Phase I of a row: partial rows into sorting queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arith.compare import UnsignedCompare
from ...spec.matraptor import MatRaptorConfig
from ..layouts import entry_layout, partial_layout, row_layout

_Places = Sequence[data.View]


class QueueOrder(wiring.Component):
    """Sorts the primary queues that hold a partial row, by length; equally long ones by age.

    A sorted list. A queue that has been written goes behind all that are no longer than it, so
    that of equally long ones that comes first which was written longest ago. While not all
    are written the list grows; after that the first one, which was merged into the new one,
    leaves it. So the next merge is known in the cycle after the last one's end.

    Source: MatRaptor, section on the implementation of the row-wise product.

    Parameters
    ----------
    queues: sorting queues, the helper included
    depth: entries of a queue

    Members
    -------
    insert: in; the queue ``queue`` of ``length`` entries has been written
    clear: in; no queue is written, also if ``insert`` is set
    shortest: out; the queue of the fewest entries
    selected: out; the same as one bit for each queue, from a register
    full: out; all queues but the helper are in the list: the next insertion is a merge's
    """

    def __init__(self, queues: int, depth: int) -> None:
        self._queues = queues
        self._depth = depth
        super().__init__(
            {
                "insert": In(1),
                "queue": In(range(queues)),
                "length": In(range(depth + 1)),
                "clear": In(1),
                "shortest": Out(range(queues)),
                "selected": Out(queues),
                "full": Out(1),
            }
        )

    @property
    def queues(self) -> int:
        return self._queues

    @property
    def depth(self) -> int:
        return self._depth

    def elaborate(self, platform: object) -> Module:
        m = Module()
        layout = data.StructLayout({"queue": range(self._queues), "length": range(self._depth + 1)})
        count = self._queues - 1
        places = [Signal(layout, name=f"place_{n}", reset_less=True) for n in range(count)]
        inserted = Signal(layout)
        used = Signal(count)
        # Set for the first ones of the list.
        stays = Signal(count)
        m.d.comb += [
            inserted.queue.eq(self.queue),
            inserted.length.eq(self.length),
            self.shortest.eq(places[0].queue),
            self.full.eq(used[-1]),
        ]
        for n, place in enumerate(places):
            m.d.comb += stays[n].eq(used[n] & (place.length <= self.length))
        with m.If(self.clear):
            m.d.sync += used.eq(0)
        with m.Elif(self.insert):
            m.d.sync += used.eq(Cat(1, used))
        with m.If(self.insert & self.full):
            self._replace_first(m, places, inserted, stays)
        with m.Elif(self.insert):
            self._add(m, places, inserted, stays)
        return m

    def _select(self, m: Module, queue: Value) -> None:
        """Makes a queue the first one, beside ``places[0]``."""
        m.d.sync += self.selected.eq(Cat(queue == q for q in range(self._queues)))

    def _replace_first(
        self, m: Module, places: _Places, inserted: data.View, stays: Signal
    ) -> None:
        """Those before the new one move up by a place."""
        # The first one leaves regardless of its length.
        with m.If(stays[1]):
            m.d.sync += places[0].eq(places[1])
            self._select(m, places[1].queue)
        with m.Else():
            m.d.sync += places[0].eq(inserted)
            self._select(m, inserted.queue)
        for n in range(1, len(places) - 1):
            with m.If(stays[n + 1]):
                m.d.sync += places[n].eq(places[n + 1])
            with m.Elif(stays[n]):
                m.d.sync += places[n].eq(inserted)
        with m.If(stays[-1]):
            m.d.sync += places[-1].eq(inserted)

    def _add(self, m: Module, places: _Places, inserted: data.View, stays: Signal) -> None:
        """Inserts a queue into the order; those after it move down by a place."""
        with m.If(~stays[0]):
            m.d.sync += places[0].eq(inserted)
            self._select(m, inserted.queue)
        for n in range(1, len(places)):
            with m.If(~stays[n - 1]):
                m.d.sync += places[n].eq(places[n - 1])
            with m.Elif(~stays[n]):
                m.d.sync += places[n].eq(inserted)


def source_layout(config: MatRaptorConfig) -> data.StructLayout:
    """Queue that is merged: its first entry, whether that is present already (``valid``), whether
    the queue is ``empty``, and whether it has a ``single`` entry."""
    return data.StructLayout({"head": entry_layout(config), "valid": 1, "empty": 1, "single": 1})


def move_layout(config: MatRaptorConfig) -> data.StructLayout:
    """Entry that is moved into queue ``target``: ``kept (+) product``, or the one that
    ``takes_kept`` or ``takes_product`` selects. ``merging``: it is not simply appended."""
    bits = config.format.bits
    return data.StructLayout(
        {
            "kept": bits,
            "product": bits,
            "takes_kept": 1,
            "takes_product": 1,
            "merging": 1,
            "column": config.index_bits,
            "target": range(config.queues),
        }
    )


def row_end_layout(config: MatRaptorConfig) -> data.StructLayout:
    """End of a row: the row, and whether it is the lane's last."""
    return data.StructLayout({"row": row_layout(config), "lane_last": 1})


class PartialRowMerge(wiring.Component):
    """Moves the entries of partial rows into queues, one entry per cycle.

    The first ``queues - 1`` partial rows of a row are appended to a queue each, in order. Each
    later one is merged with the queue that has the fewest entries (of equals, that which was
    written longest ago): the smaller column first, of equal columns the sum. The results go to
    the helper, and the emptied queue is the next helper. There is no cycle without a move but
    to wait: for products, for queues, or for the head of the merged queue while that is still on
    its way into it.

    After an error nothing moves. Errors come in the order of the products.

    Source: MatRaptor, section on the implementation of the row-wise product.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    i: stream of products, see :func:`partial_layout`
    free: in; a set of queues is there to be filled
    room: in; another row may end. One without products needs no set with a ``row_queue``
    source: in; the queue that is ``selected``, see :func:`source_layout`
    clear: in; as after a reset, at the end of the cycle
    selected, pop: out; the queue to be merged, a bit for each, and whether its head is removed
    move, entry: out; an entry is moved, see :func:`move_layout`
    append: out; the same, and it is simply appended: known early, as no queue is merged
    row_end, ended: out; the last entry of a row moves or has moved, see :func:`row_end_layout`
    filled: out; with ``row_end``, the row has entries in the set
    starved: out; a merge waits for a head that is on its way
    overflow, unsorted: out; an entry would go into a full queue; columns do not ascend
    error_row: out; with an error, the row
    """

    def __init__(self, config: MatRaptorConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "i": In(stream.Signature(partial_layout(config))),
                "free": In(1),
                "room": In(1, init=1),
                "clear": In(1),
                "source": In(source_layout(config)),
                "selected": Out(config.queues),
                "pop": Out(1),
                "move": Out(1),
                "append": Out(1),
                "entry": Out(move_layout(config)),
                "row_end": Out(1),
                "ended": Out(row_end_layout(config)),
                "filled": Out(1),
                "starved": Out(1),
                "overflow": Out(1),
                "unsorted": Out(1),
                "error_row": Out(row_layout(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, source, token = self.config, self.source, self.i.payload
        m.submodules.order = order = QueueOrder(config.queues, config.queue_depth)
        m.submodules.compare = compare = UnsignedCompare(config.index_bits)
        target = Signal(range(config.queues))
        length = Signal(range(config.queue_depth + 1))
        # The partial row's products are all taken, the rest of the merged queue follows.
        rest = Signal()
        left = Signal()
        close = Signal()
        ends = Signal()
        product_first = Signal()
        queue_first = Signal()
        m.d.comb += [
            left.eq(order.full & ~source.empty),
            compare.a.eq(token.column),
            compare.b.eq(source.head.column),
            product_first.eq(~rest & (~left | compare.at_most)),
            queue_first.eq(left & (rest | ~compare.less)),
            ends.eq(
                self.move
                & (rest | (product_first & token.ends))
                & (~left | (source.single & queue_first))
            ),
            # The comparison arrives late: it passes one gate.
            self.pop.eq((self.move & left & rest) | (self.move & left & ~compare.less)),
            self.i.ready.eq(close | (self.move & product_first)),
            self.selected.eq(order.selected),
            self.entry.kept.eq(source.head.value),
            self.entry.product.eq(token.value),
            self.entry.takes_kept.eq(queue_first),
            self.entry.takes_product.eq(product_first),
            self.entry.merging.eq(order.full),
            self.entry.column.eq(Mux(product_first, token.column, source.head.column)),
            self.entry.target.eq(target),
            order.insert.eq(ends),
            order.clear.eq(self.row_end | self.clear),
            order.queue.eq(target),
            order.length.eq(length + 1),
        ]
        full = length == config.queue_depth
        self._check(m, close, rest=rest, left=left, full=full, merging=order.full)
        self._end_row(m, close, rest=rest, ends=ends)
        with m.If(self.move):
            m.d.sync += [length.eq(length + 1), rest.eq(rest | (product_first & token.ends))]
        with m.If(ends):
            # The queues are filled by number; the last one is the helper, and after that the
            # one that has been emptied.
            m.d.sync += target.eq(Mux(order.full, order.shortest, target + 1))
        with m.If(ends | self.row_end | self.clear):
            m.d.sync += [length.eq(0), rest.eq(0)]
        with m.If(self.row_end | self.clear):
            m.d.sync += target.eq(0)
        return m

    def _end_row(self, m: Module, close: Signal, *, rest: Signal, ends: Signal) -> None:
        """Ends a row. Its last entry may come from the queue, so the end that the last product
        marks is kept."""
        token = self.i.payload
        kept = Signal(row_end_layout(self.config), reset_less=True)
        kept_row_last = Signal()
        said = Cat(token.row.as_value(), token.lane_last)
        m.d.comb += [
            self.ended.eq(Mux(rest, kept.as_value(), said)),
            self.row_end.eq(close | (ends & Mux(rest, kept_row_last, token.row_last))),
        ]
        with m.If(self.i.ready):
            m.d.sync += [kept.eq(said), kept_row_last.eq(token.row_last)]
        begun = Signal()
        m.d.comb += self.filled.eq(~close | begun)
        m.d.sync += begun.eq((begun | self.move) & ~self.row_end & ~self.clear)

    def _check(
        self, m: Module, close: Signal, *, rest: Value, left: Value, full: Value, merging: Value
    ) -> None:
        """Checks whether a partial sum can be moved or a row closed, and reports what forbids
        it."""
        source, token = self.source, self.i.payload
        step = Signal()
        halted = Signal()
        able = Signal()
        closes = Signal()
        offered = Signal()
        there = Signal()
        unsorted = Signal()
        m.d.comb += [
            able.eq(self.free & self.room & ~halted),
            offered.eq(self.i.valid & ~rest),
            # A row that has begun has its set.
            closes.eq((self.room & ~halted) if self.config.row_queue else able),
            close.eq(closes & offered & ~token.present),
            unsorted.eq(able & offered & token.present & token.unsorted),
            there.eq(able & (rest | (offered & token.present)) & ~unsorted),
            step.eq(there & (~left | source.valid)),
            self.starved.eq(there & left & ~source.valid),
            self.move.eq(step & ~full),
            self.append.eq(there & ~merging & ~full),
            halted.eq(self.overflow | self.unsorted),
        ]
        with m.If(step & full):
            m.d.sync += [self.overflow.eq(1), self.error_row.eq(self.ended.row)]
        with m.If(unsorted):
            m.d.sync += [self.unsorted.eq(1), self.error_row.eq(self.ended.row)]
        with m.If(self.clear):
            m.d.sync += [self.overflow.eq(0), self.unsorted.eq(0)]
