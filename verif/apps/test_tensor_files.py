"""Tensors from files and to files: what is read, and every refusal in one line."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.apps.common import matrix_files as matrix_market
from tilewright.apps.common import tensor_files as tns
from tilewright.apps.common.tensor_files import read_tensor, write_tensor
from tilewright.errors import UserError
from tilewright.sim.sparse.tensor import Tensor
from tilewright.verif.kit.sampling import by_size

pytestmark = pytest.mark.quick

GOOD = """# a tensor of three modes

1 1 1 1.5
 4\t2 1   -2e-3 # a comment behind it
2 1 2 nan
2 1 2 .5
3 2 2 +Inf
+3 1 1 7.
"""


def read(tmp_path: Path, text: str, **named: Any) -> Tensor:
    path = tmp_path / "x.tns"
    path.write_text(text)
    return read_tensor(path, **named)


def refused(tmp_path: Path, text: str, **named: Any) -> str:
    """Returns the reason that the error gives after the file's name."""
    with pytest.raises(UserError) as caught:
        read(tmp_path, text, **named)
    name, _, why = str(caught.value).partition(": ")
    assert name == str(tmp_path / "x.tns")
    assert "\n" not in why
    return why


def same(first: Tensor, second: Tensor) -> bool:
    """Bit for bit."""
    return (
        first.shape == second.shape
        and np.array_equal(first.indices, second.indices)
        and first.values.dtype == second.values.dtype
        and np.array_equal(first.values.view(np.int64), second.values.view(np.int64))
    )


def test_what_a_file_may_have(tmp_path: Path) -> None:
    found = read(tmp_path, GOOD)
    assert found.shape == (4, 2, 2)
    assert found.indices.tolist() == [
        [0, 0, 0], [3, 1, 0], [1, 0, 1], [1, 0, 1], [2, 1, 1], [2, 0, 0],
    ]  # fmt: skip
    assert str(found.values.tolist()) == "[1.5, -0.002, nan, 0.5, inf, 7.0]"
    for text in (GOOD.replace("\n", "\r\n"), GOOD.replace("\n", "\r"), GOOD[:-1]):
        (tmp_path / "x.tns").write_bytes(text.encode())
        assert same(read_tensor(tmp_path / "x.tns"), found)
    assert same(read(tmp_path, "# \xe9\n" + GOOD), found)


def test_shapes_and_bases(tmp_path: Path) -> None:
    assert read(tmp_path, "1 1 5\n", shape=(3, 9)).shape == (3, 9)
    found = read(tmp_path, "0 0 5\n2 1 6\n", zero_based=True)
    assert (found.shape, found.indices.tolist()) == ((3, 2), [[0, 0], [2, 1]])
    assert read(tmp_path, "1 2 6\n", zero_based=True).shape == (2, 3)
    empty = read(tmp_path, "# nothing\n\n", shape=(3, 9, 2))
    assert (empty.shape, empty.nnz) == ((3, 9, 2), 0)
    assert read(tmp_path, f"1 {2**32 - 1} 1\n").shape == (1, 2**32 - 1)


ENTRY = "an index for each of 3 modes and a value"

REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "empty": ("", {}, "has no entries, and their number of modes is not known"),
    "comments": ("# no\n\n", {}, "has no entries, and their number of modes is not known"),
    "one field": ("# x\n3\n1 2 3\n", {}, "line 2: must have 3 to 7 fields, an index for each of 2 "
        "to 6 modes and a value, not 1"),
    "two fields": ("1 2.5\n", {}, "line 1: must have 3 to 7 fields, an index for each of 2 to 6 "
        "modes and a value, not 2"),
    "eight fields": ("1 2 3 4 5 6 7 8\n", {}, "line 1: must have 3 to 7 fields, an index for each "
        "of 2 to 6 modes and a value, not 8"),
    "missing field": ("1 1 1 1\n# x\n1 1 2\n", {}, f"line 3: 3 fields, but line 1 has 4: {ENTRY}"),
    "lone field": ("1 1 1 1\n9\n", {}, f"line 2: 1 field, but line 1 has 4: {ENTRY}"),
    "extra field": ("\n1 1 1 1\n1 1 2 1 1\n", {}, f"line 3: 5 fields, but line 2 has 4: {ENTRY}"),
    "comment cuts": ("1 1 1 1\n1 1 #2 1\n", {}, f"line 2: 2 fields, but line 1 has 4: {ENTRY}"),
    "order of shape": ("1 1 1 1\n", {"shape": (4, 4)},
        "line 1: indices of 3 modes, but the shape has 2"),
    "text": ("1 1 1 1\n1 two 1 1\n", {},
        "line 2: index 'two' of mode 2 must be an integer in 1..4294967295"),
    "text at once": ("hello there world\n", {},
        "line 1: index 'hello' of mode 1 must be an integer in 1..4294967295"),
    "fraction": ("1 1 1 1\n1 1 2.0 1\n", {},
        "line 2: index '2.0' of mode 3 must be an integer in 1..4294967295"),
    "underscore": ("1_0 1 1\n", {},
        "line 1: index '1_0' of mode 1 must be an integer in 1..4294967295"),
    "huge": (f"1 {'9' * 60} 1\n", {},
        f"line 1: index '{'9' * 40}...' of mode 2 must be an integer in 1..4294967295"),
    "bytes": ("\x00\x01 1 1\n", {},
        "line 1: index '\\x00\\x01' of mode 1 must be an integer in 1..4294967295"),
    "value": ("1 1 1 1\n1 1 1 0x10\n", {}, "line 2: value '0x10' must be a number"),
    "value underscore": ("1 1 1 1_0\n", {}, "line 1: value '1_0' must be a number"),
    "overflow": ("1 1 -inf\n1 2 1e308\n1 3 -1e309\n", {},
        "line 3: value '-1e309' must be one that float64 reaches"),
    "complex": ("1 1 1+2j\n", {}, "line 1: value '1+2j' must be a number"),
    "negative": ("1 1 1 1\n1 -2 1 1\n", {},
        "line 2: index '-2' of mode 2 must be an integer in 1..4294967295"),
    "index 0": ("1 1 1 1\n2 0 1 1\n", {}, "line 2: index '0' of mode 2 must be an integer in "
        "1..4294967295, or from 0 on with --zero-based"),
    "zero-based": ("3 1 0 1\n1 0 1 2\n0 4 0 3\n", {}, "line 1: index 0 of mode 3: every mode's "
        "indices begin with 0, so the file is zero-based: give --zero-based"),
    "negative though zero-based": ("0 0 1\n0 -1 1\n", {"zero_based": True},
        "line 2: index '-1' of mode 2 must be an integer in 0..4294967294"),
    "width": ("1 65536 1\n1 65537 1\n", {"largest": 65536},
        "line 2: index '65537' of mode 2 must be an integer in 1..65536"),
    "width, zero-based": ("0 65536 1\n", {"largest": 65536, "zero_based": True},
        "line 1: index '65536' of mode 2 must be an integer in 0..65535"),
    "32 bits": (f"1 1 1\n{2**32} 1 1\n", {},
        "line 2: index '4294967296' of mode 1 must be an integer in 1..4294967295"),
    "shape": ("1 1 1\n2 9 1\n", {"shape": (2, 8)},
        "line 2: index '9' of mode 2 must be an integer in 1..8"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("piece", [1 << 16, 1])
def test_malformed_tns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, piece: int
) -> None:
    """The first line that is wrong, however many are looked at at once."""
    monkeypatch.setattr(tns, "_PIECE", piece)
    text, named, why = REFUSED[case]
    assert refused(tmp_path, text, **named) == why


def plainly(text: str) -> list[tuple[list[int], float]] | int:
    """The entries of a file by its rules, or the number of the first line that breaks them."""
    found: list[tuple[list[int], float]] = []
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        try:
            indices, value = [int(word) for word in words[:-1]], float(words[-1])
        except ValueError:
            return number
        if abs(value) == float("inf") and "inf" not in words[-1]:
            return number
        if not 2 <= len(indices) <= 6 or min(indices) < 1 or max(indices) >= 1 << 32:
            return number
        if found and len(found[0][0]) != len(indices):
            return number
        found.append((indices, value))
    return found


