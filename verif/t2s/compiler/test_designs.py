"""Designs that ship: after each pass they compute what their definitions say, which NumPy
confirms.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from tilewright.cli import main
from tilewright.errors import UserError
from tilewright.hw.spec.t2s.program import Program
from tilewright.hw.t2s.compiler.passes import MAPPED, PASSES, compiled, programs
from tilewright.hw.t2s.language import Computation, MappingError
from tilewright.hw.t2s.language.computation import load_mapping
from tilewright.sim.t2s.checking import random_operands, wrong_elements
from tilewright.sim.t2s.definition_result import definition_result
from tilewright.sim.t2s.depths import (
    DependsOnBounds,
    WaitForEver,
    depths_for_any_bounds,
    needed_depths,
    run_empty,
)
from tilewright.sim.t2s.interpreter import Deadlock, interpret
from tilewright.tables.t2s.designs import CGRA as PAPER_CGRA
from tilewright.tables.t2s.designs import PAPER, t2s_designs
from tilewright.verif.kit.commands import check_refused
from tilewright.verif.kit.pages import page
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.t2s.designs import CGRA, DESIGNS, FOLDER, SPARSE, bounds_of, by_numpy
from tilewright.verif.t2s.random_mappings import KERNELS, random_mapping


def test_every_design_is_checked() -> None:
    files = {one.stem for one in FOLDER.glob("*.py")} - {"__init__"}
    assert files == set(DESIGNS)
    assert {one.stem for one in FOLDER.glob("cgra/[!_]*.py")} == set(CGRA)


@pytest.mark.parametrize("name", DESIGNS)
def test_passes(name: str) -> None:
    computation = load_mapping(FOLDER / f"{name}.py", largest=3)
    bounds = bounds_of(DESIGNS[name])
    found = list(programs(computation))
    operands = random_operands(found[0][1], bounds, seed=1)
    wanted = by_numpy(name, operands)
    assert [done for done, _ in found] == ["define", *PASSES]
    for done, program in found:
        assert np.array_equal(interpret(program, bounds, operands), wanted), done


@pytest.mark.parametrize("name", DESIGNS)
def test_lines(name: str) -> None:
    lines = (FOLDER / f"{name}.py").read_text().splitlines()[1:]
    assert sum(1 for line in lines if line.strip()) <= DESIGNS[name].lines


@pytest.mark.parametrize("name", CGRA)
def test_cgra(name: str) -> None:
    """Sums start from T; depths are found, and no more lines are taken than the thesis has."""
    file = FOLDER / "cgra" / f"{name}.py"
    computation = load_mapping(file, largest=2)
    bounds = bounds_of(CGRA[name])
    found = list(programs(computation))
    operands = random_operands(found[0][1], bounds, seed=1)
    wanted = by_numpy(f"cgra/{name}", operands)
    for done, program in found:
        assert np.array_equal(interpret(program, bounds, operands), wanted), done
    mapped = dict(found)[MAPPED]
    run_empty(mapped, bounds, depths_for_any_bounds(mapped))
    lines = file.read_text().splitlines()[1:]
    assert sum(1 for line in lines if line.strip()) <= CGRA[name].lines == PAPER_CGRA[name]


def test_table() -> None:
    """Arrays of Table 3.3 (that of GEMM is 10 x 8, as the text has it), no more lines than Table
    3.2's and 3.3's, and as many multipliers as there are DSP blocks but for 8 at most."""
    table = t2s_designs("cmos")
    rows = {row.label: row for row in table.rows}
    others = sorted(set(DESIGNS) - set(PAPER))
    cgra = [f"cgra/{name}" for name in CGRA]
    assert list(rows) == [*PAPER, *others, *cgra, *sorted(SPARSE)]
    for name, design in SPARSE.items():
        assert (rows[name].ours[0] or 99) <= design.lines
    assert rows["sparse/spmm"].ours[1:4] == (4, 8, 32)
    for name, most in PAPER_CGRA.items():
        assert rows[f"cgra/{name}"].paper == (most, None, None, None, None)
        assert rows[f"cgra/{name}"].ours[1:3] == (16, 4)
    for name, paper in PAPER.items():
        lines, elements, lanes, multipliers, sums = rows[name].ours
        assert rows[name].paper == paper
        assert (elements, lanes, sums) == (paper[1], paper[2], paper[4])
        assert 10 < (lines or 0) <= paper[0]
        assert paper[3] - 8 <= (multipliers or 0) <= paper[3]
    assert [rows[name].ours[3] for name in PAPER] == [1280, 1224, 1408, 1360]
    with pytest.raises(UserError, match="no --target, not 'ice40'"):
        t2s_designs("ice40")


def test_page_has_the_table() -> None:
    console = Console(width=120, file=StringIO())
    t2s_designs("cmos").print(console)
    assert isinstance(console.file, StringIO)
    shown = [line.split() for line in console.file.getvalue().splitlines()]
    told = [line.split() for line in page("t2s-results.md").read_text().splitlines()]
    assert [line for line in shown if line and line not in told] == []


def test_serialise(tmp_path: Path) -> None:
    """A serializer, and a deserializer, that are added behind others are as those named there."""
    text = (FOLDER / "gemm.py").read_text()
    chain, on_host = '"feeder", "loader"', ', "serializer")'
    for letter in "AB":
        own = letter.lower()
        named = f"feed_{own}, load_{own}, serialize_{own} = C.producers({letter}, {chain}{on_host}"
        added = (
            f"feed_{own}, load_{own} = C.producers({letter}, {chain})\n"
            f"serialize_{own} = C.serialise({letter})"
        )
        assert named in text
        text = text.replace(named, added)
    named = 'unload, store = C.consumers("drainer", "collector", "unloader", "deserializer")'
    assert named in text
    added = 'unload = C.consumers("drainer", "collector", "unloader")\nC.deserialise()'
    file = tmp_path / "mine.py"
    file.write_text(text.replace(named, added))
    assert compiled(load_mapping(file)) == compiled(load_mapping(FOLDER / "gemm.py"))


# Random mappings of six kernels: after every pass of the compiler the program computes what its
# definition says, or a directive is refused.

MAPPINGS = by_size(5, 15, 90)
"""Legal ones of each kernel."""


@pytest.mark.parametrize("kernel", KERNELS)
def test_random_mappings_passes(kernel: str) -> None:
    for seed, computation, found, rng in legal(kernel, MAPPINGS):
        bounds = {
            name: int(rng.integers(1, 5)) for name in (*computation.result, *computation.sum_over)
        }
        operands = random_operands(found[0][1], bounds, seed)
        wanted = definition_result(found[0][1], bounds, operands)
        for name, program in found:
            assert wrong_elements(program, bounds, operands, wanted) == 0, (kernel, seed, name)


def test_feeders_that_forward() -> None:
    """Copies of a feeder in a row along loops that do not choose the word."""
    forwarding = 0
    for kernel in KERNELS:
        for seed, computation, found, rng in legal(kernel, by_size(8, 15, 150), copies=True):
            if not any(one.forwarded for chain in computation.chains.values() for one in chain):
                continue
            forwarding += 1
            bounds = {
                name: int(rng.integers(1, 5))
                for name in (*computation.result, *computation.sum_over)
            }
            operands = random_operands(found[0][1], bounds, seed)
            wanted = definition_result(found[0][1], bounds, operands)
            for name, program in found:
                assert wrong_elements(program, bounds, operands, wanted) == 0, (kernel, seed, name)
    assert forwarding >= by_size(3, 6, 60)


def test_mappings_have_everything() -> None:
    """Every directive is in at least five of ninety mappings, and few mappings are refused."""
    seen: Counter[str] = Counter()
    for kernel in KERNELS:
        for _, computation, found, _ in legal(kernel, 15):
            seen.update(features(computation, found[-1][1]))
    assert len(seen) == 11
    assert min(seen.values()) >= 5, seen


def legal(
    kernel: str, count: int, *, copies: bool = False
) -> Iterator[tuple[int, Computation, list[tuple[str, Program]], np.random.Generator]]:
    """Mappings that are not refused, with their seeds; half of those drawn at least.

    ``copies``: copies of feeders forward, too
    """
    drawn = 0
    for done in range(count):
        while True:
            drawn += 1
            rng = np.random.default_rng([drawn, *map(ord, kernel)])
            try:
                passing = rng.spawn(1)[0] if copies else None
                computation = random_mapping(kernel, rng, copies=passing)
                found = list(programs(computation))
            except MappingError:
                continue
            break
        yield drawn, computation, found, rng
        assert drawn <= 2 * (done + 1) + 10


def features(computation: Computation, program: Program) -> set[str]:
    """Returns the features of a mapping besides its loops."""
    isolated = [one for chain in computation.chains.values() for one in chain]
    has = {
        "unrolled": bool(computation.unrolled),
        "vectorised": bool(computation.vectorised),
        "forwarded": bool(computation.forwarded),
        "factored": bool(computation.factored),
        "host": any(one.host for one in program.functions),
        "removed": any(one.removed for one in isolated),
        "buffered": any(one.buffered for one in isolated),
        "scattered": any(one.scattered for one in isolated),
        "gathered at a level": any(one.level for one in isolated),
        "drained": not computation.overlap[0],
        "gathered": any(one.gathered for one in isolated),
    }
    return {name for name, there in has.items() if there}


# Depths for any bounds: runs of larger bounds end with them, and do not with one less. Where no
# depth is known, the need does grow.

DRAWN = by_size(2, 4, 36)
"""Random mappings of each kernel that are tried, refused ones among them."""


def check_tight(program: Program, depths: dict[str, int], bounds: dict[str, int]) -> None:
    for channel, depth in depths.items():
        if depth > 1:
            with pytest.raises(Deadlock, match="waits for"):
                run_empty(program, bounds, {**depths, channel: depth - 1})


@pytest.mark.parametrize("name", DESIGNS)
def test_designs(name: str) -> None:
    """The interpreter ends with them on larger bounds, and finds no others for some."""
    program = compiled(load_mapping(FOLDER / f"{name}.py", largest=2))
    depths = depths_for_any_bounds(program)
    bounds = {index: bound // 2 + 2 for index, bound in bounds_of(DESIGNS[name]).items()}
    run_empty(program, bounds, depths)
    run_empty(program, {index: bound + 3 for index, bound in bounds.items()}, depths)
    check_tight(program, depths, bounds)


def test_random_mappings() -> None:
    ended = grown = 0
    for kernel in KERNELS:
        for seed in range(DRAWN):
            rng = np.random.default_rng([seed, 3, *map(ord, kernel)])
            try:
                computation = random_mapping(kernel, rng)
                program = compiled(computation)
            except MappingError:
                continue
            loops = [one for one in computation.loops if one.extent is None]
            once = {one.index: one.step for one in loops}
            twice = {name: 2 * step for name, step in once.items()}
            depths = found(program)
            if depths:
                ended += 1
                more = {name: int(rng.integers(1, 4)) * step for name, step in once.items()}
                run_empty(program, more, depths)
                check_tight(program, depths, twice)
            else:
                needed = [sum(needed_depths(program, one).values()) for one in (once, twice)]
                grown += needed[0] < needed[1]
    assert ended >= DRAWN
    assert grown >= DRAWN // 3


def found(program: Program) -> dict[str, int]:
    """Depths for any bounds; empty if none are known."""
    try:
        return depths_for_any_bounds(program)
    except DependsOnBounds:
        return {}


MAPPING = """\
from tilewright.hw.t2s.language import compute, indices, tensor

