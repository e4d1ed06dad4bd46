"""``tilewright run spmttkrp`` and ``spttmc`` against einsum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import random_array
from tilewright.apps.common.units import tensaurus_products as session
from tilewright.apps.tensors import agreement
from tilewright.hw.spec.formats import FORMATS
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.sim.sparse.tensor import Tensor
from tilewright.verif.kit.commands import Run, draw
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.oracles.graphs import matrix_product
from tilewright.verif.tensaurus.apps.files import random_tensor, report, save_tensor
from tilewright.verif.tensaurus.model.cases import device

SMALL = ("--set", "spm_bytes=256", "--set", "out_bytes=2048", "--set", "cols=2")
"""A unit that cuts everything."""

LETTERS = "abcd"

ALONG = [(order, mode) for order in (3, 4) for mode in range(order)]
"""Modes of a tensor, and that of the result's rows."""


def equation(order: int, mode: int, *, kronecker: bool) -> str:
    """Returns the einsum equation of a product along a mode."""
    others = [m for m in range(order) if m != mode]
    columns = "wxyz"[: len(others)] if kronecker else "z" * len(others)
    factors = ",".join(LETTERS[m] + f for m, f in zip(others, columns, strict=True))
    result = columns if kronecker else "z"
    return f"{LETTERS[:order]},{factors}->{LETTERS[mode]}{result}"


@pytest.mark.parametrize(
    "along",
    slow_but([(3, 0), (4, 2)], [(order, mode) for order in (3, 4) for mode in range(order)]),
)
@pytest.mark.parametrize("app", ["spmttkrp", "spttmc"])
def test_products_are_einsums(run: Run, app: str, along: tuple[int, int]) -> None:
    """The factors come from files. Results equal float64 except for the order of additions."""
    order, mode = along
    shape = (14, 11, 9, 8)[:order]
    tensor, dense = random_tensor(order, shape, 300)
    path = save_tensor(run, tensor)
    rng = np.random.default_rng(mode)
    others = [m for m in range(order) if m != mode]
    widths = [5] * 3 if app == "spmttkrp" else [2, 5, 3]
    factors = [rng.standard_normal((shape[m], f)) for m, f in zip(others, widths, strict=False)]
    given = [word for m, factor in zip(others, factors, strict=True)
             for word in ("--factor", f"{m + 1}={run.save(f'{m}.npy', factor)}")]  # fmt: skip
    out = run.directory / "y.npy"
    found = report(
        run, app, path, "--mode", mode + 1, *given, *SMALL, "--set", "value=fp64", "-o", out
    )
    wanted = np.einsum(equation(order, mode, kronecker=app == "spttmc"), dense, *factors)
    result = np.load(out)
    assert result.shape == wanted.shape
    assert np.abs(result - wanted).max() <= 1e-12 * np.abs(wanted).max()
    assert found["reference"]["wrong"] == 0
    assert found["tiles"] > 1
    assert run.err == ""


@pytest.mark.slow
@pytest.mark.parametrize("value", ["fp32", "bf16", "fp16", "int8", "int32"])
def test_every_format_agrees_with_its_reference(run: Run, value: str) -> None:
    tensor, _ = random_tensor(1, (20, 30, 25), 400, whole=True)
    path = save_tensor(run, tensor)
    found = report(run, "spmttkrp", path, "--rank", 9, "--set", f"value={value}", *SMALL)
    assert found["reference"]["wrong"] == 0
    assert found["result"] == [20, 9]
    assert "DIFFERENT" not in run.out


