"""GTA's applications refuse bad input in one line and write nothing."""

from __future__ import annotations

import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tilewright.apps.gta import products
from tilewright.cli import main
from tilewright.verif.kit.commands import Run

pytestmark = pytest.mark.slow

FORMATS = "int8, int16, int32, int64, bf16, fp16, fp32, fp64"


def gemm(run: Run, *words: object) -> str:
    a = run.save("a.npy", np.ones((3, 4)))
    b = run.save("b.npy", np.ones((4, 2)))
    backend = () if "--backend" in words else ("--backend", "cycles")
    return run.refused("gemm", a, b, "--unit", "gta", *backend, *words)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--backend", "gpu"), "backend must be one of rtl, cycles, model, not 'gpu'"),
        (("--mode", "tf32"), f"mode must be one of {FORMATS}, not 'tf32'"),
        (("--set", "formats=int8,fp32", "--mode", "int16"),
         "mode must be one that gta is built with (int8, fp32), not 'int16': see `formats`"),
        (("--set", "float_adders=0"), "`float_adders` must be at least 8 for fp32, not 0"),
        (("--set", "float_adders=4"), "gta: `float_adders` must be 0, 8, 16, 32 or 64, not 4"),
        (("--set", "float_adders=24"), "gta: `float_adders` must be 0, 8, 16, 32 or 64, not 24"),
        (("--set", "lanes=3"), "gta: `lanes` must be a power of two in 1..64, not 3"),
        (("--dataflow", "rs", "--mode", "int8"),
         "--dataflow must be one of auto, ws, is, os, simd, not 'rs'"),
        (("--dataflow", "ws"), "--dataflow must be one of auto, os, simd in fp32, not 'ws'"),
        (("--layout", "3x1"),
         "--layout must be one of 1x4, 2x2, 4x1, as there are 4 lanes, not '3x1'"),
        (("--layout", "wide"),
         "--layout must be one of 1x4, 2x2, 4x1, as there are 4 lanes, not 'wide'"),
        (("--set", "lanes=1", "--layout", "2x2"),
         "--layout must be one of 1x1, as there are 1 lanes, not '2x2'"),
        (("--backend", "model", "--explain"),
         "--explain must come with backend rtl or cycles, not with model"),
        (("--on", "engine"), "--on must be unit with gta, not 'engine'"),
        (("--waves", "x.vcd"), "--waves is not for gta; it was given as 'x.vcd'"),
        (("--memory", "hbm"), "--memory is not for gta; it was given as 'hbm'"),
        (("--gigahertz", "2"), "--gigahertz is not for gta; it was given as '2.0'"),
    ],
)  # fmt: skip
def test_options(run: Run, words: tuple[str, ...], line: str) -> None:
    assert gemm(run, *words) == line


def test_schedules_that_do_not_fit(run: Run) -> None:
    """A dataflow of one layout may be left with no block that fits."""
    deep = run.save("a.npy", np.ones((1, 3)))
    line = run.refused(
        "gemm", deep, run.save("b.npy", np.ones((3, 1))), "--unit", "gta", "--backend", "cycles",
        "--mode", "int8", "--dataflow", "ws", "--layout", "64x1", "--set", "lanes=64",
        "--set", "vector_bytes=2048",
    )  # fmt: skip
    assert line == ("no schedule of 1 x 1 x 3 in int8 that is asked for fits `vector_bytes` 2048")


def test_options_of_gta_for_other_units(run: Run) -> None:
    a = run.directory / "absent.npy"
    for words, line in [
        (("--dataflow", "os"), "--dataflow must come with --unit gta, not m3xu, as 'os'"),
        (("--layout", "2x2"), "--layout must come with --unit gta, not m3xu, as '2x2'"),
        (("--explain",), "--explain must come with --unit gta, not m3xu"),
    ]:
        assert run.refused("gemm", a, a, *words) == line
    words = ("--unit", "tensaurus", "--layout", "2x2")
    line = run.refused("gemm", a, a, *words)
    assert line == "--layout must come with --unit gta, not tensaurus, as '2x2'"


