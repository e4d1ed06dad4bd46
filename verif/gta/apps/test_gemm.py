"""``tilewright run gemm --unit gta``: in every format, schedules of the user's choice, reports."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.apps.common.units.gta import GtaChoice
from tilewright.apps.gta import products
from tilewright.apps.gta.products import GtaProducts
from tilewright.hw.spec.gta import FORMATS_OF_GTA, GtaConfig, is_float
from tilewright.sim.gta.array_job import Schedule
from tilewright.sim.gta.bignum import (
    DEPTH,
    PIECE_BITS,
    bignum_factors,
    bignum_product,
    bignum_shape,
)
from tilewright.sim.gta.golden.pgemm import pgemm
from tilewright.sim.gta.schedule.cost import PGemm
from tilewright.sim.gta.schedule.evaluate import evaluate
from tilewright.sim.gta.schedule.explain import choose
from tilewright.verif.gta.golden.references import product_by_limbs
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.sampling import cases, slow_but

GTA = ("--unit", "gta", "--backend", "cycles")


def drawn(run: Run, mode: str, shape: tuple[int, int, int]) -> tuple[Path, Path, Path, Any]:
    """Files of A, B and C, and what A B + C is, in NumPy."""
    rng = np.random.default_rng(len(mode) * 7 + shape[0])
    rows, cols, depth = shape
    a: Any
    b: Any
    c: Any
    if is_float(mode):
        # Few digits: every sum is exact in any format.
        a, b = rng.integers(-15, 16, (rows, depth)) / 4, rng.integers(-15, 16, (depth, cols)) / 8
        c = rng.integers(-99, 99, (rows, cols)) / 32
        expected = a @ b + c
    else:
        bits = int(mode[3:])
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        a, b = (rng.integers(low, high, s, np.int64, True) for s in ((rows, depth), (depth, cols)))
        wide = 32 if bits < 32 else 64
        c = rng.integers(-(1 << (wide - 1)), (1 << (wide - 1)) - 1, (rows, cols), np.int64, True)
        exact = np.dot(a.astype(object), b.astype(object)) + c.astype(object)
        half = 1 << (wide - 1)
        expected = (exact + half) % (1 << wide) - half
    files = [run.save(f"{name}.npy", array) for name, array in (("a", a), ("b", b), ("c", c))]
    return files[0], files[1], files[2], expected


@pytest.mark.parametrize("mode", slow_but(["int8", "fp64"], FORMATS_OF_GTA))
def test_every_format(run: Run, mode: str) -> None:
    a, b, c, expected = drawn(run, mode, (5, 9, 17))
    out = run.directory / "d.npy"
    assert run("gemm", a, b, "--c", c, *GTA, "--mode", mode, "-o", out) == 0
    found = np.load(out)
    wide = result_type(mode)
    assert found.dtype == wide
    assert np.array_equal(found, expected.astype(wide))


def result_type(mode: str) -> Any:
    if is_float(mode):
        return np.float64 if mode == "fp64" else np.float32
    return np.int64 if mode in ("int32", "int64") else np.int32


SUMS = [("int8", "saturate"), ("int64", "long"), ("int16", "saturate"), ("int32", "saturate"),
        ("int32", "long"), ("int64", "saturate")]  # fmt: skip


@pytest.mark.parametrize("kept", slow_but(SUMS[:2], SUMS))
def test_sums(run: Run, kept: tuple[str, str]) -> None:
    """Compares with Python's integers; some sums exceed the usual width, whatever C is."""
    mode, sums = kept
    a, b, c, _ = drawn(run, mode, (5, 9, 17))
    bits = 8 * result_type(mode)().itemsize
    if (mode, sums) == ("int64", "saturate"):
        run.save("a.npy", np.load(a) >> 12)
    x, y, z = (np.load(file).astype(object) for file in (a, b, c))
    if mode in ("int8", "int16"):
        z = np.where(np.indices(z.shape).sum(axis=0) % 2, 2**31 - 1, z)
        run.save("c.npy", z.astype(np.int64))
    exact = np.dot(x, y) + z
    out, where = run.directory / "d.npy", run.directory / "report.json"
    words = ("--mode", mode, "--sums", sums, "-o", out, "--json", where)
    assert run("gemm", a, b, "--c", c, *GTA, *words) == 0
    found, half = np.load(out), 1 << (bits - 1)
    beyond = int(np.count_nonzero((exact >= half) | (exact < -half)))
    report = run.report()
    assert beyond > 0
    assert (report["sums"], report["beyond"]) == (sums, beyond)
    assert report["counters"]["cycles"] > 0
    if sums == "saturate":
        assert np.array_equal(found.astype(object), np.clip(exact, -half, half - 1))
        return
    pairs = found.astype(object)
    assert np.array_equal(pairs[..., 0] + (pairs[..., 1] << 64), exact % 2**128)


