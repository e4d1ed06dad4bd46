"""The commands about the TCU model: results, reports, and one line for any error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.apps.tcu import options
from tilewright.apps.tcu.algorithms import ALGORITHMS
from tilewright.cli import main
from tilewright.hw.spec.host.activity import listening
from tilewright.hw.spec.unit import named_object
from tilewright.registry import commands
from tilewright.sim.tcu.formulas import dense as costs
from tilewright.sim.tcu.presets import PRESETS
from tilewright.verif.kit.commands import check_refused
from tilewright.verif.kit.pages import examples, page


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 21, 21))
    contents = {
        "a": a, "b": b, "c": a + 1j * b, "i": rng.integers(-9, 9, (21, 21)),
        "small": np.ones((4, 4)), "wide": np.ones((3, 4)), "huge": np.full((8, 8), 2**40),
        "long": np.full((8, 8), 1e300), "left": rng.integers(-99, 99, (5, 30)),
        "right": rng.integers(-99, 99, (30, 70)), "two": np.full((8, 8), 2**14),
    }  # fmt: skip
    contents["huge21"] = rng.integers(-(2**52), 2**52, (21, 21))
    for name, matrix in contents.items():
        np.save(f"{name}.npy", matrix)
    return tmp_path


def report_of(words: str) -> dict[str, Any]:
    assert main([*words.split(), "--json", "report.json"]) == 0
    report: dict[str, Any] = json.loads(Path("report.json").read_text())
    return report


@pytest.mark.parametrize("limbs", ["", "--limbs"])
@pytest.mark.usefixtures("files")
def test_calls_are_told_as_they_are_made(limbs: str) -> None:
    told: list[str] = []
    with listening(lambda event, one: told.append(f"{one.what}: {one.detail}")):
        report = report_of(f"run strassen i.npy i.npy --words int64 --m 64 {limbs}")
    where = f"computing on {'narrow in limbs of 8 bits' if limbs else 'numpy'}: "
    each = 8 if limbs else 1
    assert report["calls"] == each * 49
    assert told[0] == "reading i.npy: "
    told = [one for one in told if one.startswith(where)]
    assert told[0] == where
    assert told[1] == f"{where}{each} call{'s' if limbs else ''}"
    assert told[2:-1] == [f"{where}{each * count} calls" for count in range(2, 50)]


@pytest.mark.parametrize("method", ["strassen", "standard", "tall"])
@pytest.mark.parametrize("weak", [False, True])
@pytest.mark.usefixtures("files")
def test_products(method: str, weak: bool, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"run strassen a.npy b.npy --method {method} --m 16 --l 2.5 -o out.npy"
    report = report_of(words + " --weak" * weak)
    a, b = np.load("a.npy"), np.load("b.npy")
    np.testing.assert_allclose(np.load("out.npy"), a @ b, atol=1e-12)
    work = getattr(costs, method)(21, 4, weak)
    assert (report["calls"], report["rows"]) == (work.calls, work.rows)
    assert report["unit_time"] == work.unit_time(4, 2.5)
    assert report["cpu_words"] == sum(report["cpu"].values())
    assert report["cpu_words"] == getattr(costs, method)(21, 4, weak).cpu
    assert (report["fused_calls"], report["measured_cycles"]) == (0, None)
    assert [one["wrong"] for one in report["references"]] == [0]
    high = 21 if method == "tall" and not weak else 24
    side = "32 x 32" if method != "tall" else " and ".join(
        dict.fromkeys([f"{high} x 24", "24 x 24"])
    )  # fmt: skip
    assert f"21 x 21, padded to {side}" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("files_given", "words", "dtype"),
    [("a.npy b.npy", "", "float64"), ("a.npy b.npy", "fp32", "float32"),
     ("c.npy b.npy", "", "complex128"), ("c.npy c.npy", "complex64", "complex64"),
     ("i.npy i.npy", "int64", "int64"), ("i.npy i.npy", "int32", "int64"),
     ("i.npy i.npy", "int16", "int64")],
)  # fmt: skip
@pytest.mark.usefixtures("files")
def test_words(files_given: str, words: str, dtype: str) -> None:
    given = f" --words {words}" if words else ""
    report = report_of(f"run strassen {files_given} --m 4 -o out.npy{given}")
    a, b = (np.load(file) for file in files_given.split())
    out = np.load("out.npy")
    assert out.dtype == dtype
    np.testing.assert_allclose(out, a @ b, atol=0 if "int" in words else 1e-3)
    (agreement,) = report["references"]
    assert agreement["wrong"] == agreement["left_out"] == 0
    assert agreement["values"] == 441 * (2 if "complex" in dtype else 1)
    assert (agreement["criterion"] == "exact") == ("int" in words)


@pytest.mark.parametrize("method", ["strassen", "standard", "tall"])
@pytest.mark.parametrize("modulus", [2, 97, 2**61 - 1, 2**62])
@pytest.mark.usefixtures("files")
def test_residues(method: str, modulus: int) -> None:
    report = report_of(
        f"run strassen i.npy huge21.npy --method {method} --words modular --modulus {modulus} "
        "--m 16 -o out.npy"
    )
    a, b = (np.load(f"{name}.npy").astype(object) for name in ("i", "huge21"))
    assert np.load("out.npy").tolist() == (a @ b % modulus).tolist()
    (agreement,) = report["references"]
    assert (agreement["criterion"], agreement["wrong"]) == ("exact", 0)
    assert agreement["source"] == "Python's integers, 16 columns"
    assert (report["modulus"], report["words"]) == (modulus, f"modular({modulus})")


@pytest.mark.parametrize("words", ["", "--words int32", "--words fp32", "--modulus 101"])
@pytest.mark.parametrize(("method", "products", "additions"), [("strassen", 7, 15),
                                                               ("standard", 8, 4)])  # fmt: skip
@pytest.mark.usefixtures("files")
def test_products_in_squares(
    words: str, method: str, products: int, additions: int, capsys: pytest.CaptureFixture[str]
) -> None:
    left, right = np.load("left.npy"), np.load("right.npy")
    report = report_of(
        f"run strassen left.npy right.npy --method {method} --m 16 --l 3 -o out.npy {words}"
    )
    exact = left @ right
    expected = exact % 101 if "modulus" in words else exact
    np.testing.assert_allclose(np.load("out.npy"), expected, rtol=1e-5 if "fp32" in words else 0)
    cost = costs.in_squares(5, 30, 70, 4, products, additions)
    assert (report["calls"], report["rows"]) == (cost.calls, cost.rows)
    assert report["cpu_words"] == cost.cpu
    assert report["unit_time"] == cost.unit_time(4, 3)
    assert [one["wrong"] for one in report["references"]] == [0]
    # 5 x 30 by 30 x 70, in squares of 8.
    assert "36 products of 8 x 8" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("words", ["", "--words int32", "--words fp32", "--modulus 101"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("weak", [False, True])
@pytest.mark.usefixtures("files")
def test_rectangular_products(
    words: str, turned: bool, weak: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """The product in either order makes the same number of calls; the command transposes it where
    that saves calls."""
    left, right = np.load("left.npy"), np.load("right.npy")
    if turned:
        left, right = right.T, left.T
        np.save("left.npy", left)
        np.save("right.npy", right)
    report = report_of(
        f"run strassen left.npy right.npy --method rectangular --m 16 -o out.npy {words}"
        + " --weak" * weak
    )
    exact = left @ right
    expected = exact % 101 if "modulus" in words else exact
    np.testing.assert_allclose(np.load("out.npy"), expected, rtol=1e-6 if "fp32" in words else 0)
    assert report["calls"] == 8 * 2 * (18 if weak else 1)
    assert report["rows"] == 8 * 2 * (72 if weak else 70)
    assert report["shape"] == [*left.shape, right.shape[1]]
    assert [one["wrong"] for one in report["references"]] == [0]
    said = " ".join(capsys.readouterr().out.split())
    assert ("transposed, as that takes fewer calls" in said) == (not turned and not weak)
    if not weak:
        one = "5 x 30, padded to 8 x 32; 30 x 70, padded to 32 x 70; transposed"
        other = "70 x 30, padded to 70 x 32; 30 x 5, padded to 32 x 8"
        assert (other if turned else one) in said


@pytest.mark.usefixtures("files")
def test_a_wrong_result_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong(unit: Any, scheme: Any, a: Any, b: Any) -> Any:
        return a @ b + 1e-9

    monkeypatch.setattr("tilewright.apps.tcu.products.in_squares", wrong)
    assert main(["run", "strassen", "a.npy", "b.npy"]) == 1
    assert "441 BEYOND it" in capsys.readouterr().out


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.usefixtures("files")
def test_costs_are_the_formulas(name: str) -> None:
    row = ALGORITHMS[name]
    sizes = {one.name: 100 + 10 * i for i, one in enumerate(row.sizes)}
    more = " ".join(f"--size {one.name}={sizes[one.name]}" for one in row.sizes[1:])
    report = report_of(f"tcu cost {name} --n 100 {more} --m 64 --l 1000")
    cost = named_object(row.formula)(**sizes, s=8)
    assert (report["calls"], report["rows"]) == (cost.calls, cost.rows)
    assert report["unit_time"] == cost.rows * 8 + cost.calls * 1000
    assert report["sizes"] == sizes
    assert report["cpu_words"] == cost.cpu


@pytest.mark.parametrize(("preset", "s", "bits"), [("tpu", 256, 8), ("volta", 16, 16)])
@pytest.mark.usefixtures("files")
def test_presets(preset: str, s: int, bits: int, capsys: pytest.CaptureFixture[str]) -> None:
    """The paper's figures, with the least latency of a systolic unit."""
    report = report_of(f"tcu cost tall --n 4096 --preset {preset}")
    assert (report["preset"], report["m"], report["latency"]) == (preset, s * s, s)
    assert report["unit_time"] == 4096**3 // s + (4096 // s) ** 2 * s
    assert f"{preset}, blocks of {s} x {s}" in capsys.readouterr().out
    assert set(PRESETS) == set(options.PRESETS)
    assert (PRESETS[preset].word_bits, PRESETS[preset].side) == (bits, s)
    assert {one.name: one.most_rows for one in PRESETS.values()} == {"tpu": 98304, "volta": 0}