def test_what_rounding_explains_is_not_everything() -> None:
    """A value that is a few last places off is found; so is one of integers."""
    tensor, dense = random_tensor(1, (5, 6, 7), 80)
    rng = np.random.default_rng(1)
    factors = [rng.standard_normal((n, 3)) for n in (6, 7)]
    good = np.einsum("abc,bz,cz->az", dense, *factors)

    def compared(result: np.ndarray, name: str = "fp32") -> agreement.TensorAgreement:
        return agreement.compare(FORMATS[name], tensor, 0, factors, result,
                                 kronecker=False, tiles=1)  # fmt: skip

    right = compared(good.astype(np.float32))
    assert right.wrong == 0
    assert 0 < right.share < 0.2
    bad = good.astype(np.float32)
    bad[2, 1] *= 1.001
    assert compared(bad).wrong == 1
    bad[3, 0] = np.nan
    assert compared(bad).wrong == 2
    whole, elements = random_tensor(2, (5, 6, 7), 80, whole=True)
    tensor = Tensor(shape=whole.shape, indices=whole.indices, values=whole.values.astype(np.int64))
    factors = [rng.integers(-3, 4, (n, 3)).astype(float) for n in (6, 7)]
    exact = np.einsum("abc,bz,cz->az", elements, *factors).astype(np.int64)
    assert compared(exact, "int32").wrong == 0
    exact[0, 0] += 1
    assert compared(exact, "int32").wrong == 1


@pytest.mark.slow
def test_zero_based_files_give_the_same(run: Run) -> None:
    tensor, _ = random_tensor(3, (6, 5, 4), 40)
    outputs = []
    for name, options in (("a.tns", ()), ("b.tns", ("--zero-based",))):
        path = save_tensor(run, tensor, name, zero_based=bool(options))
        outputs.append(run.directory / f"{name}.npy")
        report(run, "spmttkrp", path, *options, "-o", outputs[-1])
    assert (np.load(outputs[0]) == np.load(outputs[1])).all()


def test_no_values_are_zeros(run: Run) -> None:
    path = run.directory / "none.tns"
    path.write_text("# nothing\n")
    out = run.directory / "y.npy"
    report(run, "spttmc", path, "--shape", "3,4,5", "--rank", "2,3", "-o", out)
    result = np.load(out)
    assert result.shape == (3, 2, 3)
    assert not result.any()


@pytest.mark.slow
def test_a_plan_is_explained_and_may_be_overruled(run: Run) -> None:
    tensor, _ = random_tensor(3, (60, 50, 40), 900)
    path = save_tensor(run, tensor)
    best = report(run, "spmttkrp", path, *SMALL, "--explain")
    assert "operand of k" in run.out
    assert "the fastest of" in run.out
    other = report(run, "spmttkrp", path, *SMALL, "--tile", "i=7,j=3,k=5,f=2,loops=kj")
    plan, chosen = best["plans"][0], other["plans"][0]
    assert chosen["steps"] == [7, 3, 5]
    assert chosen["loops"] == "kj"
    assert chosen["vectors"] == 2
    assert chosen["bytes"]["total"] > plan["bytes"]["total"]
    assert other["tiles"] > best["tiles"]
    assert other["reference"]["wrong"] == 0


@pytest.mark.slow
def test_losses_are_said(run: Run) -> None:
    """The command reports values and sums that fp16 cannot hold, and integers that wrap around."""
    path = run.directory / "t.tns"
    path.write_text("1 1 1 70000\n2 1 1 300\n3 1 1 1e-9\n")
    ones = run.save("ones.npy", np.full((1, 2), 300.0))
    given = ("--factor", f"2={ones}", "--factor", f"3={ones}")
    found = report(run, "spmttkrp", path, *given, "--set", "value=fp16")
    assert "t.tns: 1 of 3 values exceed the largest fp16 value 65504 and become infinite" in run.err
    assert "t.tns: 1 of 3 values are too small for fp16 and become zero" in run.err
    assert "4 of 6 values exceed" not in run.err
    assert found["reference"]["overflows"] == 2
    assert found["reference"]["not_finite"] == 2
    path.write_text("1 1 1 100000\n2 1 1 1\n")
    report(run, "spmttkrp", path, *given, "--set", "value=int32")
    assert "2 of 4 values leave -2147483648..2147483647, the range of int32, and wrap around" in (
        run.err
    )


