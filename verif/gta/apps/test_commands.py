"""Compares GTA's applications with independent arithmetic at small sizes."""

from __future__ import annotations

import random
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tilewright.apps.gta.mlp import drawn_network, encoded_points
from tilewright.registry import commands
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.pages import examples, page
from tilewright.verif.kit.sampling import by_size, slow_but


@pytest.mark.parametrize("signs", slow_but([(-1, 1)], [(1, 1), (-1, 1), (-1, -1)]))
def test_bignum(run: Run, signs: tuple[int, int]) -> None:
    rng = random.Random(91)
    x, y = (rng.getrandbits(bits) * sign for bits, sign in zip((5000, 2345), signs, strict=True))
    a, b = run.directory / "a.txt", run.directory / "b.hex"
    a.write_text(str(x))
    b.write_text(f"{y:x}")
    for out, base in (("c.txt", 10), ("c.hex", 16)):
        path = run.directory / out
        where = run.directory / "report.json"
        assert run("bignum", a, b, "-o", path, "--json", where) == 0
        assert int(path.read_text(), base) == x * y
    report = run.report()
    assert report["bits"] == {"a": x.bit_length(), "b": y.bit_length(),
                              "product": (x * y).bit_length()}  # fmt: skip
    assert report["shape"] == [3 * 64 + 63, 64, 2]
    assert "Python's integers" in run.out


def picture(run: Run, name: str = "x.png", shape: tuple[int, int] = (7, 9)) -> tuple[Path, Any]:
    pixels = np.random.default_rng(4).integers(0, 256, (*shape, 3), np.uint8)
    pixels[0, :3] = [(255, 255, 255), (0, 0, 0), (255, 0, 0)]
    Image.fromarray(pixels).save(run.directory / name)
    return run.directory / name, pixels


WHITE = (0.9505, 1.0, 1.089)
"""White point of D65, as in the matrix."""


@pytest.mark.parametrize(
    ("mode", "name", "error"),
    [("int8", "x.png", 0.008), ("int16", "x.ppm", 6e-5), ("bf16", "x.png", 0.008),
     ("fp16", "x.bmp", 1e-3), ("fp32", "x.ppm", 2e-7), ("fp64", "x.png", 1e-15)],
)  # fmt: skip
def test_color(run: Run, mode: str, name: str, error: float) -> None:
    """Compares with the formula, pixel by pixel."""
    path, pixels = picture(run, name)
    out, where = run.directory / "xyz.npy", run.directory / "report.json"
    assert run("color", path, "--mode", mode, "-o", out, "--json", where) == 0
    found = np.load(out)
    assert found.shape == (7, 9, 3)
    expected = np.array([[xyz(*map(int, pixel)) for pixel in row] for row in pixels])
    assert np.abs(found - expected).max() < error
    assert np.abs(found[0, 0] - WHITE).max() < error
    assert run.report()["error"]["max"] == pytest.approx(np.abs(found - expected).max(), abs=1e-15)
    assert run.report()["limb_products"] % (7 * 9 * 9) == 0


def xyz(*colour: int) -> list[float]:
    rows = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    rays = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
    return [sum(w * ray for w, ray in zip(row, rays, strict=True)) for row in rows]


@pytest.mark.slow
def test_the_photograph(run: Run) -> None:
    """Converts a photograph of the workload's size."""
    where = run.directory / "report.json"
    assert run("color", "--backend", "model", "--json", where) == 0
    assert run.report()["shape"] == [427, 640]
    assert run.report()["multiplications"] == 427 * 640 * 9


def filtered(samples: Any, taps: Any) -> list[list[list[int]]]:
    """Every sum by itself."""
    return [
        [
            [
                sum(int(taps[k][f]) * int(samples[t - k][c]) for k in range(min(t + 1, len(taps))))
                for f in range(len(taps[0]))
            ]
            for c in range(len(samples[0]))
        ]
        for t in range(len(samples))
    ]


def sound(path: Path, samples: Any, width: int = 2) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(samples.shape[1])
        file.setsampwidth(width)
        file.setframerate(8000)
        file.writeframes(samples.astype(f"<i{width}").tobytes())
    return path