@pytest.mark.usefixtures("files")
def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    listed = report_of("tcu list")["algorithms"]
    assert [one["name"] for one in listed] == list(ALGORITHMS)
    out = capsys.readouterr().out
    assert all(name in out for name in ALGORITHMS)
    run = {row.run.split()[0] for row in ALGORITHMS.values() if row.run}
    assert run <= set(commands())


BAD_WORDS = {
    "tcu make": "unknown command of tcu 'make'; `tilewright tcu` lists them all",
    "tcu cost make --n 3": "unknown algorithm 'make'; `tilewright tcu list` lists them all",
    "tcu cost tall": "Missing option '--n' (see `tilewright tcu cost --help`)",
    "tcu cost tall --n 0": "--n must be an integer in 1..1000000000, not '0'",
    "tcu cost tall --n 3 --m 48": "--m must be a square, as 36 and 49 are, not 48",
    "tcu cost tall --n 3 --l -1": "--l must be a number in 0..1000000000000000, not '-1'",
    "tcu cost tall --n 3 --preset gpu": "--preset must be one of tpu, volta, not 'gpu'",
    "tcu cost tall --n 3 --preset tpu --m 256": "--preset must come without --m, which it has",
    "tcu cost tall --n 3 --l 0 --preset tpu": "--preset must come without --l, which it has",
    "tcu cost tall --n 3 --size k=3": "--size of tall must be left out, not 'k'",
    "tcu cost rectangular --n 3 --size k=3 --size q=3": "--size of rectangular must be one of k, "
    "p, not 'q'",
    "tcu cost rectangular --n 3": "rectangular must be given --size k=..., columns of A",
    "tcu cost rectangular --n 3 --size k=3 --size p=x": "--size p must be an integer in "
    "1..1000000000, not 'x'",
    "tcu list --json x.txt": "x.txt: must end in .json, not '.txt'",
    "run strassen wide.npy a.npy": "a.npy: must have 4 rows, as wide.npy has columns, not 21",
    "run strassen wide.npy a.npy --method tall": "wide.npy: must be square, not 3 x 4",
    "run strassen a.npy small.npy --method tall": "small.npy: must have 21 rows, as a.npy has, "
    "not 4",
    "run strassen a.npy b.npy --backend x": "backend must be one of numpy, "
    "simd2, m3xu, engine, engine_m3xu, gta, not 'x'",
    "run strassen a.npy b.npy --set x=1": "numpy: unknown parameter 'x'; it has none, but for --m "
    "and --l",
    "run strassen a.npy b.npy --m 15": "--m must be a square, as 9 and 16 are, not 15",
    "run strassen a.npy b.npy --words int64": "a.npy: must hold integers for words of int64",
    "run strassen a.npy b.npy --words int8": "--words must be one of fp32, fp64, complex64, "
    "complex, int16, int32, int64, modular, not 'int8'",
    "run strassen two.npy two.npy --words int16": "the product of two.npy and two.npy: words "
    "must have 33 bits to hold the result, not 16",
    "run strassen huge.npy huge.npy --words int32": "huge.npy: words must have 42 bits to hold the "
    "result, not 32",
    "run strassen long.npy long.npy --words int64": "long.npy: words must have 998 bits to hold "
    "the result, not 64",
    "run strassen i.npy i.npy --words modular": "--words modular must come with --modulus P",
    "run strassen i.npy i.npy --words fp32 --modulus 7": "--modulus must come with --words "
    "modular, or without, not with fp32",
    "run strassen i.npy i.npy --modulus 1": "--modulus must be an integer in "
    "2..4611686018427387904, not '1'",
    "run strassen a.npy b.npy --modulus 7": "a.npy: must hold integers for words of modular(7)",
    "run strassen left.npy left.npy --method rectangular": "left.npy: must have 30 rows, as "
    "left.npy has columns, not 5",
    "run strassen left.npy left.npy": "left.npy: must have 30 rows, as left.npy has columns, not 5",
    "run strassen left.npy right.npy --method tall": "left.npy: must be square, not 5 x 30",
    "run strassen c.npy c.npy --words fp64": "c.npy: words of fp64 must be real numbers, not "
    "complex128",
    "run strassen c.npy c.npy --words int64": "c.npy: words of int64 must be integers, not "
    "complex128",
    "run strassen long.npy long.npy --words fp32": "long.npy: words of fp32 do not hold the "
    "largest of the numbers given",
    "run strassen huge.npy huge.npy --words int64": "the product of huge.npy and huge.npy: words "
    "must have 85 bits to hold the result, not 64",
    "run strassen a.npy b.npy --method x": "--method must be one of strassen, standard, tall, "
    "rectangular, not 'x'",
    "run strassen a.npy b.npy -o x.txt": "x.txt: must end in .npy, .npz, .mtx or .mtx.gz, not "
    "'.txt'",
}


@pytest.mark.parametrize("words", BAD_WORDS)
def test_bad_words(words: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_refused(words.split(), BAD_WORDS[words], files, capsys)


# Pages of the TCU model: examples run, and they name every command, and every algorithm.

PAGES = [page("tcu.md"), page("tcu-algorithms.md")]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_examples_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = examples(path, "python")
    assert blocks
    exec(compile("\n".join(blocks), str(path), "exec"), {})


def test_everything_is_named() -> None:
    text = "".join(path.read_text() for path in PAGES)
    ours = [name for name, work in commands().items() if ".apps.tcu." in work.function]
    assert "strassen" in ours
    missing = [name for name in ours if f"    tilewright run {name} " not in text]
    missing += [name for name in commands("tcu") if f"    tilewright tcu {name}" not in text]
    missing += [name for name in ALGORITHMS if f"`{name}`" not in text]
    assert missing == []
