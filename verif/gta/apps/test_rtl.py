"""Applications on the RTL, by the driver: what it computes and counts; quickly, on a model in its
place.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.apps.common import session
from tilewright.apps.common.agreement import together, within
from tilewright.apps.gta.operands import compare_product, numbers_in, operand_of, result_format
from tilewright.errors import UserError
from tilewright.hw.spec.formats import FORMATS, IntFormat
from tilewright.hw.spec.gta import FORMATS_OF_GTA
from tilewright.sim.device.driver import NoRoom
from tilewright.sim.gta.driver import GtaDriver
from tilewright.sim.gta.golden.pgemm import pgemm
from tilewright.sim.gta.model import GtaModel
from tilewright.verif.gta.devices import settings
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.sampling import by_size, slow_but


def files(run: Run) -> dict[str, tuple[object, ...]]:
    """A small run of each command."""
    rng = np.random.default_rng(12)
    number = run.directory / "n.txt"
    number.write_text(str(7**900))
    odd = np.diag(np.full(9, 3)) + np.triu(rng.integers(-9, 9, (9, 9)), 1)
    signal = run.save("s.npy", rng.integers(-9, 9, 30))
    operands = [
        run.save(f"{name}.npy", rng.integers(-99, 99, shape))
        for name, shape in (("a", (20, 9)), ("b", (9, 21)), ("c", (20, 21)))
    ]
    return {
        "bignum": (number, number),
        "fir": (signal, signal),
        "fir, clamped": (signal, signal, "--saturate"),
        "lu": (run.save("m.npy", odd), "--mode", "int32", "--block", 4),
        "lu in fp64": (run.save("f.npy", rng.standard_normal((9, 9))), "--block", 4),
        "pca": (run.save("d.npy", rng.standard_normal((12, 4))),),
        "mlp": ("--layers", 2, "--width", 8, "--samples", 4),
        "gemm": (*operands[:2], "--c", operands[2], "--unit", "gta", "--mode", "int8"),
    }


APPS = ["bignum", "fir", "fir, clamped", "lu", "lu in fp64", "pca", "mlp", "gemm"]


def words(run: Run, app: str, name: str) -> list[object]:
    command = app.replace(",", "").split()[0]
    where = run.directory / "report.json"
    return [command, *files(run)[app], "--backend", "rtl", *settings(name), "--json", where]


@pytest.mark.parametrize("app", slow_but(["gemm"], APPS))
def test_every_command(run: Run, app: str, on_model: list[int]) -> None:
    assert run(*words(run, app, "all")) == 0
    report = run.report()
    assert (report["backend"], report["mismatches"]) == ("rtl", 0)
    assert report["checked"] > 0
    assert report["counters"]["operations"] > 0
    assert report["counters"]["bytes_written"] > 0
    assert [one["coverage"] for one in report["schedules"]] == [None] * len(report["schedules"])
    assert "bit for bit equal" in run.out
    assert len(on_model) == 1


def test_memory_grows(run: Run, on_model: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "FIRST_BYTES", 1 << 10)
    assert run(*words(run, "gemm", "all")) == 0
    assert on_model[0] == 1 << 10
    assert on_model[-1] > 1 << 12


def test_what_the_driver_refuses(
    run: Run, on_model: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reports the driver's refusals, and a memory beyond `addr_bits`, in one line."""
    reasons: list[ValueError] = [
        ValueError("`vector_bytes` must be more"),
        NoRoom("too little memory", 1 << 41),
    ]

    def refuse(*operands: Any, **named: Any) -> None:
        raise reasons[0]

    monkeypatch.setattr(GtaDriver, "pgemm", refuse)
    out = run.directory / "out.npy"
    line = run.refused(*words(run, "gemm", "all"), "-o", out)
    assert line == "gta: `vector_bytes` must be more"
    del reasons[0]
    line = run.refused(*words(run, "gemm", "all"), "-o", out)
    assert line == "gta: too little memory"
    assert not out.exists()
    assert len(on_model) == 2