# ``tilewright run spmm`` and ``spmv`` against SciPy and NumPy.

SMALL_MATRICES = ("--set", "spm_bytes=256", "--set", "out_bytes=1024", "--set", "cols=2")


def matrix(run: Run, rows: int, columns: int, *, whole: bool = True) -> tuple[Path, Any]:
    """Row 0 is empty."""
    rng = np.random.default_rng(rows)
    found = random_array((rows, columns), density=0.1, rng=rng).tolil()
    found[0] = 0
    found = found.tocoo()
    found.data = rng.integers(1, 9, found.nnz).astype(float) if whole else found.data
    path = run.directory / "a.mtx"
    mmwrite(path, found)
    return path, found.tocsr()


@pytest.mark.parametrize("semiring", slow_but(["minplus"], SEMIRINGS))
def test_every_semiring_of_small_whole_numbers_is_exact(run: Run, semiring: str) -> None:
    path, a = matrix(run, 45, 30)
    b = np.random.default_rng(1).integers(-8, 9, (30, 13)).astype(float)
    out = run.directory / "c.npy"
    found = report(run, "spmm", path, run.save("b.npy", b), "--semiring", semiring, *SMALL_MATRICES,
                   "-o", out)  # fmt: skip
    result = np.load(out)
    rows, identity = SEMIRINGS[semiring], float(SEMIRINGS[semiring].identity)
    for i in range(45):
        columns = a.indices[a.indptr[i] : a.indptr[i + 1]]
        if not len(columns):
            assert (result[i] == identity).all()
            continue
        row = a.data[a.indptr[i] : a.indptr[i + 1]][None]
        assert (result[i] == matrix_product(semiring, row, b[columns])[0]).all()
    assert rows.name == found["config"]["semiring"]
    assert found["reference"]["wrong"] == 0
    assert found["tiles"] > 1


@pytest.mark.slow
@pytest.mark.parametrize("app", ["spmm", "spmv"])
@pytest.mark.parametrize("value", ["fp64", "fp16", "int8"])
def test_formats_agree_with_scipy(run: Run, app: str, value: str) -> None:
    path, a = matrix(run, 50, 40, whole=value == "int8")
    columns = 1 if app == "spmv" else 9
    b = np.random.default_rng(2).integers(-8, 9, (40, columns)).astype(float)
    out = run.directory / "c.npy"
    found = report(run, app, path, run.save("b.npy", b), "--set", f"value={value}", *SMALL_MATRICES,
                   "-o", out)  # fmt: skip
    result = np.load(out)
    assert result.shape == ((50,) if app == "spmv" else (50, 9))
    bound = {"fp64": 1e-13, "fp16": 5e-2, "int8": 0}[value]
    assert np.abs(result.reshape(50, -1) - a @ b).max() <= bound
    assert found["reference"]["wrong"] == 0
    assert found["b"]["shape"] == [40, columns]


@pytest.mark.slow
def test_without_a_second_operand_it_is_random(run: Run) -> None:
    path, _ = matrix(run, 20, 10)
    first = report(run, "spmm", path, "--rank", 5, "-o", run.directory / "x.npy")
    report(run, "spmm", path, "--rank", 5, "--seed", 1, "-o", run.directory / "y.npy")
    report(run, "spmv", path)
    x, y = (np.load(run.directory / f"{name}.npy") for name in "xy")
    assert x.shape == (20, 5)
    assert (x != y).any()
    assert first["b"]["source"] == "random"


@pytest.mark.slow
def test_vectors_of_one_and_of_two_dimensions(run: Run) -> None:
    path, a = matrix(run, 20, 10)
    v = np.arange(10.0)
    results = []
    for name, array in (("flat", v), ("tall", v[:, None])):
        out = run.directory / f"{name}_y.npy"
        report(run, "spmv", path, run.save(f"{name}.npy", array), "-o", out)
        results.append(np.load(out))
    assert (results[0] == results[1]).all()
    assert (results[0] == a @ v).all()


