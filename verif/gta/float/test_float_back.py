"""The fused adders behind an array: sums of each format behind each, against SoftFloat."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.gta import COLS, FORMATS_OF_GTA, ROWS, GtaConfig
from tilewright.sim.rtl.streams import NativeSimulation, unpack
from tilewright.verif.gta.float.exact_sums import chain
from tilewright.verif.gta.float.float_array_unit import FloatArrayUnit
from tilewright.verif.gta.float.float_stream import Fold, payloads
from tilewright.verif.gta.float.random_floats import random_floats
from tilewright.verif.kit.sampling import by_size, slow_but

pytestmark = pytest.mark.long

ALL = ",".join(FORMATS_OF_GTA)
BUILDS = [
    *(f"{ALL} {adders} {stages}" for adders in (8, 16, 32, 64) for stages in (1, 2, 3)),
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
    """Each format behind each, folds of one product among them; results when they should come."""
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
