"""The stages of a pipelined fused sum, between its products and its result.

Products and an addend are summed in the order of the functions here: the largest exponent
anchors a window, distances from it align the terms, a carry-save tree and an adder sum them,
and the total is normalised and rounded. Each function builds its stage into a module. Values
go from stage to stage by name, in a bundle, so that a
:class:`~tilewright.hw.arith.pipeline.Pipeline` can put registers between any two of them:

exponent_0, ..., addend_exponent: exponents of the products and of the addend
maximum_0, ...: the larger ones of pairs of exponents
anchor: the largest exponent
distance_0, ..., distance_addend: how far each term lies below the anchor
addend: the addend's significand
first, second, carry, lost_positive, lost_negative: what :class:`AlignedSum` gives
total, zeros, limit: what :class:`NormaliseSum` takes
flip: the total is to be negated
special: what special values decide, see :func:`~tilewright.hw.arith.round.special_layout`
magnitude: see :func:`~tilewright.hw.arith.round.rounding_layout`
"""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec.formats import FloatFormat
from ..pipeline import Bundle, Pipeline, count_leading_zeros
from ..round import NormaliseSum, RoundPack, exponent_limit, special_layout
from .aligned_sum import AlignedSum


class ExponentMaximum(wiring.Component):
    """Finds the largest exponent among the terms that are present.

    Combinational, a tree of ``ceil(log2(count))`` comparisons.

    Parameters
    ----------
    count: number of exponents
    exponent_bits: width of an exponent, two's complement

    Members
    -------
    exponents: the exponents
    ignore: a bit for each; set for a term that is zero
    maximum: the largest exponent not ignored; the most negative number if all are
    """

    def __init__(self, count: int, exponent_bits: int) -> None:
        self._count = count
        self._exponent_bits = exponent_bits
        super().__init__(
            {
                "exponents": In(data.ArrayLayout(signed(exponent_bits), count)),
                "ignore": In(count),
                "maximum": Out(signed(exponent_bits)),
            }
        )

    @property
    def count(self) -> int:
        return self._count

    @property
    def exponent_bits(self) -> int:
        return self._exponent_bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lowest = -(1 << (self._exponent_bits - 1))
        level = []
        for i in range(self._count):
            candidate = Signal(signed(self._exponent_bits), name=f"candidate_{i}")
            m.d.comb += candidate.eq(Mux(self.ignore[i], lowest, self.exponents[i]))
            level.append(candidate)
        depth = 0
        while len(level) > 1:
            following = []
            for i in range(0, len(level) - 1, 2):
                larger = Signal(signed(self._exponent_bits), name=f"larger_{depth}_{i // 2}")
                first, second = level[i], level[i + 1]
                m.d.comb += larger.eq(Mux(first > second, first, second))
                following.append(larger)
            level, depth = following + level[len(level) - len(level) % 2 :], depth + 1
        m.d.comb += self.maximum.eq(level[0])
        return m


def named(m: Module, name: str, value: Value) -> Value:
    """The value as a signal of that name."""
    signal = Signal.like(value, name=name)
    m.d.comb += signal.eq(value)
    return signal


def pair_maxima(m: Module, exponents: Sequence[Value], ignore: Value) -> dict[str, Value]:
    """The larger ones of pairs of exponents, the first level of a tree: ``maximum_0`` and on."""
    width, maxima = max(map(len, exponents)), {}
    for i in range(0, len(exponents), 2):
        pair = exponents[i : i + 2]
        m.submodules[f"maximum_{i // 2}"] = maximum = ExponentMaximum(len(pair), width)
        for k, exponent in enumerate(pair):
            m.d.comb += maximum.exponents[k].eq(exponent)
        m.d.comb += maximum.ignore.eq(ignore[i : i + 2])
        maxima[f"maximum_{i // 2}"] = maximum.maximum
    return maxima


def largest_exponent(m: Module, exponents: Sequence[Value], ignore: Value) -> Value:
    """The anchor: the largest of the exponents that are not ignored, a bit for each."""
    m.submodules.maximum = maximum = ExponentMaximum(len(exponents), max(map(len, exponents)))
    for i, exponent in enumerate(exponents):
        m.d.comb += maximum.exponents[i].eq(exponent)
    m.d.comb += maximum.ignore.eq(ignore)
    return maximum.maximum


def anchored(m: Module, bundle: Bundle) -> Bundle:
    """The bundle with its anchor in place of the larger ones of pairs of exponents, if any."""
    maxima = [value for name, value in bundle.items() if name.startswith("maximum_")]
    if not maxima:
        return bundle
    rest = {name: value for name, value in bundle.items() if not name.startswith("maximum_")}
    return {**rest, "anchor": largest_exponent(m, maxima, C(0, len(maxima)))}


