"""Cycle model: skid buffers."""

from __future__ import annotations

from typing import Any

from ....timing.compiled import called

__all__ = ["put", "skid_step"]


@called
def put(skid: Any, value: int) -> None:
    """Into a skid buffer whose spare place is free."""
    skid.puts = 1
    skid.put_value = value


@called
def skid_step(skid: Any) -> None:
    """The end of a cycle in which something was put, or was taken (``takes``), or neither."""
    if not (skid.puts or skid.takes):
        return
    if skid.takes or not skid.valid:
        skid.valid = skid.spare or skid.puts
        skid.value = skid.spare_value if skid.spare else skid.put_value
        skid.spare = 0
    else:
        skid.spare = 1
        skid.spare_value = skid.put_value
    skid.puts = 0
    skid.takes = 0
