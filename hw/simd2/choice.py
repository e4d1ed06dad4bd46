"""The choice of a (+) ALU: the least or greatest of the terms and the addend.

It takes its place beside the stages of a sum, see :mod:`tilewright.hw.arith.fused.sum_stages`, and
like them reads a bundle of values by name: ``significand_0``, ..., ``exponent_0``, ..., ``sign``
and ``infinite`` of the terms, ``addend``, ``addend_exponent``, ``addend_infinite`` and its sign
``flip``, and ``greatest``.
"""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from ..arith.pipeline import Bundle
from ..arith.round import special_layout
from .select import Select, candidate_layout

__all__ = ["choice_special", "choose"]


def choose(
    m: Module,
    bundle: Bundle,
    *,
    terms: int,
    term: data.StructLayout,
    choice: data.StructLayout,
) -> data.View:
    """The chosen one.

    Parameters
    ----------
    terms: number of terms
    term: their layout, see :func:`term_layout`
    choice: layout of the addend among the candidates, and of the chosen one
    """
    candidate = candidate_layout(term["significand"].width, term["exponent"].width)
    m.submodules.select = select = Select(terms, candidate, choice)
    for i in range(terms):
        place = select.terms[i]
        m.d.comb += [
            place.significand.eq(bundle[f"significand_{i}"]),
            place.exponent.eq(bundle[f"exponent_{i}"]),
            place.infinite.eq(bundle["infinite"][i]),
            place.sign.eq(bundle["sign"][i]),
        ]
    more = choice["significand"].width - len(bundle["addend"])
    m.d.comb += [
        select.last.significand.eq(Cat(C(0, more), bundle["addend"])),
        select.last.exponent.eq(bundle["addend_exponent"]),
        select.last.infinite.eq(bundle["addend_infinite"]),
        select.last.sign.eq(bundle["flip"]),
        select.maximum.eq(bundle["greatest"]),
    ]
    return select.o


def choice_special(m: Module, special: Value, choice: data.View, selects: Value) -> Value:
    """The special cases, with an infinity or a zero that was chosen."""
    before = data.View(special_layout(), special)
    after = Signal(special_layout(), name="choice_special")
    m.d.comb += [
        after.nan.eq(before.nan),
        after.infinite.eq(before.infinite | (choice.infinite & selects)),
        after.negative.eq(Mux(selects, choice.sign, before.negative)),
        after.negative_zero.eq(Mux(selects, choice.sign, before.negative_zero)),
    ]
    return after.as_value()
