"""Every pair of 8-bit values and of special values through the RTL of all semirings."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from tilewright.hw.spec.simd2 import Simd2Config
from tilewright.sim.rtl.streams import Pauses
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.matrix_units.semiring_stimuli import addend_values
from tilewright.verif.matrix_units.simd2.semiring_pairs import (
    alone,
    every_pair,
    mixed,
    packed,
    special_pairs,
)
from tilewright.verif.matrix_units.simd2.semiring_rtl import rtl

NARROW = ("fp8e4m3", "fp8e5m2", "int8")
WIDE = ("fp16", "bf16", "fp32", "fp64", "int16", "int32")


def unit(element: str) -> Simd2Config:
    return Simd2Config(tile=2, format=element)


@pytest.mark.parametrize("element", slow_but([], NARROW, ["int8"]))
def test_every_pair_alone_in_a_result(element: str) -> None:
    config, rng = unit(element), np.random.default_rng(821)
    layout = partial(alone, config, pairs=every_pair(config.element), rng=rng)
    sent = mixed(config, layout, rng)
    assert len(sent.op) == 9 * 2**15
    rtl(config).check(sent)


@pytest.mark.parametrize("element", slow_but([], NARROW, []))
def test_every_pair_in_every_lane(element: str) -> None:
    """Lanes full, addends of every kind, gaps and stalls."""
    config, rng = unit(element), np.random.default_rng(822)
    addends = addend_values(config, 50_000, rng)
    for name in config.ops:
        sent = packed(config, name, every_pair(config.element), addends, rng)
        assert len(sent.op) == 2**16
        rtl(config).check(sent, Pauses(seed=823, gap=0.1, stall=0.1))


@pytest.mark.parametrize("element", slow_but([], WIDE, ["int16"]))
def test_every_pair_of_special_values(element: str) -> None:
    """Sends special values alone, with special addends, and in all lanes at once."""
    config, rng = unit(element), np.random.default_rng(824)
    pairs = special_pairs(config.element)
    addends = addend_values(config, 10_000, rng)
    sent = mixed(config, partial(alone, config, pairs=pairs, rng=rng), rng)
    rtl(config).check(sent)
    specials = special_pairs(config.result)[0]
    rtl(config).check(sent._replace(c=rng.choice(specials, sent.c.shape)))
    full = partial(packed, config, pairs=pairs, addends=addends, rng=rng)
    rtl(config).check(mixed(config, full, rng))