def test_matrices(run: Run) -> None:
    a, b = run.save("a.npy", np.ones((3, 4))), run.save("b.npy", np.ones((5, 2)))
    on = ("--unit", "gta", "--backend", "cycles", "-o", run.directory / "d.npy")
    assert run.refused("gemm", a, b, *on) == f"{b}: must have 4 rows, as {a} is 3 x 4, not 5"
    line = run.refused("gemm", a, a.with_name("b4.npy"), *on)
    assert line == f"{a.with_name('b4.npy')}: cannot be read: No such file or directory"
    good = run.save("good.npy", np.ones((4, 2)))
    assert run.refused("gemm", a, good, "--c", b, *on) == (
        f"{b}: must be 3 x 2, as A B is, not 5 x 2"
    )
    wide = run.save("wide.npy", np.full((3, 4), 128))
    assert run.refused("gemm", wide, good, *on, "--mode", "int8") == (
        f"{wide}: 12 of 12 values are not in -128..127, the range of int8"
    )
    half = run.save("half.npy", np.full((3, 4), 0.5))
    assert run.refused("gemm", half, good, *on, "--mode", "int64") == (
        f"{half}: 12 of 12 values are not integers, which int64 needs"
    )
    strange = run.save("c.npy", np.ones((3, 4)) * 1j)
    assert run.refused("gemm", strange, good, *on) == (
        f"{strange}: holds complex numbers, which gta does not take"
    )
    line = run.refused("gemm", run.save("v.npy", np.ones(3, int)), good, *on)
    assert line == f"{run.directory}/v.npy: must hold a matrix (2 dimensions), not 1 dimension"
    for empty in (np.ones((0, 4)), np.ones((0, 4), int)):
        line = run.refused("gemm", run.save("e.npy", empty), good, *on)
        assert line == f"{run.directory}/e.npy: must have at least one element, not 0 x 4"
    assert not (run.directory / "d.npy").exists()


