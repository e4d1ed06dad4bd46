"""Processing elements, random operations for them, and their results.

Sums of floats are the fused dot products of :mod:`~tilewright.sim.numbers.fused`; every other one
is computed number by number by the oracle of the semirings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from amaranth.hdl import Module
from amaranth.lib import wiring
from tilewright.hw.spec.formats import FloatFormat, Format
from tilewright.hw.spec.t2s.arithmetic import LaneSum
from tilewright.hw.spec.t2s.parts import ElementPart, OperandPart
from tilewright.hw.stream.stream_registers import OutputRegister
from tilewright.hw.t2s.pe import Pe
from tilewright.sim.numbers.fused import fused_dot_product
from tilewright.verif.oracles import stimuli
from tilewright.verif.oracles.semirings import exact_result

Words = npt.NDArray[np.uint64]
_NUMPY = {"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}


def part_of(
    arithmetic: LaneSum,
    sums: int,
    *,
    inner: Sequence[str] = ("A", "B"),
    outer: Sequence[str] = (),
    scalars: Sequence[str] = (),
    start: str = "",
    vector: int = 1,
) -> ElementPart:
    """An element, whose operands are passed on along one loop, the first along two.

    ``scalars``: operands of one lane, beside those that are factored out. ``start``: the name of
    what sums start from. ``vector``: sums side by side.
    """
    names = (*inner, *outer)
    operands = tuple(
        OperandPart(
            name,
            1 if name in (*outer, *scalars) else arithmetic.lanes * vector,
            ("jj", "kk") if name == names[0] else ("ii",),
        )
        for name in names
    )
    if start:
        lanes = 1 if start in scalars else vector
        operands += (OperandPart(start, lanes, ("ii",), starts=True),)
    return ElementPart("C", operands, arithmetic, tuple(inner), tuple(outer), sums, vector=vector)


class RegisteredPe(wiring.Component):
    """An element, with the registers of channels after its outputs.

    Members are those of :class:`Pe`.
    """

    def __init__(self, part: ElementPart) -> None:
        self.pe = Pe(part)
        super().__init__(self.pe.signature)

    @property
    def part(self) -> ElementPart:
        return self.pe.part

    @property
    def passed_on(self) -> dict[str, str]:
        """Returns the names of outputs, and the operands that leave there."""
        return {
            f"o_{one.name}_{loop}": one.name for one in self.part.operands for loop in one.forwards
        }

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.pe = pe = self.pe
        for one in self.part.operands:
            port = getattr(self, f"i_{one.name}")
            wiring.connect(m, wiring.flipped(port), getattr(pe, f"i_{one.name}"))
        for name in self.passed_on:
            source = getattr(pe, name)
            m.submodules[name] = register = OutputRegister(source.payload.shape())
            wiring.connect(m, source, register.i)
            wiring.connect(m, register.o, wiring.flipped(getattr(self, name)))
        wiring.connect(m, pe.o, wiring.flipped(self.o))
        m.d.comb += self.busy.eq(pe.busy)
        return m


@dataclass(frozen=True)
class Operations:
    """Words of an element's streams, and their results.

    Members
    -------
    words: by operand, payloads of its stream
    results: that it sends
    """

    words: dict[str, list[int]]
    results: list[int]


def random_operations(part: ElementPart, rounds: Sequence[int], seed: int) -> Operations:
    """All sums, several times.

    Parameters
    ----------
    rounds: how many operations a sum has, each time
    """
    rng = np.random.default_rng(seed)
    config = part.arithmetic
    words: dict[str, list[int]] = {one.name: [] for one in part.operands}
    results: list[int] = []
    for depth in rounds:
        identity = config.semirings[0].identity_in(config.result)
        sums = np.full(part.sums * part.vector, identity, np.uint64)
        for step in range(depth):
            taken = [one for one in part.operands if step == 0 or not one.starts]
            here = {
                one.name: random_words(rng, part.word_format(one), (part.sums, one.lanes))
                for one in taken
            }
            apart = {name: _apart(part, words) for name, words in here.items()}
            for one in taken:
                if one.starts:
                    sums = apart[one.name][:, 0]
            sums = after(part.of_a_lane() if part.vector > 1 else part, sums, apart)
            for one in taken:
                flags = (step == 0) | (step == depth - 1) << 1
                bits = part.word_format(one).container_bits
                words[one.name] += [
                    _packed(row, bits, flags if one is part.operands[0] else 0)
                    for row in here[one.name].tolist()
                ]
        results += [
            _packed(row, config.result.container_bits, 0)
            for row in sums.reshape(part.sums, part.vector).tolist()
        ]
    return Operations(words, results)


def _apart(part: ElementPart, words: Words) -> Words:
    """Returns the words of each sum (sums, lanes); the lanes of a vector are sums one after the
    other."""
    if part.vector == 1:
        return words
    return np.broadcast_to(words, (part.sums, part.vector)).reshape(-1, 1)


def folded(config: LaneSum, a: Words, b: Words, c: Words) -> Words:
    """``c (+) (+) over lanes of a (x) b``, of many sums at once: (sums, lanes) and (sums,)."""
    row, element, result = config.semirings[0], config.element, config.result
    if row.plus == "add" and row.times == "mul" and isinstance(element, FloatFormat):
        assert isinstance(result, FloatFormat)
        return fused_dot_product(
            a, b, c, operand=element, result=result, alignment_bits=config.window_bits
        )
    sums = zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
    return np.array([exact_result(row, x, y, z, element, result) for x, y, z in sums], np.uint64)


def widened(words: Words, element: Format, result: Format) -> Words:
    """Words in a format that has all their values."""
    if not isinstance(element, FloatFormat):
        return _integers(words, element.bits).view(np.uint64) & np.uint64((1 << result.bits) - 1)
    values = words.astype(f"u{element.bits // 8}").view(_NUMPY[element.name])
    return values.astype(_NUMPY[result.name]).view(f"u{result.bits // 8}").astype(np.uint64)


def after(part: ElementPart, sums: Words, here: dict[str, Words]) -> Words:
    """The sums (sums,) after an operation each, of words (sums, lanes)."""
    config, count = part.arithmetic, len(sums)
    if len(part.inner) == 1:
        return _after_words(config, here[part.inner[0]], sums)
    if len(part.inner) == 3:
        return _after_three(config, [here[name] for name in part.inner], sums)
    a, b = (np.broadcast_to(here[name], (count, config.lanes)) for name in part.inner)
    if not part.outer:
        return folded(config, a, b, sums)
    of_sums = config.of_sums()
    identity = np.full(count, config.semirings[0].identity_in(config.result), np.uint64)
    first, *others = (widened(here[name], config.element, config.result) for name in part.outer)
    for other in others:
        first = folded(of_sums, first, other, identity)[:, np.newaxis]
    inner = folded(config, a, b, identity)[:, np.newaxis]
    return folded(of_sums, first, inner, sums)


def _after_three(config: LaneSum, operands: list[Words], sums: Words) -> Words:
    """``sum (+) (+) over lanes of a b c``, the product of a and b rounded, or exact."""
    of_pairs, of_products = replace(config, lanes=1), config.of_products()
    shape = (len(sums), config.lanes)
    a, b, c = (np.broadcast_to(one, shape).reshape(-1, 1) for one in operands)
    nothing = config.semirings[0].identity_in(config.result)
    pairs = folded(of_pairs, a, b, np.full(len(a), nothing, np.uint64))
    pairs = pairs & np.uint64((1 << of_products.element.bits) - 1)
    wide = widened(c, config.element, of_products.element)
    return folded(of_products, pairs.reshape(shape), wide.reshape(shape), sums)


def _after_words(config: LaneSum, words: Words, sums: Words) -> Words:
    """``c (+) (+) over lanes of a``."""
    if config.semiring == "mma":
        one = config.element.constant("1")
        return folded(config, words, np.full(words.shape, one, np.uint64), sums)
    # The greater of a word and itself.
    assert config.semirings[0].plus == "min"
    return folded(replace(config, ops=("minmax",)), words, words, sums)


def _integers(words: Words, bits: int) -> npt.NDArray[np.int64]:
    spare = 64 - bits
    return (words << np.uint64(spare)).view(np.int64) >> np.int64(spare)


def _packed(row: list[int], bits: int, flags: int) -> int:
    word = sum(value << bits * lane for lane, value in enumerate(row))
    return word | flags << bits * len(row)


def random_words(rng: np.random.Generator, fmt: Format, shape: tuple[int, int]) -> Words:
    """Mostly ordinary numbers, here and there a zero, a special one or an end of the range."""
    kind = rng.random(shape)
    if isinstance(fmt, FloatFormat):
        found = stimuli.values(rng, "log_uniform", shape, fmt)
        found = np.where(kind < 0.3, stimuli.values(rng, "subnormal", shape, fmt), found)
        found = np.where(kind < 0.01, stimuli.values(rng, "special", shape, fmt), found)
    else:
        found = rng.integers(0, 1 << fmt.bits, shape, dtype=np.uint64)
        ends: Any = rng.choice([fmt.lowest, fmt.highest], shape).view(np.uint64)
        found = np.where(kind < 0.1, ends & np.uint64((1 << fmt.bits) - 1), found)
    return np.where((kind > 0.6) & (kind < 0.7), np.uint64(0), found)
