"""Matrices from .mtx.gz and .npz, and to them: as unpacked; what is wrong gets one line."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmread, mmwrite
from tilewright.apps.common import npz
from tilewright.apps.common.files import write_whole
from tilewright.apps.common.first_lines import check_first_lines
from tilewright.apps.common.matrix_files import read_matrix_file, write_array
from tilewright.apps.common.tensor_files import read_tensor, write_tensor
from tilewright.errors import UserError
from tilewright.verif.kit.commands import SMALLEST, Run

HEAD = b"%%MatrixMarket matrix coordinate real general\n"
TEXT = HEAD + b"% a comment\n3 4 2\n1 1 2.5\n3 4 -1\n"
SEED = 5


def matrix(form: str) -> Any:
    generator = np.random.default_rng(SEED)
    return sparse.random_array((6, 8), density=0.3, rng=generator, format="coo").asformat(form)


def said(path: Path) -> str:
    """The line with which a file is refused, without its path."""
    with pytest.raises(UserError) as caught:
        read_matrix_file(path)
    line = str(caught.value)
    assert line.startswith(f"{path}: ")
    assert "\n" not in line
    return line.removeprefix(f"{path}: ")


def test_matrix_market(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.mtx", tmp_path / "a.MTX.gz"
    plain.write_bytes(TEXT)
    packed.write_bytes(gzip.compress(TEXT[:40]) + gzip.compress(TEXT[40:]))  # two members
    assert check_first_lines(packed) == (3, 4)
    found, expected = read_matrix_file(packed), read_matrix_file(plain)
    assert (found != expected).nnz == 0
    assert np.array_equal(read_tensor(packed).values, [2.5, -1])


def test_a_packed_file_that_is_wrong(tmp_path: Path) -> None:
    whole, path = gzip.compress(TEXT), tmp_path / "a.mtx.gz"

    def told(content: bytes) -> str:
        path.write_bytes(content)
        return said(path)

    assert told(whole[:-9]) == "damaged gzip file: it ends too early"
    assert told(whole[:8]) == "damaged gzip file: it ends too early"
    assert told(TEXT).startswith("not a whole gzip file: Not a gzipped file")
    assert told(whole[:-6] + b"\0\0\0\0\0\0").startswith("not a whole gzip file: ")
    assert told(whole[:12] + b"\xff\xff" + whole[14:]).startswith(("damaged gzip file: ", "line "))
    assert told(gzip.compress(b"")).startswith("the file is empty; ")
    assert told(gzip.compress(HEAD + b"2 2 1\n1 3 5\n")).startswith("line 3: ")
    assert told(b"").startswith("the file is empty; ")
    for wrong in (TEXT, whole[:8], gzip.compress(b"")):
        path.write_bytes(wrong)
        with pytest.raises(UserError, match=r"a.mtx.gz: (not a whole|damaged gzip|the file)"):
            check_first_lines(path)


def test_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuses both bombs without unpacking them as a whole."""
    path = tmp_path / "a.mtx.gz"
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        file.write(TEXT)
        for _ in range(40):
            file.write(b"\n" * (1 << 20))
    path.write_bytes(packed.getvalue())
    assert said(path) == "unpacks to more than 16777728 bytes; 2 entries take less"
    path.write_bytes(gzip.compress(b"%" * (40 << 20)))
    assert said(path).startswith("line 1: not a Matrix Market header; ")
    monkeypatch.setattr(npz, "_MEMBER", 1 << 20)
    archive = tmp_path / "a.npz"
    np.savez_compressed(archive, x=np.zeros(1 << 17))
    assert said(archive) == "x.npy: 1048704 bytes are too many; at most 1048576 are allowed"


def test_npz_of_one_array(tmp_path: Path) -> None:
    path, values = tmp_path / "a.npz", np.arange(12.0).reshape(3, 4)
    for save in (np.savez, np.savez_compressed):
        save(path, anything=values)
        assert np.array_equal(read_matrix_file(path), values)
        assert check_first_lines(path) is None
    assert read_tensor(path).nnz == 11


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_npz_of_scipy(form: str, tmp_path: Path) -> None:
    path, expected = tmp_path / "a.npz", matrix(form)
    for whole in (expected, sparse.coo_matrix(expected).asformat(form)):
        sparse.save_npz(path, whole)
        seen: list[Any] = []

        def note(*shape: Any, into: list[Any] = seen) -> None:
            into.append(shape)

        found = read_matrix_file(path, note)
        assert seen == [(path, 6, 8)]
        assert found.format == "coo"
        assert np.array_equal(found.toarray(), expected.toarray())
    assert read_tensor(path).shape == (6, 8)


