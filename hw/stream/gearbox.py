"""Lines of one size into entries of another."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from amaranth.hdl import Array, Cat, Const, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .stream_registers import OutputRegister

__all__ = ["Gearbox", "entries_layout", "entry_layout"]


def entries_layout(sizes: Sequence[int], count_bits: int) -> data.StructLayout:
    """Request for ``count`` entries, at least one, of ``sizes[size]`` bytes (no field if there is
    one size)."""
    size: dict[str, ShapeLike] = {"size": range(len(sizes))} if len(sizes) > 1 else {}
    return data.StructLayout({**size, "count": count_bits})


def entry_layout(sizes: Sequence[int]) -> data.StructLayout:
    """Entry: ``data``, whose low bits hold a small entry while the bits above are undefined;
    ``last`` of its request."""
    return data.StructLayout({"data": 8 * max(sizes), "last": 1})


class Gearbox(wiring.Component):
    """Cuts lines into entries that follow each other without gaps.

    The entries of a request begin with a line; what is left of its last line is dropped. Latency
    one cycle; an entry a cycle if entries are no larger than lines, else a line a cycle; no cycle
    is lost between requests.

    Parameters
    ----------
    line_bytes: of a line
    sizes: bytes that an entry may have; a request chooses
    count_bits: width of a request's number of entries

    Members
    -------
    request: see :func:`entries_layout`; taken with the last of its entries
    lines: the lines, no more of them than the requests need
    o: see :func:`entry_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, line_bytes: int, sizes: Sequence[int], count_bits: int) -> None:
        if not sizes or min(sizes) < 1:
            raise ValueError(f"`sizes` must be of at least 1 byte each, not {tuple(sizes)}")
        self._line_bytes, self._sizes, self._count_bits = line_bytes, tuple(sizes), count_bits
        # Everything begins at a multiple of a granule.
        self._granule = granule = gcd(line_bytes, *sizes)
        self._line = line_bytes // granule
        self._entries = [size // granule for size in sizes]
        # The levels at which a line may arrive, and whether an entry always leaves with it.
        self._levels = levels = self._arrivals()
        self._at_once = min(levels) + self._line >= max(self._entries)
        super().__init__(
            {
                "request": In(stream.Signature(entries_layout(sizes, count_bits))),
                "lines": In(stream.Signature(8 * line_bytes)),
                "o": Out(stream.Signature(entry_layout(sizes))),
                "clear": In(1),
            }
        )

    @property
    def line_bytes(self) -> int:
        return self._line_bytes

    @property
    def sizes(self) -> tuple[int, ...]:
        return self._sizes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.cut = cut = OutputRegister(entry_layout(self._sizes), clearable=True)
        wiring.connect(m, cut.o, wiring.flipped(self.o))
        most = max(self._line, *self._entries) - 1
        level = Signal(range(most + 1))
        wanted = Signal(range(max(self._entries) + 1))
        # Level with the line that arrives.
        total = Signal(range(most + self._line + 1))
        enough = Signal()
        adds = Signal()
        takes = Signal()
        m.d.comb += [
            wanted.eq(self._chosen([Const(size) for size in self._entries])),
            adds.eq(level < wanted),
            total.eq(Mux(adds, level + self._line, level)),
            enough.eq(1 if self._at_once else total >= wanted),
            cut.clear.eq(self.clear),
            cut.i.valid.eq(self.request.valid & (~adds | (self.lines.valid & enough))),
            takes.eq(cut.i.valid & cut.i.ready),
            self.lines.ready.eq(self.request.valid & adds & (cut.i.ready | ~enough)),
        ]
        ends = self._count(m, takes)
        self._store(m, level, takes, cut)
        m.d.comb += [
            cut.i.payload.last.eq(ends),
            self.request.ready.eq(takes & ends),
        ]
        with m.If(self.clear | (takes & ends)):
            m.d.sync += level.eq(0)
        with m.Elif(takes):
            m.d.sync += level.eq(total - wanted)
        if not self._at_once:
            with m.Elif(self.lines.valid & self.lines.ready):
                m.d.sync += level.eq(total)
        return m

    def _chosen(self, by_size: Sequence[Value]) -> Value:
        """Selects the value for the size of the request."""
        if len(by_size) == 1:
            return by_size[0]
        return Array(by_size)[self.request.payload.size]

    def _count(self, m: Module, takes: Value) -> Value:
        """Counts the request's entries; returns whether the entry is the last one."""
        within = Signal()
        next_left = Signal(self._count_bits, reset_less=True)
        left = Signal(self._count_bits)
        ends = Signal()
        m.d.comb += [
            left.eq(Mux(within, next_left, self.request.payload.count)),
            ends.eq(left == 1),
        ]
        with m.If(takes):
            m.d.sync += [within.eq(~ends), next_left.eq(left - 1)]
        with m.If(self.clear):
            m.d.sync += within.eq(0)
        return ends

    def _store(self, m: Module, level: Signal, takes: Value, cut: OutputRegister) -> None:
        """Stores the waiting data, ``level`` granules, and appends the line."""
        bits = 8 * self._granule
        held = max(self._line, *self._entries) - 1
        size = held + self._line
        store = Signal(max(1, held) * bits, reset_less=True)
        line = self._placed(m, level, size)
        joined = Signal(size * bits)
        waits = level != 0
        for place in range(size):
            part = slice(place * bits, (place + 1) * bits)
            here = store[part] if place < held else line[part]
            # Granules above the level are undefined.
            stored = waits if self._levels == {0} else level > place
            m.d.comb += joined[part].eq(Mux(stored, here, line[part]))
        m.d.comb += cut.i.payload.data.eq(joined[: 8 * max(self._sizes)])
        with m.If(takes):
            rest = [joined[entry * bits :][: len(store)] for entry in self._entries]
            m.d.sync += store.eq(self._chosen(rest))
        if not self._at_once:
            with m.Elif(self.lines.valid & self.lines.ready):
                m.d.sync += store.eq(joined)

    def _placed(self, m: Module, level: Signal, size: int) -> Value:
        """Places the line after ``level`` granules. What lies below them is undefined."""
        bits = 8 * self._granule
        if self._line == 1:
            # A line is a granule: it may be in all places.
            return self.lines.payload.replicate(size)
        moved: Value = Cat(self.lines.payload, Const(0, (size - self._line) * bits))
        for stage in range(max(self._levels).bit_length()):
            step = bits << stage
            placed = Signal(size * bits, name=f"placed_{1 << stage}")
            shifted = moved.shift_left(step)[: size * bits]
            m.d.comb += placed.eq(Mux(level[stage], shifted, moved))
            moved = placed
        return moved

    def _arrivals(self) -> set[int]:
        """Returns the levels at which a line may arrive."""
        seen: set[int] = set()
        following = {0}
        while following:
            seen |= following
            following = {
                total if total < entry else total - entry
                for level in following
                for entry in self._entries
                for total in [level + self._line if level < entry else level]
            } - seen
        return {level for level in seen if level < max(self._entries)}
