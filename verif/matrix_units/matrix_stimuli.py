"""Operations of matrix units: mixes of modes (semirings), values and illegal opcodes, in the unit's
lanes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FLOAT_FORMATS
from tilewright.hw.spec.m3xu import MODES, GridUnitConfig
from tilewright.hw.spec.simd2 import Simd2Config
from tilewright.sim.numbers.floats import to_container
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