def test_too_many_multiplications(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(products.MOST_PRODUCTS, "cycles", 23)
    line = gemm(run)
    assert line == (
        f"the product of {run.directory}/a.npy and {run.directory}/b.npy: 24 multiplications are "
        "too many for the cycles backend; at most 23 are allowed; --backend model takes up to "
        "10,000,000,000"
    )


def test_too_many_on_the_rtl(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts multiplications of limbs for the RTL, and builds nothing."""
    monkeypatch.setitem(products.MOST_PRODUCTS, "rtl", 383)
    line = gemm(run, "--backend", "rtl", "--mode", "int32")
    assert line.endswith(
        ": 384 multiplications of limbs are too many for the rtl backend; at most 383 are allowed"
        "; --backend cycles takes up to 10,000,000,000"
    )
    monkeypatch.setitem(products.MOST_PRODUCTS, "rtl", 16 * 384 - 1)
    assert gemm(run, "--backend", "rtl", "--mode", "int32", "--dataflow", "simd") == line


def test_through_the_program(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """One line on standard error, status 2."""
    path = run.directory / "absent.wav"
    assert main(["run", "fir", str(path), str(path)]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == (
        "", f"error: {path}: cannot be read: No such file or directory\n",
    )  # fmt: skip


# GTA's applications refuse bad files in one line and write nothing.


def test_long_integers(run: Run) -> None:
    good = run.directory / "a.txt"
    good.write_text("12")
    bad = run.directory / "b.txt"
    bad.write_text("12g")
    line = run.refused("bignum", good, bad, "-o", run.directory / "c.txt")
    assert line == (f"{bad}: must hold an integer, decimal, or hexadecimal behind 0x, not '12g'")
    absent = run.directory / "absent"
    line = f"{absent}: cannot be read: No such file or directory"
    assert run.refused("bignum", absent, good) == line
    out = run.directory / "c.npy"
    line = f"{out}: must end in .txt or .hex, not '.npy'"
    assert run.refused("bignum", good, good, "-o", out) == line
    line = run.refused("bignum", good, good, "--set", "formats=int8")
    assert line == "mode must be one that gta is built with (int8), not 'int64': see `formats`"
    assert sorted(path.name for path in run.directory.iterdir()) == ["a.txt", "b.txt"]


def png16() -> bytes:
    """A picture of 16 bits a channel."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", 2, 1, 16, 2, 0, 0, 0)
    pixels = chunk(b"IDAT", zlib.compress(bytes(13)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + pixels + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("name", "kind"),
    [("L", "mode L"), ("RGBA", "mode RGBA"), ("P", "mode P"), ("I;16", "of 16 bits each"),
     ("png16", "of 16 bits each"), ("ppm16", "of 16 bits each")],
)  # fmt: skip
def test_pictures_of_another_type(run: Run, name: str, kind: str) -> None:
    path = run.directory / ("x.ppm" if name == "ppm16" else "x.png")
    if name == "png16":
        path.write_bytes(png16())
    elif name == "ppm16":
        path.write_bytes(b"P6\n2 1\n65535\n" + bytes(12))
    else:
        Image.new(name, (4, 3)).save(path)
    line = run.refused("color", path, "-o", run.directory / "y.npy")
    assert line == (f"{path}: must be a picture of red, green and blue of 8 bits each, not {kind}")
    assert not (run.directory / "y.npy").exists()


def test_no_pictures(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    path = run.directory / "x.png"
    path.write_bytes(b"nothing")
    line = run.refused("color", path)
    assert line == f"{path}: not a picture that can be read: cannot identify image file"
    other = run.directory / "x.gif"
    assert run.refused("color", other) == (
        f"{other}: must end in .png, .ppm, .jpg, .jpeg, .bmp, .tif or .tiff, not '.gif'"
    )
    absent = run.directory / "absent.png"
    line = f"{absent}: cannot be read: No such file or directory"
    assert run.refused("color", absent) == line
    line = run.refused("color", path, "--mode", "int32")
    assert line == "mode must be one of int8, int16, bf16, fp16, fp32, fp64, not 'int32'"
    for module, package, words in (("PIL", "Pillow", (path,)), ("sklearn", "scikit-learn", ())):
        monkeypatch.setitem(sys.modules, module, None)
        assert run.refused("color", *words) == (
            f"{package} is not installed; it comes with the extra `apps`: "
            "pip install 'tilewright[apps]'"
        )


def riff(width: int, data: bytes, channels: int = 1, size: int | None = None) -> bytes:
    """A sound as a .wav file has it."""
    rate = 8000
    form = struct.pack("<HHIIHH", 1, channels, rate, rate * width * channels, width * channels,
                       8 * width)  # fmt: skip
    said = len(data) if size is None else size
    body = b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", said) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (riff(1, bytes(4)), "must have samples of 16 bits, not of 8"),
        (riff(3, bytes(6)), "must have samples of 16 bits, not of 24"),
        (riff(2, b""), "must have at least one element, not 0 x 1"),
        (b"", "not a sound that can be read: it ends too soon"),
        (b"RIFX" + bytes(40),
         "not a sound that can be read: file does not start with RIFF id"),
        (riff(2, bytes(6), 2, size=8),
         "not a sound that can be read: its last sample is not whole"),
    ],
)  # fmt: skip
def test_sounds(run: Run, content: bytes, line: str) -> None:
    path = run.directory / "x.wav"
    path.write_bytes(content)
    taps = run.save("h.npy", np.ones(3))
    assert run.refused("fir", path, taps) == f"{path}: {line}"


def test_signals(run: Run) -> None:
    taps = run.save("h.npy", np.ones(3))
    for array, line in [
        (np.full(4, 32768), "4 of 4 values are not in -32768..32767, the range of int16"),
        (np.full(4, 0.5), "4 of 4 values are not integers, which int16 needs"),
        (np.ones((2, 2, 2)), "must be one line of numbers, or samples x channels, not 2 x 2 x 2"),
        (np.ones((0, 1)), "must have at least one element, not 0 x 1"),
    ]:
        path = run.save("x.npy", array)
        assert run.refused("fir", path, taps) == f"{path}: {line}"
    text = run.directory / "x.txt"
    line = f"{text}: must be a .npy, .npz, .mtx or .mtx.gz file, not '.txt'"
    assert run.refused("fir", text, taps) == line
    cube = run.save("c.npy", np.ones((2, 2, 2)))
    assert run.refused("fir", taps, cube) == (
        f"{cube}: must be one line of numbers, or taps x filters, not 2 x 2 x 2"
    )


def test_matrices_without_pivots(run: Run) -> None:
    even = np.eye(6, dtype=int)
    even[:, 4] *= 2
    path = run.save("a.npy", even)
    out = run.directory / "lu.npy"
    for block in (2, 64):
        words = ("--mode", "int32", "--block", block, "-o", out)
        assert run.refused("lu", path, *words) == (
            f"{path}: column 5 has no odd pivot: modulo 2^32 only odd numbers can be divided by"
        )
    path = run.save("a.npy", np.ones((3, 3)))
    line = run.refused("lu", path, "-o", out)
    assert line == f"{path}: column 2 has no pivot other than 0: the matrix is singular"
    path = run.save("a.npy", np.ones((3, 4)))
    assert run.refused("lu", path) == f"{path}: must be square, not 3 x 4"
    wide = run.directory / "a.mtx"
    wide.write_text("%%MatrixMarket matrix array real general\n3 4\n")
    assert run.refused("lu", wide) == f"{wide}: must be square, not 3 x 4"
    path = run.save("a.npy", np.full((2, 2), np.nan))
    assert run.refused("lu", path) == f"{path}: must be finite to be decomposed"
    path = run.save("a.npy", np.eye(2049))
    assert run.refused("lu", path) == (
        f"{path}: 2049 rows are too many; at most 2048 are allowed; run eliminate takes more, "
        "without exchanging rows"
    )
    assert run.refused("lu", path, "--mode", "fp32") == (
        "mode must be one of int32, fp64, not 'fp32'"
    )
    assert run.refused("lu", path, "--backend", "numpy") == (
        "backend must be one of rtl, cycles, model, not 'numpy'; of tensor units see `tilewright "
        "run eliminate`"
    )
    line = run.refused("lu", path, "--block", "0")
    assert line == "--block must be an integer in 1..512, not '0'"
    assert not out.exists()


def test_data(run: Run) -> None:
    path = run.save("d.npy", np.ones((1, 3)))
    line = run.refused("pca", path)
    assert line == f"{path}: must have at least 2 samples, a row each, not 1"
    path = run.save("d.npy", [[1.0, np.inf], [0, 0]])
    assert run.refused("pca", path) == f"{path}: samples must be finite"
    path = run.save("d.npy", np.array([[1e200, 0], [-1e200, 0]]))
    assert run.refused("pca", path) == f"{path}: the covariance is beyond fp64"
    path = run.save("d.npy", np.eye(3))
    line = run.refused("pca", path, "--components", "4")
    assert line == "--components must be in 1..3, not 4"


def weights(run: Run, **arrays: Any) -> Path:
    np.savez(run.directory / "w.npz", **arrays)
    return run.directory / "w.npz"


ONES = np.ones((3, 2))


@pytest.mark.parametrize(
    ("arrays", "line"),
    [
        ({"w0": ONES, "v": ONES}, ": arrays must be named w0, b0, w1, b1, ..., not 'v'"),
        ({"w0": ONES, "w01": ONES}, ": arrays must be named w0, b0, w1, b1, ..., not 'w01'"),
        ({"w0": ONES, "w2": ONES}, ": must hold w1, beside w0, w2"),
        ({"b0": np.ones(2)}, ": must hold w0, beside b0"),
        ({"w0": ONES, "b1": np.ones(2)}, ": must hold w1, beside w0, b1"),
        ({}, ": must hold w0, beside nothing"),
        ({"w0": np.ones(3)}, ": w0: must have 2 dimensions, not 1"),
        ({"w0": ONES, "b0": np.ones(3)},
         ": b0 must have 2 elements, as w0 has columns, not 3"),
        ({"w0": ONES, "w1": np.ones((4, 2))},
         ": w1 must have 2 rows, as w0 has columns, or 5 with the inputs again, not 4"),
        ({"w0": ONES * np.nan}, ": w0: weights must be finite"),
        ({"w0": ONES * 1j}, ": w0: holds complex numbers; weights must be real"),
        ({"w0": ONES}, ": w0 must have 63 rows for samples that are drawn, not 3: give samples, "
                       "too"),
    ],
)  # fmt: skip
def test_weights(run: Run, arrays: dict[str, Any], line: str) -> None:
    path = weights(run, **arrays)
    assert run.refused("mlp", path, "-o", run.directory / "y.npy") == f"{path}{line}"
    assert not (run.directory / "y.npy").exists()


def test_networks(run: Run) -> None:
    path, points = weights(run, w0=ONES), run.save("x.npy", np.ones((4, 5)))
    line = f"{points}: must have 3 columns, as the network has inputs, not 5"
    assert run.refused("mlp", path, points) == line
    points = run.save("x.npy", np.full((4, 3), np.inf))
    assert run.refused("mlp", path, points) == f"{points}: samples must be finite"
    assert run.refused("mlp", path, "--layers", 3) == f"--layers and {path} exclude each other"
    line = run.refused("mlp", path, points, "--samples", 3)
    assert line == f"--samples and {points} exclude each other"
    assert run.refused("mlp", points) == f"{points}: must be a .npz file, not '.npy'"
    line = run.refused("mlp", "--mode", "int8")
    assert line == "mode must be one of bf16, fp16, fp32, fp64, not 'int8'"
    (run.directory / "w.npz").write_bytes(b"nothing")
    line = f"{path}: not a whole .npz file: File is not a zip file"
    assert run.refused("mlp", path) == line
