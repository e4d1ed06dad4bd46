"""The end of a pipelined float operator: an exact total, normalised, rounded and packed."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Value

from ..spec.formats import FloatFormat
from .pipeline import Bundle, Pipeline
from .round import NormaliseSum, RoundPack

__all__ = ["normalise_and_round"]

_SPECIALS = ("nan", "infinite", "negative")


def normalise_and_round(
    m: Module,
    bundle: Bundle,
    result: FloatFormat,
    pipeline: Pipeline,
    *,
    narrow: Sequence[FloatFormat] = (),
) -> Value:
    """The total, rounded to nearest even and packed, special values included.

    It has the pipeline's registers within the normalisation (cut ``shifted``) and behind the
    rounding (cut ``result``).

    Parameters
    ----------
    m: the module
    bundle: ``total``, ``limit``, ``flip``, ``negative_zero`` and, if anything was lost,
        ``lost_positive`` and ``lost_negative``, see :class:`NormaliseSum`; ``nan``, ``infinite``
        and ``negative``, see ``special_layout``; with narrow formats ``narrow``
    result: format of the result
    pipeline: of the operator
    narrow: formats of the result while their bit in the bundle's ``narrow`` is set, at most one; it
        comes in the low bits
    """
    register = pipeline.has("shifted")
    m.submodules.normalise = normalise = NormaliseSum(
        result,
        sum_bits=len(bundle["total"]),
        limit_bits=len(bundle["limit"]),
        register=register,
        narrow=narrow,
    )
    if register:
        m.d.comb += normalise.advance.eq(pipeline.advance)
    beside = (*_SPECIALS, "narrow") if narrow else _SPECIALS
    inputs = sorted(set(bundle) - set(beside))
    m.d.comb += [getattr(normalise, name).eq(bundle[name]) for name in inputs]
    kept = pipeline.cut("shifted", {name: bundle[name] for name in beside})
    m.submodules.round = rounder = RoundPack(result)
    m.d.comb += rounder.i.eq(normalise.o)
    m.d.comb += [rounder.special[name].eq(kept[name]) for name in _SPECIALS]
    o: Value = rounder.o
    for n, fmt in enumerate(narrow):
        m.submodules[f"round_{fmt.name}"] = other = RoundPack(fmt)
        m.d.comb += other.i.eq(normalise.o_narrow[fmt.name])
        m.d.comb += [other.special[name].eq(kept[name]) for name in _SPECIALS]
        o = Cat(Mux(kept["narrow"][n], other.o, o[: fmt.bits]), o[fmt.bits :])
    return pipeline.cut("result", {"o": o})["o"]
