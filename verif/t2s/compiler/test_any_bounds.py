"""Depths for any bounds: runs of larger bounds end with them, and do not with one less. Where no
depth is known, the need does grow."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tilewright.cli import main
from tilewright.hw.spec.t2s.program import Program
from tilewright.hw.t2s.compiler.passes import compiled
from tilewright.hw.t2s.language import MappingError
from tilewright.hw.t2s.language.mapping_file import load_mapping
from tilewright.sim.t2s.any_bounds import DependsOnBounds, WaitForEver, depths_for_any_bounds
from tilewright.sim.t2s.depths import needed_depths, run_empty
from tilewright.sim.t2s.interpreter import Deadlock
from tilewright.verif.kit.commands import check_refused
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.t2s.designs import DESIGNS, FOLDER, bounds_of
from tilewright.verif.t2s.random_mappings import KERNELS, random_mapping

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
