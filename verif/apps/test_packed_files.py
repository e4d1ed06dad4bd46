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
from scipy.sparse import coo_array
from tilewright.apps.common import npz
from tilewright.apps.common.files import write_whole
from tilewright.apps.common.first_lines import check_first_lines
from tilewright.apps.common.matrix_files import read_matrix_file, write_array
from tilewright.apps.common.tensor_files import read_tensor, write_tensor
from tilewright.apps.common.units.matraptor_products import MOST_PRODUCTS
from tilewright.errors import UserError
from tilewright.verif.apps.graphs.examples import RING, write_graph
from tilewright.verif.apps.sparse_runs import CYCLES, MODEL, report_of, write_random
from tilewright.verif.kit.commands import MALFORMED, SMALLEST, Run
from tilewright.verif.kit.data import data_file, needs_data

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
    assert said(path).startswith("damaged or unsupported .npz file: a.npy is not an array")


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


# ``tilewright run`` of sparse products refuses bad input with one line per case.

REFUSED = {
    "semiring": (("--semiring", "plusplus"), "semiring must be one of mma, minplus, maxplus, "
                 "minmul, maxmul, minmax, maxmin, orand, addnorm, not 'plusplus'"),
    "backend": (("--backend", "paper"), "backend must be one of rtl, cycles, model, not 'paper'"),
    "memory": ((*CYCLES, "--memory", "tape"), "memory must be one of hbm, hbm32, "
               "hbm-refresh, flat, not 'tape'"),
    "memory of the model": (("--backend", "model", "--memory", "flat"),
                            "--memory needs a backend that counts cycles, rtl or cycles, not "
                            "model"),
    "memory of the rtl": (("--memory", "hbm"), "memory must be flat with the rtl backend, "
                          "not 'hbm'"),
    "twice": (("--lanes", "2", "--set", "lanes=4"), "--lanes and a setting of `lanes` exclude "
              "each other"),
    "lanes": (("--set", "lanes=3", "--set", "channels=2"), "matraptor: `channels` must divide "
              "`lanes` or be a multiple of it, 3, not 2"),
    "entries": (("--set", "value=fp64", "--set", "data_bits=64"), "matraptor: `data_bits` must be "
                "at least 128 for entries of fp64, not 64"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused_options(run: Run, case: str) -> None:
    a = write_random(run.directory / "a.mtx", 5, 5, 0.5, 1)
    arguments, line = REFUSED[case]
    output = run.directory / "c.mtx"
    assert run.refused("spgemm", a, *arguments, "-o", output) == line
    assert not output.exists()


FIXED = {
    "mcl": (("mcl",), "mma", "mcl"),
    "triangles": (("triangles",), "mma", "triangles"),
    "apsp": (("apsp", "--sparse"), "minplus", "apsp --sparse"),
}


@pytest.mark.parametrize("case", FIXED)
def test_a_semiring_that_an_application_cannot_take(run: Run, case: str) -> None:
    """Refuses a wrong semiring from --set or a file, and accepts the application's own."""
    words, semiring, name = FIXED[case]
    file, toml = write_graph(run.directory / "g.mtx", RING, 5), run.directory / "unit.toml"
    for wrong in ("maxmin", "x"):
        toml.write_text(f'semiring = "{wrong}"\n')
        for given in (("--set", f"semiring={wrong}"), ("-c", toml)):
            line = run.refused(*words, file, *given, *MODEL)
            if wrong == "x":
                assert line.endswith("minmax, maxmin, orand, addnorm, not 'x'")
            else:
                assert line == f"`semiring` must be {semiring} for {name}, not 'maxmin'"
    assert run(*words, file, "--set", f"semiring={semiring}", *MODEL) == 0


def test_the_accelerator_of_sparse_paths(run: Run) -> None:
    graph = write_graph(run.directory / "ring.mtx", RING, 5)
    options = ("--lanes", "2", "--memory", "flat", "--gigahertz", "1.5", "--backend", "cycles")
    found = report_of(run, "apsp", graph, "--sparse", *options)
    assert (found["config"]["lanes"], found["config"]["channels"]) == (2, 2)
    assert (found["memory"], found["gigahertz"]) == ("flat", 1.5)
    line = run.refused("apsp", graph, "--lanes", 2, *MODEL)
    assert (
        line == "--lanes is for sparse products only: it must come with --sparse, not alone, as 2"
    )
    assert run.refused("apsp", graph, "--sparse", "--lanes", 99, *MODEL) == (
        "matraptor: `lanes` must be an integer in 1..16, not 99"
    )
    line = run.refused("apsp", graph, "--sparse", "--algorithm", "floyd", *MODEL)
    assert line == "--algorithm must be one of leyzorek, bellman-ford, not 'floyd'"


def test_refused_operands(run: Run) -> None:
    a = write_random(run.directory / "a.mtx", 5, 4, 0.5, 1)
    line = f"{a}: must have 4 rows, as many as {a} has columns, not 5"
    assert run.refused("spgemm", a) == f"{line}; with --transposed-b they fit"
    b = write_random(run.directory / "b.mtx", 4, 6, 0.5, 1)
    line = f"{b}: must have 4 rows, as many as {a} has columns, not 6"
    said = run.refused("spgemm", a, b, "--transposed-b")
    assert said == f"{line}; without --transposed-b they fit"
    wide = write_random(run.directory / "wide.mtx", 70000, 70000, 1e-8, 1)
    assert run.refused("spgemm", wide, "--set", "index_bits=16", *MODEL) == (
        f"{wide}: must have between 1 and 65536 rows with `index_bits` 16, not 70000; --set "
        "index_bits=32 holds them"
    )
    empty = run.directory / "none.mtx"
    empty.write_text("%%MatrixMarket matrix coordinate real general\n0 0 0\n")
    line = run.refused("spgemm", empty, *MODEL)
    assert line == f"{empty}: must have between 1 and 4294967296 rows with `index_bits` 32, not 0"
    complex_file = run.directory / "complex.mtx"
    mmwrite(complex_file, coo_array(np.eye(3) * 1j))
    line = run.refused("spgemm", complex_file, *MODEL)
    assert line == f"{complex_file}: holds complex numbers; values must be real"


def test_refused_products(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    a = write_random(run.directory / "a.mtx", 30, 30, 0.5, 1)
    monkeypatch.setitem(MOST_PRODUCTS, "model", 1000)
    line = run.refused("spgemm", a, *MODEL)
    assert line.endswith(
        "products are too many for the model backend, which takes at most 1,000 of a "
        "multiplication; --backend cycles takes up to 500,000,000"
    )


def test_refused_graphs(run: Run) -> None:
    negative = write_graph(run.directory / "n.mtx", [(1, 2, 1), (2, 3, -3), (3, 1, 1)], 3)
    line = run.refused("apsp", negative, "--sparse", *MODEL)
    assert line.endswith("has a cycle of negative length; shortest paths would have no end")
    line = run.refused("mcl", negative, *MODEL)
    assert line.endswith("mcl needs weights that are not negative, but the edge 2 -> 3 has -3")
    ring = write_graph(run.directory / "ring.mtx", RING, 5)
    assert run.refused("apsp", ring, "--sparse", "--unit", "matraptor", *MODEL) == (
        "unit must not be given with --sparse, not 'matraptor'"
    )
    line = run.refused("mcl", ring, "--set", "value=int32", *MODEL)
    assert line == "`value` must be a float format for mcl, not 'int32'"


@needs_data
@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files_are_refused(run: Run, name: str) -> None:
    file = data_file(f"malformed/{name}")
    fits = "--transposed-b"  # whatever shape the first lines tell
    line = run.refused("spgemm", file, fits, *MODEL, "-o", run.directory / "c.mtx")
    assert line.startswith(f"{file}: {MALFORMED[name]}")
    assert [*run.directory.iterdir()] == []
