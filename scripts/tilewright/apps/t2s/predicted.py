"""What a mapping's hardware would take for given bounds, by the cycle model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .mapping_given import MappingOptions
from .queues import hardware_config

__all__ = ["predicted", "predicted_rows"]

_MOST = 4_000_000
"""Iterations of an element: more would take minutes."""


def predicted(
    file: Path, options: MappingOptions, bounds: Mapping[str, int], iterations: int
) -> dict[str, Any]:
    """The counters of a job, of an array with the unit's parameters before a memory that answers
    after 20 cycles; or, as ``not_known``, why they are not known.

    ``iterations``: of an element
    """
    from ...sim.t2s.cycles.machine import counts_of

    if iterations > _MOST:
        return {"not_known": f"{iterations:,} iterations are more than {_MOST:,}"}
    try:
        config = hardware_config(file, options)
        return asdict(counts_of(config, bounds))
    except ValueError as error:
        return {"not_known": str(error)}


def predicted_rows(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The same as lines of a report."""
    if "not_known" in found:
        return [("cycles", f"not known: {found['not_known']}")]
    share = found["busy_cycles"] / found["cycles"]
    return [
        ("cycles", f"{found['cycles']:,}, in {found['busy_cycles']:,} of them elements begin "
                   f"products: {share:.1%}"),
        ("bytes", f"{found['bytes_read']:,} read, {found['bytes_written']:,} written"),
    ]  # fmt: skip
