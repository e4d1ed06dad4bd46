"""Golden model of a conversion: it returns the matrix unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...hw.spec.c2sr_converter import C2srConverterConfig

__all__ = ["golden"]


def golden(
    config: C2srConverterConfig,
    operation: str,
    sizes: Mapping[str, int],
    operands: Mapping[str, Any],
) -> dict[str, Any]:
    """One job, source to target; see :class:`tilewright.registry.Entry`."""
    return {"target": dict(operands["source"])}
