"""How fast the converter between CSR and C2SR is, on the RTL."""

from __future__ import annotations

import numpy as np
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.c2sr_converter import C2srConverterConfig
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.verif.c2sr.cases import matrix_of, place
from tilewright.verif.c2sr.jobs import check

__all__ = ["converter_of", "converter_rate"]

Converter = NativeAccelerator[C2srConverterConfig]

_COLUMNS = 1000
_ROWS = {1: 3000, 2: 2000, 8: 400, 64: 40, 1000: 4}
"""By entries in a row: enough for reading to be ahead."""


def converter_of(config: C2srConverterConfig) -> Converter:
    """The RTL, with a memory. Raises as :class:`NativeAccelerator`."""
    return NativeAccelerator(emit("c2sr_converter", config), config, memory_bytes=1 << 19)


def converter_rate(rtl: Converter, direction: str, length: int, latency: int) -> float:
    """Entries a cycle with rows of a length (one of 1, 2, 8, 64, 1000), reads and writes answered
    after ``latency`` cycles: what twice as many rows take longer. Results are checked."""
    rng = np.random.default_rng(4)
    rtl.reset()
    rtl.behave(AxiBehaviour(latency=(latency, latency)))
    counts = []
    for rows in (_ROWS[length], 2 * _ROWS[length]):
        matrix = matrix_of(rng, rtl.config, np.full(rows, length, np.int64), _COLUMNS)
        counts.append(check(rng, rtl, place(rng, rtl.config, direction, matrix)).counts)
    more = {name: counts[1][name] - counts[0][name] for name in counts[0]}
    return more["entries"] / more["cycles"]
