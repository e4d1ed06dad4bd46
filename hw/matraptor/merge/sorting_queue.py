"""A queue of a processing element."""

from __future__ import annotations

from amaranth.hdl import Module, ShapeLike, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

__all__ = ["SortingQueue"]


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