def test_an_archive_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, a=np.ones(2), b=np.ones(3), c=np.ones(1))
    assert said(path) == "must hold one array, not 3: a, b, c"
    np.savez(path)
    assert said(path) == "must hold one array, not none"
    np.savez(path, a=np.array([{}]))
    assert said(path).startswith("damaged or unsupported .npz file: Object arrays cannot be loaded")
    path.write_bytes(b"nothing")
    assert said(path) == "not a whole .npz file: File is not a zip file"
    np.savez(path, a=np.ones(200))
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    assert said(path).startswith("not a whole .npz file: ")
    path.write_bytes(whole[:400] + b"\1" + whole[401:])
    assert said(path).startswith("not a whole .npz file: Bad CRC-32")
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("notes.txt", "hello")
    assert said(path) == "must hold .npy arrays, not 'notes.txt'"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.npy", "hello")
    assert said(path).startswith("damaged or unsupported .npz file: a.npy is no array")


def test_a_sparse_archive_that_is_wrong(tmp_path: Path) -> None:
    """Indices are looked at before SciPy's compiled code is given them."""
    path, right = tmp_path / "a.npz", {"format": np.array(b"csr"), "shape": np.array([2, 3])}
    right |= {"data": np.ones(2), "indices": np.array([0, 2]), "indptr": np.array([0, 1, 2])}

    def told(**changes: Any) -> str:
        arrays = {name: a for name, a in (right | changes).items() if a is not None}
        np.savez(path, **arrays)  # type: ignore[arg-type]
        return said(path)

    np.savez(path, **right)  # type: ignore[arg-type]
    assert read_matrix_file(path).nnz == 2
    begin = "damaged or unsupported .npz file: "
    assert told(indices=None) == f"{begin}there is no indices"
    assert told(indices=np.array([0, 3])).startswith(begin)
    assert told(indices=np.array([0, -1])).startswith(begin)
    assert told(indptr=np.array([0, 9, 2])).startswith(begin)
    assert told(indptr=np.array([0, 1, 9])).startswith(begin)
    assert (
        told(format=np.array(b"xyz")) == "format must be one of csr, csc, coo, bsr, dia, not 'xyz'"
    )
    assert told(shape=np.array([2])) == "shape must be the rows and the columns, not [2]"
    line = "67108865 x 1 elements are too many; at most 67108864 are allowed"
    assert told(shape=np.array([(1 << 26) + 1, 1])) == line


def test_what_is_written(tmp_path: Path) -> None:
    """Read again by NumPy, SciPy and ourselves; the same matrix gives the same packed bytes."""
    values = np.random.default_rng(SEED).standard_normal((3, 5))
    packed, archive = tmp_path / "a.mtx.gz", tmp_path / "a.npz"
    write_array(packed, values)
    first = packed.read_bytes()
    write_array(packed, values)
    assert packed.read_bytes() == first
    assert np.array_equal(mmread(packed), values)
    assert np.array_equal(read_matrix_file(packed), values)
    write_array(archive, values)
    with np.load(archive) as found:
        assert [*found] == ["arr_0"]
        assert np.array_equal(found["arr_0"], values)
    tensor = read_tensor(archive)
    write_tensor(packed, tensor)
    assert np.array_equal(mmread(packed).toarray(), values)
    write_whole(packed, lambda file: mmwrite(file, sparse.coo_array(values)))
    assert np.array_equal(mmread(packed).toarray(), values)


def test_a_command(run: Run) -> None:
    """Operands packed, the result too; and what a command refuses early."""
    generator = np.random.default_rng(SEED)
    a, b = run.directory / "a.npz", run.directory / "b.mtx.gz"
    np.savez(a, generator.integers(-3, 4, (2, 3)).astype(float))
    write_array(b, generator.integers(-3, 4, (3, 2)).astype(float))
    d = run.directory / "d.npz"
    assert run("gemm", a, b, *SMALLEST, "--backend", "model", "-o", d) == 0
    with np.load(a) as left, np.load(d) as product:
        assert np.array_equal(product["arr_0"], left["arr_0"] @ mmread(b))
    graph, c = run.directory / "g.npz", run.directory / "c.mtx.gz"
    square = sparse.csr_array(np.array([[0.0, 2, 0], [1, 0, 3], [0, 0, 4]]))
    sparse.save_npz(graph, square)
    assert run("spgemm", graph, "--backend", "model", "-o", c) == 0
    assert np.array_equal(mmread(c).toarray(), (square @ square).toarray())
    again = run.directory / "again.npz"
    assert run("spgemm", graph, "--backend", "model", "-o", again) == 0
    assert (sparse.load_npz(again) != square @ square).nnz == 0
    assert run("spgemm", again, "--backend", "model") == 0
    wrong = run.directory / "c.npy"
    assert run.refused("spgemm", graph, "-o", wrong).startswith(
        f"{wrong}: must end in .mtx, .mtx.gz or .npz, not '.npy'"
    )
    b.write_bytes(b"no gzip")
    assert run.refused("gemm", a, b, *SMALLEST).startswith(f"{b}: not a whole gzip file")