def test_fir(run: Run) -> None:
    rng = np.random.default_rng(8)
    samples, taps = rng.integers(-3000, 3000, (20, 2)), rng.integers(-3000, 3000, (6, 3))
    out = run.directory / "y.npy"
    files = [sound(run.directory / "x.wav", samples), run.save("x.npy", samples.astype(float))]
    for file in files:
        assert run("fir", file, run.save("taps.npy", taps), "-o", out) == 0
        assert np.load(out).dtype == np.int32
        assert np.load(out).tolist() == filtered(samples, taps)
        assert run.err == ""


def test_fir_beyond_32_bits(run: Run) -> None:
    """Wrapped and said, or clamped and said."""
    samples, taps = np.full(5, -32768), np.full(3, -32768)
    files = run.save("x.npy", samples), run.save("h.npy", taps)
    out = run.directory / "y.npy"
    said = f"warning: {files[0]} through {files[1]}: 4 of 5 sums are not in -2147483648..2147483647"
    assert run("fir", *files, "-o", out) == 0
    assert np.load(out).reshape(-1).tolist() == [1 << 30, *[-1 << 31], *[-1 << 30] * 3]
    assert run.err == f"{said} and are modulo 2^32: --saturate clamps them\n"
    assert run("fir", *files, "-o", out, "--saturate") == 0
    assert np.load(out).reshape(-1).tolist() == [1 << 30, *[(1 << 31) - 1] * 4]
    assert run.err == f"{said} and are clamped\n"


def triangles(packed: Any) -> tuple[Any, Any]:
    return np.tril(packed, -1) + np.eye(len(packed), dtype=packed.dtype), np.triu(packed)


@pytest.mark.parametrize("size", slow_but([(33, 16)], [(1, 64), (30, 8), (33, 16), (70, 64)]))
def test_lu_modulo_2_to_32(run: Run, size: tuple[int, int]) -> None:
    """Factors a product of triangular matrices with its rows permuted."""
    rows, block = size
    rng = np.random.default_rng(rows)
    square = rng.integers(-(1 << 31), 1 << 31, (2, rows, rows))
    lower = np.tril(square[0], -1) + np.eye(rows, dtype=np.int64)
    upper = np.triu(square[1] | np.eye(rows, dtype=np.int64))
    product = np.dot(lower.astype(object), upper.astype(object))
    matrix = ((product + (1 << 31)) % (1 << 32) - (1 << 31)).astype(np.int64)[rng.permutation(rows)]
    out, where = run.directory / "lu.npy", run.directory / "report.json"
    words = ("--mode", "int32", "--block", block, "-o", out, "--json", where)
    assert run("lu", run.save("a.npy", matrix), *words) == 0
    low, high = triangles(np.load(out).astype(np.int64))
    order = np.array(run.report()["order"]) - 1
    again = np.dot(low.astype(object), high.astype(object)) - matrix[order].astype(object)
    assert not (again % (1 << 32)).any()
    assert sorted(order) == list(range(rows))
    assert (np.diag(high) & 1).all()
    assert run.report()["residual"] is None


@pytest.mark.parametrize("size", slow_but([(40, 16)], [(1, 64), (40, 16), (67, 64)]))
def test_lu_in_fp64(run: Run, size: tuple[int, int]) -> None:
    """The same pivots as LAPACK's, and the same triangles but for roundings."""
    from scipy.linalg import lu_factor

    rows, block = size
    matrix = np.random.default_rng(rows).standard_normal((rows, rows))
    out, where = run.directory / "lu.npy", run.directory / "report.json"
    file = run.save("a.npy", matrix)
    assert run("lu", file, "--block", block, "-o", out, "--json", where) == 0
    reference, swaps = lu_factor(matrix)
    order = np.arange(rows)
    for row, other in enumerate(swaps):
        order[[row, other]] = order[[other, row]]
    assert run.report()["order"] == (order + 1).tolist()
    assert np.allclose(np.load(out), reference, rtol=1e-8, atol=1e-10)
    assert run.report()["residual"] < 1
    assert run.report()["pgemms"] == 2 * ((rows - 1) // block)


def test_lu_beyond_fp64(run: Run) -> None:
    """Finite on the way in, infinite on the way: that is found."""
    matrix = run.save("a.npy", np.array([[1, 1], [1, -1]]) * 1.5e308)
    where = run.directory / "report.json"
    assert run("lu", matrix, "--json", where) == 1
    assert run.report()["references"][0]["wrong"] == 4


def test_pca(run: Run) -> None:
    """Analyses data that lie close to a plane."""
    rng = np.random.default_rng(3)
    basis = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    data = rng.standard_normal((60, 5)) * [9, 4, 0.1, 0.05, 0.01] @ basis + 7
    out, where = run.directory / "v.npy", run.directory / "report.json"
    file = run.save("a.npy", data)
    assert run("pca", file, "--components", 2, "-o", out, "--json", where) == 0
    found, report = np.load(out), run.report()
    centred = data - data.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / 59)
    assert report["variances"] == pytest.approx(values[::-1][:2], rel=1e-12)
    assert report["shares"] == pytest.approx(values[::-1][:2] / values.sum(), rel=1e-12)
    assert np.abs(found @ vectors[:, ::-1][:, :2]) == pytest.approx(np.eye(2), abs=1e-9)
    assert (report["multiplications"], len(report["references"])) == (60 * 25, 2)


