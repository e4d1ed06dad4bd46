"""Operands that are smaller than a block, or empty, or larger than the memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tilewright.cli import main
from tilewright.verif.kit.commands import check_refused


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = np.eye(5, k=1) + np.eye(5, k=-1)
    contents = {
        "five": np.arange(25.0).reshape(5, 5) % 7 + 9 * np.eye(5), "path": path,
        "few": np.arange(5.0), "taps": np.ones((3, 3)), "nan": np.full((3, 3), np.nan),
        "wider": np.ones((5, 5)), "empty": np.zeros((0, 3)), "many": np.zeros(20_000),
        "tall": np.zeros((9000, 1)), "flat": np.zeros((1, 9000)),
    }  # fmt: skip
    for name, array in contents.items():
        np.save(f"{name}.npy", array)
    Path("seven.txt").write_text("7\n")
    Path("empty.txt").write_text("\n")
    return tmp_path


SMALL = [
    "strassen five.npy five.npy", "strassen five.npy five.npy --method tall",
    "strassen path.npy five.npy --method rectangular", "eliminate five.npy", "closure path.npy",
    "spmul path.npy five.npy",
    "closure path.npy --words minplus", "distances path.npy", "fft few.npy",
    "stencil path.npy --weights taps.npy --steps 1", "bigmul seven.txt seven.txt",
    "polyval few.npy few.npy",
]  # fmt: skip


@pytest.mark.parametrize("words", SMALL)
@pytest.mark.usefixtures("files")
def test_operands_smaller_than_a_block(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *words.split(), "--m", "256"]) == 0
    told = "operands are smaller than a block of 16 x 16: padded to one"
    assert told in " ".join(capsys.readouterr().out.split())


@pytest.mark.usefixtures("files")
def test_nothing_is_said_of_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "eliminate", "five.npy", "--m", "25"]) == 0
    assert main(["run", "polyval", "few.npy", "few.npy", "--m", "4"]) == 0
    assert main(["run", "fft", "few.npy", "--m", "4"]) == 0  # of five: a convolution, said
    out = capsys.readouterr().out
    assert "padded" not in out
    assert "convolution of 16 places" in " ".join(out.split())


MANY = "20000 x 4096 elements are too many; at most 67108864 are allowed"
AN_ELEMENT = "empty.npy: must have at least one element, not 0 x 3"
BAD_WORDS = {
    **{
        f"{words} --words fp64": AN_ELEMENT
        for words in (
            "strassen empty.npy five.npy", "strassen five.npy empty.npy", "eliminate empty.npy",
            "eliminate five.npy --solve empty.npy", "closure empty.npy", "distances empty.npy",
            "fft empty.npy", "stencil empty.npy --weights taps.npy --steps 2",
            "stencil path.npy --weights empty.npy --steps 2", "polyval empty.npy few.npy",
            "polyval few.npy empty.npy",
        )
    },
    "bigmul empty.txt seven.txt": "empty.txt: must hold an integer, decimal, or hexadecimal behind "
    "0x, not ''",
    "polyval few.npy many.npy --m 16777216": f"the powers of many.npy: {MANY}",
    "strassen tall.npy flat.npy --method rectangular": "the product of tall.npy and flat.npy, in "
    "blocks: 9008 x 9008 elements are too many; at most 67108864 are allowed",
    "stencil path.npy --weights wider.npy --steps 2": "wider.npy: must be 3 x 3, not 5 x 5",
    "stencil path.npy --weights nan.npy --steps 2": "nan.npy: must hold finite numbers, not nan or "
    "inf",
}  # fmt: skip


@pytest.mark.parametrize("words", BAD_WORDS)
def test_bad_words(words: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_refused(["run", *words.split()], BAD_WORDS[words], files, capsys)
