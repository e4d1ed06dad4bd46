"""The table of mapped arrays in field-programmable gate arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import UserError
from ...synth.tables import Row, Table

__all__ = ["ARRAYS", "t2s_fpga"]

_LEAST: dict[str, Any] = {
    "design": "steps/step1_plain", "data_bits": 64, "addr_bits": 32, "trip_bits": 8,
    "outstanding": 1,
}  # fmt: skip

ARRAYS: dict[str, dict[str, Any]] = {
    "int8, one element": {**_LEAST, "format": "int8"},
    "int8, 2 x 2 x 2": {"format": "int8", "largest": 2},
    "int8, 4 x 4 x 4": {"format": "int8", "largest": 4},
    "fp16, one element": {**_LEAST, "format": "fp16"},
    "fp16, 2 x 2 x 2": {"format": "fp16", "largest": 2},
}
"""Parameters by label; lanes last."""


def t2s_fpga(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    only: str | None = None,
) -> Table:
    """Look-up tables, flip-flops, multiplier blocks, memory blocks and clock of products of
    matrices, placed and routed; of arrays that do not fit the look-up tables alone.

    Parameters
    ----------
    only: a part of the labels of those that are placed; None: all

    Raises UserError for targets of standard cells, and if no array is named so.
    """
    from ...hw.spec.t2s.config import T2S, T2sConfig
    from ...synth.flow import synthesize
    from ...synth.fpga import FAMILIES, TooLarge
    from ...synth.report import FpgaReport

    if target not in FAMILIES:
        raise UserError(f"t2s-fpga needs --target {' or '.join(FAMILIES)}, not {target}")
    labels = [label for label in ARRAYS if (only or "") in label]
    if not labels:
        raise UserError(f"t2s-fpga: --only must be a part of {'; '.join(ARRAYS)}, not {only!r}")
    rows = []
    for label in labels:
        progress(label)
        figures: tuple[float | None, ...]
        try:
            report = synthesize(T2S, T2sConfig(**ARRAYS[label]), target=target)
        except TooLarge as error:
            figures = (error.luts, None, None, None, None)
            label += ": does not fit"
        else:
            assert isinstance(report, FpgaReport)
            blocks = (report.dsps, report.block_rams)
            figures = (report.luts, report.flip_flops, *blocks, report.fmax_mhz)
        rows.append(Row(label, (None,) * 5, figures, (0, 0, 0, 0, 1)))
    columns = ["luts", "flip-flops", "multipliers", "memories", "MHz"]
    return Table("t2s-fpga", target, columns, rows)
