"""State of the cycle model of the store side: fields of a record that compiled code works on."""

from __future__ import annotations

from typing import Any

from .....hw.spec.tensaurus import TensaurusConfig
from ...result.kernel import Kernel
from ..array.state import fields
from .sums_state import SUMS, set_up_sums

__all__ = ["STORE", "set_up_store"]

STORE: list[tuple[Any, ...]] = [
    # The configuration and the job.
    *fields("slice_bytes", "result_unit_bytes", "settling"),
    # The writer's port in this cycle: it takes a line, an extent; what is given.
    *fields("line_accepts", "puts_line", "writer_idle"),
    # The state and the tile at hand; whether the output behind it is the job's last.
    *fields("storing", "wait", "store_tile", "output_ended"),
    # The walk: whether it asks for its extent; its place and its end, bytes to be read and to be
    # taken, whether a unit was read, whether one is set to the identity.
    *fields("walk_asks", "walk_address", "walk_bytes"),
    *fields("walk_at", "walk_units", "unread", "owed", "unit_valid", "clears"),
    # Bytes that were sent.
    *fields("sent"),
    *SUMS,
]
"""Fields of the machine."""

_READ = 1


def set_up_store(m: Any, config: TensaurusConfig, kernel: Kernel, direct: bool) -> None:
    """A machine of zeros gets a store side behind a reset, whose buffer is empty; ``direct``: the
    job adds in memory."""
    for name, value in {
        "slice_bytes": kernel.slice_values(config) * config.sum_format.bits // 8,
        "result_unit_bytes": config.result_unit_bytes,
        "settling": config.cols + _READ + config.adder_stages + 3,
    }.items():
        m[name] = value
    if direct:
        set_up_sums(m, config)
