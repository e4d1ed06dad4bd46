"""Depths of channels: with those that are found a design ends, with one less it does not."""

from __future__ import annotations

import pytest
from tilewright.hw.t2s.compiler.passes import compiled
from tilewright.hw.t2s.language.mapping_file import load_mapping
from tilewright.sim.t2s.depths import needed_depths, run_empty
from tilewright.sim.t2s.interpreter import Deadlock
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


def test_a_deep_channel_is_found() -> None:
    """Elements of a row wait for each other's operands, so that something has to hold a block."""
    totals = []
    for block in (2, 4, 6):
        program = compiled(load_mapping(FOLDER / "fir.py", {"NN": 2, "NNN": block, "TTT": 2}))
        totals.append(sum(needed_depths(program, {"n": 40, "t": 5}).values()))
    assert totals[0] < totals[1] < totals[2]
