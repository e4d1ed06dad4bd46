"""Merges the entries of two sparse tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...spec.t2s.tokens import TokenLayout
from ...stream.output_register import OutputRegister
from .layouts import says_nothing, token_layout

__all__ = ["Merger"]

_ANY = {"intersection": False, "union": True}
"""Whether an entry of one tensor alone is enough."""


class Merger(wiring.Component):
    """Entries of the same place become one, those of one tensor alone are dropped or get a pad.

    Both streams have a tile's entries in the same order, each place at most once, and the same
    ends; so has what leaves. What says nothing is dropped. Latency one cycle. In each cycle in
    which what leaves is taken, and both streams offer something, at least one moves on, and an end
    is a token, as a pair is.

    Source: merge lattices, as TACO's. An intersection has one point, where both have an entry; a
    union has three.

    Parameters
    ----------
    layout: of the tokens that come
    kind: "intersection" or "union"
    order: fields by which entries of a tile are ordered, the slowest one first: ``slot``,
        ``at_<index>``
    pad: (union) pattern of the word of an entry that is not there

    Members
    -------
    i_a, i_b: the tokens of two tensors
    o: tokens of both, with ``value_0`` of the first and ``value_1`` of the second; of a union
        ``there`` says which are
    """

    def __init__(
        self, layout: TokenLayout, kind: str, order: Sequence[str], *, pad: int = 0
    ) -> None:
        self._layout, self._kind, self._order, self._pad = layout, kind, tuple(order), pad
        self._merged = layout.merged(lacking=_ANY[kind])
        token = stream.Signature(token_layout(layout))
        super().__init__(
            {
                "i_a": In(token),
                "i_b": In(token),
                "o": Out(stream.Signature(token_layout(self._merged))),
            }
        )

    @property
    def layout(self) -> TokenLayout:
        return self._layout

    @property
    def kind(self) -> str:
        return self._kind

    @property
    def order(self) -> tuple[str, ...]:
        return self._order

    @property
    def pad(self) -> int:
        return self._pad

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.register = register = OutputRegister(self.o.payload.shape())
        wiring.connect(m, register.o, wiring.flipped(self.o))
        a, b = self.i_a.payload, self.i_b.payload
        nothing_a = Signal()
        nothing_b = Signal()
        both = Signal()
        takes_a = Signal()
        takes_b = Signal()
        moves = Signal()
        m.d.comb += [
            nothing_a.eq(says_nothing(a)),
            nothing_b.eq(says_nothing(b)),
            both.eq(self.i_a.valid & self.i_b.valid & ~nothing_a & ~nothing_b),
        ]
        # An end is behind all entries. Two ends are equal: their tiles are the same one.
        key_a, key_b = self._key(a), self._key(b)
        m.d.comb += [
            takes_a.eq(a.present & (~b.present | (key_a <= key_b)) | ~a.present & ~b.present),
            takes_b.eq(b.present & (~a.present | (key_b <= key_a)) | ~a.present & ~b.present),
            self.i_a.ready.eq(nothing_a | (both & takes_a & moves)),
            self.i_b.ready.eq(nothing_b | (both & takes_b & moves)),
        ]
        if _ANY[self._kind]:
            m.d.comb += [register.i.valid.eq(both), moves.eq(register.i.ready)]
        else:
            # What one tensor alone has goes without being sent.
            m.d.comb += [
                register.i.valid.eq(both & takes_a & takes_b),
                moves.eq(register.i.ready | ~(takes_a & takes_b)),
            ]
        merged = register.i.payload
        present = {"value_0": takes_a & a.present, "value_1": takes_b & b.present}
        values = {"value_0": a.value, "value_1": b.value}
        for name, value in values.items():
            word = value
            if _ANY[self._kind]:
                word = Mux(present[name], value, Const(self._pad, len(value)))
            m.d.comb += merged[name].eq(word)
        if self._merged.lacking:
            m.d.comb += merged.there.eq(Cat(present.values()))
        for one in self._layout.fields:
            if one.name == "value":
                continue
            m.d.comb += merged[one.name].eq(a[one.name])
            if _ANY[self._kind]:
                with m.If(~takes_a):
                    m.d.comb += merged[one.name].eq(b[one.name])
        return m

    def _key(self, token: Any) -> Value:
        """Where an entry is in its tile; the first field decides."""
        return Cat(*(token[name] for name in reversed(self._order)))