i, j, k, jj = indices("i j k jj")
A, B = tensor("A", "fp32", i, k), tensor("B", "fp32", k, j)
C = compute("C", "fp32", i, j, sum_over=k)[A[i, k] * B[k, j]]
C.tile(j, (jj, 2)).order(i, j, jj, k).unroll(jj)
feed, load = C.producers(A, "feeder", "loader")
C.forward(feed, jj=1)
"""
"""B is loaded for all of k for the first element, then for the second, while A is passed on."""


def test_depths_that_depend_on_bounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MAPPING)
    program = compiled(load_mapping(file))
    said = "words stay in A_jj_forward from one iteration to another: i = 0, j = 0, jj = 0, k = 0"
    with pytest.raises(DependsOnBounds, match=f"^{said}$"):
        depths_for_any_bounds(program)
    report = tmp_path / "show.json"
    bounds = ["--bounds", "i=1,j=2,k=4"]
    assert main(["t2s", "show", str(file), *bounds, "--json", str(report)]) == 0
    assert json.loads(report.read_text())["depths_depend_on_bounds"] == said
    shown = capsys.readouterr().out
    assert "depths, these bounds" in shown
    assert "none is known: words stay in A_jj_forward" in shown
    needed = [sum(needed_depths(program, {"i": 1, "j": 2, "k": k}).values()) for k in (4, 7, 11)]
    assert needed[2] - needed[1] == 4
    assert needed[1] - needed[0] == 3


ORDERS = """\
from tilewright.hw.t2s.language import compute, indices, tensor

