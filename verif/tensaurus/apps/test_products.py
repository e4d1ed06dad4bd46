"""``tilewright run spmttkrp`` and ``spttmc`` against einsum."""

from __future__ import annotations

import numpy as np
import pytest
from tilewright.apps.tensors import agreement
from tilewright.hw.spec.formats import FORMATS
from tilewright.sim.sparse.tensor import Tensor
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.tensaurus.apps.files import random_tensor, report, save_tensor

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
