"""Operations of matrix units: mixes of modes (semirings), values and illegal opcodes, in the unit's
lanes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FLOAT_FORMATS, Format, IntFormat
from tilewright.hw.spec.m3xu import MODES, GridUnitConfig
from tilewright.hw.spec.simd2 import Simd2Config
from tilewright.sim.numbers.floats import to_container
from tilewright.sim.numbers.values import decode
from tilewright.sim.units.m3xu import elements_deep, pack_a, pack_b
from tilewright.verif.oracles import stimuli

from . import semiring_stimuli

AnyMatrixUnit = GridUnitConfig | Simd2Config
"""Configurations that these benches support."""

Words = npt.NDArray[np.uint64]
Generator = np.random.Generator

TILE_KINDS = (
    "uniform", "moderate", "log_uniform", "subnormal", "sparse", "bits", "mixed", "special",
    "cancellation",
)  # fmt: skip


class Operations(NamedTuple):
    """Operations in the order in which they are sent, and what each is made of.

    ``metadata`` is there in a sparse unit only.
    """

    op: Words
    a: Words
    b: Words
    c: Words
    kind: list[str]
    metadata: Words | None = None

    @property
    def fields(self) -> dict[str, Words]:
        """The fields of the unit's input stream."""
        given = {"op": self.op, "a": self.a, "b": self.b, "c": self.c}
        return given if self.metadata is None else given | {"metadata": self.metadata}

    def ordered(self, order: npt.NDArray[np.int64]) -> Operations:
        """The operations that an index array picks, in its order."""
        metadata = None if self.metadata is None else self.metadata[order]
        kind = [self.kind[index] for index in order]
        return Operations(
            self.op[order], self.a[order], self.b[order], self.c[order], kind, metadata
        )


def illegal_opcodes(config: AnyMatrixUnit) -> list[int]:
    """Opcodes that the unit was not built with."""
    return [code for code in range(1 << config.op_bits) if code not in config.opcodes.values()]


def operations(
    config: AnyMatrixUnit,
    count: int,
    seed: int,
    *,
    modes: tuple[str, ...] | None = None,
    illegal: float = 0.05,
    kinds: tuple[str, ...] | None = None,
) -> Operations:
    """``count`` operations of random modes and kinds, a share of them with illegal opcodes.

    Modes are the names of the unit's opcodes; by default all of them, and all kinds that its
    formats have.
    """
    rng = np.random.default_rng(seed)
    opcodes = config.opcodes
    chosen = modes or tuple(opcodes)
    among = kinds or _kinds_of(config)
    op = rng.choice([opcodes[mode] for mode in chosen], count).astype(np.uint64)
    order = np.arange(count) % len(among)
    kind_of = [among[index] for index in rng.permutation(order)]
    b_rows = config.b_depth if isinstance(config, Simd2Config) else config.depth
    a = np.zeros((count, config.rows, config.depth), np.uint64)
    b = np.zeros((count, b_rows, config.cols), np.uint64)
    c = np.zeros((count, config.rows, config.cols), np.uint64)
    metadata = np.zeros(a.shape, np.uint64)
    labels = np.array(kind_of)
    for mode in chosen:
        for kind in among:
            here = np.flatnonzero((op == opcodes[mode]) & (labels == kind))
            if not len(here):
                continue
            if isinstance(config, Simd2Config):
                drawn = semiring_stimuli.semiring_tiles(config, mode, kind, len(here), rng)
                a[here], b[here], c[here], metadata[here] = drawn
            else:
                a[here], b[here], c[here] = tiles(config, mode, kind, len(here), rng)
    wrong = illegal_opcodes(config)
    if wrong and illegal:
        bad = rng.random(count) < illegal
        op[bad] = rng.choice(wrong, int(bad.sum()))
    sparse = isinstance(config, Simd2Config) and config.sparsity != "none"
    return Operations(op, a, b, c, kind_of, metadata if sparse else None)


def _kinds_of(config: AnyMatrixUnit) -> tuple[str, ...]:
    if isinstance(config, Simd2Config):
        return semiring_stimuli.kinds_of(config)
    return TILE_KINDS


