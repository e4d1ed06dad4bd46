"""The fused adders after an array: sums of each format after each other format, against
SoftFloat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from amaranth.hdl import Module, Shape, ShapeLike, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.gta.float.float_back import WORD_BITS, FloatBack, row_result
from tilewright.hw.gta.float.headers import column_header, kept_limbs, row_header
from tilewright.hw.gta.layouts import Base, x_layout
from tilewright.hw.gta.mpra import Mpra
from tilewright.hw.spec.formats import FORMATS, FloatFormat
from tilewright.hw.spec.gta import (
    BANKS,
    COLS,
    FORMATS_OF_GTA,
    LIMB_BITS,
    ROWS,
    GtaConfig,
    limbs,
    result_bytes,
)
from tilewright.sim.rtl.streams import NativeSimulation, unpack
from tilewright.verif.gta.float.exact_sums import chain, random_floats
from tilewright.verif.kit.sampling import by_size, slow_but


def step_layout(config: GtaConfig) -> data.StructLayout:
    """Returns the layout of one cycle's inputs."""
    return data.StructLayout(
        {
            "x": data.ArrayLayout(x_layout(config), ROWS),
            "y": data.ArrayLayout(signed(LIMB_BITS + 1), COLS),
            "rows": data.ArrayLayout(row_header(config), ROWS),
            "columns": data.ArrayLayout(column_header(config), config.row_adders),
            "words": data.ArrayLayout(WORD_BITS, BANKS),
        }
    )


