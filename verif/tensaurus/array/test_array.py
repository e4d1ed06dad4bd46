"""The compute array against the order of additions in plain terms, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.sim.rtl.streams import Pauses
from tilewright.verif.kit.sampling import cases, slow_but

from .array_bench import JOBS, ArrayBench, random_job, random_tile, small

pytestmark = pytest.mark.long

PAUSES = [Pauses(), Pauses(seed=5, gap=0.5), Pauses(seed=6, gap=0.9)]


def run_tiles(
    bench: ArrayBench,
    name: str,
    seed: int,
    pauses: Pauses,
    *,
    slices: int = 6,
    special: float = 0.0,
    lengths: tuple[int, ...] = (1, 1, 2, 3, 4, 5, 8, 13, 21, 34),
) -> None:
    """Tiles whose operands are in one side, and in the other one, in turn; one has no slices."""
    config = bench.config
    kernel, order, vectors, scalars = JOBS[name]
    rng = np.random.default_rng(seed)
    sides = int(rng.integers(8))
    tiles = []
    for side in (sides, sides ^ 7):
        job = random_job(
            config, rng, kernel, order, vectors=vectors, scalars=scalars, special=special
        )
        tiles += [
            random_tile(
                config, rng, job, slices=count, lengths=lengths, sides=side, special=special
            )
            for count in (slices, int(rng.integers(0, 2)))
        ]
    bench.begin(tiles[0].job)
    for tile in tiles[::2]:
        bench.load(tile)
    order_of_tiles = [0, 2, 1, 3, 0]
    bench.run([tiles[n] for n in order_of_tiles], pauses)


@pytest.mark.slow
@pytest.mark.parametrize("name", JOBS)
def test_kernels(name: str) -> None:
    """Every kernel on one array of order 4, under stalls of slots, tiles and openings."""
    bench = ArrayBench(small())
    for n in range(max(1, cases(40) // 4)):
        run_tiles(bench, name, n, PAUSES[n % len(PAUSES)], special=0.05 * (n % 2))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mm 1", "mttkrp 3, 1", "ttmc 4, 1 2 2"])
def test_a_clear_in_the_middle(name: str) -> None:
    """A job is cut off anywhere; the next one is computed as if alone."""
    bench = ArrayBench(small())
    config = bench.config
    kernel, order, vectors, scalars = JOBS[name]
    rng = np.random.default_rng(71)
    for n in range(cases(40)):
        job = random_job(config, rng, kernel, order, vectors=vectors, scalars=scalars)
        tile = random_tile(config, rng, job, slices=8, lengths=(1, 3, 9, 30))
        bench.begin(job, mute=True)
        bench.load(tile)
        bench.run_in_part(tile, int(rng.integers(1, 40)), Pauses(seed=n, gap=0.3))
        bench.begin(job, mute=True, clear=True)
        run_tiles(bench, name, n, PAUSES[n % 2], slices=3)


FORMATS = [
    "int8 mma",
    "fp16 mma",
    "bf16 addnorm",
    "fp64 mma",
    "int32 minplus",
    "int32 mma",
    "fp32 minmax",
    "fp16 orand",
    "bf16 maxmul",
]


@pytest.mark.parametrize("name", slow_but([], FORMATS, ["int8 mma"]))
def test_formats(name: str) -> None:
    """Integers of which sums have more bits, floats of any width, and semirings of matrices."""
    value, semiring = name.split()
    order = 3 if semiring == "mma" else 2
    config = small(value=value, semiring=semiring, order=order, marker="bit")
    bench = ArrayBench(config)
    names = ["mm 1", "mm 2", "mv", *(["mttkrp 3, 2", "ttmc 3, 2 2"] if order == 3 else [])]
    for n, job in enumerate(names):
        run_tiles(bench, job, 80 + n, PAUSES[n % 2], special=0.2)


SHAPES = {
    "short pipelines": {"adder_stages": 1, "multiplier_stages": 1},
    "a middle adder": {"adder_stages": 2, "multiplier_stages": 2, "vlen": 1, "rows": 3},
    "one element": {"rows": 1, "cols": 1, "vlen": 3, "banks": 1},
    "a narrow window": {"window": 4, "rows": 4, "cols": 1, "banks": 2},
    "an odd array": {"rows": 5, "cols": 3, "vlen": 3, "banks": 8, "tlen": 3, "olen": 7},
}


@pytest.mark.parametrize("shape", slow_but([], SHAPES, ["one element"]))
def test_shapes(shape: str) -> None:
    """Latencies, vectors that are no power of two, one row, one bank."""
    parameters = {"order": 3, "spm_bytes": 4096, "out_bytes": 16384, **SHAPES[shape]}
    bench = ArrayBench(small(**parameters))
    for n, name in enumerate(("mm 1", "mm 3", "mv", "mttkrp 3, 1", "mttkrp 3, 2", "ttmc 3, 1 4")):
        _, _, vectors, scalars = JOBS[name]
        if scalars[0] * vectors > bench.config.olen:
            continue
        run_tiles(bench, name, 90 + n, PAUSES[n % 2])
