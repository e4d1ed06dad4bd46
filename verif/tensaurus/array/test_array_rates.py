"""Products a cycle of the compute array, by counts."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.verif.kit.sampling import by_size

from .array_bench import ArrayBench, Tile, random_job, small, values_of
from .order_of_sums import Entry, Slice

pytestmark = pytest.mark.long

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
    """Without conflicts, since nobody else asks."""
    return small(order=3, rows=1, cols=1, vlen=1, spm_bytes=4096, out_bytes=16384)


LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 12, 25, 60, 130, 300]


@pytest.mark.slow
@pytest.mark.parametrize("vectors", [1, 2, 3, 4])
def test_fibers_of_every_length(vectors: int) -> None:
    """Not a cycle is lost at the change of a fiber."""
    for length in LENGTHS:
        fibers = max(12, 700 // (length * vectors))
        assert rate(one_row(), "mttkrp", vectors, length=length, fibers=fibers) >= 0.97, length


@pytest.mark.slow
def test_slices_of_every_length() -> None:
    """Nor at the change of a slice, but for its header where each vector takes a slot of its own;
    half as many slots as vectors find time for it."""
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
    """As many rows as banks, as by default."""
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