class FloatArrayUnit(wiring.Component):
    """An ``Mpra`` and its ``FloatBack``.

    Parameters
    ----------
    config: of the accelerator, with floats

    Members
    -------
    i: see :func:`step_layout`; a cycle each, without gaps
    o: by row the result of the same cycle, and the column it is of
    """

    def __init__(self, config: GtaConfig) -> None:
        self._config = config
        bits = row_result(config)["value"].width
        results = data.StructLayout(
            {"value": data.ArrayLayout(bits, ROWS), "column": data.ArrayLayout(COLS, ROWS)}
        )
        super().__init__(
            {
                "i": In(stream.Signature(step_layout(config))),
                "o": Out(stream.Signature(results)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        given = self.i.payload
        m.submodules.mpra = mpra = Mpra(self._config)
        m.submodules.back = back = FloatBack(self._config)
        m.d.comb += [
            mpra.x.eq(given.x),
            mpra.y.eq(given.y),
            back.last_limbs.eq(mpra.last_limbs),
            back.products.eq(mpra.products),
            back.rows.eq(given.rows),
            back.columns.eq(given.columns),
            back.words.eq(given.words),
            self.o.valid.eq(self.i.valid),
            *(self.o.payload.value[r].eq(back.o[r].value) for r in range(ROWS)),
            *(self.o.payload.column[r].eq(back.o[r].column) for r in range(ROWS)),
            self.i.ready.eq(self.o.ready),
        ]
        return m


Patterns = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Fold:
    """Sums of products, one for each element.

    Parameters
    ----------
    format: of the operands
    a: (8, K), b: (K, 8), patterns
    c: (8, 8) patterns of sums to begin with; None: zeros
    """

    format: str
    a: Patterns
    b: Patterns
    c: Patterns | None = None

    @property
    def time(self) -> int:
        return int(self.a.shape[1])


def diagonals(size: int) -> list[tuple[int, int, Base]]:
    """Limbs of x and y whose products an element adds, in order, and to what."""
    found = []
    for weight in range(2 * size - 1):
        for i in range(max(0, weight - size + 1), min(weight, size - 1) + 1):
            first = i == max(0, weight - size + 1)
            base = (Base.CARRY if weight else Base.ZERO) if first else Base.OWN
            found.append((i, weight - i, base))
    return found


def split(pattern: int, name: str, exponent_bits: int) -> tuple[list[int], dict[str, int]]:
    """Limbs of the significand, the lowest first, and the header, by the definition of floats."""
    fmt = FORMATS[name]
    assert isinstance(fmt, FloatFormat)
    size = limbs(name)
    fraction = pattern & fmt.fraction_mask
    field = pattern >> fmt.fraction_bits & fmt.exponent_mask
    significand = fraction | (1 << fmt.fraction_bits if field else 0)
    significand <<= 8 * size - fmt.significand_bits
    exponent = max(field, 1) - fmt.bias + (1 << exponent_bits - 1) - 1
    special = field == fmt.exponent_mask
    header = {
        "negative": pattern >> (fmt.bits - 1),
        "exponent": 0 if special else exponent,
        "zero": int(not field and not fraction),
        "infinite": int(special and not fraction),
        "nan": int(special and fraction != 0),
    }
    return [significand >> 8 * n & 0xFF for n in range(size)], header


class _Steps:
    """Returns the bits of each cycle's inputs."""

    def __init__(self, layout: data.StructLayout, cycles: int) -> None:
        self._layout = layout
        self._places: dict[tuple[str | int, ...], tuple[int, int]] = {}
        self.bits = np.zeros((cycles, layout.size), np.uint8)

    def put(self, cycle: int, path: tuple[str | int, ...], value: int) -> None:
        offset, width = self._place(path)
        raw = (value & (1 << width) - 1).to_bytes(-(-width // 8), "little")
        unpacked = np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little", count=width)
        self.bits[cycle, offset : offset + width] = unpacked

    def put_all(self, path: tuple[str | int, ...], values: npt.NDArray[np.int64]) -> None:
        """A value for each cycle."""
        offset, width = self._place(path)
        places = np.arange(width)
        self.bits[:, offset : offset + width] = values[:, None] >> places & 1

    def _place(self, path: tuple[str | int, ...]) -> tuple[int, int]:
        if path not in self._places:
            shape: ShapeLike = self._layout
            offset = 0
            for step in path:
                assert isinstance(shape, data.Layout)
                field = shape[step]
                shape, offset = field.shape, offset + field.offset
            self._places[path] = offset, Shape.cast(shape).width
        return self._places[path]

    def words(self) -> npt.NDArray[np.uint32]:
        cycles, width = self.bits.shape
        padded = np.zeros((cycles, -(-width // 32) * 32), np.uint8)
        padded[:, :width] = self.bits
        return np.packbits(padded, axis=1, bitorder="little").view("<u4")


def payloads(config: GtaConfig, folds: Sequence[Fold]) -> tuple[npt.NDArray[np.uint32], list[int]]:
    """Returns the folds in succession, and the cycle of each one's first result.

    A fold takes as many cycles as its products, and at least 8. Between folds of different formats
    or times the array is empty.
    """
    layout = step_layout(config)
    bits = row_header(config)["operand"].shape["exponent"].width
    begins, at = [], 1
    for before, fold in zip([None, *folds], folds, strict=False):
        if before and (before.format != fold.format or before.time != fold.time):
            at += 2 * ROWS
        begins.append(at)
        at += max(fold.time * config.interval(fold.format), ROWS)
    cycles = at + 2 * ROWS + config.adder_stages + 4
    steps = _Steps(layout, cycles)
    limb, base, last = (np.zeros((ROWS, cycles), np.int64) for _ in range(3))
    base += Base.OWN
    y = np.zeros((COLS, cycles), np.int64)
    ends = []
    for begin, fold in zip(begins, folds, strict=True):
        order = diagonals(limbs(fold.format))
        interval = config.interval(fold.format)
        kept = sum(
            1 << n for n, size in enumerate(kept_limbs(config)) if size <= limbs(fold.format)
        )
        for k in range(fold.time):
            start = begin + k * interval
            end = start + len(order) - 1
            for r in range(ROWS):
                parts, operand = split(int(fold.a[r, k]), fold.format, bits)
                limb[r, start + r : end + r + 1] = [parts[i] for i, _, _ in order]
                base[r, start + r : end + r + 1] = [base for _, _, base in order]
                last[r, end + r] = 1
                for name, value in operand.items():
                    steps.put(end + r + 1, ("rows", r, "operand", name), value)
                header = {
                    "limbs": kept,
                    "first": int(not k),
                    "accumulate": int(fold.c is not None),
                    "last": int(k == fold.time - 1),
                }
                for name, value in header.items():
                    if value:
                        steps.put(end + r + 1, ("rows", r, name), value)
            for c in range(COLS):
                parts, operand = split(int(fold.b[k, c]), fold.format, bits)
                y[c, start - 1 + c : end + c] = [parts[j] for _, j, _ in order]
                block = c // (COLS // config.row_adders)
                for name, value in operand.items():
                    steps.put(end + 2 + c, ("columns", block, name), value)
                if fold.c is not None and not k:
                    _words(steps, fold, end + 2 + c, c)
        ends.append(begin + (fold.time - 1) * interval + len(order) - 1 + 3 + config.adder_stages)
    for r in range(ROWS):
        for name, values in (("limb", limb), ("base", base), ("last", last)):
            steps.put_all(("x", r, name), values[r])
        for name in ("y_shift", "swap") if config.integers else ():
            steps.put_all(("x", r, name), np.ones(cycles, np.int64))
        if config.integers and config.second_rank:
            steps.put_all(("x", r, "shift_drain"), (base[r] == Base.CARRY).astype(np.int64))
    for c in range(COLS):
        steps.put_all(("y", c), y[c])
    return steps.words(), ends


def _words(steps: _Steps, fold: Fold, cycle: int, column: int) -> None:
    """The sums that column c begins with, row by row."""
    assert fold.c is not None
    size = result_bytes(fold.format)
    for r in range(ROWS):
        first = r - r % (32 // size)
        word = b"".join(
            int(value).to_bytes(size, "little")
            for value in fold.c[first : first + 32 // size, column]
        )
        steps.put(cycle + r, ("words", column), int.from_bytes(word, "little"))


pytestmark = pytest.mark.long

ALL = ",".join(FORMATS_OF_GTA)
BUILDS = [
    *(f"{ALL} {adders} {stages}" for adders in (8, 16, 32, 64) for stages in range(1, 6)),
    "bf16 8 2",
    "bf16 64 1",
    "fp16,fp32 16 2",
    "fp64 64 2",
    "int8,fp16,fp64 32 3",
]
"""Formats, fused adders, stages."""


def configured(build: str) -> GtaConfig:
    formats, adders, stages = build.split()
    return GtaConfig(
        formats=tuple(formats.split(",")),
        float_adders=int(adders),
        adder_stages=int(stages),
    )


@cache
def unit(build: str) -> NativeSimulation:
    return NativeSimulation(emit_component(FloatArrayUnit(configured(build)), name="float_array"))


def random_fold(rng: np.random.Generator, name: str) -> Fold:
    time = int(rng.choice([1, 1, 2, 3, 7]))
    a, b = random_floats(rng, name, (ROWS, time)), random_floats(rng, name, (time, COLS))
    c = None
    if rng.random() < 0.5:
        c = random_floats(rng, "fp64" if name == "fp64" else "fp32", (ROWS, COLS))
    return Fold(name, a, b, c)


@pytest.mark.parametrize("build", slow_but([], BUILDS, []))
def test_sums(build: str) -> None:
    """Adds each format after each other, also folds of one product; results arrive in time."""
    config, seed = configured(build), 400 + BUILDS.index(build)
    rng = np.random.default_rng(seed)
    folds = []
    for _ in range(by_size(1, 1, 4)):
        for first in config.floats:
            for second in config.floats:
                names = [first] * int(rng.integers(1, 4)) + [second] * int(rng.integers(1, 4))
                folds += [random_fold(rng, name) for name in names]
    words, ends = payloads(config, folds)
    simulation = unit(build)
    simulation.reset()
    rows = unpack(simulation.run(words).payloads, simulation.stream("o"))
    value, column = rows["value"].astype(np.uint64), rows["column"]
    wanted = np.zeros_like(column)
    for number, (fold, end) in enumerate(zip(folds, ends, strict=True)):
        sums = chain(fold.a, fold.b, fold.c, fold.format)
        for r in range(ROWS):
            for c in range(COLS):
                found, want = int(value[end + r + c, r]), int(sums[r, c])
                if fold.format != "fp64":
                    found &= 0xFFFFFFFF
                assert found == want, (seed, number, fold.format, r, c, hex(found), hex(want))
                wanted[end + r + c, r] |= 1 << c
    np.testing.assert_array_equal(column, wanted)
