"""A buffer deeper than the loop along which its data is scattered: copies send only their own.
Results that are gathered in vectors."""

from __future__ import annotations

from pathlib import Path

import pytest
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.t2s.compiler.passes import programs
from tilewright.hw.t2s.language.mapping_file import load_mapping
from tilewright.sim.t2s.checking import random_operands, wrong_elements
from tilewright.sim.t2s.definition_result import definition_result

MAPPING = """\
from tilewright.hw.t2s.language import compute, indices, tensor

i, j, k, ii, jj, kk, iii, jjj = indices("i j k ii jj kk iii jjj")
A, B = tensor("A", "fp32", i, k), tensor("B", "fp32", k, j)
C = compute("C", "fp32", i, j, sum_over=k)[A[i, k] * B[k, j]].accumulate(stall="allowed")
C.tile(i, (ii, 3), (iii, 2)).tile(j, (jj, 2), (jjj, 2)).tile(k, (kk, 2))
C.order(i, j, ii, jj, k, iii, jjj, kk).unroll(ii, jj)
feed, load = C.producers(A, "feeder", "loader")
C.forward(feed, jj=1)
load.remove(jjj)
feed.buffer(k).unroll(ii).scatter(ii={step})
"""


@pytest.mark.parametrize("step", [1, -1])
def test_scattering(step: int, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MAPPING.format(step=step))
    (_, plain), *passes = programs(load_mapping(file))
    bounds = {"i": 7, "j": 5, "k": 3}
    operands = random_operands(plain, bounds, seed=1)
    wanted = definition_result(plain, bounds, operands)
    for name, program in passes:
        assert wrong_elements(program, bounds, operands, wanted) == 0, name


VECTORS = """\
from tilewright.hw.t2s.language import compute, indices, tensor

i, j, k, ii, jj, iii = indices("i j k ii jj iii")
A, B = tensor("A", "fp32", i, k), tensor("B", "fp32", k, j)
C = compute("C", "fp32", i, j, sum_over=k)[A[i, k] * B[k, j]].accumulate(stall="allowed")
C.tile(i, (ii, 3), (iii, 2)).tile(j, (jj, 2)).order(i, j, k, ii, jj, iii).unroll(ii, jj)
drain, collect, unload = C.consumers("drainer", "collector", "unloader")
drain.unroll(ii, jj).gather(jj={step})
collect.unroll(ii).gather(ii={step}, vector=True)
"""


@pytest.mark.parametrize("step", [1, -1])
def test_gathering_in_vectors(step: int, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(VECTORS.format(step=step))
    (_, plain), *passes = programs(load_mapping(file))
    bounds = {"i": 7, "j": 5, "k": 3}
    operands = random_operands(plain, bounds, seed=1)
    wanted = definition_result(plain, bounds, operands)
    for name, program in passes:
        assert wrong_elements(program, bounds, operands, wanted) == 0, name
    part = T2sConfig(design=str(file)).plan.unloader
    assert part.word_bits == 3 * 32
    assert [one.name for one in part.run] == ["jj", "iii"]
