"""Results that are to be the same, and the first operands for which they are not."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.sim.numbers.values import Patterns


def agree(name: str, got: npt.ArrayLike, expected: npt.ArrayLike, *operands: Patterns) -> None:
    """Fail with the first operands on which two results differ."""
    wrong = np.flatnonzero(np.asarray(got) != np.asarray(expected))
    if len(wrong):
        first = wrong[0]
        given = ", ".join(hex(operand[first]) for operand in operands)
        found = f"{int(np.asarray(got)[first]):#x}, not {int(np.asarray(expected)[first]):#x}"
        pytest.fail(f"{name}({given}) gives {found}; {len(wrong)} of {len(operands[0])} differ")
