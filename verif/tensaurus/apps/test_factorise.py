"""``tilewright run cpd`` and ``tucker`` beside pyttb's and TensorLy's from the same start."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from tilewright.apps.tensors.factorise import cp_als, hooi
from tilewright.apps.tensors.iterated import fit_row
from tilewright.sim.sparse.tensor import Tensor
from tilewright.verif.kit.commands import Run
from tilewright.verif.tensaurus.apps.files import MODEL, random_tensor, report, save_tensor


def nearly_low_rank(shape: tuple[int, ...] = (8, 7, 6)) -> tuple[Tensor, np.ndarray]:
    """Three sparse terms and a little noise where they are."""
    rng = np.random.default_rng(5)
    factors = [np.abs(rng.standard_normal((n, 3))) * (rng.random((n, 3)) < 0.6) for n in shape]
    letters = "abcd"[: len(shape)]
    terms = ",".join(f"{letter}z" for letter in letters)
    dense = np.einsum(f"{terms}->{letters}", *factors)
    dense[dense != 0] += 0.05 * rng.standard_normal(np.count_nonzero(dense))
    places = np.argwhere(dense)
    return Tensor(shape=shape, indices=places, values=dense[tuple(places.T)]), dense


def einsum_products(dense: np.ndarray, *, kronecker: bool) -> Any:
    """MTTKRP or TTMc of a whole tensor."""
    order = dense.ndim

    def multiply(mode: int, factors: Any) -> Any:
        letters = "abcd"[:order]
        others = [letters[m] for m in range(order) if m != mode]
        columns = "wxyz"[: order - 1] if kronecker else "z" * (order - 1)
        names = ",".join(a + b for a, b in zip(others, columns, strict=True))
        result = columns if kronecker else "z"
        return np.einsum(f"{letters},{names}->{letters[mode]}{result}", dense, *factors)

    return multiply


@pytest.mark.slow
def test_cp_is_pyttbs() -> None:
    """Fit, weights and factors up to sign and order, after as many iterations."""
    import pyttb  # takes seconds

    tensor, dense = nearly_low_rank()
    rng = np.random.default_rng(1)
    start = [rng.random((n, 3)) for n in tensor.shape]
    norm = float(np.sqrt((dense**2).sum()))
    found = cp_als(einsum_products(dense, kronecker=False), start, norm,
                   iterations=12, tolerance=0.0)  # fmt: skip
    sparse = pyttb.sptensor(tensor.indices, tensor.values[:, None], tensor.shape)
    made, _, output = pyttb.cp_als(sparse, 3, stoptol=0.0, maxiters=12, printitn=0,
                                   init=pyttb.ktensor([u.copy() for u in start]))  # fmt: skip
    assert found.fits[-1] == pytest.approx(output["fit"], rel=1e-12)
    assert found.weights == pytest.approx(np.sort(made.weights)[::-1], rel=1e-9)
    best = min(
        sum(float(np.abs(np.abs(mine) - np.abs(theirs[:, order])).max())
            for mine, theirs in zip(found.factors, made.factor_matrices, strict=True))
        for order in map(list, permutations(range(3)))
    )  # fmt: skip
    assert best < 1e-8


@pytest.mark.slow
def test_tucker_is_pyttbs() -> None:
    import pyttb  # takes seconds

    tensor, dense = nearly_low_rank()
    rng = np.random.default_rng(2)
    start = [np.linalg.qr(rng.standard_normal((n, 2)))[0] for n in tensor.shape]
    norm = float(np.sqrt((dense**2).sum()))
    found = hooi(einsum_products(dense, kronecker=True), start, norm, iterations=6, tolerance=0.0)
    sparse = pyttb.sptensor(tensor.indices, tensor.values[:, None], tensor.shape)
    made, _, output = pyttb.tucker_als(sparse, 2, stoptol=0.0, maxiters=6, printitn=0,
                                       init=[u.copy() for u in start])  # fmt: skip
    assert found.fits[-1] == pytest.approx(output["fit"], rel=1e-10)
    mine = np.einsum("xyz,ax,by,cz->abc", found.core, *found.factors)
    assert np.abs(mine - made.full().double()).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(8, 7, 6), (5, 6, 4, 3)])
def test_cpd_on_the_unit(run: Run, shape: tuple[int, ...]) -> None:
    """The fit equals that of float64 in fp32 and fp64, and the factors reproduce the tensor."""
    tensor, dense = nearly_low_rank(shape)
    path, out = save_tensor(run, tensor), run.directory / "f.npz"
    for value, bound in (("fp32", 1e-5), ("fp64", 1e-12)):
        found = report(run, "cpd", path, "--rank", 3, "--iterations", 20, "--set", f"value={value}",
                       "-o", out)  # fmt: skip
        assert found["reference"]["relative_difference"] <= bound
        assert found["fit"] > 0.7
        assert found["counters"]["products"] > 0
    parts = np.load(out)
    factors = [parts[f"mode_{mode + 1}"] for mode in range(len(shape))]
    letters = "abcd"[: len(shape)]
    terms = ",".join(f"{letter}z" for letter in letters)
    made = np.einsum(f"z,{terms}->{letters}", parts["weights"], *factors)
    fit = 1 - np.linalg.norm(made - dense) / np.linalg.norm(dense)
    assert fit == pytest.approx(found["fit"], abs=1e-7)


def test_tucker_on_the_unit(run: Run) -> None:
    tensor, dense = nearly_low_rank()
    path, out = save_tensor(run, tensor), run.directory / "f.npz"
    found = report(run, "tucker", path, "--ranks", "3,2,3", "--set", "value=fp64", "-o", out)
    assert found["reference"]["relative_difference"] <= 1e-12
    parts = np.load(out)
    made = np.einsum(
        "xyz,ax,by,cz->abc", parts["core"], *(parts[f"mode_{m + 1}"] for m in range(3))
    )
    fit = 1 - np.linalg.norm(made - dense) / np.linalg.norm(dense)
    assert fit == pytest.approx(found["fit"], abs=1e-9)
    again = report(run, "tucker", path, "--ranks", "3,2,3", "--set", "value=fp64", "--dense")
    assert again["fit"] == pytest.approx(found["fit"], abs=1e-12)


def test_fits_that_differ_are_found() -> None:
    rows, wrong, _ = fit_row([0.5], [0.5 * (1 + 2e-5)], "fp32")
    assert wrong
    assert rows[1][1].startswith("DIFFERENT")
    assert not fit_row([0.5], [0.5 * (1 + 5e-6)], "fp32")[1]
    assert fit_row([float("nan")], [0.5], "bf16")[1]


@pytest.mark.slow
def test_a_tensor_of_one_term_is_found(run: Run) -> None:
    """Exactly, and terms too many do no harm: the normal matrix is singular."""
    tensor, _ = random_tensor(1, (4, 5, 3), 1)
    path = save_tensor(run, tensor)
    found = report(run, "cpd", path, "--rank", 1, "--set", "value=fp64")
    assert found["fit"] == pytest.approx(1.0, abs=1e-7)


REFUSED = [
    (("cpd", "--set", "value=int32"), "cpd takes `semiring` mma and a float format, not 'mma' and "
     "'int32'"),
    (("cpd", "--rank", "0"), "--rank must be an integer in 1..4096, not '0'"),
    (("cpd", "--tolerance", "2"), "--tolerance must be a number in 0..1, not '2'"),
    (("cpd", "-o", "x.npy"), "x.npy: must end in .npz, not '.npy'"),
    (("tucker", "--ranks", "2,2"), "--ranks must be 3 numbers, as {path} has modes, not 2"),
    (("tucker", "--ranks", "2,2,x"), "--ranks must be an integer in 1..4096, not 'x'"),
    (("tucker", "--ranks", "2,9,2"), "--ranks of mode 2 must be at most 4, as it has 7 indices and "
     "the other modes 4 columns, not 9"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_what_is_refused(run: Run, words: tuple[str, ...], message: str) -> None:
    path = save_tensor(run, nearly_low_rank()[0])
    assert run.refused(words[0], path, *words[1:]) == message.format(path=path)


@pytest.mark.slow
def test_nothing_and_what_is_not_finite_cannot_be_factorised(run: Run) -> None:
    path = run.directory / "t.tns"
    path.write_text("1 1 1 0\n")
    line = run.refused("cpd", path)
    assert line == f"{path}: has no values but zeros; there is nothing to factorise"
    path.write_text("1 1 1 inf\n")
    assert run.refused("cpd", path) == (f"{path}: values must be finite in fp32 to be factorised")


@pytest.mark.slow
def test_missing_values_do_not_count(run: Run) -> None:
    """A tensor of one term is found for any missing values; in .tns files these may be NaN, too."""
    path, out = run.directory / "t.tns", run.directory / "f.npz"
    places = [(i, j, k) for i in range(1, 4) for j in range(1, 4) for k in range(1, 3)]
    missing = places[::5]
    path.write_text("".join(
        f"{i} {j} {k} {'nan' if (i, j, k) in missing else i * j * k}\n" for i, j, k in places
    ) + "1 1 1 7\n")  # fmt: skip
    found = report(run, "cpd", path, "--rank", 1, "--set", "value=fp64", "--iterations", 200,
                   "--tolerance", 0, "-o", out)  # fmt: skip
    assert (found["tensor"]["values"], found["tensor"]["missing"]) == (14, 4)
    parts = np.load(out)
    made = np.einsum(
        "z,iz,jz,kz->ijk", parts["weights"], *(parts[f"mode_{m + 1}"] for m in range(3))
    )
    assert made == pytest.approx(np.einsum("i,j,k->ijk", [1, 2, 3], [1, 2, 3], [1, 2]), rel=1e-6)


@pytest.mark.parametrize(
    ("fit", "value", "wrong"),
    [
        (1 - 2**-26, "fp64", False),  # the root of one rounding
        (1 - 1e-6, "fp64", True),
        (1 - 2**-12, "fp32", False),
        (1 - 1e-2, "fp32", True),
    ],
)
def test_fits_where_nothing_is_left(fit: float, value: str, wrong: bool) -> None:
    assert fit_row([fit], [1.0], value)[1] == wrong
    assert fit_row([0.5 + 1e-4], [0.5], value)[1]


MASKS = [
    (np.ones((2, 3, 4)), "{mask}: must be 2 x 3 x 2, as {path} is, not 2 x 3 x 4"),
    (np.full((2, 3, 2), 0.5), "{mask}: must hold 1 where a value is known and 0 where it is "
     "missing"),
    (np.zeros((2, 3, 2)), "{path}: has no values but zeros and missing ones; nothing to "
     "factorise"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("mask", "message"), MASKS)
def test_masks_that_are_refused(run: Run, mask: np.ndarray, message: str) -> None:
    path, other = run.directory / "t.npy", run.directory / "m.npy"
    np.save(path, np.ones((2, 3, 2)))
    np.save(other, mask)
    line = run.refused("cpd", path, "--mask", other, *MODEL)
    assert line == message.format(path=path, mask=other)
    other.unlink()
    assert run.refused("cpd", path, "--mask", other, *MODEL).startswith(f"{other}: cannot be read")


@pytest.mark.slow
@pytest.mark.parametrize("words", [("cpd", "--rank", "2"), ("tucker", "--ranks", "1,1,1")])
def test_products_that_overflow_end_in_a_line(run: Run, words: tuple[str, ...]) -> None:
    path = run.directory / "t.tns"
    path.write_text("".join(f"{i} {j} 1 60000\n" for i in (1, 2) for j in (1, 2, 3)))
    line = run.refused(words[0], path, *words[1:], "--set", "value=fp16", *MODEL)
    assert line.startswith("a product along mode ")
    assert line.endswith(" is beyond fp16, or of no number; a wider `value` may do")


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


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(6, 7, 5), (4, 3, 5, 4)])
@pytest.mark.parametrize("value", BOUNDS)
def test_cpd(run: Run, decomposition: Any, shape: tuple[int, ...], value: str) -> None:
    tensor = noisy(shape, 3, len(shape))
    expected = tensorlys_fit(decomposition, tensor, 2, 8)
    found = cpd(run, tensor, 2, 8, "--dense", "--set", f"value={value}")
    assert found["fit"] == pytest.approx(expected, rel=BOUNDS[value], abs=0)


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
