"""``tilewright run cpd`` and ``tucker`` of dense tensors beside TensorLy's from the same start."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.verif.kit.commands import Run
from tilewright.verif.tensaurus.apps.files import report

pytestmark = pytest.mark.slow

BOUNDS = {"fp32": 1e-5, "fp64": 1e-12}


@pytest.fixture(scope="module")
def decomposition() -> Any:
    return pytest.importorskip("tensorly.decomposition", reason="TensorLy is not installed")


def noisy(shape: tuple[int, ...], rank: int, seed: int) -> np.ndarray:
    """Draws a low-rank tensor with noise, rounded to fp16, which every format holds."""
    rng = np.random.default_rng(seed)
    factors = [rng.random((size, rank)) for size in shape]
    letters = "abcd"[: len(shape)]
    terms = ",".join(f"{letter}z" for letter in letters)
    whole = np.einsum(f"{terms}->{letters}", *factors) + 0.1 * rng.standard_normal(shape)
    return whole.astype(np.float16).astype(np.float64)


def tensorlys_fit(
    decomposition: Any, tensor: np.ndarray, rank: int, iterations: int, mask: Any = None
) -> float:
    """Returns the fit of TensorLy's CP-ALS, from the start that the command draws by default."""
    rng = np.random.default_rng(0)
    start = [rng.random((size, rank)) for size in tensor.shape]
    _, errors = decomposition.parafac(
        tensor, rank, n_iter_max=iterations, init=(np.ones(rank), start), tol=0,
        return_errors=True, mask=mask,
    )  # fmt: skip
    assert len(errors) == iterations
    return 1 - float(errors[-1])


def cpd(run: Run, tensor: np.ndarray, rank: int, iterations: int, *more: object) -> dict[str, Any]:
    path = run.directory / "t.npy"
    np.save(path, tensor)
    return report(run, "cpd", path, "--rank", rank, "--iterations", iterations, "--tolerance", 0,
                  *more)  # fmt: skip


@pytest.mark.parametrize("shape", [(6, 7, 5), (4, 3, 5, 4)])
@pytest.mark.parametrize("value", BOUNDS)
def test_cpd(run: Run, decomposition: Any, shape: tuple[int, ...], value: str) -> None:
    tensor = noisy(shape, 3, len(shape))
    expected = tensorlys_fit(decomposition, tensor, 2, 8)
    found = cpd(run, tensor, 2, 8, "--dense", "--set", f"value={value}")
    assert found["fit"] == pytest.approx(expected, rel=BOUNDS[value], abs=0)


@pytest.mark.parametrize("value", BOUNDS)
def test_tucker(run: Run, decomposition: Any, value: str) -> None:
    tensor, ranks = noisy((7, 6, 5), 4, 9), (3, 2, 2)
    rng = np.random.default_rng(0)
    start = [np.linalg.qr(rng.standard_normal((size, rank)))[0]
             for size, rank in zip(tensor.shape, ranks, strict=True)]  # fmt: skip
    _, errors = decomposition.partial_tucker(
        tensor, list(ranks), n_iter_max=6, init=(np.zeros(ranks), start), tol=0
    )
    path = run.directory / "t.npy"
    np.save(path, tensor)
    found = report(run, "tucker", path, "--ranks", "3,2,2", "--iterations", 6, "--tolerance", 0,
                   "--dense", "--set", f"value={value}")  # fmt: skip
    assert found["fit"] == pytest.approx(1 - float(errors[-1]), rel=BOUNDS[value], abs=0)


@pytest.mark.parametrize("value", BOUNDS)
@pytest.mark.parametrize("dense", [False, True])
def test_missing_values(run: Run, decomposition: Any, value: str, dense: bool) -> None:
    """A mask or NaN marks missing values; the value in the file is ignored where the mask has 0."""
    tensor = noisy((6, 5, 4), 2, 3)
    known = np.random.default_rng(4).random(tensor.shape) < 0.8
    expected = tensorlys_fit(decomposition, tensor * known, 2, 10, known.astype(float))
    more = ["--set", f"value={value}", *(["--dense"] if dense else [])]
    found = cpd(run, np.where(known, tensor, np.nan), 2, 10, *more)
    assert found["fit"] == pytest.approx(expected, rel=BOUNDS[value], abs=0)
    assert found["tensor"]["missing"] == np.count_nonzero(~known)
    mask = run.directory / "mask.npy"
    np.save(mask, known)
    masked = cpd(run, np.where(known, tensor, 99.0), 2, 10, "--mask", mask, *more)
    assert masked["fits"] == found["fits"]


@pytest.mark.parametrize("value", BOUNDS)
def test_responses_to_il2(run: Run, decomposition: Any, value: str) -> None:
    """The measurements of TensorLy's example, 192 of which are missing."""
    sets = pytest.importorskip("tensorly.datasets.data_imports", reason="TensorLy has no data")
    tensor = np.asarray(sets.load_IL2data().tensor)
    known = ~np.isnan(tensor)
    expected = tensorlys_fit(decomposition, np.nan_to_num(tensor), 3, 5, known.astype(float))
    found = cpd(run, tensor, 3, 5, "--set", f"value={value}")
    assert found["tensor"]["missing"] == 192
    assert found["fit"] == pytest.approx(expected, rel=BOUNDS[value], abs=0)
