"""``tilewright run passes``: programs of the user's, on the model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.sim.sida.iterations.graphs import transitions
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.pages import page
from tilewright.verif.sida.apps.files import report, save_graph
from tilewright.verif.sida.iterations.solving import random_graph


def text(run: Run, content: str) -> Path:
    path = run.directory / "p.ew"
    path.write_text(content)
    return path


BOTH = """
vector u
vector v
reduce most max
reduce least min
e1:
    store u, y
    reduce most, y
    out y
e2:
    store v, y
    reduce least, y
    out y
"""


def test_two_products_of_two_semirings(run: Run) -> None:
    """The first product has sums, and the second one has least sums of these."""
    matrix = np.where(random_graph(5, 9, density=0.4).toarray() > 0, 1.0, 0.0)
    x, out = run.save("x.npy", np.arange(9.0)), run.directory / "o.npz"
    found = report(run, "passes", save_graph(run, matrix), "--program", text(run, BOTH),
                   "--second-semiring", "minplus", "--x", x, "-o", out)  # fmt: skip
    y = np.arange(9.0) @ matrix
    w = np.where(matrix > 0, y[:, None] + matrix, np.inf).min(axis=0)
    arrays = np.load(out)
    assert arrays["u"].tolist() == y.tolist()
    assert arrays["v"].tolist() == w.tolist()
    assert found["semirings"] == ["mma", "minplus"]
    assert found["scalars"]["most"] == y.max()
    assert found["scalars"]["least"] == (w.min() if np.isfinite(w.min()) else None)
    assert (found["iterations"], found["passes"], found["wasted"]) == (2, 1, 0)


def test_the_second_product_with_the_transpose(run: Run) -> None:
    """The second product has another semiring. Up to two steps of elements are buffered."""
    matrix = np.where(random_graph(5, 90, density=0.1).toarray() > 0, 1.0, 0.0)
    x, out = run.save("x.npy", np.arange(90.0)), run.directory / "o.npz"
    found = report(run, "passes", save_graph(run, matrix), "--program", text(run, BOTH),
                   "--second-semiring", "minplus", "--transposed", "--x", x, "-o", out,
                   "--set", "subtensor=16")  # fmt: skip
    y = np.arange(90.0) @ matrix
    w = np.where(matrix > 0, y[None, :] + matrix, np.inf).min(axis=1)
    arrays = np.load(out)
    assert arrays["u"].tolist() == y.tolist()
    assert arrays["v"].tolist() == w.tolist()
    assert found["transposed"] is True
    steps = np.add.reduceat(np.count_nonzero(matrix, axis=0), np.arange(0, 90, 16))
    assert found["held"]["most"] == np.convolve(steps, np.ones(2, int)).max()


def test_the_page_of_the_dataflow_has_a_program(run: Run) -> None:
    """The program computes ranks. It does not store them, so the test adds a line that does."""
    content = re.search(r"^```\n(scalar.*?)^```", page("oei.md").read_text(), re.M | re.S)
    assert content is not None
    graph = random_graph(3, 30, density=0.1)
    matrix, dangling = transitions(graph)
    program = content[1].replace("vector dangling", "vector dangling\nvector rank")
    head, _, tail = program.rpartition("    out r1")
    path = text(run, f"{head}    store rank, r1\n    out r1{tail}")
    mask = np.zeros(30)
    mask[dangling] = 1
    assert mask.any()
    out = run.directory / "o.npz"
    report(run, "passes", save_graph(run, matrix), "--program", path, "--passes", 30,
           "--scalar", "alpha=0.85", "--scalar", f"share={0.85 / 30}",
           "--scalar", f"teleport={0.15 / 30}", "--scalar", f"lost_2={mask.sum() / 30}",
           "--vector", f"dangling={run.save('d.npy', mask)}",
           "--x", run.save("x.npy", np.full(30, 1 / 30)), "-o", out,
           "--set", "value=fp64")  # fmt: skip
    ranks = np.full(30, 1 / 30)
    for _ in range(60):
        ranks = 0.85 * (ranks @ matrix + (ranks @ mask) / 30) + 0.15 / 30
    assert np.abs(np.load(out)["rank"] - ranks).max() < 1e-12


COUNT = """
vector u
reduce a sum
reduce b sum
e1:
 add r1, y, 1
 store u, r1
 reduce a, r1
 out r1
e2:
 reduce b, y
 out y