def test_sums_that_are_refused(run: Run) -> None:
    a = run.save("a.npy", np.full((2, 2), -(2**63)))
    for mode, sums, line in [
        ("fp32", "saturate", "--sums must be wrap in fp32, not 'saturate'"),
        ("int8", "long", "--sums must be one of wrap, saturate in int8, not 'long'"),
        ("int32", "all", "--sums must be one of wrap, saturate, long in int32, not 'all'"),
        ("int64", "saturate", f"{a}: 4 of 4 sums have more than 128 bits, and are clamped modulo "
                              "2^128"),
    ]:  # fmt: skip
        assert run.refused("gemm", a, a, *GTA, "--mode", mode, "--sums", sums) == line
    line = run.refused("gemm", a, a, *GTA, "--mode", "int64", "--sums", "long", "-o", "d.mtx")
    assert line == "d.mtx: must end in .npy or .npz, not '.mtx'"
    line = run.refused("gemm", a, a, "--sums", "long")
    assert line == "--sums must come with --unit gta, not m3xu, as 'long'"


def test_a_wrong_sum_is_found(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, _, _ = drawn(run, "int64", (2, 3, 4))
    right = products.pgemm
    monkeypatch.setattr(products, "pgemm", lambda *x, **named: right(*x, **named) ^ 1)
    for sums in ("long", "saturate"):
        assert run("gemm", a, b, *GTA, "--mode", "int64", "--sums", sums) == 1
        assert "6 DIFFERENT" in run.out


def test_matrix_market(run: Run) -> None:
    """Integers are read as such, and written so."""
    path = run.directory / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 7\n2 1 -3\n")
    out = run.directory / "d.mtx"
    assert run("gemm", path, path, *GTA, "--mode", "int8", "-o", out) == 0
    assert out.read_text().splitlines()[0] == "%%MatrixMarket matrix array integer general"
    assert out.read_text().split()[-4:] == ["49", "-21", "0", "0"]


def report_of(run: Run, *words: object, shape: tuple[int, int, int] = (70, 33, 40)) -> Any:
    a, b, _, _ = drawn(run, "int16", shape)
    where = run.directory / "report.json"
    assert run("gemm", a, b, *GTA, "--mode", "int16", *words, "--json", where) == 0
    return run.report()


def test_what_is_reported(run: Run) -> None:
    """Figures are those of the schedule that is chosen."""
    report = report_of(run)
    problem = PGemm(m=70, n=33, k=40, format="int16")
    best = choose(GtaConfig(), problem)
    (schedule,) = report["schedules"]
    assert (schedule["schedule"], schedule["count"]) == (best.schedule.words, 1)
    assert report["cycles"] == schedule["cycles"] == best.cost.cycles
    assert report["port_cycles"] == best.cost.port_cycles
    assert report["accesses"] == vars(best.cost.accesses)
    assert report["bytes"] == vars(best.cost.moved)
    assert report["counters"]["bytes_written"] == 70 * 33 * 4
    assert report["counters"]["cycles"] >= report["counters"]["busy_cycles"] > 0
    assert f"{report['counters']['cycles']:,} of jobs" in run.out
    assert report["utilisation"] == pytest.approx(best.utilisation, rel=1e-12)
    assert (report["multiplications"], report["limb_products"]) == (92400, 369600)
    assert report["references"][0]["wrong"] == 0
    assert (report["app"], report["unit"], report["mode"]) == ("gemm", "gta", "int16")
    assert f"{best.cost.cycles:,} of the array" in run.out


@pytest.mark.parametrize("dataflow", slow_but(["ws"], ["ws", "is", "os"]))
@pytest.mark.parametrize("layout", slow_but(["2x2"], ["1x4", "2x2", "4x1"]))
def test_dataflow_and_layout(run: Run, dataflow: str, layout: str) -> None:
    report = report_of(run, "--dataflow", dataflow, "--layout", layout)
    words = report["schedules"][0]["schedule"]
    assert words.startswith(f"{dataflow} {layout}, ")
    rows, cols = map(int, layout.split("x"))
    schedule = Schedule(
        dataflow=dataflow,
        rows=rows,
        cols=cols,
        lateral="lateral" in words,
        filled="filled" in words,
    )
    problem = PGemm(m=70, n=33, k=40, format="int16")
    assert report["cycles"] == evaluate(GtaConfig(), problem, schedule).cost.cycles


def test_vectors(run: Run) -> None:
    assert report_of(run, "--dataflow", "simd")["schedules"][0]["coverage"] == "vector"


def test_explain(run: Run) -> None:
    """All schedules that the user has left, the chosen one first."""
    report = report_of(run, "--dataflow", "os", "--layout", "2x2", "--explain")
    lines = [line for line in run.out.splitlines() if line.startswith("│ os 2x2")]
    assert len(lines) >= 2
    assert lines[0].split("│")[1].strip().startswith(report["schedules"][0]["schedule"])
    assert "│ ws " not in run.out
    assert "…" not in run.out


def test_the_model_alone_counts_nothing(run: Run) -> None:
    a, b, _, expected = drawn(run, "int16", (3, 4, 5))
    where = run.directory / "report.json"
    assert run("gemm", a, b, "--unit", "gta", "--backend", "model", "--mode", "int16", "--json",
               where) == 0  # fmt: skip
    report = run.report()
    assert [report[name] for name in ("cycles", "utilisation", "accesses", "bytes")] == [None] * 4
    assert report["schedules"] == []
    assert report["multiplications"] == 60
    assert expected.shape == (3, 4)


def test_products_add_up() -> None:
    """Counters add up over several p-GEMMs, including a repeated one."""
    choice = GtaChoice(config=GtaConfig(), format="int32", backend="cycles")
    rng = np.random.default_rng(5)
    shapes = [(9, 5, 8), (20, 30, 12), (9, 5, 8)]
    with GtaProducts(choice) as products:
        for rows, cols, depth in shapes:
            a, b = (rng.integers(0, 1 << 32, s, np.uint64) for s in ((rows, depth), (depth, cols)))
            assert np.array_equal(products.multiply(a, b), pgemm("int32", a, b))
    tally = products.tally
    assert (tally.pgemms, len(tally.times)) == (3, 2)
    costs = [choose(GtaConfig(), PGemm(m=m, n=n, k=k, format="int32")).cost for m, n, k in shapes]
    assert tally.cost is not None
    assert tally.cost.cycles == sum(cost.cycles for cost in costs)
    assert tally.cost.accesses == costs[0].accesses + costs[1].accesses + costs[2].accesses
    assert tally.cost.moved.total == sum(cost.moved.total for cost in costs)
    assert tally.limb_products == 16 * sum(m * n * k for m, n, k in shapes)
    assert tally.utilisation == tally.limb_products / (tally.cost.cycles * 256)
    assert tally.by_cycles()[0] == PGemm(m=20, n=30, k=12, format="int32")


# Products of long integers, against Python's.

Array = npt.NDArray[Any]

COLUMN_BITS = PIECE_BITS * DEPTH

on_golden = partial(pgemm, "int64")


def by_limbs(a: Array, b: Array) -> Array:
    """Multiplies by limbs as the array does, with the narrowest possible sums."""
    exact = product_by_limbs("int64", a, b, depth=8, partial_bits=20, result_bits=64)
    return exact.astype(np.uint64)


def test_random_lengths() -> None:
    rng = random.Random(111)
    for _ in range(cases(200)):
        x, y = (rng.getrandbits(rng.randrange(1, 9000)) for _ in range(2))
        assert bignum_product(x, y, on_golden) == x * y


@pytest.mark.parametrize("bits", [1, 27, 28, 29, COLUMN_BITS - 1, COLUMN_BITS, COLUMN_BITS + 1])
def test_all_ones_and_powers_of_two(bits: int) -> None:
    """The largest sums and the longest carries, around the ends of pieces and columns."""
    for x in ((1 << bits) - 1, 1 << bits, 0, 1):
        for y in ((1 << bits) - 1, (1 << 3 * bits) - 1, 1 << bits, 0):
            assert bignum_product(x, y, on_golden) == x * y


def test_signs() -> None:
    for x, y in ((-5, 7), (5, -7), (-(1 << 100), -(1 << 3000)), (0, -1)):
        assert bignum_product(x, y, on_golden) == x * y


def test_by_limbs() -> None:
    rng = random.Random(112)
    x, y = rng.getrandbits(2500), (1 << 3000) - 1
    assert bignum_product(x, y, by_limbs) == x * y


def test_no_sum_passes_int64() -> None:
    """Multiplies pieces that are all ones; the sum is exact, not modulo 2**64."""
    ones = (1 << COLUMN_BITS) - 1
    a, b = bignum_factors(ones, ones)
    sums = np.dot(a.astype(object), b.astype(object))
    assert sums.max() == DEPTH * ((1 << PIECE_BITS) - 1) ** 2 < 1 << 62
    assert np.array_equal(on_golden(a, b), sums.astype(np.uint64))


def test_shape_of_the_workload() -> None:
    """Checks the shape for 65,536 bits, and that the matrices have the shape that is announced."""
    assert bignum_shape(65536, 65536) == (2431, 37, 64)
    for x_bits, y_bits in ((0, 0), (1, 4000), (COLUMN_BITS, COLUMN_BITS + 1)):
        rows, columns, depth = bignum_shape(x_bits, y_bits)
        a, b = bignum_factors((1 << x_bits) - 1, (1 << y_bits) - 1)
        assert (a.shape, b.shape) == ((rows, depth), (depth, columns))


@pytest.mark.parametrize("bits", slow_but([1 << 14], [1 << 14, 1 << 16, 1 << 20], [1 << 16]))
def test_long_numbers(bits: int) -> None:
    """More rows than are computed at a time; the longest that are promised."""
    rng = random.Random(113)
    x, y = rng.getrandbits(bits), rng.getrandbits(bits) | 1 << (bits - 1)
    assert bignum_product(x, y, on_golden) == x * y


def test_rows_at_a_time() -> None:
    """Each is multiplied once."""
    rows = []

    def counted(a: Array, b: Array) -> Array:
        rows.append(len(a))
        return on_golden(a, b)

    x, y = (1 << 150_000) - 1, (1 << 1000) - 3
    assert bignum_product(x, y, counted) == x * y
    assert len(rows) > 1
    assert sum(rows) == bignum_shape(150_000, 1000)[0]


def test_factors_are_not_negative() -> None:
    with pytest.raises(ValueError, match=r"^numbers must be at least 0, not -3$"):
        bignum_factors(5, -3)
