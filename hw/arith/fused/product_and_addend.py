"""One exact product and one addend: which stands above, and their sum."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed

from ...spec.formats import FloatFormat
from ..pipeline import Bundle
from .aligned_sum import AlignedSum

__all__ = ["anchor_terms", "sum_terms", "window_bits"]


def anchor_terms(
    m: Module, exponent: Value, zero: Value, addend_exponent: Value, addend_zero: Value
) -> dict[str, Value]:
    """The larger exponent of the two terms that are not zero.

    Parameters
    ----------
    m: the module
    exponent, zero: of the product
    addend_exponent, addend_zero: of the addend; both exponents have the same shape and offset

    Returns ``above``: the product stands there; ``anchor``: the exponent; ``distance``: how far
    the other term lies below.
    """
    above = Signal()
    anchor = Signal.like(exponent)
    distance = Signal(len(exponent))
    m.d.comb += [
        # A term that is zero leaves the other one where it is.
        above.eq(~zero & (addend_zero | (exponent >= addend_exponent))),
        anchor.eq(Mux(above, exponent, addend_exponent)),
        distance.eq(Mux(above, exponent - addend_exponent, addend_exponent - exponent)),
    ]
    return {"above": above, "anchor": anchor, "distance": distance}


def sum_terms(m: Module, bundle: Bundle, *, alignment_bits: int) -> dict[str, Value]:
    """Sums the aligned terms, relative to the addend's sign; also returns the lost bits.

    Parameters
    ----------
    m: the module
    bundle: ``significand`` of the product, binary point behind its two top bits; ``addend``,
        binary point behind its top bit; ``differ``: their signs do; ``above`` and ``distance``,
        see :func:`anchor_terms`
    alignment_bits: of the window below the anchor

    Returns ``total``, ``lost_positive`` and ``lost_negative``, see :class:`NormaliseSum`.
    """
    distance = bundle["distance"]
    m.submodules.sum = aligned = AlignedSum(
        products=1,
        product_bits=len(bundle["significand"]),
        addend_bits=len(bundle["addend"]),
        alignment_bits=alignment_bits,
        distance_bits=len(distance),
    )
    total = Signal(signed(aligned.sum_bits))
    first, second = (Cat(aligned.carry, row) for row in aligned.rows)
    m.d.comb += [
        aligned.significands[0].eq(bundle["significand"]),
        aligned.addend.eq(bundle["addend"]),
        aligned.distances[0].eq(Mux(bundle["above"], 0, distance)),
        aligned.addend_distance.eq(Mux(bundle["above"], distance, 0)),
        aligned.negative.eq(bundle["differ"]),
        total.eq((first + second)[1:]),
    ]
    return {
        "total": total,
        "lost_positive": aligned.lost_positive,
        "lost_negative": aligned.lost_negative,
    }


def window_bits(operand: FloatFormat, result: FloatFormat, *, normalised: bool) -> int:
    """Returns the bits of the window: the part of the terms below the anchor that a correctly
    rounded result needs.

    Normalised terms need all bits of the one at the anchor, and two places more. Without
    normalisation a product may have leading zeros, as many as a fraction has bits, or twice that,
    where products of two subnormal numbers are more than the smallest sum. The window then holds
    its last bit, the bits of a result that begins one place lower, and three bits below that.

    Parameters
    ----------
    operand: of the product's factors
    result: of the addend and of the sum
    normalised: whether operands and addend are
    """
    if normalised:
        return max(2 * operand.significand_bits, result.significand_bits) + 2
    factors = 2 if 2 * operand.emin >= result.emin else 1
    return factors * operand.fraction_bits + result.significand_bits + 3