"""


def test_until_a_reduction_is_below(run: Run) -> None:
    """The passes halve values that were halved before."""
    path = save_graph(run, np.eye(4) / 2)
    program = text(run, COUNT.replace("add r1, y, 1", "mul r1, y, 0.5"))
    given = ("--passes", 20, "--until", "a,b")
    found = report(run, "passes", path, "--program", program, *given, "--below", 0.1)
    # 4 times 1/4, 1/8, 1/32, 1/64, ...
    assert (found["iterations"], found["settled"]) == (4, True)
    assert found["residual"] == {
        "what": "b", "value": 4 / 64, "limit": pytest.approx(0.1),
    }  # fmt: skip
    found = report(run, "passes", path, "--program", program, *given, "--below", 0, status=1)
    assert (found["iterations"], found["passes"], found["settled"]) == (40, 20, False)


def test_integers(run: Run) -> None:
    path, out = save_graph(run, np.eye(3)), run.directory / "o.npz"
    given = ("--set", "value=int32", "-o", out)
    report(run, "passes", path, "--program", text(run, COUNT), "--passes", 3, *given)
    assert np.load(out)["u"].tolist() == [4.0, 4.0, 4.0]
    half = text(run, COUNT.replace("1\n", "1.5\n", 1))
    said = run.refused("passes", path, "--program", half, *given)
    assert said == f"{half}: 1.5 is not a 32-bit integer, which int32 needs"
    said = run.refused("passes", path, "--program", text(run, COUNT.replace("add", "div")), *given)
    assert said.endswith("p.ew: e1 has div, which a unit of int32 has not")


PROGRAMS = [
    ("e1:\n  add r1, y\n", "line 2, column 3: add must have 3 operands, not 2"),
    ("e1:\n  out r3\n", "line 2, column 3: out reads r3, which was not written before"),
    ("reduce a sum\ne1:\n  reduce a, y\n  add r1, a, y\n  out r1\n",
     "line 4, column 3: add reads a, to which e1 adds: it is whole only when the pass ends"),
    ("vector v\ne1:\n  out y\n" + "e2:\n" + 40 * "  abs r1, y\n" + "  out r1\n",
     "44 words are too many for `program_words` 32, instructions of a program; "
     "--set program_words=64 holds them"),
    ("e1:\n  out y\n", "must declare a vector, since only what is stored is kept"),
    ("vector v\nmatrix m\ne1:\n  dot r1, y, m\n  out r1\n",
     "e1 has dot, which a unit of one feature has not"),
    ("scalar a\nvector v\ne1:\n  out a\n", "takes scalar a: give --scalar a=VALUE"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "said"), PROGRAMS)
def test_programs_that_are_refused(run: Run, content: str, said: str) -> None:
    path = text(run, content)
    graph = save_graph(run, np.eye(3))
    line = run.refused("passes", graph, "--program", path, "--set", "program_words=32")
    assert line == f"{path}: {said}"


OPTIONS: list[tuple[tuple[Any, ...], str]] = [
    (("--semiring", "max"), "--semiring must be one of mma, minplus, "),
    (("--second-semiring", "x"), "--second-semiring must be one of mma, minplus, "),
    (("--second-semiring", "maxplus"),
     "`semirings` must have maxplus for --second-semiring, not "),
    (("--passes", "0"), "--passes must be an integer in 1..1000000, not '0'"),
    (("--max-iterations", "4"), "--max-iterations and passes exclude each other: --passes says"),
    (("--scalar", "a"), "--scalar must be of NAME=VALUE, names most, least, not 'a'"),
    (("--scalar", "most=x"), "--scalar most must be a number in "),
    (("--scalar", "most=++inf"), "--scalar most must be a number in "),
    (("--scalar", "most=1e39"),
     "--scalar most must be a number in -3.4028234663852886e+38..3.4028234663852886e+38, not '"),
    (("--scalar", "most=1e39", "--set", "value=int32"), "--scalar most must be a number in -21474"),
    (("--scalar", "most=1", "--scalar", "most=2"), "--scalar must give most once, not 1 and '2'"),
    (("--until", "most,least", "--below", "1e5", "--set", "value=fp16"),
     "--below must be a number in -65504.0..65504.0, not '1e5'"),
    (("--vector", "u=x.npy", "--vector", "u=y.npy"),
     "--vector must give u once, not 'x.npy' and 'y.npy'"),
    (("--vector", "w=x.npy"), "--vector must be of NAME=FILE, names u, v, not 'w=x.npy'"),
    (("--vector", "u=x.npy"), "x.npy: cannot be read: No such file or directory"),
    (("--until", "most,least"), "--until and --below go together"),
    (("--until", "most", "--below", "1"),
     "--until must be two reductions of most, least, not 'most'"),
    (("-o", "o.npy"), "o.npy: must end in .npz, not '.npy'"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "said"), OPTIONS)
def test_options_that_are_refused(run: Run, options: tuple[Any, ...], said: str) -> None:
    graph = save_graph(run, np.eye(3))
    line = run.refused("passes", graph, "--program", text(run, BOTH), *options)
    assert line.startswith(said)


def test_files_that_are_refused(run: Run) -> None:
    graph, program = save_graph(run, np.eye(3)), text(run, BOTH)
    path = run.directory / "none.ew"
    line = run.refused("passes", graph, "--program", path)
    assert line == f"{path}: cannot be read: No such file or directory"
    wrong = run.save("x.npy", np.ones(4))
    line = run.refused("passes", graph, "--program", program, "--x", wrong)
    assert line == f"{wrong}: must be a vector of 3 real values, not 4"
    lopsided = save_graph(run, np.ones((2, 3)), "l.mtx")
    line = run.refused("passes", lopsided, "--program", program)
    assert line == f"{lopsided}: must be square, of a row at least, not 2 x 3"


def test_numbers_that_a_format_does_not_hold(run: Run) -> None:
    """The command warns of numbers in the program, but not of infinity."""
    program = text(
        run, "vector v\ne1:\n  min r1, y, 1e5\n  max r1, r1, -inf\n  store v, r1\n  out r1\n"
    )
    report(run, "passes", save_graph(run, np.eye(3)), "--program", program, "--set", "value=fp16")
    assert run.err == (
        f"warning: {program}: 1 of 1 values exceed the largest fp16 value 65504 and become "
        "infinite\n"
    )
