"""Elements that keep fewer sums than a sum takes cycles: refused, or allowed, and told."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.timing import interval_of

MAPPING = """\
from tilewright.hw.t2s.language import compute, indices, tensor

i, j, k, ii, jj = indices("i j k ii jj")
A, B = tensor("A", "fp32", i, k), tensor("B", "fp32", k, j)
C = compute("C", "fp32", i, j, sum_over=k)[A[i, k] * B[k, j]]
C.tile(i, (ii, {ii})).tile(j, (jj, {jj})).order(i, j, k, ii, jj)
"""
ALLOWED = 'C.accumulate(stall="allowed")\n'


def config(folder: Path, sums: tuple[int, int], more: str = "", **settings: Any) -> T2sConfig:
    file = folder / "mine.py"
    file.write_text(MAPPING.format(ii=sums[0], jj=sums[1]) + more)
    return T2sConfig(design=str(file), **settings)


def refused(folder: Path, sums: tuple[int, int], more: str = "", **settings: Any) -> str:
    with pytest.raises(ValueError, match=re.escape("C.accumulate: an element keeps")) as told:
        config(folder, sums, more, **settings)
    return str(told.value)


def test_refused(tmp_path: Path) -> None:
    """The error names the definition, or the directive that refuses the stall."""
    assert refused(tmp_path, (1, 1)) == (
        "mine.py:5: C.accumulate: an element keeps 1 sum, and one takes 4 cycles: an operation "
        'every 5 cycles; to have that say C.accumulate(stall="allowed")'
    )
    said = 'C.accumulate(stall="refused")\n'
    assert refused(tmp_path, (2, 4), said, largest=2) == (
        "mine.py:7: C.accumulate: an element keeps 4 sums, and one takes 4 cycles: 4 operations "
        'every 5 cycles; to have that say C.accumulate(stall="allowed")'
    )


def test_allowed(tmp_path: Path) -> None:
    plan = config(tmp_path, (2, 2), ALLOWED).plan
    assert interval_of(plan.element) == (4, 5)
    told = (
        "An element of C begins 4 operations every 5 cycles: a sum takes 4 cycles, and it keeps 4."
    )
    assert config(tmp_path, (2, 2), ALLOWED).notes == (told,)
    assert interval_of(config(tmp_path, (5, 1)).plan.element) == (1, 1)


def test_cut_factors(tmp_path: Path) -> None:
    """Cut factors of a trial do not refuse a mapping that has enough sums without them."""
    assert interval_of(config(tmp_path, (8, 8), largest=2).plan.element) == (4, 5)
    assert refused(tmp_path, (2, 2), largest=0)


def test_stages(tmp_path: Path) -> None:
    """The mapping gives the stages and the cycles of a sum, unless the unit's settings do."""
    six = "C.clock_pipeline(6)\n"
    assert "one takes 6 cycles: 5 operations every 7" in refused(tmp_path, (5, 1), six)
    assert config(tmp_path, (7, 1), six).plan.element.arithmetic.pipeline == 6
    assert config(tmp_path, (7, 1), six).resolved()["pipeline"] == 6
    assert config(tmp_path, (5, 1), six, pipeline=4).plan.element.arithmetic.pipeline == 4
    assert config(tmp_path, (5, 1)).resolved()["pipeline"] == 4
    assert "one takes 2 cycles: 2 operations every 3" in refused(tmp_path, (2, 1), pipeline=1)
