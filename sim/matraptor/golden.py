"""MatRaptor's products of sparse matrices that are given by place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...hw.spec.matraptor import MatRaptorConfig
from ..sparse.places import from_places, to_places
from .result.outer import by_columns, outer_product
from .result.rows import spgemm

__all__ = ["golden"]


def golden(
    config: MatRaptorConfig, operation: str, sizes: Mapping[str, int], operands: Mapping[str, Any]
) -> dict[str, Any]:
    """One job, which must fit the queues: a, b to c; see :class:`tilewright.registry.Entry`."""
    m, n, k = (sizes[name] for name in "MNK")
    a = from_places(operands["a"], (m, k), config.layout)
    b = from_places(operands["b"], (k, n), config.layout)
    if operation == "outer":
        found = outer_product(config, by_columns(config, a), b, m)
    else:
        found = spgemm(config, a, b)
    if found.c is None:
        raise ValueError(f"the product does not fit the queues: {found.overflow}")
    return {"c": to_places(found.c)}
