"""``tilewright run``: products, transforms and filters through the RTL."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tilewright.apps.common.matrix_files import read_matrix
from tilewright.apps.common.units import matrix_unit_products as tiled_product
from tilewright.apps.common.units.matrix_unit_numbers import numbers_of
from tilewright.apps.dense.filters import FILTERS
from tilewright.apps.dense.inputs import radices
from tilewright.hw.spec.m3xu import MODES, M3xuConfig
from tilewright.verif.kit.commands import SMALL, Run, draw
from tilewright.verif.kit.data import data_file, needs_data


def rounded(values: Any, mode: str) -> NDArray[Any]:
    """Values as operands of a mode."""
    return numbers_of(M3xuConfig(), mode).operands(np.asarray(values)).values


@pytest.mark.parametrize("shape", [(1, 1, 1), (4, 4, 2), (5, 7, 3), (9, 2, 11), (3, 17, 1)])
@pytest.mark.parametrize("mode", list(MODES))
def test_gemm_odd_shapes(run: Run, mode: str, shape: tuple[int, int, int]) -> None:
    rows, depth, cols = shape
    pair = mode == "fp32c"
    a, b = draw(1, rows, depth, complex_values=pair), draw(2, depth, cols, complex_values=pair)
    c = draw(3, rows, cols, complex_values=pair)
    files = run.save("a.npy", a), run.save("b.npy", b), "--c", run.save("c.npy", c)
    out, report = run.directory / "d.npy", run.directory / "report.json"
    assert run("gemm", *files, "--mode", mode, *SMALL, "-o", out, "--json", report) == 0
    content, d = run.report(), np.load(out)
    assert d.dtype == (np.complex64 if pair else np.float32)
    left, right = rounded(a, mode), rounded(b, mode)
    np.testing.assert_allclose(d, left @ right + c, rtol=1e-5, atol=1e-5)
    per = MODES[mode].lanes
    tiles = -(-rows // 4) * -(-cols // 2) * -(-depth // (4 // per))
    assert content["operations"] == tiles
    assert content["mismatches"] == 0
    assert content["checked"] == tiles * 8
    assert content["errors"]["unit"]["left_out"] == 0
    assert tiles * MODES[mode].steps <= content["cycles"]
    assert content["utilisation"] == tiles * MODES[mode].steps / content["cycles"]
    assert "bit for bit equal" in run.out
    assert f"{rows} x {depth} x {cols}" in run.out


def test_gemm_backends_agree_and_long_products_fill_the_unit(run: Run) -> None:
    a, b = run.save("a.npy", draw(1, 40, 60)), run.save("b.npy", draw(2, 60, 30))
    outs = [run.directory / f"{backend}.npy" for backend in ("rtl", "model")]
    report = run.directory / "report.json"
    for backend, out in zip(("model", "rtl"), reversed(outs), strict=True):
        options = ("--backend", backend, "-o", out, "--json", report)
        assert run("gemm", a, b, *SMALL, *options) == 0
    np.testing.assert_array_equal(np.load(outs[0]), np.load(outs[1]))
    content = run.report()
    assert content["backend"] == "rtl"
    assert content["utilisation"] > 0.99
    figures = content["errors"]
    assert figures["unit"]["mean"] <= figures["numpy_float32"]["mean"]


@needs_data
def test_gemm_matrix_market(run: Run) -> None:
    """Symmetric pattern file in, Matrix Market out."""
    matrices = data_file("matrices")
    out = run.directory / "d.mtx"
    assert run("gemm", matrices / "karate.mtx", matrices / "karate.mtx", *SMALL, "-o", out) == 0
    adjacency = read_matrix(matrices / "karate.mtx")
    assert adjacency.shape == (34, 34)
    assert adjacency.sum() == 156
    np.testing.assert_array_equal(read_matrix(out), adjacency @ adjacency)
    west = matrices / "west0067.mtx"
    assert run("gemm", west, west, *SMALL, "-o", out) == 0
    values = read_matrix(west).astype(np.float32).astype(np.float64)
    np.testing.assert_allclose(read_matrix(out), values @ values, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("fmt", ["fp8e4m3", "fp16", "bf16", "fp32", "fp64", "int8", "int32"])
def test_gemm_on_the_semiring_unit(run: Run, fmt: str) -> None:
    """Multiplies in any format, with sizes that fill no tile and an addend; integers are exact."""
    generator = np.random.default_rng(1)
    a, b, c = (generator.integers(-9, 10, shape) for shape in ((5, 7), (7, 3), (5, 3)))
    files = run.save("a.npy", a), run.save("b.npy", b), "--c", run.save("c.npy", c)
    out, report = run.directory / "d.npy", run.directory / "report.json"
    options = ("--unit", "simd2", "--set", f"format={fmt}", "--backend", "model")
    assert run("gemm", *files, *options, "-o", out, "--json", report) == 0
    d = np.load(out)
    assert d.dtype == {"fp32": float, "fp64": float, "int8": int, "int32": int}.get(fmt, np.float32)
    np.testing.assert_array_equal(d, a @ b + c)
    assert run.report()["mode"] == "mma"
    assert run.report()["operations"] == 2 * 1 * 2
    assert f"simd2 4 x 4 x 4, mma, {fmt} to " in run.out


def test_semiring_unit_on_rtl(run: Run) -> None:
    a, b = run.save("a.npy", draw(1, 5, 7)), run.save("b.npy", draw(2, 7, 3))
    out, report = run.directory / "d.npy", run.directory / "report.json"
    options = ("--unit", "simd2", "--set", "tile=2", "--set", "pipeline=2", "-o", out)
    assert run("gemm", a, b, *options, "--json", report) == 0
    assert (run.report()["mismatches"], run.report()["checked"]) == (0, 3 * 2 * 4 * 4)
    rtl = np.load(out)
    assert run("gemm", a, b, *options, "--backend", "model") == 0
    np.testing.assert_array_equal(rtl, np.load(out))
    pixels = run.save("p.npy", np.arange(12.0).reshape(3, 4))
    words = ("--filter", "sharpen", "--filter", "laplacian", "--json", report)
    assert run("conv2d", pixels, *words, *options) == 0
    assert run.report()["mismatches"] == 0
    assert np.load(out).shape == (2, 3, 4)


def test_integer_formats_refuse_fractions(run: Run) -> None:
    a = run.save("a.npy", [[0.5, 1.25, 2.0]])
    b = run.save("b.npy", [[1], [1], [1]])
    options = ("--unit", "simd2", "--set", "format=int16", "--backend", "model")
    line = f"{a}: 2 of 3 values are not integers, which int16 needs"
    assert run.refused("gemm", a, b, *options) == line
    pixels = run.save("p.npy", np.arange(12).reshape(3, 4))
    line = "filter box: 9 of 9 values are not integers, which int16 needs"
    assert run.refused("conv2d", pixels, "--filter", "box", *options) == line
    assert run("conv2d", pixels, "--filter", "sobel_x", *options) == 0
    assert run.err == ""


def test_integers_that_are_not_held_are_told(run: Run) -> None:
    a, b = run.save("a.npy", [[2048, 2049, -4098.0, 0.1]]), run.save("b.npy", np.eye(4))
    assert run("gemm", a, b, *SMALL, "--mode", "fp16", "--backend", "model") == 0
    assert run.err == (
        f"warning: {a}: 2 of 4 values are integers that fp16 does not hold and become others\n"
    )


def test_padding_keeps_negative_zero(run: Run) -> None:
    a, b = run.save("a.npy", [[-0.0, -1e-30]]), run.save("b.npy", [[5.0], [1e-30]])
    out = run.directory / "d.npy"
    assert run("gemm", a, b, *SMALL, "-o", out) == 0
    d = np.load(out)
    assert d[0, 0] == 0
    assert np.signbit(d[0, 0])


def test_non_finite_values_pass_through(run: Run) -> None:
    a = run.save("a.npy", [[np.inf, 1.0], [np.nan, 1.0], [2.0, 3.0], [-np.inf, np.inf]])
    b, out = run.save("b.npy", [[1.0], [1.0]]), run.directory / "d.npy"
    assert run("gemm", a, b, *SMALL, "-o", out) == 0
    assert run.err == f"warning: {a}: 4 of 8 values are infinite or NaN\n"
    np.testing.assert_array_equal(np.load(out)[:, 0], [np.inf, np.nan, 5.0, np.nan])
    assert "3 not finite, left out" in run.out


def test_rounding_losses_are_told(run: Run) -> None:
    a = run.save("a.npy", [[1e5, 1e-9, 1.0, 0.0]])
    b = run.save("b.npy", [[1.0], [1.0], [1.0], [1.0]])
    assert run("gemm", a, b, *SMALL, "--mode", "fp16", "--backend", "model") == 0
    assert run.err.splitlines() == [
        f"warning: {a}: 1 of 4 values exceed the largest fp16 value 65504 and become infinite",
        f"warning: {a}: 1 of 4 values are too small for fp16 and become zero",
    ]


def test_a_mismatch_fails(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = tiled_product.mixed_operations

    def wrong(*arguments: Any) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        d, error = honest(*arguments)
        d[-1, -1, -1] ^= np.uint64(1)
        return d, error

    monkeypatch.setattr(tiled_product, "mixed_operations", wrong)
    a, b = run.save("a.npy", draw(1, 5, 5)), run.save("b.npy", draw(2, 5, 5))
    assert run("gemm", a, b, *SMALL, "--json", run.directory / "report.json") == 1
    assert run.report()["mismatches"] == 1
    assert "DIFFERENT" in run.out


@pytest.mark.slow
def test_waves(run: Run) -> None:
    a, b = run.save("a.npy", draw(1, 5, 5)), run.save("b.npy", draw(2, 5, 5))
    waves = run.directory / "w.vcd"
    # A build with waves is slow: only one mode.
    unit = (*SMALL, "--set", "modes=fp16", "--mode", "fp16")
    assert run("gemm", a, b, *unit, "--waves", waves) == 0
    assert "$enddefinitions" in waves.read_text()
    assert str(waves) in run.out.replace("\n", "")
    large = run.save("large.npy", draw(3, 400, 400))
    line = run.refused("gemm", large, large, *SMALL, "--waves", waves)
    assert line == f"{waves}: waves are for runs of at most 2000 operations, not 4000000"


def test_parameters_from_a_file(run: Run) -> None:
    toml, report = run.directory / "unit.toml", run.directory / "report.json"
    toml.write_text('rows = 2\ncols = 3\nmodes = ["fp32", "bf16"]\n')
    a = run.save("a.npy", draw(1, 4, 4))
    options = ("-c", toml, "--set", "cols=5", "--backend", "model", "--json", report)
    assert run("gemm", a, a, *options) == 0
    config = run.report()["config"]
    assert (config["rows"], config["cols"], config["modes"]) == (2, 5, ["bf16", "fp32"])


@pytest.mark.parametrize("length", [1, 2, 3, 12, 27, 64, 96])
def test_dft_of_any_smooth_length(run: Run, length: int) -> None:
    signal, out = draw(length, length, complex_values=True), run.directory / "x.npy"
    report = run.directory / "report.json"
    file = run.save("s.npy", signal)
    assert run("dft", file, *SMALL, "-o", out, "--json", report) == 0
    spectrum, exact = np.load(out), np.fft.fft(rounded(signal, "fp32c"))
    assert spectrum.dtype == np.complex64
    assert np.linalg.norm(spectrum - exact) <= 3e-7 * np.linalg.norm(exact)
    content = run.report()
    assert content["mismatches"] == 0
    assert content["checked"] > 0
    assert int(np.prod(content["radices"])) == length
    assert max(content["radices"]) <= 4


def test_dft_of_the_sample_photograph(run: Run) -> None:
    pytest.importorskip("sklearn")
    report = run.directory / "report.json"
    assert run("dft", "--length", 360, "--set", "rows=8", "--set", "cols=2", "--set", "depth=4",
               "--backend", "model", "--json", report) == 0  # fmt: skip
    content = run.report()
    assert content["radices"] == [8, 5, 3, 3]
    assert content["length"] == 360
    assert content["errors"]["unit"]["relative"] < 3e-7


def test_dft_refusals(run: Run) -> None:
    assert radices(7 * 5 * 8, 8) == [8, 7, 5]
    assert radices(1, 4) == [1]
    file = run.save("s.npy", draw(1, 14))
    assert run.refused("dft", file, *SMALL) == (
        "length 14 has the prime factor 7; with 4 rows in the unit none may exceed 4"
    )
    line = run.refused("dft", file, "--length", 15)
    assert line == "--length must be in 1..14, the samples there are, not 15"
    line = run.refused("dft", run.save("m.npy", draw(1, 2, 3)))
    assert line.endswith("m.npy: must be one row or one column of samples, not 2 x 3")
    line = run.refused("dft", file, "--set", "modes=fp32")
    assert line == "mode must be one that m3xu is built with (fp32), not 'fp32c'"


@pytest.mark.parametrize("mode", ["fp16", "fp32"])
def test_conv2d_of_a_small_picture(run: Run, mode: str) -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    pixels = np.random.default_rng(1).integers(0, 256, (7, 9)).astype(float)
    out = run.directory / "f.npy"
    file = run.save("p.npy", pixels)
    assert run("conv2d", file, "--mode", mode, "--pictures", run.directory, *SMALL, "-o", out) == 0
    filtered = np.load(out)
    for values, kernel in zip(filtered, FILTERS.values(), strict=True):
        taps = rounded(kernel, mode)
        expected = ndimage.correlate(pixels, taps, mode="constant")
        np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-3)
    image = pytest.importorskip("PIL.Image")
    with image.open(run.directory / "input.png") as written:
        np.testing.assert_array_equal(np.asarray(written), pixels)
    assert {p.stem for p in run.directory.glob("*.png")} == {"input", *FILTERS}


def test_conv2d_refusals(run: Run) -> None:
    file = run.save("p.npy", draw(1, 4, 4))
    names = ", ".join(FILTERS)
    line = run.refused("conv2d", file, "--filter", "blur")
    assert line == f"filter must be one of {names}, not 'blur'"
    line = run.refused("conv2d", file, "--mode", "fp32c")
    assert line == "mode must be fp16, bf16, tf32 or fp32 for pictures, not 'fp32c'"
    fake = run.directory / "p.png"
    fake.write_text("no picture")
    assert run.refused("conv2d", fake).startswith(f"{fake}: not a picture that can be read: ")
    line = run.refused("conv2d", run.save("c.npy", draw(1, 4, 4, complex_values=True)))
    assert line.endswith("c.npy: holds complex numbers; a picture must be real")
    gone = run.directory / "gone"
    assert (
        run.refused("conv2d", file, "--pictures", gone) == f"{gone}: must be an existing directory"
    )