def test_what_differs_is_found(
    run: Run, on_model: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bit of the accelerator's result: against the model, and against NumPy."""
    taken = GtaModel.read_memory

    def wrong(self: GtaModel, address: int, size: int) -> bytes:
        found = taken(self, address, size)
        return bytes([found[0] ^ 1]) + found[1:]

    monkeypatch.setattr(GtaModel, "read_memory", wrong)
    assert run(*words(run, "gemm", "all")) == 1
    assert run.report()["mismatches"] == 1
    assert run.report()["references"][0]["wrong"] == 1
    assert "DIFFERENT" in run.out
    assert len(on_model) == 1


@pytest.mark.slow
@pytest.mark.parametrize("dataflow", ["ws", "is", "os", "simd"])
def test_on_the_rtl(run: Run, dataflow: str) -> None:
    """Runs each dataflow on the smallest configuration; the report's figures are the counters'."""
    laying = ("--dataflow", dataflow, "--layout", "2x1")
    assert run(*words(run, "gemm", "tiny"), *laying) == 0
    report = run.report()
    assert (report["checked"], report["mismatches"]) == (420, 0)
    how = "a sum an element" if dataflow == "simd" else "tiles of "
    assert report["schedules"][0]["schedule"].startswith(f"{dataflow} 2x1, lateral, {how}")
    assert report["cycles"] == report["counters"]["cycles"] > 0
    assert report["utilisation"] == 20 * 9 * 21 / (report["cycles"] * 128)
    assert "waited for list" in run.out
    # The model of cycles counts what the RTL does.
    again = [*words(run, "gemm", "tiny"), *laying]
    again[again.index("rtl")] = "cycles"
    assert run(*again) == 0
    assert run.report()["counters"] == report["counters"]


@pytest.mark.slow
def test_a_filled_schedule_on_the_rtl(run: Run) -> None:
    """Runs a filled schedule that a file selects; the cycle model counts the same cycles."""
    path, found = run.directory / "s.toml", []
    path.write_text('dataflow = "os"\nlayout = "2x1"\ndirection = "lateral"\nfilled = true\n')
    for backend in ("rtl", "cycles"):
        given = [*words(run, "gemm", "tiny"), "--schedule", path, "--explain"]
        given[given.index("rtl")] = backend
        assert run(*given) == 0
        found.append(run.report())
    assert (found[0]["checked"], found[0]["mismatches"]) == (420, 0)
    said = found[0]["schedules"][0]
    assert said["file"]["filled"] is True
    start, _, rest = said["schedule"].partition(", left over ")
    assert start.startswith("os 2x1, lateral, filled, tiles of ")
    assert rest
    assert found[0]["counters"] == found[1]["counters"]


@pytest.mark.slow
def test_vectors_and_pairs_by_the_model_of_cycles(run: Run) -> None:
    """The cycle model counts what the RTL counts, on the smallest configuration."""
    rng = np.random.default_rng(13)
    a, b = (run.save(f"{name}.npy", rng.integers(-99, 99, (12, 12))) for name in "ab")
    signal = run.save("s.npy", rng.integers(-99, 99, 300))
    commands: list[tuple[object, ...]] = [
        ("pair", f"{a},{b},mode=int8", f"{b},{a},mode=int8"),
        ("vector", "mulh", signal, signal, "--mode", "int8"),
        ("vector", "slide_up", signal, "--places", 11, "--mode", "int8"),
        ("vector", "reduce_sum", signal, "--mode", "int8"),
    ]
    where = run.directory / "report.json"
    for command in commands:
        found = []
        for backend in ("rtl", "cycles"):
            words = ("--backend", backend, *settings("tiny"), "--json", where)
            assert run(*command, *words) == 0
            report = run.report()
            assert report["mismatches"] == 0
            assert report["cycles"] > 0
            names = ("cycles", "counters", "alone", "in_turn")
            found.append({name: report.get(name) for name in names})
        assert found[0] == found[1], command


def test_what_vectors_do_not_do(run: Run, on_model: list[int]) -> None:
    line = run.refused(*words(run, "fir, clamped", "all"), "--dataflow", "simd")
    assert line == "gta: `result` must be wrap with dataflow simd, not 'saturate'"
    assert len(on_model) == 1


@pytest.mark.long
@pytest.mark.parametrize("app", APPS)
def test_every_command_on_the_rtl(run: Run, app: str) -> None:
    assert run(*words(run, app, "all")) == 0
    assert run.report()["mismatches"] == 0


def test_output_is_the_accelerators(run: Run, on_model: list[int], tmp_path: Path) -> None:
    out = tmp_path / "out.npy"
    assert run(*words(run, "gemm", "all"), "-o", out) == 0
    a, b, c = (np.load(tmp_path / f"{name}.npy") for name in "abc")
    assert np.array_equal(np.load(out), a @ b + c)
    assert len(on_model) == 1


# The comparison with references finds wrong results, and only those.

FLOATS = ("bf16", "fp16", "fp32", "fp64")


@pytest.mark.parametrize("format", FLOATS)
def test_rounding_is_within_its_bound(format: str) -> None:
    """Rounding errors stay within the bound, also under catastrophic cancellation; an error several
    times as large does not."""
    rng = np.random.default_rng(31)
    for _ in range(by_size(3, 10, 100)):
        depth = int(rng.integers(1, 60))
        a = operand_of("A", rng.standard_normal((7, depth)) * 2.0 ** rng.integers(-9, 9), format)
        b = operand_of("B", rng.standard_normal((depth, 6)), format)
        c = operand_of("C", -(a.values @ b.values), result_format(format))
        words = pgemm(format, a.words, b.words, c.words)
        agreement = compare_product(format, words, a.values, b.values, c.values)
        assert (agreement.wrong, agreement.left_out) == (0, 0)
        assert 0 <= agreement.worst < 1
        found = numbers_in(words, result_format(format)).astype(np.float64)
        size = np.abs(a.values) @ np.abs(b.values) + np.abs(c.values)
        unit = 2.0 ** -(53 if format == "fp64" else 24)
        found[3, 4] += 3 * (depth + 2) * unit * size[3, 4]
        wrong = operand_of("D", found, result_format(format)).words
        assert compare_product(format, wrong, a.values, b.values, c.values).wrong == 1


def test_integers_are_equal_or_wrong() -> None:
    a = operand_of("A", np.array([[-(1 << 63), 5]]), "int64")
    b = operand_of("B", np.array([[(1 << 63) - 1], [-7]]), "int64")
    words = pgemm("int64", a.words, b.words)
    assert compare_product("int64", words, a.values, b.values).wrong == 0
    found = compare_product("int64", words ^ np.uint64(1 << 63), a.values, b.values)
    assert (found.wrong, found.verdict) == (
        1, "NumPy, modulo the width of sums: 1 value, 1 DIFFERENT",
    )  # fmt: skip


def test_what_is_not_finite_is_left_out() -> None:
    found = within("it", np.array([np.inf, 1.0, np.nan, 2.0]), np.array([np.inf, 1.0, 3.0, 3.0]),
                   np.full(4, 0.5))  # fmt: skip
    assert (found.wrong, found.left_out, found.largest, found.worst) == (1, 2, 1.0, 2.0)
    assert found.verdict == (
        "it: largest error 1.00e+00, 200.00% of what rounding explains, 1 BEYOND it; "
        "2 not finite, left out"
    )
    assert together([found, found]).wrong == 2
    nothing = within("it", np.array([1.0]), np.array([1.0]), np.array([0.0]))
    assert (nothing.wrong, nothing.worst) == (0, 0.0)


@pytest.mark.parametrize("format", [name for name in FORMATS_OF_GTA if name.startswith("int")])
def test_ends_of_integers(format: str) -> None:
    """Accepts the ends of the range as integers of any type, and whole numbers as floats."""
    fmt = FORMATS[format]
    assert isinstance(fmt, IntFormat)
    ends = np.array([fmt.lowest, fmt.highest, -1, 0], np.int64)
    assert operand_of("A", ends, format).values.tolist() == ends.tolist()
    small = np.array([-5.0, 7.0])
    assert operand_of("A", small, format).words.tolist() == [(1 << fmt.bits) - 5, 7]
    assert operand_of("A", np.array([True]), format).words.tolist() == [1]
    beyond = {
        "uint64": np.array([fmt.highest + 1, 1], np.uint64),
        "float64": np.array([2.0 ** (fmt.bits - 1), 1.0]),
        "nan": np.array([np.nan, 1.0]),
        "below": np.array([np.nextafter(float(fmt.lowest), -np.inf) - 1, 1.0]),
    }
    for name, array in beyond.items():
        with pytest.raises(UserError) as caught:
            operand_of(name, array, format)
        assert str(caught.value) == (
            f"{name}: 1 of 2 values are not in {fmt.lowest}..{fmt.highest}, the range of {format}"
        )
    with pytest.raises(UserError, match=f"^x: 1 of 2 values are not integers, which {format} "
                                        f"needs$"):  # fmt: skip
        operand_of("x", np.array([0.5, 1.0]), format)


def test_floats_are_rounded_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    found = operand_of("x", np.array([1.0, 0.1, 1e9, 1e-30]), "fp16")
    assert found.rounded == 3
    assert found.values.tolist() == [1.0, float(np.float16(0.1)), np.inf, 0.0]
    assert capsys.readouterr().err.splitlines() == [
        "warning: x: 1 of 4 values exceed the largest fp16 value 65504 and become infinite",
        "warning: x: 1 of 4 values are too small for fp16 and become zero",
    ]