@pytest.mark.slow
def test_a_matrix_without_values(run: Run) -> None:
    """Every element is the identity."""
    path, out = run.directory / "none.mtx", run.directory / "c.npy"
    path.write_text("%%MatrixMarket matrix coordinate real general\n5 4 0\n")
    found = report(run, "spmm", path, "--rank", 3, "--semiring", "maxplus", "-o", out)
    assert (np.load(out) == -np.inf).all()
    assert found["reference"]["wrong"] == 0
    report(run, "spmv", path, "-o", out)
    assert np.load(out).tolist() == [0.0] * 5


# The commands on RTL: each value and each counter is compared with the model's.

CONFIG = device()
NAMES = ("rows", "cols", "vlen", "order", "spm_bytes", "banks", "out_bytes", "channels",
         "data_bits", "marker")  # fmt: skip
RTL = ("--backend", "rtl", *(
    word for name in NAMES for word in ("--set", f"{name}={getattr(CONFIG, name)}")
))  # fmt: skip
"""The configuration that other benches build."""


def checked(run: Run, *arguments: object) -> dict[str, Any]:
    """A report of a run that equals the model's."""
    found = report(run, *arguments, *RTL)
    assert found["backend"] == "rtl"
    assert found["checked"] > 0
    assert found["mismatches"] == 0
    counts = found["counters"]
    assert counts["cycles"] * CONFIG.rows >= counts["products"] > 0
    assert "bit for bit equal" in run.out
    return found


@pytest.mark.slow
def test_every_command_runs_on_rtl(run: Run) -> None:
    tensor, _ = random_tensor(1, (12, 10, 9), 120)
    four, _ = random_tensor(2, (5, 4, 3, 4), 60)
    path, other = save_tensor(run, tensor), save_tensor(run, four, "four.tns")
    found = checked(run, "spmttkrp", path, "--rank", 7, "--mode", 2)
    assert found["reference"]["wrong"] == 0
    assert found["counters"]["bytes_read"] == sum(
        found["counters"][f"bytes_{name}"] for name in ("tensor", "matrices", "list")
    )
    checked(run, "spttmc", other, "--rank", "2,3,7")
    checked(run, "spmttkrp", other, "--dense", "--rank", 5)
    matrix = run.save("a.npy", np.where(draw(1, 20, 15) > 1, draw(2, 20, 15), 0.0))
    checked(run, "spmm", matrix, "--rank", 8)
    checked(run, "spmv", matrix)
    checked(run, "gemv", matrix)
    checked(run, "gemm", matrix, run.save("b.npy", draw(3, 15, 8)), "--unit", "tensaurus")
    graph = run.save("g.npy", np.eye(12)[::-1])
    assert checked(run, "gcn", graph, run.save("x.npy", draw(4, 12, 5)))["products"] == 4
    assert checked(run, "cpd", path, "--rank", 2, "--iterations", 2)["products"] == 6
    assert checked(run, "tucker", path, "--ranks", "2,2,2", "--iterations", 2)["products"] == 6


@pytest.mark.slow
def test_a_value_that_differs_is_found(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    tensor, _ = random_tensor(1, (6, 5, 4), 30)
    path, compute = save_tensor(run, tensor), session._run
    calls = []

    def once_wrong(driver: Any, **named: Any) -> Any:
        found = compute(driver, **named)
        calls.append(found.size)
        if len(calls) == 1:
            found.flat[0] ^= np.uint64(1)
        return found

    monkeypatch.setattr(session, "_run", once_wrong)
    found = report(run, "spmttkrp", path, "--rank", 3, *RTL, status=1)
    assert found["mismatches"] == 1
    assert found["reference"]["wrong"] == 0
    assert "DIFFERENT" in run.out
    assert len(calls) == 2
