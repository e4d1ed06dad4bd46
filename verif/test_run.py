"""``tilewright run``: products, transforms and filters through the RTL, and every refusal."""

from __future__ import annotations

import json
import os
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from numpy.typing import NDArray

from tilewright.apps import register, tiled_product
from tilewright.apps.conv2d import FILTERS
from tilewright.apps.dft import radices
from tilewright.apps.files import read_matrix
from tilewright.apps.operands import operands, results
from tilewright.errors import UserError
from tilewright.hw.spec.formats import FLOAT_FORMATS
from tilewright.hw.spec.m3xu import MODES

SMALL = ("--set", "rows=4", "--set", "cols=2", "--set", "depth=4", "--set", "pipeline=2")


class Run:
    """Runs the commands in a directory of their own; keeps what they print."""

    def __init__(self, directory: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.directory, self._capture = directory, capture
        self._app = typer.Typer()
        register(self._app)
        self.out = ""

    def __call__(self, *arguments: object) -> int:
        """Exit status; UserError is left to the caller."""
        status = self._app([str(a) for a in arguments], standalone_mode=False)
        self.out, self.err = self._capture.readouterr()
        return int(status or 0)

    def refused(self, *arguments: object) -> str:
        """The one line with which a command refuses its input."""
        with pytest.raises(UserError) as caught:
            self(*arguments)
        line = str(caught.value)
        assert line and "\n" not in line
        return line

    def save(self, name: str, array: Any) -> Path:
        path = self.directory / name
        np.save(path, np.asarray(array))
        return path

    def report(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.directory / "report.json").read_text())
        return content


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(tmp_path, capsys)


def data_directory() -> Path:
    path = os.environ.get("TILEWRIGHT_DATA")
    if not path:
        pytest.skip("TILEWRIGHT_DATA is not set")
    return Path(path)


