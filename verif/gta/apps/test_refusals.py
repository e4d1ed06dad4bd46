"""What GTA's applications refuse, in one line; nothing is written."""

from __future__ import annotations

import numpy as np
import pytest
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
    """There limbs count; nothing is built."""
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