def measure_distances(m: Module, bundle: Bundle, *, products: int) -> dict[str, Value]:
    """Distances, from ``anchor`` and the exponents."""
    result: dict[str, Value] = {}
    for name in [*map(str, range(products)), "addend"]:
        key = "addend_exponent" if name == "addend" else f"exponent_{name}"
        distance = Signal(len(bundle["anchor"]), name=f"distance_{name}")
        m.d.comb += distance.eq(bundle["anchor"] - bundle[key])
        result[f"distance_{name}"] = distance
    return result


def align_terms(
    m: Module, bundle: Bundle, *, products: Sequence[Value], alignment_bits: int
) -> AlignedSum:
    """Alignment and carry-save addition of the products and ``addend``, from the distances.

    What is left to connect is ``negative``: the units find the products' signs in their own ways.

    Parameters
    ----------
    products: significands of one width, binary point behind the two top bits
    alignment_bits: accumulation window, in bits
    """
    m.submodules.aligned_sum = aligned = AlignedSum(
        products=len(products),
        product_bits=len(products[0]),
        addend_bits=len(bundle["addend"]),
        alignment_bits=alignment_bits,
        distance_bits=len(bundle["distance_addend"]),
    )
    for i, product in enumerate(products):
        m.d.comb += [
            aligned.significands[i].eq(product),
            aligned.distances[i].eq(bundle[f"distance_{i}"]),
        ]
    m.d.comb += [
        aligned.addend.eq(bundle["addend"]),
        aligned.addend_distance.eq(bundle["distance_addend"]),
    ]
    return aligned


def carry_save_rows(aligned: AlignedSum) -> dict[str, Value]:
    """Returns ``first``, ``second``, ``carry`` and the lost bits."""
    return {
        "first": aligned.rows[0],
        "second": aligned.rows[1],
        "carry": aligned.carry,
        "lost_positive": aligned.lost_positive,
        "lost_negative": aligned.lost_negative,
    }


def add_rows(m: Module, bundle: Bundle, result: FloatFormat, *, head_bits: int) -> dict[str, Value]:
    """``total``, ``zeros`` and ``limit``, by carry-propagate addition of ``first`` and ``second``.

    Without a first row, the second one is the total.

    Parameters
    ----------
    result: format of the result
    head_bits: the total's top magnitude bit weighs ``2**(anchor + head_bits - 1)``
    """
    value = bundle["second"]
    total = Signal(signed(len(value)))
    if "first" in bundle:
        # The carry enters below the lowest bit.
        first, second = (Cat(bundle["carry"], bundle[row]) for row in ("first", "second"))
        value = (first + second)[1:]
    m.d.comb += total.eq(value)
    limit = exponent_limit(result, bundle["anchor"], head_bits)
    complement = named(m, "complement", total[:-1] ^ total[-1].replicate(len(total) - 1))
    zeros = count_leading_zeros(m, complement, name="zeros")
    return {"total": total, "zeros": zeros, "limit": named(m, "limit", limit)}


def normalise(
    m: Module, bundle: Bundle, result: FloatFormat, pipeline: Pipeline
) -> dict[str, Value]:
    """Returns ``magnitude``, computed from ``total``, ``zeros``, ``limit``, ``flip``, ``special``
    and the lost bits, if any, with the pipeline's registers behind the shifts (cut ``shifted``)."""
    register = pipeline.has("shifted")
    m.submodules.normalise = normaliser = NormaliseSum(
        result,
        sum_bits=len(bundle["total"]),
        limit_bits=len(bundle["limit"]),
        counted=True,
        register=register,
    )
    special = data.View(special_layout(), bundle["special"])
    if register:
        m.d.comb += normaliser.advance.eq(pipeline.advance)
    m.d.comb += [
        normaliser.total.eq(bundle["total"]),
        normaliser.zeros.eq(bundle["zeros"]),
        normaliser.limit.eq(bundle["limit"]),
        normaliser.flip.eq(bundle["flip"]),
        normaliser.lost_positive.eq(bundle.get("lost_positive", C(0, 1))),
        normaliser.lost_negative.eq(bundle.get("lost_negative", C(0, 1))),
        normaliser.negative_zero.eq(special.negative_zero),
    ]
    kept = pipeline.cut("shifted", {"special": bundle["special"]})
    return {"magnitude": normaliser.o.as_value(), "special": kept["special"]}


def round_pack(m: Module, bundle: Bundle, result: FloatFormat) -> Value:
    """The result, packed, from ``magnitude`` and ``special``."""
    m.submodules.round = rounder = RoundPack(result)
    m.d.comb += [
        rounder.i.eq(bundle["magnitude"]),
        rounder.special.eq(bundle["special"]),
    ]
    packed: Value = rounder.o
    return packed
