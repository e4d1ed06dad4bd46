"""An array's computation whose operands are given element by element."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...hw.spec.t2s.config import T2sConfig
from .hardware_result import result_of_walked

__all__ = ["golden"]


def golden(
    config: T2sConfig, operation: str, sizes: Mapping[str, int], operands: Mapping[str, Any]
) -> dict[str, Any]:
    """One job: all operands to the result; see :class:`tilewright.registry.Entry`."""
    design = config.plan
    assert operation == design.program.result
    bounds = {name: sizes[name] for name in design.program.indices}
    words = {}
    for name, given in operands.items():
        fmt = design.word_format(name)
        # A vector has a column.
        modes = {x for one in design.program.tensor(name).dimensions for x in one.variables}
        shaped = given if len(modes) == given.ndim else given[..., 0]
        words[name] = shaped >> np.uint64(fmt.container_bits - fmt.bits)
    fmt = design.word_format(operation)
    found = result_of_walked(design, bounds, words) << np.uint64(fmt.container_bits - fmt.bits)
    return {operation: found if found.ndim > 1 else found[:, np.newaxis]}