def tiles(
    config: GridUnitConfig, mode: str, kind: str, count: int, rng: Generator
) -> tuple[Words, Words, Words]:
    """Operand lanes and accumulators of ``count`` operations of one mode and kind."""
    element, parts = MODES[mode].element, MODES[mode].results
    fp32 = FLOAT_FORMATS["fp32"]
    depth = elements_deep(config, mode)
    shape_a = (count, config.rows, depth, parts)
    shape_b = (count, depth, config.cols, parts)
    shape_c = (count, config.rows, config.cols, parts)
    base = {"mixed": "moderate", "cancellation": "moderate"}.get(kind, kind)
    a = stimuli.values(rng, base, shape_a, element)
    b = stimuli.values(rng, base, shape_b, element)
    c = stimuli.values(rng, base, shape_c, fp32)
    if kind == "mixed":
        a, b, c = (
            np.where(rng.random(x.shape) < 0.06, stimuli.values(rng, "special", x.shape, fmt), x)
            for x, fmt in ((a, element), (b, element), (c, fp32))
        )
    if kind == "cancellation":
        half = depth // 2
        sign = np.uint64(1 << (element.bits - 1))
        a[:, :, half : 2 * half] = a[:, :, :half]
        jitter = rng.integers(0, 2, b[:, :half].shape, dtype=np.uint64)
        b[:, half : 2 * half] = b[:, :half] ^ sign ^ jitter
        quiet = rng.random(c.shape) < 0.5
        c = np.where(quiet, c & np.uint64(1 << 31), c)
    lanes_a = pack_a(config, mode, _join(to_container(a, element), element.container_bits))
    lanes_b = pack_b(config, mode, _join(to_container(b, element), element.container_bits))
    return lanes_a.astype(np.uint64), lanes_b.astype(np.uint64), _join(c, 32)


def _join(parts: Words, bits: int) -> Words:
    """The parts of an element on the last axis side by side in a word, first part low."""
    joined = np.zeros(parts.shape[:-1], np.uint64)
    for index in range(parts.shape[-1]):
        joined |= parts[..., index] << np.uint64(index * bits)
    return joined


Counts = Mapping[tuple[str, str], int]

CLASSES = ("zero", "subnormal", "normal", "infinite", "nan")
"""Classes of floats."""

INT_CLASSES = ("zero", "positive", "negative", "highest", "lowest")
"""Classes of integers."""


def matrix_coverage(
    config: AnyMatrixUnit,
    sent: Operations,
    d: Words,
    input_waited: npt.NDArray[np.int64],
    output_waited: npt.NDArray[np.int64],
) -> Counter[tuple[str, str]]:
    """Counts by (mode, feature): kinds of operands, classes of results, stalls, and the modes
    that followed one another directly; by semiring also classes of operands, and which of them
    were in an operation whose result was stalled."""
    name_of = {code: mode for mode, code in config.opcodes.items()}
    counts: Counter[tuple[str, str]] = Counter()
    modes = [name_of.get(int(code), "illegal") for code in sent.op]
    for index, mode in enumerate(modes):
        stalled = bool(output_waited[index])
        counts[mode, "operations"] += 1
        counts[mode, f"kind {sent.kind[index]}"] += 1
        counts[mode, "input waited"] += bool(input_waited[index])
        counts[mode, "result stalled"] += stalled
        if index:
            counts[mode, f"after {modes[index - 1]}"] += 1
        if mode == "illegal":
            continue
        for label in _results(config, mode, d[index]):
            counts[mode, f"result {label}"] += 1
        if isinstance(config, Simd2Config):
            met = classes(sent.a[index], config.element) | classes(sent.b[index], config.element)
            for label in met:
                counts[mode, f"operand {label}"] += 1
                counts[mode, f"operand {label}, stalled"] += stalled
    return counts


def missing(counts: Counts, required: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Returns the required points that never occurred."""
    return [point for point in required if not counts.get(point, 0)]


def classes(patterns: Words, fmt: Format) -> set[str]:
    """The classes of values that occur."""
    if isinstance(fmt, IntFormat):
        numbers = decode(patterns, fmt)
        masks = {
            "zero": numbers == 0,
            "positive": numbers > 0,
            "negative": numbers < 0,
            "highest": numbers == fmt.highest,
            "lowest": numbers == fmt.lowest,
        }
    else:
        size = patterns & np.uint64((1 << (fmt.bits - 1)) - 1)
        least = np.uint64(1 << fmt.fraction_bits)
        masks = {
            "zero": size == 0,
            "subnormal": (size != 0) & (size < least),
            "normal": (size >= least) & (size <= np.uint64(fmt.largest)),
            "infinite": (size == np.uint64(fmt.infinity)) & fmt.has_infinity,
            "nan": size > np.uint64(fmt.infinity if fmt.has_infinity else fmt.largest),
        }
    return {label for label, mask in masks.items() if mask.any()}


def _results(config: AnyMatrixUnit, mode: str, d: Words) -> set[str]:
    if isinstance(config, Simd2Config):
        return classes(d, config.result)
    parts = [d >> np.uint64(32 * part) for part in range(MODES[mode].results)]
    return set().union(*(classes(part, FLOAT_FORMATS["fp32"]) for part in parts))