i, k, ii, iii = indices("i k ii iii")
A, X = tensor("A", "fp32", i, k), tensor("X", "fp32", k)
Y = compute("Y", "fp32", i, sum_over=k)[A[i, k] * X[k]]
Y.tile(i, (ii, 2), (iii, 3)).order(i, k, ii, iii).unroll(ii)
feed_a, load_a = Y.producers(A, "feeder", "loader")
feed_x, load_x = Y.producers(X, "feeder", "loader")
Y.forward(feed_x, ii=-1)
"""
"""A is sent to the first element first, X to the last."""


def test_a_cycle_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Each waits for what the next has to do; with a word more there is no cycle, and the
    interpreter finds the same."""
    file = tmp_path / "mine.py"
    words = ["t2s", "show", str(file), "--bounds", "i=12,k=4"]
    file.write_text(ORDERS + "feed_a.fifo(1)\n")
    told = (
        "mine.py:10: A_feeder.fifo: with a depth of 1 the design stops: A_feeder waits to send to "
        "A_feeder[0], Y[0] waits to receive from X_ii_forward[0], Y[1] waits to receive from "
        "A_feeder[1]"
    )
    check_refused(words, told, tmp_path, capfd)
    program = compiled(load_mapping(file))
    with pytest.raises(WaitForEver):
        depths_for_any_bounds(program)
    bounds = {"i": 12, "k": 4}
    with pytest.raises(Deadlock, match="waits for"):
        needed_depths(program, bounds)
    for depth in (3, 4):
        file.write_text(f"{ORDERS}feed_a.fifo({depth})\n")
        found = depths_for_any_bounds(compiled(load_mapping(file)))
        assert found["A_feeder"] == depth
        run_empty(compiled(load_mapping(file)), bounds, found)
