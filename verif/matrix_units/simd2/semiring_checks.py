"""Results of the semiring matrix unit, from the model or from the RTL, before the exact oracles."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.formats import FloatFormat
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.hw.spec.simd2 import Simd2Config
from tilewright.verif.oracles.semirings import check_sums, exact_result

from ..matrix_stimuli import Operations

Array = npt.NDArray[Any]


class Operands(NamedTuple):
    """Operands of every result: its row of a, its column of b, (results, tile), and its addend."""

    a: Array
    b: Array
    c: Array


def operands_of(config: Simd2Config, sent: Operations) -> Operands:
    """The operands of every result of operations, in the order of ``d.ravel()``."""
    tile = config.tile
    rows, columns, addends = [], [], []
    for row in range(tile):
        for col in range(tile):
            picked = []
            for lane in range(tile):
                if sent.metadata is None:
                    picked.append(sent.b[:, lane, col])
                else:
                    group = sent.b[:, 4 * (lane // 2) : 4 * (lane // 2) + 4, col]
                    place = sent.metadata[:, row, lane]
                    picked.append(np.choose(place.astype(np.int64), list(group.T)))
            rows.append(sent.a[:, row])
            columns.append(np.stack(picked, axis=1))
            addends.append(sent.c[:, row, col])
    mask = np.uint64((1 << config.result.bits) - 1)
    return Operands(
        np.stack(rows, axis=1).reshape(-1, tile),
        np.stack(columns, axis=1).reshape(-1, tile),
        np.stack(addends, axis=1).reshape(-1) & mask,
    )


def fault(config: Simd2Config, name: str, sent: Operations, d: Array) -> str:
    """The first result of operations of one semiring that exact arithmetic refuses; empty if it
    refuses none."""
    row, (a, b, c), found = SEMIRINGS[name], operands_of(config, sent), d.ravel()
    element, result = config.element, config.result
    if row.plus == "add" and isinstance(element, FloatFormat):
        assert isinstance(result, FloatFormat)
        report = check_sums(
            row, a, b, c, found,
            element=element, result=result, alignment_bits=config.window_bits,
        )  # fmt: skip
        assert report.checked == len(found)
        for index, clause in report.violations[:1]:
            return f"{name}, a {_hex(a[index])}, b {_hex(b[index])}, c {int(c[index]):#x}: {clause}"
        return ""
    cases = zip(a.tolist(), b.tolist(), c.tolist(), found.tolist(), strict=True)
    for row_a, row_b, addend, got in cases:
        expected = exact_result(row, row_a, row_b, addend, element, result)
        if got != expected:
            operands = f"a {_hex(row_a)}, b {_hex(row_b)}, c {addend:#x}"
            return f"{name}, {operands}: {got:#x}, expected {expected:#x}"
    return ""


def _hex(patterns: Any) -> str:
    return "[" + ", ".join(f"{int(pattern):#x}" for pattern in patterns) + "]"
