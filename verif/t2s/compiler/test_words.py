"""Functions of words before and after sums, and what sums start from: after every pass a program
computes what NumPy does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tilewright.hw.t2s.compiler import passes
from tilewright.hw.t2s.compiler.passes import compiled, programs
from tilewright.hw.t2s.language import MappingError
from tilewright.hw.t2s.language.mapping_file import load_mapping
from tilewright.sim.t2s.any_bounds import DependsOnBounds, depths_for_any_bounds
from tilewright.sim.t2s.checking import random_operands, wrong_elements
from tilewright.sim.t2s.definition_result import definition_result
from tilewright.sim.t2s.depths import run_empty
from tilewright.sim.t2s.interpreter import interpret
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.t2s.random_mappings import KERNELS, random_mapping
from tilewright.verif.t2s.word_kinds import HEAD, KINDS, written


@pytest.mark.parametrize("kind", KINDS)
def test_passes(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    a, b, t, u = (rng.integers(-9, 10, shape) for shape in ((7, 9), (9, 8), (7, 8), (8,)))
    wanted = KINDS[kind][1](a, b, t, u)
    given = {"A": a, "B": b, "T": t, "U": u}
    bounds = {"i": 7, "j": 8, "k": 9}
    for name, program in programs(load_mapping(written(kind, tmp_path))):
        operands = {
            one.name: given[one.name].astype(object) for one in program.tensors if one.name in given
        }
        assert np.array_equal(interpret(program, bounds, operands), wanted), name
    assert np.array_equal(definition_result(program, bounds, operands), wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_depths(kind: str, tmp_path: Path) -> None:
    program = compiled(load_mapping(written(kind, tmp_path)))
    depths = depths_for_any_bounds(program)
    run_empty(program, {"i": 9, "j": 13, "k": 9}, depths)


def test_random_mappings() -> None:
    """Of initial values with feeders and loaders of all kinds, and of functions."""
    started = applied = ended = 0
    for kernel in KERNELS:
        for seed in range(by_size(8, 12, 90)):
            rng = np.random.default_rng([seed, 7, *map(ord, kernel)])
            try:
                computation = random_mapping(kernel, rng, np.random.default_rng(seed))
                found = list(programs(computation))
            except MappingError:
                continue
            ended += 1
            started += computation.started is not None
            applied += bool(computation.applied)
            plain = found[0][1]
            bounds = {name: int(rng.integers(1, 5)) for name in plain.indices}
            operands = random_operands(plain, bounds, seed)
            wanted = definition_result(plain, bounds, operands)
            for name, program in found:
                assert wrong_elements(program, bounds, operands, wanted) == 0, (kernel, seed, name)
            mapped = dict(found)[passes.MAPPED]
            try:
                run_empty(mapped, bounds, depths_for_any_bounds(mapped))
            except DependsOnBounds as told:
                assert "words stay in" in str(told) or "another order" in str(told)  # noqa: PT017
    assert min(started, applied) > 6
    assert ended > 12


def test_a_loop_that_initial_values_do_not_have(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    lines = HEAD + KINDS["start"][0] + "load_t.remove(k)\n"
    file.write_text(lines)
    with pytest.raises(MappingError) as told:
        compiled(load_mapping(file))
    assert str(told.value) == f"mine.py:{lines.count(chr(10))}: T_loader.remove: it has no loop `k`"
