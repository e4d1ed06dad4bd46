"""``tilewright run bigmul``: results, reports, and one line for any error."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tilewright.apps.common.integers import read_integer
from tilewright.cli import main
from tilewright.sim.tcu.formulas import integers as costs
from tilewright.verif.kit.commands import check_refused

A, B = random.Random(1).getrandbits(9000) | 1 << 8999, random.Random(2).getrandbits(7000)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    contents = {
        "a.txt": hex(A), "b.hex": f"{B:x}", "zero.txt": "0", "minus.txt": "-12", "word.txt": "1x2",
        "long.hex": "f" * (1 << 18) + "f",
        "half.hex": "f" * (1 << 16),
    }  # fmt: skip
    for name, text in contents.items():
        Path(name).write_text(text + "\n")
    return tmp_path


def report_of(words: str) -> dict[str, Any]:
    assert main([*words.split(), "--json", "report.json"]) == 0
    report: dict[str, Any] = json.loads(Path("report.json").read_text())
    return report


@pytest.mark.usefixtures("files")
def test_products(capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of("run bigmul a.txt b.hex --m 16 --l 50 -o out.hex")
    assert int(Path("out.hex").read_text(), 16) == A * B
    cost = costs.karatsuba(300, 4)
    assert (report["calls"], report["rows"], report["cpu_words"]) == (3**5, cost.rows, cost.cpu)
    assert report["unit_time"] == cost.unit_time(4, 50)
    assert (report["piece_bits"], report["halvings"]) == (30, 5)
    assert report["pieces"] == {"a": 300, "b": -(-B.bit_length() // 30)}
    assert report["bits"] == {"a": 9000, "b": B.bit_length(), "product": (A * B).bit_length()}
    (agreement,) = report["references"]
    assert (agreement["criterion"], agreement["wrong"]) == ("exact", 0)
    out = " ".join(capsys.readouterr().out.split())
    assert "of 30 bits, halved 5 times: products of 10" in out

    report = report_of("run bigmul b.hex a.txt --method schoolbook --piece-bits 16 -o out.txt")
    assert read_integer(Path("out.txt")) == A * B
    cost = costs.product(563, -(-B.bit_length() // 16), 16, piece=16)
    assert (report["calls"], report["cpu_words"]) == (cost.calls, cost.cpu)
    assert report["halvings"] == 0

    assert report_of("run bigmul a.txt zero.txt --weak")["bits"]["product"] == 0


@pytest.mark.parametrize(
    ("backend", "piece"), [("m3xu", 10), ("engine_m3xu", 10), ("simd2", 29), ("gta", 29)]
)
@pytest.mark.usefixtures("files")
def test_pieces_are_as_the_hardware_holds_them(backend: str, piece: int) -> None:
    """m3xu: 2 * 10 + log2 16 bits are 24, and integers of 25 have a sign."""
    report = report_of(f"run bigmul a.txt b.hex --backend {backend} -o out.hex")
    assert int(Path("out.hex").read_text(), 16) == A * B
    assert report["piece_bits"] == piece
    assert report["measured_cycles"] > 0


@pytest.mark.usefixtures("files")
def test_a_wrong_result_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong(unit: Any, a: int, b: int, piece: int) -> int:
        return a * b ^ 5

    monkeypatch.setattr("tilewright.apps.tcu.polynomials.karatsuba", wrong)
    assert main(["run", "bigmul", "a.txt", "b.hex"]) == 1
    assert "2 DIFFERENT" in capsys.readouterr().out


BAD_WORDS = {
    "a.txt minus.txt": "minus.txt: must hold an integer from 0, not a negative one",
    "a.txt word.txt": "word.txt: must hold an integer, decimal, or hexadecimal behind 0x, not "
    "'1x2'",
    "a.txt long.hex": "long.hex: an integer must have at most 1048576 bits, not 1048580",
    "a.txt b.hex --method toom": "--method must be one of karatsuba, schoolbook, not 'toom'",
    "a.txt b.hex --piece-bits 0": "--piece-bits must be an integer in 1..64, not '0'",
    "a.txt b.hex --piece-bits 30": "--piece-bits must be in 1..29, for int64 to hold sums of 16 "
    "products, not 30",
    "a.txt b.hex --piece-bits 11 --backend m3xu": "--piece-bits must be in 1..10, for integers of "
    "25 bits of m3xu to hold sums of 16 products, not 11",
    "a.txt b.hex -o out.npy": "out.npy: must end in .txt or .hex, not '.npy'",
    "a.txt b.hex --l -1": "--l must be a number in 0..1000000000000000, not '-1'",
    "a.txt b.hex --m 15": "--m must be a square, as 9 and 16 are, not 15",
    "half.hex half.hex --method schoolbook --piece-bits 1": "the product of half.hex and half.hex: "
    "4,295,213,056 operations are too many; at most 200,000,000 are allowed: choose another --m or "
    "wider pieces",
}


@pytest.mark.parametrize("words", BAD_WORDS)
def test_bad_words(words: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_refused(["run", "bigmul", *words.split()], BAD_WORDS[words], files, capsys)
