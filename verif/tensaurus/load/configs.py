"""Configurations, jobs and tiles for the parts of the load side."""

from __future__ import annotations

from typing import Any

from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.hw.tensaurus.layouts import job_layout, tile_layout

__all__ = ["CONFIGS", "job_bits", "tile_bits"]


def _config(rows: int, cols: int, vlen: int, **others: Any) -> TensaurusConfig:
    sizes = {"spm_bytes": 1024, "out_bytes": 2048, "banks": 2, "addr_bits": 32}
    return TensaurusConfig(rows=rows, cols=cols, vlen=vlen, **{**sizes, **others})


CONFIGS = {
    "small": _config(2, 2, 2, channels=1, data_bits=64, outstanding=4, row_queue=2),
    "four": _config(3, 1, 4, channels=4, data_bits=128, outstanding=8, order=4, marker="bit",
                    index_bits=16, value="fp16"),
    "odd": _config(5, 2, 3, channels=3, data_bits=512, outstanding=2, order=4, value="fp64"),
    "one": _config(1, 3, 1, channels=2, data_bits=64, interleave=128, outstanding=4, order=2,
                   marker="bit", semiring="minplus", value="int32", index_bits=16),
    "bytes": _config(4, 2, 2, channels=2, data_bits=256, outstanding=4, value="int8",
                     index_bits=16),
    "default": TensaurusConfig(addr_bits=32),
}  # fmt: skip


def job_bits(config: TensaurusConfig, **fields: int) -> int:
    """A job; what is not named is 1, but for the regions and the list, 0."""
    ones = dict.fromkeys(("order", "vectors", "scalars_1", "scalars_2", "tiles"), 1)
    return int(job_layout(config).const({**ones, **fields}).as_bits())


def tile_bits(config: TensaurusConfig, **fields: int) -> int:
    """A tile that was checked."""
    return int(tile_layout(config).const(fields).as_bits())
