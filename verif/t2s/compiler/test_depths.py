"""Depths of channels: with those that are found a design ends, with one less it does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tilewright.cli import main
from tilewright.hw.t2s.compiler.passes import compiled
from tilewright.hw.t2s.language.mapping_file import load_mapping
from tilewright.sim.t2s.depths import needed_depths, run_empty
from tilewright.sim.t2s.interpreter import Deadlock
from tilewright.verif.kit.commands import check_refused
from tilewright.verif.t2s.designs import DESIGNS, FOLDER, bounds_of


@pytest.mark.parametrize("name", DESIGNS)
def test_depths(name: str) -> None:
    program = compiled(load_mapping(FOLDER / f"{name}.py", largest=3))
    bounds = bounds_of(DESIGNS[name])
    depths = needed_depths(program, bounds)
    run_empty(program, bounds, depths)
    for channel, depth in depths.items():
        if depth > 1:
            with pytest.raises(Deadlock, match="waits for"):
                run_empty(program, bounds, {**depths, channel: depth - 1})
    longer = {index: bound + 9 for index, bound in bounds.items()}
    if name in ("gemm", "fir", "gemv"):
        run_empty(program, longer, depths)


@pytest.mark.parametrize("depth", [1, 2, 40])
def test_depths_that_are_said(depth: int) -> None:
    """They stay, and others are found around them; runs stop if one of all is too short."""
    computation = load_mapping(FOLDER / "ttv.py", largest=3)
    bounds = bounds_of(DESIGNS["ttv"])
    found = needed_depths(compiled(computation), bounds)
    assert found["A_feeder"] == 4
    computation.chain("A")[0].fifo(depth)
    program = compiled(computation)
    around = needed_depths(program, bounds)
    assert around["A_feeder"] == depth
    assert (around["X_jj_forward"] > found["X_jj_forward"]) == (depth < found["A_feeder"])
    run_empty(program, bounds, {name: deep for name, deep in around.items() if name != "A_feeder"})
    if depth < found["A_feeder"]:
        with pytest.raises(Deadlock, match="waits for"):
            run_empty(
                program, bounds, {name: deep for name, deep in found.items() if name != "A_feeder"}
            )


WALKED = """\
from tilewright.hw.t2s.language import compute, indices, tensor

i, k, ii, iii = indices("i k ii iii")
A, X = tensor("A", "fp32", i, k), tensor("X", "fp32", k)
Y = compute("Y", "fp32", i, sum_over=k)[A[i, k] * X[k]]
Y.tile(i, (ii, 2), (iii, 2)).order(i, iii, ii, k).unroll(iii).fifo(1)
(load_a,) = Y.producers(A, "loader")
feed_x, load_x = Y.producers(X, "feeder", "loader")
Y.forward(feed_x, iii=-1)
load_a.fifo({depth})
"""
"""What the first element waits for comes last."""


def test_a_depth_that_is_too_short(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    words = ["t2s", "show", str(file), "--bounds", "i=3,k=3"]
    file.write_text(WALKED.format(depth=5))
    assert main(words) == 0
    assert "    fifo A_loader: 5\n" in capfd.readouterr().out
    file.write_text(WALKED.format(depth=1))
    check_refused(
        words,
        "mine.py:10: A_loader.fifo: with a depth of 1 the design stops, for these bounds; without "
        "the directive it is 5",
        tmp_path,
        capfd,
    )


def test_a_deep_channel_is_found() -> None:
    """Elements of a row wait for each other's operands, so that something has to hold a block."""
    totals = []
    for block in (2, 4, 6):
        program = compiled(load_mapping(FOLDER / "fir.py", {"NN": 2, "NNN": block, "TTT": 2}))
        totals.append(sum(needed_depths(program, {"n": 40, "t": 5}).values()))
    assert totals[0] < totals[1] < totals[2]
