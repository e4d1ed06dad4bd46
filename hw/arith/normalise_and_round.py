"""The end of a pipelined float operator: an exact total, normalised, rounded and packed."""

from __future__ import annotations

from amaranth.hdl import Module, Value

from ..spec.formats import FloatFormat
from .pipeline import Bundle, Pipeline
from .round import NormaliseSum, RoundPack

__all__ = ["normalise_and_round"]

_SPECIALS = ("nan", "infinite", "negative")


def normalise_and_round(
    m: Module, bundle: Bundle, result: FloatFormat, pipeline: Pipeline
) -> Value:
    """The total, rounded to nearest even and packed, special values included.

    It has the pipeline's registers within the normalisation (cut ``shifted``) and behind the
    rounding (cut ``result``).

    Parameters
    ----------
    m: the module
    bundle: ``total``, ``limit``, ``flip``, ``negative_zero`` and, if anything was lost,
        ``lost_positive`` and ``lost_negative``, see :class:`NormaliseSum`; ``nan``, ``infinite``
        and ``negative``, see ``special_layout``
    result: format of the result
    pipeline: of the operator
    """
    register = pipeline.has("shifted")
    m.submodules.normalise = normalise = NormaliseSum(
        result,
        sum_bits=len(bundle["total"]),
        limit_bits=len(bundle["limit"]),
        register=register,
    )
    if register:
        m.d.comb += normalise.advance.eq(pipeline.advance)
    inputs = sorted(set(bundle) - set(_SPECIALS))
    m.d.comb += [getattr(normalise, name).eq(bundle[name]) for name in inputs]
    special = pipeline.cut("shifted", {name: bundle[name] for name in _SPECIALS})
    m.submodules.round = rounder = RoundPack(result)
    m.d.comb += rounder.i.eq(normalise.o)
    m.d.comb += [rounder.special[name].eq(special[name]) for name in _SPECIALS]
    return pipeline.cut("result", {"o": rounder.o})["o"]
