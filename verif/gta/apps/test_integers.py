"""Long integers in files."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from tilewright.apps.common.integers import MOST_BITS, read_integer, write_integer
from tilewright.errors import UserError
from tilewright.verif.kit.sampling import by_size

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("suffix", [".txt", ".hex"])
def test_there_and_back(suffix: str, tmp_path: Path) -> None:
    """Lengths around where halves are converted by themselves; Python's limit stays."""
    rng = random.Random(77)
    limit, path = sys.get_int_max_str_digits(), tmp_path / f"x{suffix}"
    lengths = [0, 1, 64, 4095, 4096, 4097, 8192, 8193, 50_000, by_size(60_000, 300_000, MOST_BITS)]
    for bits in lengths:
        for value in (rng.getrandbits(bits), -((1 << bits) - 1), 1 << max(0, bits - 1)):
            write_integer(path, value)
            assert read_integer(path) == value
    assert sys.get_int_max_str_digits() == limit


def test_text_is_pythons(tmp_path: Path) -> None:
    value = -(3**2000)
    write_integer(tmp_path / "x.txt", value)
    assert (tmp_path / "x.txt").read_text() == f"{value}\n"
    write_integer(tmp_path / "x.hex", value)
    assert (tmp_path / "x.hex").read_text() == f"{value:#x}\n"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("a.txt", "12\n34\n", 1234),
        ("a", " +0x1F ", 31),
        ("a.hex", "-ff", -255),
        ("a.HEX", "0XFf\r\n", 255),
        ("a.txt", "-0", 0),
        ("a.txt", "000123", 123),
    ],
)
def test_forms(name: str, text: str, value: int, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert read_integer(tmp_path / name) == value


DECIMAL = "must hold an integer, decimal, or hexadecimal behind 0x, not"


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.txt", "", f"{DECIMAL} ''"),
        ("a.txt", "ff", f"{DECIMAL} 'ff'"),
        ("a.txt", "1.5", f"{DECIMAL} '1.5'"),
        ("a.txt", "1_000", f"{DECIMAL} '1_000'"),
        ("a.txt", "--5", f"{DECIMAL} '--5'"),
        ("a.txt", "0x", f"{DECIMAL} '0x'"),
        ("a.txt", "\u0663", f"{DECIMAL} '\\xd9\\xa3'"),
        ("a.txt", "x" * 50, f"{DECIMAL} '{'x' * 40}'..."),
        ("a.hex", "fg", "must hold an integer, hexadecimal, not 'fg'"),
        ("a.hex", "1" + "0" * (MOST_BITS // 4),
         f"an integer must have at most {MOST_BITS} bits, not {MOST_BITS + 1}"),
        ("a.txt", " " * ((1 << 22) + 1), "4194305 bytes are too many; at most 4194304 are allowed"),
    ],
)  # fmt: skip
def test_refused(name: str, text: str, line: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError) as caught:
        read_integer(tmp_path / name)
    assert str(caught.value) == f"{tmp_path / name}: {line}"
