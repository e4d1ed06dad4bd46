"""Cycles of a p-GEMM on the array."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.gta import GtaConfig
from tilewright.sim.gta.array_cycles import (
    PIPELINE,
    Folds,
    Pipeline,
    array_cycles,
    chain_cycles,
    drained,
    folds_of,
    interval,
    multiplied,
    product_cycles,
)
from tilewright.sim.gta.array_job import ArrayJob
from tilewright.verif.gta.schedule.moved_elements import moved_aside, moved_down, weight_stationary
from tilewright.verif.kit.sampling import by_size

CONFIG = GtaConfig()
NONE = Pipeline(begin=0, sums=0, float_sums=0, vectors=0)

DOUBLINGS = 3
"""Registers in which eight limbs are added, which all results of the configuration pass."""


@pytest.mark.parametrize(
    ("job", "down", "across", "time", "folds"),
    [
        (ArrayJob(m=5, n=9, k=20, format="int16", rows=2, cols=2), 20, 18, 10, 4),
        (ArrayJob(m=5, n=9, k=20, format="int16", dataflow="is", rows=2, cols=2), 20, 10, 18, 2),
        (ArrayJob(m=5, n=9, k=20, format="int32", dataflow="os", rows=1, cols=4), 20, 36, 20, 6),
        (ArrayJob(m=5, n=9, k=20, format="fp32", dataflow="os", rows=4, cols=1), 5, 9, 180, 2),
        (ArrayJob(m=5, n=9, k=20, format="bf16", dataflow="os"), 5, 9, 160, 2),
        (ArrayJob(m=5, n=9, k=3, format="fp64", dataflow="os"), 5, 9, 147, 2),
    ],
)
def test_what_lies_on_the_array(
    job: ArrayJob, down: int, across: int, time: int, folds: int
) -> None:
    assert job.extent(CONFIG) == (down, across, time)
    found = folds_of(CONFIG, job)
    assert (found.rows, found.cols) == job.array
    assert (found.time, found.folds) == (time, folds)


def test_the_parts_of_a_job() -> None:
    """Counts the cycles from the command to the last result as the sum of their parts."""
    job = ArrayJob(m=40, n=16, k=32, format="int8", rows=2, cols=2)
    folds = 40 + (2 * 16 + 16 + 40 - 2)
    assert product_cycles(CONFIG, job) == folds
    assert array_cycles(CONFIG, job, NONE) == folds + DOUBLINGS
    assert array_cycles(CONFIG, job) == PIPELINE.begin + folds + DOUBLINGS + PIPELINE.sums
    bytes_alone = GtaConfig(formats=("int8",))
    assert array_cycles(bytes_alone, job, NONE) == folds
    stays = replace(job, dataflow="os")
    assert array_cycles(CONFIG, stays, NONE) == 3 * 32 + 2 * 16 + 16 - 1 + DOUBLINGS
    assert product_cycles(CONFIG, stays) == 2 * 32 + (16 + 16 + 32 - 2)
    long = ArrayJob(m=40, n=2, k=16, format="int64", rows=2, cols=2)
    assert array_cycles(CONFIG, long, NONE) == 2 * 16 + 16 + 320 - 2 + DOUBLINGS
    floats = ArrayJob(m=16, n=16, k=32, format="fp32", dataflow="os", rows=2, cols=2)
    assert array_cycles(CONFIG, floats, NONE) == 32 * 9 + 16 + 16 - 2 + CONFIG.adder_stages
    # An element waits 7 cycles of 8 for the adder, but not behind the last product.
    narrow = replace(floats, format="bf16")
    assert array_cycles(CONFIG, narrow, NONE) == 31 * 8 + 1 + 16 + 16 - 2 + CONFIG.adder_stages


def test_segments() -> None:
    """Segments of integers run at the same time; those of floats follow each other like folds."""
    job = ArrayJob(m=30, n=8, k=65, format="int8", segments=4)
    longest = ArrayJob(m=30, n=8, k=17, format="int8")
    assert job.segment_sizes == (17, 16, 16, 16)
    assert job.lanes == 4
    assert array_cycles(CONFIG, job) == array_cycles(CONFIG, longest)
    chain = ArrayJob(m=8, n=8, k=65, format="fp32", dataflow="os", segments=4)
    assert chain.lanes == 1
    assert array_cycles(CONFIG, chain) == array_cycles(CONFIG, replace(chain, segments=1))


def test_commands_in_a_chain() -> None:
    """Folds of all follow each other; the last command's end counts, and those that are short take
    as long as the array has rows."""
    first = ArrayJob(m=40, n=16, k=32, format="int8", rows=2, cols=2)
    short = replace(first, m=3, k=10)
    chain = chain_cycles(CONFIG, [(3, first), (2, short)], NONE)
    assert chain == 3 * 2 * 40 + 16 + (2 * 16 + 16 + 3 - 2) + DOUBLINGS
    assert chain_cycles(CONFIG, [(1, first)], NONE) == array_cycles(CONFIG, first, NONE)
    stays = [(2, replace(first, dataflow="os")), (1, replace(short, dataflow="os"))]
    assert chain_cycles(CONFIG, stays, NONE) == 2 * 3 * 32 + 16 + 2 * 16 + 16 - 1 + DOUBLINGS
    # Products of floats two cycles apart: the array is empty in between.
    often = GtaConfig(float_adders=64, adder_stages=2)
    floats = ArrayJob(m=16, n=16, k=32, format="bf16", dataflow="os", rows=2, cols=2)
    gap = 64 + 2 * 16 + PIPELINE.emptied
    alone = array_cycles(often, floats)
    assert chain_cycles(often, [(2, floats)]) == gap + alone
    assert array_cycles(often, replace(floats, segments=2)) == gap - 32 + alone - 32
    vectors = replace(first, dataflow="simd")
    own = product_cycles(CONFIG, vectors) - 15
    assert chain_cycles(CONFIG, [(3, vectors)]) == 2 * own + array_cycles(CONFIG, vectors)
    # Short ones are taken every 8 cycles.
    tiny = replace(vectors, m=1, n=1, k=1)
    assert chain_cycles(CONFIG, [(100, tiny)]) == 99 * 8 + array_cycles(CONFIG, tiny)
    mixed = chain_cycles(CONFIG, [(1, tiny), (2, vectors), (1, tiny)])
    assert mixed == 8 + 2 * own + array_cycles(CONFIG, tiny)
    for pattern in ([(2, tiny)], [(1, tiny), (2, vectors), (1, tiny)], [(3, short)], [(2, floats)]):
        config = often if pattern[0][1] is floats else CONFIG
        assert chain_cycles(config, pattern, times=3) == chain_cycles(config, 3 * pattern)
    with pytest.raises(ValueError, match=r"^there must be a job at least$"):
        chain_cycles(CONFIG, [])


@pytest.mark.parametrize(
    ("format_", "adders", "octet", "behind"),
    [
        ("int8", 8, 4 * 1 + 3, 0),
        ("int64", 8, 4 * 64, 0),
        ("bf16", 8, 4 * 8, 4 - 7),
        ("bf16", 64, 4 * 4, 4 - 3),
        ("fp64", 64, 4 * 49, 4 + 1),
    ],
)
def test_vectors(format_: str, adders: int, octet: int, behind: int) -> None:
    """17 x 9 sums of four products are 3 x 2 tiles of 8 x 8, an octet a bank each, and 2 x 1 of two
    lanes below each other by two; sums of int8 have three bytes more than these. Floats' last ones
    go through the adder's four stages, of fp64 in two words, but have no turns to wait for."""
    config = GtaConfig(float_adders=adders)
    along = ArrayJob(m=17, n=9, k=4, format=format_, dataflow="simd")
    assert array_cycles(config, along, NONE) == 6 * octet + 8 + behind
    assert product_cycles(config, along) == 6 * octet + 7
    joined = replace(along, rows=2, cols=2)
    assert array_cycles(config, joined, NONE) == 2 * octet + 16 + behind


