"""``tilewright table tcu-low-precision``: its figures beside the theorems, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tilewright.cli import main
from tilewright.verif.kit.commands import check_refused
from tilewright.verif.kit.pages import page

NAME = "tcu-low-precision"


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    assert main(["table", NAME, "--set", "l=1000", "--json", "table.json"]) == 0
    return json.loads(Path("table.json").read_text())["parts"]


def rows_of(part: Any) -> dict[str, dict[str, float | None]]:
    columns = part["columns"]
    return {row["label"]: dict(zip(columns, row["ours"], strict=True)) for row in part["rows"]}


def test_limbs(parts: Any) -> None:
    rows = rows_of(parts[0])
    n, s, latency, q = 1024, 16, 1000, 64
    for words, count in (("int16", 2), ("int32", 4), ("fp32", 3), ("fp64", 7)):
        row = rows[f"tall, side 1,024, {words}"]
        assert (row["limbs"], row["time of a word"]) == (count, count**2)
        assert row["l beside it"] == pytest.approx(latency / count)
        assert row["calls"] == count * q * q
        wide = n**3 / s + q * q * latency
        narrow = count**2 * n**3 / s + count * q * q * latency
        assert row["millions of words"] == pytest.approx(wide / 1e6)
        assert row["millions of limbs"] == pytest.approx(narrow / 1e6)
        assert row["times"] == pytest.approx(narrow / wide)
        assert 1 < (row["times"] or 0) < count**2
    closure = rows["closure, 1,024 vertices, int8"]
    assert (closure["limbs"], closure["times"], closure["times "]) == (1, 1, 1)
    assert (rows["strassen, side 1,024, int16"]["calls"]) == 2 * 7**6
    long = rows["schoolbook, 1,048,576 bits, pieces of 29 and of 8"]
    assert (long["limbs"], long["calls"]) == (None, 2**20 // 8 // 256)


def test_sparse_operands(parts: Any) -> None:
    for row in rows_of(parts[1]).values():
        assert (row["m"], row["time of a word"], row["l beside it"]) == (512, 0.5, 2000)
        assert 0.5 <= (row["times"] or 0) < 0.53
    half = rows_of(parts[1])["A B, A sparse, 1,024 x 1,024 x 1,024"]
    assert half["millions, 2:4"] == pytest.approx((1024**3 / 32 + 2048 * 1000) / 1e6)
    assert half["millions of places"] == pytest.approx(1024**3 / 32 / 4 / 1e6)


def test_figures_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["table", NAME, "--json", "table.json"]) == 0
    rows = rows_of(json.loads(Path("table.json").read_text())["parts"][0])
    pieces = "1,048,576 bits, pieces of 29 and of 8"
    shown = {
        "tall, side 1,024, int32": "15.82", f"schoolbook, {pieces}": "13.06",
        f"karatsuba, {pieces}": "4.98",
    }  # fmt: skip
    text = page("tcu.md").read_text()
    for label, figure in shown.items():
        assert f"{rows[label]['times']:.2f}" == figure
        assert f"{figure} times" in text


BAD_WORDS = {
    "--target ecp5": f"{NAME} is computed by formulas: no --target, not 'ecp5'",
    "--set m=48": "--m must be a square, as 36 and 49 are, not 48",
    "--set m=9": "m must be the square of an even side, for 2:4 sparsity, not 9",
    "--set l=-1": "l must be a number in 0..1000000000000000, not '-1'",
    "--set m=x": "m must be an integer in 4..65536, not 'x'",
    "--set s=4": f"{NAME}: unknown parameter 's'; it has m and l",
}


@pytest.mark.parametrize("words", BAD_WORDS)
def test_bad_words(words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_refused(["table", NAME, *words.split()], BAD_WORDS[words], tmp_path, capsys)