def draw(seed: int, *shape: int, complex_values: bool = False) -> NDArray[Any]:
    generator = np.random.default_rng(seed)
    real = generator.standard_normal(shape)
    return real + 1j * generator.standard_normal(shape) if complex_values else real


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
    left, right = operands(a, mode).values, operands(b, mode).values
    np.testing.assert_allclose(d, left @ right + c, rtol=1e-5, atol=1e-5)
    per = MODES[mode].lanes
    tiles = -(-rows // 4) * -(-cols // 2) * -(-depth // (4 // per))
    assert content["operations"] == tiles
    assert content["mismatches"] == 0 and content["checked"] == tiles * 8
    assert content["errors"]["unit"]["left_out"] == 0
    assert tiles * MODES[mode].steps <= content["cycles"]
    assert content["utilisation"] == tiles * MODES[mode].steps / content["cycles"]
    assert "bit for bit equal" in run.out and f"{rows} x {depth} x {cols}" in run.out


def test_gemm_backends_agree_and_long_products_fill_the_unit(run: Run) -> None:
    a, b = run.save("a.npy", draw(1, 40, 60)), run.save("b.npy", draw(2, 60, 30))
    outs = [run.directory / f"{backend}.npy" for backend in ("rtl", "model")]
    report = run.directory / "report.json"
    for backend, out in zip(("model", "rtl"), reversed(outs), strict=True):
        options = ("--backend", backend, "-o", out, "--json", report)
        assert run("gemm", a, b, *SMALL, *options) == 0
    np.testing.assert_array_equal(np.load(outs[0]), np.load(outs[1]))
    content = run.report()
    assert content["backend"] == "rtl" and content["utilisation"] > 0.99
    figures = content["errors"]
    assert figures["unit"]["mean"] <= figures["numpy_float32"]["mean"]


def test_gemm_matrix_market(run: Run) -> None:
    """Symmetric pattern file in, Matrix Market out."""
    matrices = data_directory() / "matrices"
    out = run.directory / "d.mtx"
    assert run("gemm", matrices / "karate.mtx", matrices / "karate.mtx", *SMALL, "-o", out) == 0
    adjacency = read_matrix(matrices / "karate.mtx")
    assert adjacency.shape == (34, 34) and adjacency.sum() == 156
    np.testing.assert_array_equal(read_matrix(out), adjacency @ adjacency)
    west = matrices / "west0067.mtx"
    assert run("gemm", west, west, *SMALL, "-o", out) == 0
    values = read_matrix(west).astype(np.float32).astype(np.float64)
    np.testing.assert_allclose(read_matrix(out), values @ values, rtol=1e-5, atol=1e-5)


def test_padding_keeps_negative_zero(run: Run) -> None:
    a, b = run.save("a.npy", [[-0.0, -1e-30]]), run.save("b.npy", [[5.0], [1e-30]])
    out = run.directory / "d.npy"
    assert run("gemm", a, b, *SMALL, "-o", out) == 0
    d = np.load(out)
    assert d[0, 0] == 0 and np.signbit(d[0, 0])


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
    honest = tiled_product.matrix_unit

    def wrong(*arguments: Any) -> NDArray[np.uint64]:
        d = honest(*arguments)
        d[-1, -1, -1] ^= np.uint64(1)
        return d

    monkeypatch.setattr(tiled_product, "matrix_unit", wrong)
    a, b = run.save("a.npy", draw(1, 5, 5)), run.save("b.npy", draw(2, 5, 5))
    assert run("gemm", a, b, *SMALL, "--json", run.directory / "report.json") == 1
    assert run.report()["mismatches"] == 1 and "DIFFERENT" in run.out


def test_waves(run: Run) -> None:
    a, b = run.save("a.npy", draw(1, 5, 5)), run.save("b.npy", draw(2, 5, 5))
    waves = run.directory / "w.vcd"
    assert run("gemm", a, b, *SMALL, "--waves", waves) == 0
    assert "$enddefinitions" in waves.read_text() and str(waves) in run.out.replace("\n", "")
    large = run.save("large.npy", draw(3, 400, 400))
    line = run.refused("gemm", large, large, *SMALL, "--waves", waves)
    assert line == f"{waves}: waves are for runs of at most 2000 operations, not 4000000"


# Rounding -----------------------------------------------------------------------------------


def _exactly_rounded(value: float, name: str) -> float:
    """Round to nearest even in rational arithmetic."""
    fmt = FLOAT_FORMATS[name]
    exact = abs(Fraction(value))
    if not exact:
        return value
    exponent = fmt.emax
    while exponent > fmt.emin and exact < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (exponent - fmt.fraction_bits)
    rounded = round(exact / unit) * unit
    if rounded > (2 - Fraction(1, 2**fmt.fraction_bits)) * Fraction(2) ** fmt.emax:
        return float(np.copysign(np.inf, value))
    return float(np.copysign(float(rounded), value))


@pytest.mark.parametrize("mode", ["fp16", "bf16", "tf32", "fp32"])
def test_operands_are_rounded_once(mode: str) -> None:
    fmt = MODES[mode].element
    generator = np.random.default_rng(5)
    scales = generator.integers(fmt.emin - fmt.fraction_bits - 3, fmt.emax + 2, 400)
    values = np.ldexp(generator.uniform(1, 2, 400), scales)
    # Ties, and ties broken by a bit that a detour over fp32 would lose.
    ties = np.ldexp(2.0**fmt.fraction_bits + np.arange(40) + 0.5, scales[:40] - fmt.fraction_bits)
    values = np.concatenate([values, ties, np.nextafter(ties, 0), np.nextafter(ties, np.inf), [0]])
    values[::2] *= -1
    rounded = operands(values, mode)
    expected = np.array([_exactly_rounded(float(v), fmt.name) for v in values])
    np.testing.assert_array_equal(rounded.values, expected)
    np.testing.assert_array_equal(np.signbit(rounded.values), np.signbit(values))
    assert rounded.overflows == np.count_nonzero(np.isinf(expected)) > 0
    assert rounded.vanished == np.count_nonzero((expected == 0) & (values != 0)) > 0
    words = rounded.words
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        if mode == "fp16":
            np.testing.assert_array_equal(words, values.astype(np.float16).view(np.uint16))
        elif mode == "fp32":
            np.testing.assert_array_equal(words, values.astype(np.float32).view(np.uint32))
        else:
            shift = np.uint32(32 - fmt.container_bits)
            single = (words.astype(np.uint32) << shift).view(np.float32)
            np.testing.assert_array_equal(single, expected.astype(np.float32))


def test_nan_and_complex_operands() -> None:
    nans = {"fp16": 0x7E00, "bf16": 0x7FC0, "tf32": 0x7FC00000, "fp32": 0x7FC00000}
    for mode, nan in nans.items():
        assert operands(np.array([np.nan]), mode).words.tolist() == [nan]
    values = np.array([1.5 - 2.25j, -0.1 + 3j])
    words = operands(values, "fp32c").words
    np.testing.assert_array_equal(results(words, "fp32c"), values.astype(np.complex64))


# Transforms and filters -----------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 2, 3, 12, 27, 64, 96])
def test_dft_of_any_smooth_length(run: Run, length: int) -> None:
    signal, out = draw(length, length, complex_values=True), run.directory / "x.npy"
    report = run.directory / "report.json"
    file = run.save("s.npy", signal)
    assert run("dft", file, *SMALL, "-o", out, "--json", report) == 0
    spectrum, exact = np.load(out), np.fft.fft(operands(signal, "fp32c").values)
    assert spectrum.dtype == np.complex64
    assert np.linalg.norm(spectrum - exact) <= 3e-7 * np.linalg.norm(exact)
    content = run.report()
    assert content["mismatches"] == 0 and content["checked"] > 0
    assert int(np.prod(content["radices"])) == length and max(content["radices"]) <= 4


def test_dft_of_the_sample_photograph(run: Run) -> None:
    pytest.importorskip("sklearn")
    report = run.directory / "report.json"
    assert run("dft", "--length", 360, "--set", "rows=8", "--set", "cols=2", "--set", "depth=4",
               "--backend", "model", "--json", report) == 0  # fmt: skip
    content = run.report()
    assert content["radices"] == [8, 5, 3, 3] and content["length"] == 360
    assert content["errors"]["unit"]["relative"] < 3e-7


def test_dft_refusals(run: Run) -> None:
    assert radices(7 * 5 * 8, 8) == [8, 7, 5] and radices(1, 4) == [1]
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
        taps = operands(kernel, mode).values
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


# Refusals of files ------------------------------------------------------------------------------

MALFORMED = {
    "mangled1.mtx": "line 1: 'mangled' in the header must be one of matrix",
    "mangled5.mtx": "line 1: a pattern must be general or symmetric, not hermitian",
    "mangled7.mtx": "line 2: GraphBLAS type 'gunk' must be one of bool, int8_t",
    "mangled9.mtx": "line 4: a symmetric matrix must be square, not 3 x 4",
    "mangled11.mtx": "line 5: column index 'zero' must be an integer in 1..4",
    "mangled13.mtx": "line 7: column index '9999' must be an integer in 1..4",
    "mangled15.mtx": "line 2: GraphBLAS type float complex contradicts the header's field real",
    "mangled_bool.mtx": "line 10: value 2 must be in 0..1, the range of the declared type bool",
    "mangled_format.mtx": "line 1: an array cannot be a pattern; it must be real, complex or",
    "mangled_int8.mtx": "line 8: value -129 must be in -128..127, the range of the declared type",
    "mangled_uint16.mtx": "line 9: value 65536 must be in 0..65535, the range of the declared type",
}


@pytest.fixture
def no_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """Building or simulating anything is a failure."""

    def forbidden(*arguments: Any, **named: Any) -> None:
        raise AssertionError("a refused input must not reach the unit")

    monkeypatch.setattr("tilewright.apps.session.TiledProduct", forbidden)


@pytest.mark.usefixtures("no_build")
@pytest.mark.parametrize("name", list(MALFORMED))
def test_malformed_matrix_market(run: Run, name: str) -> None:
    path = data_directory() / "malformed" / name
    good = run.save("good.npy", np.eye(3))
    out = run.directory / "d.npy"
    for pair in ((path, good), (good, path)):
        line = run.refused("gemm", *pair, "-o", out)
        assert line.startswith(f"{path}: {MALFORMED[name]}")
    assert sorted(p.name for p in run.directory.iterdir()) == ["good.npy"]


BANNER = "%%MatrixMarket matrix "


@pytest.mark.usefixtures("no_build")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "line 0: not a Matrix Market header; it must read %%MatrixMarket matrix"),
        ("1 2 3\n", "line 1: not a Matrix Market header"),
        (BANNER + "dense real general\n", "'dense' in the header must be one of coordinate, array"),
        (BANNER + "array real general\n", "the size line must be 2 counts: rows, columns"),
        (BANNER + "array real general\n2 x\n", "line 2: the size line must be 2 counts"),
        (BANNER + "array real general\n0 3\n", "must have at least one element, not 0 x 3"),
        (BANNER + "array real general\n1 2\n3\n", "1 entries, but the size line says 2"),
        (BANNER + "array real general\n1 1\n3\n4\n", "line 4: more entries than the 1"),
        (
            BANNER + "array real general\n1 1\n3 4\n",
            "an entry of a array real file must be 1 number",
        ),
        (BANNER + "array integer general\n1 1\n1.5\n", "line 3: value '1.5' must be an integer"),
        (BANNER + "array integer general\n1 1\n9007199254740993\n", "must lie within -2^53..2^53"),
        (BANNER + "coordinate real general\n2 2 5\n", "line 2: 5 entries do not fit 2 x 2"),
        (BANNER + "coordinate real general\n2 2 1\n0 1 3\n", "row index '0' must be an integer in"),
        (BANNER + "array complex hermitian\n2 3\n", "a hermitian matrix must be square, not 2 x 3"),
        (BANNER + "array real hermitian\n2 2\n", "a hermitian matrix must be complex, not real"),
        (
            BANNER + "array real general\n9000 9000\n",
            "9000 x 9000 elements are too many; at most 67108864",
        ),
    ],
)
def test_more_malformed_matrix_market(run: Run, text: str, expected: str) -> None:
    path = run.directory / "x.mtx"
    path.write_text(text)
    line = run.refused("gemm", path, path)
    assert line.startswith(f"{path}: ")
    assert expected in line


