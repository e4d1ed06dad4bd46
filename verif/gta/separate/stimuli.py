"""Operations of a lane with separate units: mixed formats, kinds of values, sums that cancel."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FORMATS, FloatFormat, Format
from tilewright.hw.spec.gta import FORMATS_OF_GTA
from tilewright.hw.spec.gta_lane.separate import GtaSeparateConfig, elements, sum_format, sum_words
from tilewright.sim.gta.separate import multiply_add
from tilewright.verif.oracles import stimuli

Words = npt.NDArray[np.uint64]
Generator = np.random.Generator

KINDS = ("bits", "special", "cancelling", "near", "small")
"""Any bits; the ends of ranges, infinities and the like; an addend that leaves little of the
product, or nothing; an addend of a size similar to the product's; likewise of a subnormal factor,
or of small integers."""


class Operations(NamedTuple):
    """Operations as they go into the unit, in their order, and the kind of each."""

    format: Words
    a: Words
    b: Words
    c: npt.NDArray[np.uint32]
    kind: list[str]

    @property
    def fields(self) -> dict[str, Any]:
        """Fields of the stream's payloads."""
        return {"format": self.format, "a": self.a, "b": self.b, "c": self.c}


def illegal_formats(config: GtaSeparateConfig) -> list[int]:
    """Numbers of formats that the unit was not built with."""
    legal = config.opcodes.values()
    return [number for number in range(1 << config.format_bits) if number not in legal]


def operands(format: str, kind: str, count: int, rng: Generator) -> tuple[Words, Words, Words]:
    """a and b (count,), c (words, count) of one kind."""
    operand, result = FORMATS[format], sum_format(format)
    a, b = (_words(operand, kind, count, rng) for _ in range(2))
    if kind == "small":
        b = np.where(rng.random(count) < 0.8, _words(operand, "near", count, rng), b)
    c = np.stack([_words(result, kind, count, rng) for _ in range(sum_words(format))])
    product = multiply_add(format, a, b, np.zeros_like(c))
    if kind in ("near", "small") and isinstance(result, FloatFormat):
        c = stimuli.near_values(rng, product, result, 2 * result.significand_bits + 6)
    elif kind == "cancelling":
        c = _opposite(format, product)
        c[0] ^= rng.integers(0, 4, count, dtype=np.uint64)
    return a, b, c


def _words(fmt: Format, kind: str, count: int, rng: Generator) -> Words:
    if isinstance(fmt, FloatFormat):
        drawn = {"special": kind, "cancelling": "log_uniform", "small": "subnormal"}.get(
            kind, "bits"
        )
        return stimuli.values(rng, drawn, (count,), fmt)
    mask = (1 << fmt.bits) - 1
    if kind == "special":
        ends = [fmt.lowest, fmt.lowest + 1, -1, 0, 1, fmt.highest - 1, fmt.highest]
        return rng.choice(np.array([x & mask for x in ends], np.uint64), count)
    if kind in ("near", "small"):
        return rng.integers(-3, 4, count).astype(np.uint64) & np.uint64(mask)
    return rng.integers(0, mask, count, np.uint64, endpoint=True)


def _opposite(format: str, sums: Words) -> Words:
    """Minus the sums; of integers one less."""
    fmt = sum_format(format)
    if isinstance(fmt, FloatFormat):
        return sums ^ np.uint64(1 << (fmt.bits - 1))
    return sums ^ np.uint64((1 << fmt.bits) - 1)


def operations(
    config: GtaSeparateConfig,
    count: int,
    seed: int,
    *,
    formats: tuple[str, ...] | None = None,
    illegal: float = 0.05,
) -> Operations:
    """``count`` operations of random formats and kinds, a share of them in formats that the unit
    has not; bits that no element takes are random."""
    rng = np.random.default_rng(seed)
    chosen = formats or config.formats
    format = rng.choice([FORMATS_OF_GTA.index(name) for name in chosen], count).astype(np.uint64)
    kinds = rng.choice(np.array(KINDS), count)
    a, b = (rng.integers(0, 1 << 64, count, np.uint64, endpoint=False) for _ in range(2))
    c = rng.integers(0, 1 << 32, (count, config.result_words), np.uint32, endpoint=False)
    for name in chosen:
        for kind in KINDS:
            number = FORMATS_OF_GTA.index(name)
            here = np.flatnonzero((format == number) & (kinds == kind))
            a[here], b[here], c[here] = _payloads(name, kind, c[here], rng)
    wrong = illegal_formats(config)
    if wrong and illegal:
        out = rng.random(count) < illegal
        format[out] = rng.choice(wrong, int(out.sum()))
    return Operations(format, a, b, c, kinds.tolist())


def _payloads(
    format: str, kind: str, c: npt.NDArray[np.uint32], rng: Generator
) -> tuple[Words, Words, npt.NDArray[np.uint32]]:
    """Draws the payloads of operations in one format; ``c``: the bits above the elements."""
    count, each = len(c), elements(format)
    left, right, addends = operands(format, kind, count * each, rng)
    shifts = np.arange(each, dtype=np.uint64) * np.uint64(FORMATS[format].bits)
    a, b = (np.bitwise_or.reduce(x.reshape(count, each) << shifts, axis=1) for x in (left, right))
    word = f"<u{sum_format(format).bits // 8}"
    flat = (
        np.ascontiguousarray(addends.T)
        .reshape(count, each * sum_words(format))
        .astype(word)
        .view("<u4")
    )
    found = c.copy()
    found[:, : flat.shape[1]] = flat
    return a, b, found
