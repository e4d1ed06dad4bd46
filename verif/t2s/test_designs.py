"""Designs that ship: what each pass makes of them computes what their definitions say, and those
are what NumPy says."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.ndimage import correlate
from tilewright.hw.t2s.compiler.passes import PASSES, programs
from tilewright.hw.t2s.language.mapping_file import load_mapping
from tilewright.sim.t2s.checking import random_operands
from tilewright.sim.t2s.interpreter import interpret
from tilewright.verif.t2s.designs import DESIGNS, FOLDER, bounds_of


def by_numpy(name: str, operands: dict[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """The result by functions of NumPy and SciPy."""
    given = [one.astype(np.int64) for one in operands.values()]
    if DESIGNS[name].einsum:
        return np.einsum(DESIGNS[name].einsum, *given)
    if name == "apsp":
        return np.min(given[0][:, :, None] + given[1][None, :, :], axis=1)
    if name == "fir":
        return np.correlate(given[0], given[1], mode="valid")
    if name == "stencil3d":
        return valid(*given)
    images, filters = given
    return np.stack([valid(images, one)[0] for one in filters])


def valid(image: npt.NDArray[Any], weights: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The correlation of an image with weights that lie inside it."""
    whole = correlate(image, weights, mode="constant", origin=[-(n // 2) for n in weights.shape])
    return whole[tuple(slice(n - k + 1) for n, k in zip(image.shape, weights.shape, strict=True))]


def test_every_design_is_checked() -> None:
    files = {one.stem for one in FOLDER.glob("*.py")} - {"__init__"}
    assert files == set(DESIGNS)


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


def test_sizes_of_the_paper() -> None:
    """Arrays of Table 3.3; that of GEMM is 10 x 8 (its text)."""
    found = {}
    for name in ("gemm", "mttkrp", "ttm", "ttmc"):
        computation = load_mapping(FOLDER / f"{name}.py")
        (*_, (_, program)) = programs(computation)
        element = program.function(computation.name)
        assert computation.vectorised
        lanes = computation.loop(computation.vectorised[0]).extent
        sums = [one.extent or 0 for one in element.buffers[0].dimensions]
        found[name] = ([one.extent for one in element.instances], lanes, prod(sums))
    assert found == {
        "gemm": ([10, 8], 16, 1024),
        "mttkrp": ([8, 9], 16, 256),
        "ttm": ([8, 11], 16, 1024),
        "ttmc": ([8, 10], 16, 256),
    }