@pytest.mark.usefixtures("no_build")
def test_refused_arrays(run: Run) -> None:
    good, bad = run.save("good.npy", np.eye(3)), run.directory / "bad.npy"
    objects = run.directory / "objects.npy"
    np.save(objects, np.array([[{}]], dtype=object), allow_pickle=True)
    cases = {
        objects: "damaged or unsupported .npy file: ",
        run.save("text.npy", [["a"]]): "must hold integers, float16, float32, float64, complex64",
        run.save("vector.npy", [1.0, 2.0]): "must hold a matrix (2 dimensions), not 1 dimensions",
        run.save("empty.npy", np.zeros((0, 3))): "must have at least one element, not 0 x 3",
        run.directory / "absent.npy": "cannot be read: No such file or directory",
        run.directory / "matrix.csv": "must be a .npy or a Matrix Market .mtx file, not '.csv'",
    }
    for path, expected in cases.items():
        for pair in ((path, good), (good, path)):
            assert run.refused("gemm", *pair).startswith(f"{path}: {expected}")
    whole = good.read_bytes()
    for content in (b"", b"hello", whole[:20], whole[:-8], b"PK\x03\x04", whole[:6]):
        bad.write_bytes(content)
        assert run.refused("gemm", good, bad).startswith(f"{bad}: ")


