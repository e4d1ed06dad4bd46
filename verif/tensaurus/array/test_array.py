"""The compute array against the order of additions in plain terms, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.sim.rtl.streams import Pauses
from tilewright.verif.kit.sampling import by_size, cases, slow_but

from .array_bench import JOBS, ArrayBench, Tile, random_job, random_tile, small, values_of
from .array_unit import Entry, Slice

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


# Products a cycle of the compute array, by counts.

_INDICES = 32


def rate(
    config: TensaurusConfig,
    kernel: str,
    vectors: int,
    *,
    length: int,
    fibers: int,
    slices: int = 1,
    scalars: int = 1,
    dense: bool = False,
) -> float:
    """Products of a row in a cycle, of fibers of so many values; of MM a fiber is a slice.

    All rows have the same values, at random places, or (``dense``) at all.
    """
    bench = ArrayBench(config)
    rng = np.random.default_rng(length)
    order = 2 if kernel in ("mm", "mv") else 3
    sizes = (_INDICES, _INDICES)
    job = random_job(config, rng, kernel, order, vectors=vectors, scalars=(scalars, 1), sizes=sizes)
    rows: list[list[Slice]] = [[] for _ in range(config.rows)]
    for number in range(slices):
        entries: list[Entry] = []
        for j in range(fibers if order == 3 else 1):
            drawn = rng.integers(0, _INDICES, length)
            last = (np.arange(length) % _INDICES if dense else drawn).tolist()
            values = values_of(config, rng, [length]).tolist()
            entries += [
                ((j % _INDICES, k) if order == 3 else (k,), a)
                for k, a in zip(last, values, strict=True)
            ]
        for r, row in enumerate(rows):
            row.append(Slice(number * config.rows + r, entries))
    tile = Tile(job, rows)
    bench.begin(job)
    bench.load(tile)
    bench.run([tile])
    counts = bench.counts()
    cycles = counts["last"] - counts["first"] + 1
    assert counts["conflicts"] == 0 or config.rows > 1
    return counts["products"] / config.rows / cycles


def one_row() -> TensaurusConfig:
    """Returns a configuration of one row, which has no bank conflicts."""
    return small(order=3, rows=1, cols=1, vlen=1, spm_bytes=4096, out_bytes=16384)


LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 12, 25, 60, 130, 300]


@pytest.mark.slow
@pytest.mark.parametrize("vectors", [1, 2, 3, 4])
def test_fibers_of_every_length(vectors: int) -> None:
    """The change of a fiber takes no cycle, but where every value of a fiber has a partial sum of
    its own: then the slots of sums are all taken at times."""
    config = one_row()
    for length in LENGTHS:
        fibers = max(12, 700 // (length * vectors))
        least = 0.92 if length * vectors == config.sum_latency and vectors == 1 else 0.97
        assert rate(config, "mttkrp", vectors, length=length, fibers=fibers) >= least, length


@pytest.mark.slow
def test_slices_of_every_length() -> None:
    """The change of a slice takes no cycle, except one for its header if each vector has its own
    slot. With half as many slots as vectors, the header is hidden."""
    for vectors in (2, 4):
        for length in (4, 8, 30, 150):
            slices = max(4, 500 // length)
            found = rate(one_row(), "mm", vectors, length=length, fibers=1, slices=slices)
            assert found >= 0.99, (vectors, length)
    for length in (8, 30, 150):
        slices = max(4, 700 // length)
        found = rate(one_row(), "mm", 1, length=length, fibers=1, slices=slices)
        assert found >= 0.98 * length / (length + 1), length


def many_rows() -> TensaurusConfig:
    """Returns a configuration with as many rows as banks, as in the default one."""
    count = by_size(4, 4, 8)
    return small(order=3, rows=count, cols=1, vlen=1, banks=count, spm_bytes=4096, out_bytes=16384)


DENSE = ["mttkrp 4", "mm 4", "ttmc 4"]


@pytest.mark.slow
@pytest.mark.parametrize("name", DENSE)
def test_dense_tiles_fill_the_array(name: str) -> None:
    """Rows that want the same vectors at almost the same time get them by broadcast."""
    kernel, vectors = name.split()[0], 1 if name.startswith("ttmc") else 4
    scalars = 4 if kernel == "ttmc" else 1
    fibers = 60 if kernel == "ttmc" else 16
    found = rate(
        many_rows(),
        kernel,
        vectors,
        length=96 if kernel == "ttmc" else 48,
        fibers=fibers,
        slices=10 if kernel == "mm" else 1,
        scalars=scalars,
        dense=True,
    )
    assert found >= 0.99