@pytest.mark.parametrize("shape", [(5, 12), (8, 12), (20, 64), (6, 6)])
def test_pca_of_few_samples(run: Run, shape: tuple[int, int]) -> None:
    """Analyses as many components as samples. The last component has no variance: if other features
    are left, its direction is arbitrary, and scikit-learn's differs."""
    data = np.random.default_rng(1).standard_normal(shape)
    out, where = run.directory / "v.npy", run.directory / "report.json"
    assert run("pca", run.save("a.npy", data), "-o", out, "--json", where) == 0
    found, report = np.load(out), run.report()
    assert found.shape == shape
    centred = data - data.mean(axis=0)
    variances = np.linalg.svd(centred, compute_uv=False) ** 2 / (len(data) - 1)
    assert report["variances"] == pytest.approx(variances, rel=1e-11, abs=1e-13)
    assert [reference["wrong"] for reference in report["references"]] == [0, 0]
    assert "none beyond" in run.out


def test_pca_finds_a_wrong_component_of_few_samples(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finds a component turned slightly from its direction, which is unique as its variance is."""
    right = np.linalg.eigh

    def turned(matrix: Any) -> Any:
        values, vectors = right(matrix)
        angle = 1e-9
        first, second = vectors[:, -1].copy(), vectors[:, -2].copy()
        vectors[:, -1] = np.cos(angle) * first + np.sin(angle) * second
        vectors[:, -2] = np.cos(angle) * second - np.sin(angle) * first
        return values, vectors

    monkeypatch.setattr(np.linalg, "eigh", turned)
    data = np.random.default_rng(1).standard_normal((8, 12))
    where = run.directory / "report.json"
    assert run("pca", run.save("a.npy", data), "--json", where) == 1
    assert run.report()["references"][1]["wrong"] == 2


@pytest.mark.slow
def test_pca_of_digits(run: Run) -> None:
    """Analyses a data set of the workload's size; some of its features never change."""
    where = run.directory / "report.json"
    assert run("pca", "--components", 10, "--json", where) == 0
    report = run.report()
    assert report["shape"] == [1797, 64]
    (schedule,) = report["schedules"]
    assert [schedule[name] for name in "mnk"] == [64, 64, 1797]
    assert [reference["wrong"] for reference in report["references"]] == [0, 0]


def test_pca_without_variance(run: Run) -> None:
    where = run.directory / "report.json"
    assert run("pca", run.save("a.npy", np.ones((4, 3))), "--json", where) == 0
    assert run.report()["variances"] == [0, 0, 0]


@pytest.mark.parametrize("mode", slow_but(["fp16"], ["fp16", "bf16", "fp32", "fp64"]))
def test_mlp(run: Run, mode: str) -> None:
    """A network of files: the first inputs enter the last layer again, and one bias lacks."""
    rng = np.random.default_rng(6)
    w = [rng.standard_normal(shape) / 2 for shape in ((3, 5), (5, 4), (7, 2))]
    b = {0: rng.standard_normal(5), 2: rng.standard_normal(2)}
    points = rng.standard_normal((11, 3))
    arrays: dict[str, Any] = {f"w{n}": one for n, one in enumerate(w)}
    arrays |= {f"b{n}": one for n, one in b.items()}
    np.savez(run.directory / "w.npz", **arrays)
    out, where = run.directory / "y.npy", run.directory / "report.json"
    words = ("--mode", mode, "-o", out, "--json", where)
    assert run("mlp", run.directory / "w.npz", run.save("x.npy", points), *words) == 0
    first = np.maximum(points @ w[0] + b[0], 0)
    second = np.maximum(first @ w[1], 0)
    expected = np.concatenate([second, points], axis=1) @ w[2] + b[2]
    error = np.abs(np.load(out) - expected).max()
    assert error < {"fp64": 1e-14, "fp32": 1e-5, "fp16": 0.02, "bf16": 0.15}[mode]
    report = run.report()
    assert report["error"]["max"] == pytest.approx(error, abs=1e-12)
    assert (report["widths"], report["again"]) == ([3, 5, 4, 2], [2])
    assert (report["rounded"] > 0) == (mode != "fp64")
    assert report["multiplications"] == 11 * (15 + 20 + 14)


def test_mlp_that_is_drawn(run: Run) -> None:
    """Draws the network from its seed; NeRF's shape at its full width."""
    layers = drawn_network(3, 8, 256)
    shapes = [layer.weights.shape for layer in layers]
    assert shapes == [(63, 256), *[(256, 256)] * 3, (319, 256), *[(256, 256)] * 3, (256, 4)]
    assert encoded_points(3, 5).shape == (5, 63)
    outs = [run.directory / f"{name}.npy" for name in "abc"]
    for out, seed in zip(outs, (1, 1, 2), strict=True):
        words = ("--layers", 3, "--width", 16, "--samples", 9, "--seed", seed, "-o", out)
        assert run("mlp", *words) == 0
    found = [np.load(out) for out in outs]
    assert found[0].shape == (9, 4)
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def files(run: Run) -> dict[str, tuple[object, ...]]:
    """A small run of each command."""
    rng = np.random.default_rng(2)
    number = run.directory / "n.txt"
    number.write_text(str(7**900))
    matrix = run.save("m.npy", np.diag(np.full(9, 3)) + np.triu(rng.integers(-9, 9, (9, 9)), 1))
    signal = run.save("s.npy", rng.integers(-9, 9, 30))
    return {
        "bignum": (number, number),
        "color": (picture(run)[0],),
        "fir": (signal, signal),
        "lu": (matrix, "--mode", "int32", "--block", 4),
        "lu in fp64": (matrix, "--block", 4),
        "pca": (run.save("d.npy", rng.standard_normal((12, 4))),),
        "mlp": ("--layers", 2, "--width", 8, "--samples", 4),
        "gemm": (matrix, matrix, "--unit", "gta", "--mode", "int16"),
    }


APPS = ["bignum", "color", "fir", "lu", "lu in fp64", "pca", "mlp", "gemm"]


@pytest.mark.parametrize("app", slow_but(["fir"], APPS))
def test_a_wrong_result_is_found(run: Run, app: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit of the first result of each product: what the reference says, status 1."""
    from tilewright.apps.gta import products

    words = (app.split()[0], *files(run)[app], "--backend", "cycles")
    assert run(*words) == 0
    computed = products.pgemm

    def wrong(*operands: Any, **named: Any) -> Any:
        found = computed(*operands, **named)
        found[0, 0] ^= np.uint64(1 << 20)
        return found

    monkeypatch.setattr(products, "pgemm", wrong)
    assert run(*words) == 1
    assert "DIFFERENT" in run.out or "BEYOND" in run.out


@pytest.mark.slow
def test_long_integers(run: Run) -> None:
    """Squares an integer; the long test takes the greatest length that the documentation names."""
    bits = by_size(1 << 14, 1 << 17, 1 << 20)
    x = random.Random(4).getrandbits(bits) | 1 << (bits - 1)
    path, out = run.directory / "x.hex", run.directory / "y.hex"
    path.write_text(f"{x:#x}")
    assert run("bignum", path, path, "-o", out) == 0
    assert int(out.read_text(), 16) == x * x


# The page of GTA's applications: its examples run, and it names every command.

PAGE = page("gta-applications.md")


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = examples(PAGE, "python")
    assert len(blocks) == 2
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {})


def test_every_command_is_there() -> None:
    text = PAGE.read_text()
    ours = [name for name, work in commands().items() if ".apps.gta." in work.function]
    assert len(ours) == 8
    for name in [*ours, "gemm"]:
        assert f"| `{name}` |" in text
        assert f"    tilewright run {name} " in text