def test_files_with_a_slip(tmp_path: Path) -> None:
    """Files with at most one character changed: either their entries or the first wrong line."""
    for seed in range(7200, 7200 + by_size(20, 150, 3000)):
        print(f"seed {seed}")
        check_slip(tmp_path, random.Random(seed))


def check_slip(tmp_path: Path, rng: random.Random) -> None:
    order = rng.randint(2, 6)
    lines = [
        " ".join(
            [*(str(rng.choice([1, 2, 30, 2**32 - 1])) for _ in range(order)),
             rng.choice(["1", "-2.5", "1e-3", "inf", "7e300"])]
        )
        for _ in range(rng.randint(1, 12))
    ]  # fmt: skip
    text = "\n".join(lines) + "\n"
    at = rng.randrange(len(text))
    text = text[:at] + rng.choice("0123456789 .-+ex#\n\t") + text[at + rng.choice([0, 1, 1]) :]
    expected = plainly(text)
    if isinstance(expected, int):
        assert refused(tmp_path, text).startswith(f"line {expected}: ")
    elif not expected:
        assert refused(tmp_path, text).startswith("has no entries")
    else:
        found = read(tmp_path, text)
        assert found.indices.tolist() == [[n - 1 for n in indices] for indices, _ in expected]
        assert found.values.tolist() == [value for _, value in expected]
        assert found.shape == tuple(
            max(column) for column in zip(*(indices for indices, _ in expected), strict=True)
        )


def some(order: int, nnz: int) -> Tensor:
    """Values of every kind; the last index of each mode is among the places."""
    rng = np.random.default_rng(7300 + order)
    shape = tuple(rng.integers(1, 2**32, order).tolist())
    indices = np.stack([rng.integers(0, size, nnz) for size in shape], axis=1)
    indices[-1] = np.array(shape) - 1
    values = rng.integers(-(2**63), 2**63 - 1, nnz).view(np.float64).copy()
    values[np.isnan(values)] = np.nan
    values[:6] = [-0.0, np.inf, 5e-324, 0.1, 2**53, np.nan]
    return Tensor(shape=shape, indices=indices, values=values)


@pytest.mark.parametrize("order", range(2, 7))
@pytest.mark.parametrize("zero_based", [False, True])
def test_written_tns_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: int, zero_based: bool
) -> None:
    monkeypatch.setattr(tns, "_PIECE", 7)
    path = tmp_path / "x.tns"
    wanted = some(order, 50)
    write_tensor(path, wanted, zero_based=zero_based)
    assert same(read_tensor(path, zero_based=zero_based), wanted)
    whole = Tensor(shape=(2, 2), indices=wanted.indices[:1, :2] * 0, values=np.array([-(2**53)]))
    write_tensor(path, whole)
    assert path.read_text() == "1 1 -9007199254740992\n"


@pytest.mark.parametrize("whole", [False, True])
def test_matrix_market(tmp_path: Path, whole: bool) -> None:
    """Writes and reads a tensor with its shape and every value; integers remain integers."""
    rng = np.random.default_rng(7400)
    numbers = rng.integers(-(2**40), 2**40, 30)
    values = numbers if whole else numbers * 0.1
    indices = np.stack([rng.integers(0, 90, 30), rng.integers(0, 70_000, 30)], axis=1)
    wanted = Tensor(shape=(90, 70_000), indices=indices, values=values)
    path = tmp_path / "x.mtx"
    write_tensor(path, wanted)
    assert same(read_tensor(path), wanted)
    with pytest.raises(UserError) as caught:
        read_tensor(path, largest=65_535)
    assert str(caught.value) == f"{path}: mode 1 must have at most 65535, not 70000"


