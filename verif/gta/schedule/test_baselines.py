"""Baselines of GTA: a vector unit and fixed arrays, and their workloads."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tilewright.hw.spec.gta import FORMATS_OF_GTA, GtaConfig, limbs
from tilewright.sim.gta.baseline_units import (
    fixed_array_cost,
    fixed_shape,
    vector_rate,
    vector_unit_cost,
)
from tilewright.sim.gta.nine_workloads import LAYERS, WORKLOADS, backward, forward
from tilewright.sim.gta.schedule.cost import Accesses, Moved, PGemm
from tilewright.verif.kit.sampling import cases

CONFIG = GtaConfig()


def test_rates() -> None:
    assert [vector_rate(name) for name in FORMATS_OF_GTA] == [8, 4, 2, 1, 4, 4, 2, 1]


def test_a_block_of_vectors() -> None:
    """4 lanes, registers of 2 KiB: 512 sums of 4 bytes each; two half ones hold 512 numbers that
    come and 512 that are multiplied, so that 30 rows of sums stay."""
    problem = PGemm(m=60, n=1024, k=7, format="int8", accumulate=True)
    found = vector_unit_cost(CONFIG, problem)
    assert found.cycles == 60 * 7 * 1024 // 32
    assert found.accesses.total == 3 * problem.products + found.accesses.a
    assert found.accesses.a == 60 * 7 * 2
    assert found.moved == Moved(
        a=60 * 7, b=7 * 1024 * 2, sums_read=60 * 1024 * 4, sums_written=60 * 1024 * 4
    )


@pytest.mark.parametrize("seed", range(cases(40)))
def test_a_program_of_vectors(seed: int) -> None:
    """Gone through step by step, every block that registers allow takes as many cycles or more,
    and one of them moves as much."""
    rng = np.random.default_rng(seed)
    config = GtaConfig(lanes=1, vector_bytes=2048)
    name = str(rng.choice(FORMATS_OF_GTA))
    m, n, k = (int(size) for size in rng.integers(1, 70, 3))
    problem = PGemm(m=m, n=n, k=k, format=name)
    found = vector_unit_cost(config, problem)
    seen = set()
    for rows, cols in ((m, n), (n, m)):
        for held in (1, 2, 4, 8, 16):
            length = min(cols, held * 64 // problem.result_bytes)
            block = (32 - 2 * math.ceil(length * problem.element_bytes / 64)) // held
            if not block:
                continue
            cycles = loaded = 0
            for row in range(0, rows, block):
                for begin in range(0, cols, length):
                    vector = min(length, cols - begin)
                    loaded += vector * k
                    each = math.ceil(vector / vector_rate(name))
                    cycles += min(block, rows - row) * k * each
            seen.add((cycles, (loaded + rows * k) * problem.element_bytes))
    assert found.moved.a + found.moved.b in {read for _, read in seen}
    assert all(found.cycles <= cycles for cycles, _ in seen)
    assert all(
        found.time <= max(cycles, math.ceil(read / 16), math.ceil(found.moved.sums_written / 16))
        for cycles, read in seen
    )


@pytest.mark.parametrize("name", FORMATS_OF_GTA)
@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_a_fixed_array_has_as_many_multipliers(name: str, lanes: int) -> None:
    """A fixed array has nearly as many multipliers as GTA's limbs or adders allow, and no more."""
    config = GtaConfig(lanes=lanes)
    rows, cols = fixed_shape(config, name)
    each = config.interval(name) if name in config.floats else limbs(name) ** 2
    most = max(1, 64 * lanes // each)
    assert rows <= cols
    assert 0.9 * most <= rows * cols <= most


def test_a_fixed_arrays_cycles() -> None:
    assert fixed_shape(CONFIG, "int16") == (8, 8)
    problem = PGemm(m=100, n=20, k=10, format="int16")
    found = fixed_array_cost(CONFIG, problem)
    assert found.cycles == 5 * 100 + (2 * 8 + 8 + 100 - 2)
    assert found.accesses == Accesses(
        a=100 * 10 * 3, b=10 * 20, sums_read=100 * 20, sums_written=2 * 100 * 20
    )
    assert found.moved == Moved(a=100 * 10 * 2, b=10 * 20 * 2, sums_written=100 * 20 * 4)
    added = fixed_array_cost(CONFIG, PGemm(m=100, n=20, k=10, format="int16", accumulate=True))
    assert added.accesses.sums_read == 2 * 100 * 20
    assert added.moved.sums_read == 100 * 20 * 4


def test_the_workloads() -> None:
    """Sizes that are known otherwise: AlexNet's 1.1 billion products a picture without groups, of
    which 58.6 million are in full connections; an LU decomposition's n^3 / 3."""
    assert list(WORKLOADS) == ["BNM", "RGB", "FFE", "MD", "PCA", "ALT", "ALI", "FFL", "NeRF"]
    formats = ["int64", "int8", "int16", "int32", "fp64", "fp32", "int8", "bf16", "fp32"]
    assert [one.format for one in WORKLOADS.values()] == formats
    for one in WORKLOADS.values():
        assert all(part.format == one.format for _, part in one.parts)
    assert WORKLOADS["ALI"].products == pytest.approx(1.135e9, rel=1e-3)
    assert WORKLOADS["ALT"].products == 3 * 16 * WORKLOADS["ALI"].products
    connected = sum(forward(LAYERS[name], 1, "int8").products for name in ("fc6", "fc7", "fc8"))
    assert connected == 4096 * 9216 + 4096 * 4096 + 1000 * 4096
    assert WORKLOADS["MD"].products == pytest.approx(512**3 / 3, rel=0.15)
    # Pieces of 28 bits in 37 blocks of 64; a block has a part in 63 results more than there are
    # pieces.
    assert 28 * 36 * 64 < 65536 <= 28 * 37 * 64
    assert WORKLOADS["BNM"].parts[0][1].m == 37 * 64 + 63
    assert 64 * (2**28 - 1) ** 2 < 2**63
    assert WORKLOADS["NeRF"].products == 8 * 65536 * 256 * 256
    windows, weights = backward(LAYERS["conv1"], 2, "fp32")
    assert (windows.m, windows.n, windows.k) == (2 * 3025, 363, 96)
    assert (weights.m, weights.n, weights.k) == (363, 96, 2 * 3025)