@pytest.mark.usefixtures("no_build")
def test_refused_combinations(run: Run) -> None:
    a, b = run.save("a.npy", np.ones((3, 4))), run.save("b.npy", np.ones((3, 4)))
    b4, z = run.save("b4.npy", np.ones((4, 2))), run.save("z.npy", np.ones((4, 2)) * 1j)
    here = run.directory
    for arguments, expected in [
        ((a, b), f"{b}: must have 4 rows, as {a} is 3 x 4, not 3"),
        ((a, b4, "--c", a), f"{a}: must be 3 x 2, as A B is, not 3 x 4"),
        ((a, z), f"{z}: holds complex numbers, which mode fp32 does not take; only mode fp32c"),
        ((a, b4, "--mode", "fp64"), "mode must be one of fp16, bf16, tf32, fp32, fp32c, not 'fp6"),
        ((a, b4, "--unit", "gpu"), "unit must be one of m3xu, m3xu_baseline, m3xu_wide, not 'gp"),
        ((a, b4, "--unit", "m3xu_baseline"), "mode must be one that m3xu_baseline is built with"),
        ((a, b4, "--backend", "fpga"), "backend must be rtl or model, not 'fpga'"),
        ((a, b4, "--set", "rows"), "--set must be NAME=VALUE, not 'rows'"),
        ((a, b4, "--set", "rows=65"), "m3xu: `rows` must be an integer in 1..64, not 65"),
        ((a, b4, "-c", here / "no.toml"), f"{here}/no.toml: No such file or directory"),
        ((a, b4, "-o", here / "d.txt"), f"{here}/d.txt: must end in .npy or .mtx, not '.txt'"),
        ((a, b4, "-o", here / "x" / "d.npy"),
         f"{here}/x/d.npy: cannot be written: {here}/x is not a directory"),
        ((a, b4, "--waves", here / "w.vcd", "--backend", "model"),
         f"{here}/w.vcd: waves come from the rtl backend only, not from model"),
    ]:  # fmt: skip
        assert run.refused("gemm", *arguments).startswith(expected)
    toml = here / "bad.toml"
    for text, expected in [("rows = = 4", f"{toml} is not TOML: "),
                           ("colour = 4", f"{toml}: unknown parameter `colour`; ")]:  # fmt: skip
        toml.write_text(text)
        assert run.refused("gemm", a, b4, "-c", toml).startswith(expected)
    (here / "d.npy").mkdir()
    line = run.refused("gemm", a, b4, "-o", here / "d.npy")
    assert line == f"{here}/d.npy: cannot be written: it is a directory"


def test_parameters_from_a_file(run: Run) -> None:
    toml, report = run.directory / "unit.toml", run.directory / "report.json"
    toml.write_text('rows = 2\ncols = 3\nmodes = ["fp32", "bf16"]\n')
    a = run.save("a.npy", draw(1, 4, 4))
    options = ("-c", toml, "--set", "cols=5", "--backend", "model", "--json", report)
    assert run("gemm", a, a, *options) == 0
    config = run.report()["config"]
    assert (config["rows"], config["cols"], config["modes"]) == (2, 5, ["bf16", "fp32"])