@pytest.mark.parametrize("time", [1, 2, 5, 8, 9])
def test_a_lanes_port_for_sums_of_floats(time: int) -> None:
    """Row r writes the sum of column c ``time`` + r + c cycles after the start of a fold, so no
    column is written twice in a cycle."""
    one = Folds(stationary=False, chained=True, rows=8, cols=16, time=time, folds=3)
    written = [
        (fold * interval(one) + time + r + c, c)
        for fold in range(3)
        for r in range(8)
        for c in range(8)
    ]
    assert len(set(written)) == len(written)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"m": 0}, "`m` must be at least 1, not 0"),
        ({"dataflow": "rs"}, "`dataflow` must be one of ws, is, os, simd, not 'rs'"),
        ({"format": "fp32"}, "`dataflow` must be os or simd with fp32, not 'ws'"),
        ({"segments": 3}, "`segments` must be at most K, 2, not 3"),
        ({"rows": 8}, "lanes of a job must be at most 4, not 8"),
        ({"segments": 2, "rows": 4}, "lanes of a job must be at most 4, not 8"),
    ],
)
def test_what_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        array_cycles(CONFIG, ArrayJob(**{"m": 4, "n": 4, "k": 2, "format": "int8", **given}))


def test_no_floats_without_adders_and_no_numbers_of_another_type() -> None:
    job = ArrayJob(m=4, n=4, k=2, format="fp32", dataflow="os")
    said = "`format` must be one of int8, int16, int32, int64, not 'fp32'"
    with pytest.raises(ValueError, match=f"^{said}$"):
        array_cycles(GtaConfig(float_adders=0), job)
    with pytest.raises(TypeError, match=r"^`k` must be an integer, not 2\.0$"):
        replace(job, k=2.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^a job of vectors has no folds$"):
        replace(job, dataflow="simd").extent(CONFIG)


# Cycles of folds are those of elements that are moved register by register.

SIZES = by_size((1, 2, 5), (1, 2, 3, 6), (1, 2, 3, 4, 5, 8))
TIMES = by_size((1, 4, 13), (1, 3, 4, 5, 9, 14), tuple(range(1, 20)))
SHAPES = list(product(SIZES, SIZES, TIMES, (1, 2, 3)))


def begins_of(one: Folds) -> list[int]:
    return [number * interval(one) for number in range(one.folds)]


@pytest.mark.parametrize("overlap", [True, False])
def test_weights_that_stay(overlap: bool) -> None:
    for rows, cols, time, folds in SHAPES:
        one = Folds(stationary=True, rows=rows, cols=cols, time=time, folds=folds, overlap=overlap)
        seen = weight_stationary(rows, cols, time, begins_of(one))
        assert seen.right
        assert seen.products == multiplied(one) == drained(one)


@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize("aside", [True, False])
def test_sums_that_stay(aside: bool, overlap: bool) -> None:
    """An empty fold, which drains the last sums, follows as any fold does."""
    for rows, cols, time, folds in SHAPES:
        one = Folds(
            stationary=False, aside=aside, rows=rows, cols=cols, time=time, folds=folds,
            overlap=overlap,
        )  # fmt: skip
        begins, moves = begins_of(one), moved_aside if aside else moved_down
        seen = moves(rows, cols, time, begins, begins[-1] + interval(one))
        assert seen.right
        assert seen.products == multiplied(one)
        assert seen.sums == drained(one)


def test_nothing_less_would_do() -> None:
    """A cycle less between folds, and weights or sums are the wrong ones."""
    for rows, cols, time in product((2, 3, 5), (1, 4), (1, 2, 7)):
        one = Folds(stationary=True, rows=rows, cols=cols, time=time, folds=2)
        less = interval(one) - 1
        assert not weight_stationary(rows, cols, time, [0, less]).right
        assert not moved_aside(rows, cols, time, [0, less], 2 * less).right
        less = interval(replace(one, stationary=False, aside=False)) - 1
        assert not moved_down(rows, cols, time, [0, less], 2 * less).right


@pytest.mark.parametrize("stationary", [True, False])
def test_folds_one_by_one(stationary: bool) -> None:
    """A fold without overlap starts when the last product of the previous one is complete."""
    for rows, cols, time, folds in SHAPES:
        one = Folds(
            stationary=stationary, rows=rows, cols=cols, time=time, folds=folds, overlap=False
        )
        load = rows if stationary else 0
        assert interval(one) == load + rows + cols + time - 2
        assert multiplied(one) == folds * interval(one)


# Cycles on one array of 8-bit products are SCALE-Sim's.

DATAFLOWS = ("ws", "is", "os")


def shapes() -> list[tuple[int, int, int, int, int]]:
    """Forty: rows and columns of an array, then M, N and K, from one fold to dozens."""
    rng = np.random.default_rng(15)
    found = [(8, 8, 8, 8, 8), (1, 1, 1, 1, 1), (8, 32, 7, 33, 9), (32, 8, 100, 1, 1)]
    while len(found) < 40:
        array = rng.choice([1, 2, 3, 5, 8, 16, 24, 32], 2)
        sizes = rng.integers(1, rng.choice([9, 40, 90]), 3)
        found.append((*map(int, array), *map(int, sizes)))  # type: ignore[arg-type]
    return found


def folds(dataflow: str, rows: int, cols: int, m: int, n: int, k: int) -> Folds:
    down, across, time = {"ws": (k, n, m), "is": (k, m, n), "os": (m, n, k)}[dataflow]
    return Folds(
        stationary=dataflow != "os",
        rows=rows,
        cols=cols,
        time=time,
        folds=-(-down // rows) * -(-across // cols),
        overlap=False,
    )


@pytest.mark.parametrize("dataflow", DATAFLOWS)
def test_the_published_formula(dataflow: str) -> None:
    """A fold takes 2 R + C + T - 2 cycles if an operand is stationary (SCALE-Sim's equation 1),
    and R + C + T - 2 until the last product otherwise; all folds are full ones."""
    for rows, cols, m, n, k in shapes():
        one = folds(dataflow, rows, cols, m, n, k)
        load = rows if dataflow != "os" else 0
        assert multiplied(one) == one.folds * (load + rows + cols + one.time - 2)


@pytest.mark.parametrize("dataflow", DATAFLOWS)
def test_scalesim_itself(dataflow: str) -> None:
    """The demands that it computes, a line a cycle."""
    pytest.importorskip("scalesim", reason="needs the package scalesim")
    for rows, cols, m, n, k in shapes():
        one = folds(dataflow, rows, cols, m, n, k)
        theirs = demanded_cycles(dataflow, rows, cols, m, n, k)
        assert multiplied(one) == theirs, (dataflow, rows, cols, m, n, k)


def demanded_cycles(dataflow: str, rows: int, cols: int, m: int, n: int, k: int) -> int:
    """Lines of SCALE-Sim's matrix of demands, whose columns are an edge of its array."""
    from importlib import import_module

    from scalesim.scale_config import scale_config

    config: Any = scale_config()
    config.array_rows, config.array_cols, config.df = rows, cols, dataflow
    config.valid_conf_flag = True
    name = f"systolic_compute_{dataflow}"
    array = getattr(import_module(f"scalesim.compute.{name}"), name)()
    array.set_params(
        config_obj=config,
        ifmap_op_mat=np.arange(m * k).reshape(m, k),
        filter_op_mat=np.arange(k * n).reshape(k, n),
        ofmap_op_mat=np.arange(m * n).reshape(m, n),
    )
    array.create_demand_matrices()
    return len(array.get_ofmap_demand_mat())