def test_other_files(tmp_path: Path) -> None:
    pattern = tmp_path / "p.mtx"
    pattern.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 1\n3 1\n")
    found = read_tensor(pattern)
    assert sorted(map(tuple, found.indices.tolist())) == [(0, 2), (2, 0)]
    assert found.values.tolist() == [1, 1]
    none = tmp_path / "n.mtx"
    none.write_text("%%MatrixMarket matrix coordinate real general\n3 4 0\n")
    assert (read_tensor(none).shape, read_tensor(none).nnz) == ((3, 4), 0)
    dense = tmp_path / "d.npy"
    array = np.array([[[0, 1], [2, 0]], [[0, 0], [0, -3]]])
    np.save(dense, array)
    found = read_tensor(dense)
    assert found.values.dtype == np.int64
    assert found.indices.tolist() == [[0, 0, 1], [0, 1, 0], [1, 1, 1]]
    assert found.values.tolist() == [1, 2, -3]
    np.save(dense, array.astype(np.float32) / 2)
    assert read_tensor(dense).values.tolist() == [0.5, 1.0, -1.5]


def test_other_refusals(tmp_path: Path) -> None:
    def told(name: str, array: Any = None) -> str:
        if array is not None:
            np.save(tmp_path / name, array)
        with pytest.raises(UserError) as caught:
            read_tensor(tmp_path / name)
        return str(caught.value).removeprefix(f"{tmp_path / name}: ")

    assert told("x.csv") == "must be a .tns, .npy, .npz, .mtx or .mtx.gz file, not '.csv'"
    assert told("no.tns") == "cannot be read: No such file or directory"
    assert told("z.npy", np.ones((2, 2)) * 1j) == "holds complex numbers; values must be real"
    assert told("v.npy", np.ones(4)) == "must have 2 to 6 modes, not 1"
    assert told("s.npy", np.array(["a", "b"])[None]).startswith("must hold integers, float16")
    three = some(3, 9)
    with pytest.raises(UserError, match=r"a Matrix Market file has 2 modes, not 3$"):
        write_tensor(tmp_path / "x.mtx", three)
    with pytest.raises(UserError, match="cannot be written: "):
        write_tensor(tmp_path / "none" / "x.tns", three)


def test_matrix_market_with_a_slip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with at most one character changed: by pieces, by lines and by lines alone they are
    read, or refused, alike."""
    for seed in range(7500, 7500 + by_size(20, 150, 3000)):
        print(f"seed {seed}")
        with monkeypatch.context() as patch:
            check_ways(tmp_path, patch, random.Random(seed))


def check_ways(tmp_path: Path, patch: pytest.MonkeyPatch, rng: random.Random) -> None:
    field, symmetry = rng.choice(["real", "integer", "pattern"]), "general"
    if field != "pattern":
        symmetry = rng.choice(["general", "symmetric", "skew-symmetric"])
    values = {
        "real": ["1", "-2.5", "1e-3", "1e+05", "inf", "7e300"],
        "integer": ["1", "-20", "9007199254740992"],
        "pattern": [""],
    }[field]
    lines = [
        f"{2 + rng.randrange(28)} {1 + rng.randrange(2) * rng.randrange(30)} {rng.choice(values)}"
        for _ in range(rng.randint(1, 12))
    ]
    text = "\n".join(lines) + "\n"
    at = rng.randrange(len(text))
    text = text[:at] + rng.choice("0123456789 .-+ex%#\n\t") + text[at + rng.choice([0, 1, 1]) :]
    path = tmp_path / "x.mtx"
    path.write_text(
        f"%%MatrixMarket matrix coordinate {field} {symmetry}\n30 30 {len(lines)}\n{text}"
    )

    def outcome() -> str:
        try:
            found = read_tensor(path)
        except UserError as error:
            return str(error)
        return repr((found.shape, found.indices.tolist(), found.values.tolist()))

    whole = outcome()
    patch.setattr(matrix_market, "_PIECE", 2)
    pieces = outcome()
    patch.setattr(matrix_market, "_right_entries", lambda lines, header: None)
    assert whole == pieces == outcome()


@pytest.mark.parametrize("end", ["", " ", "\t", "\n \n\t"])
def test_blanks_at_the_end(tmp_path: Path, end: str) -> None:
    """SciPy's reader crashes at a blank that no line end follows."""
    path = tmp_path / "x.mtx"
    path.write_text(f"%%MatrixMarket matrix coordinate real general\n3 3 1\n1 2 5{end}")
    for _ in range(20):
        assert read_tensor(path).values.tolist() == [5.0]
