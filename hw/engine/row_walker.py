"""The addresses of the rows of an operand's blocks, in the order in which they are needed."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..spec.engine import SIZE_BITS, EngineConfig
from .layouts import Sizes

__all__ = ["RowWalker", "row_layout"]


def row_layout(config: EngineConfig) -> data.StructLayout:
    """A row of a block: address of its first beat, its last beat, which row it is, whether it is
    the block's last, and the block's buffer."""
    sizes = Sizes(config)
    return data.StructLayout(
        {
            "address": config.addr_bits,
            "last_beat": sizes.beat_bits,
            "row": sizes.row_bits,
            "last": 1,
            "buffer": 1,
        }
    )


class RowWalker(wiring.Component):
    """Walks block rows i, block columns j, k chunks k and, innermost, rows.

    One row a cycle. A pointer a level; entering the next position of a level adds its step to
    its pointer, and the pointers of the levels below start there. Addresses wrap around.

    Members
    -------
    start: take ``base`` and begin; needs ``stop`` low
    stop: end at once, forget the row that was offered
    base, step_i, step_j, step_k, step_row: address of the first row, distances; constant
    i_last, j_last, k_last: the last number of each level; constant
    row_last, beat_last: last row of the block, last beat of its rows, at the present position
    credit: a buffer is free for the next block
    at_i_last, at_j_last, at_k_last: the position is the last of its level
    claim: a block's first row leaves
    running: rows are left
    o: see :func:`row_layout`
    """

    def __init__(self, config: EngineConfig) -> None:
        self._sizes = sizes = Sizes(config)
        self._addr_bits = config.addr_bits
        addresses = ("base", "step_i", "step_j", "step_k", "step_row")
        self._widths = {"i": SIZE_BITS, "j": SIZE_BITS, "k": sizes.k_bits}
        super().__init__(
            {
                "start": In(1),
                "stop": In(1),
                **{name: In(config.addr_bits) for name in addresses},
                **{f"{level}_last": In(width) for level, width in self._widths.items()},
                "row_last": In(sizes.row_bits),
                "beat_last": In(sizes.beat_bits),
                "credit": In(1),
                **{f"at_{level}_last": Out(1) for level in self._widths},
                "claim": Out(1),
                "running": Out(1),
                "o": Out(stream.Signature(row_layout(config))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        levels = ("i", "j", "k", "row")
        pointers = {x: Signal(self._addr_bits, name=f"at_{x}", reset_less=True) for x in levels}
        position = {x: Signal(width, name=x) for x, width in self._widths.items()}
        row = Signal(self._sizes.row_bits)
        buffer = Signal()
        row_end = Signal()
        moved = Signal()
        first = Signal()
        at_last = {x: getattr(self, f"at_{x}_last") for x in position}
        m.d.comb += [at_last[x].eq(position[x] == getattr(self, f"{x}_last")) for x in position]
        m.d.comb += [
            row_end.eq(row == self.row_last),
            first.eq(row == 0),
            self.o.valid.eq(self.running & (~first | self.credit)),
            self.o.payload.address.eq(pointers["row"]),
            self.o.payload.last_beat.eq(self.beat_last),
            self.o.payload.row.eq(row),
            self.o.payload.last.eq(row_end),
            self.o.payload.buffer.eq(buffer),
            moved.eq(self.o.valid & self.o.ready),
            self.claim.eq(moved & first),
        ]
        # carry[x]: the move enters the next position of level x or of a level above it.
        carry = {x: Signal(name=f"carry_{x}") for x in levels}
        m.d.comb += [
            carry["row"].eq(moved),
            carry["k"].eq(moved & row_end),
            carry["j"].eq(moved & row_end & self.at_k_last),
            carry["i"].eq(moved & row_end & self.at_k_last & self.at_j_last),
        ]
        target = Signal(self._addr_bits)
        source, step = pointers["row"], self.step_row
        for level in ("k", "j", "i"):
            source = Mux(carry[level], pointers[level], source)
            step = Mux(carry[level], getattr(self, f"step_{level}"), step)
        m.d.comb += target.eq(source + step)
        for level in levels:
            with m.If(carry[level]):
                m.d.sync += pointers[level].eq(target)
        with m.If(moved):
            m.d.sync += row.eq(Mux(row_end, 0, row + 1))
        for level in position:
            with m.If(carry[level]):
                m.d.sync += position[level].eq(Mux(at_last[level], 0, position[level] + 1))
        with m.If(carry["k"]):
            m.d.sync += buffer.eq(~buffer)
        with m.If((carry["i"] & self.at_i_last) | self.stop):
            m.d.sync += self.running.eq(0)
        with m.If(self.start):
            m.d.sync += [self.running.eq(1), row.eq(0), buffer.eq(0)]
            m.d.sync += [pointer.eq(self.base) for pointer in pointers.values()]
            m.d.sync += [counter.eq(0) for counter in position.values()]
        return m
