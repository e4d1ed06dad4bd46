"""``tilewright run`` of sparse products refuses bad input with one line per case."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import coo_array
from tilewright.apps.common.units.matraptor_products import MOST_PRODUCTS
from tilewright.verif.apps.graphs.examples import RING, write_graph
from tilewright.verif.apps.sparse_runs import CYCLES, MODEL, report_of, write_random
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.kit.malformed import MALFORMED

REFUSED = {
    "semiring": (("--semiring", "plusplus"), "semiring must be one of mma, minplus, maxplus, "
                 "minmul, maxmul, minmax, maxmin, orand, addnorm, not 'plusplus'"),
    "backend": (("--backend", "paper"), "backend must be one of rtl, cycles, model, not 'paper'"),
    "memory": ((*CYCLES, "--memory", "tape"), "memory must be one of hbm, hbm32, flat, "
               "not 'tape'"),
    "memory of the model": (("--backend", "model", "--memory", "flat"),
                            "--memory must come with a backend that takes time, rtl or cycles, "
                            "not with model"),
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
