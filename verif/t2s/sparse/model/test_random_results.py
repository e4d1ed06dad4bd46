"""Random mappings: the driver and the model are compared with the meaning of their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tilewright.sim.sparse.tensor import Tensor
from tilewright.sim.t2s.checking import random_operands
from tilewright.sim.t2s.definition_result import definition_result
from tilewright.sim.t2s.driver import Driver
from tilewright.sim.t2s.model import T2sModel
from tilewright.verif.kit.sampling import cases, rng_of

from ..random_mappings import FORMS, DrawnSparse


def as_tensor(words: Any) -> Tensor:
    """Returns the words that are not None as a tensor in float64."""
    places = np.argwhere(np.frompyfunc(lambda one: one is not None, 1, 1)(words)).astype(np.int64)
    values = words[tuple(places.T)].astype(np.float64)
    return Tensor(shape=words.shape, indices=places, values=values)


@pytest.mark.parametrize("kernel", FORMS)
@pytest.mark.parametrize("seed", range(cases(30)))
def test_whole_numbers(kernel: str, seed: int) -> None:
    """Whole numbers are exact in any order, on every semiring. Hardly any tile divides the
    bounds."""
    rng = rng_of(seed)
    config = DrawnSparse(kernel=kernel, seed=seed)
    program = config.plan.program
    bounds = {name: int(rng.integers(1, 9)) for name in program.indices}
    operands = random_operands(program, bounds, seed)
    given = {
        name: as_tensor(words) if name in program.sparse else words.astype(np.float64)
        for name, words in operands.items()
    }
    found = Driver(T2sModel(config)).compute(bounds, **given)
    wanted = definition_result(program, bounds, operands)
    assert np.array_equal(found, wanted.astype(np.float64))
