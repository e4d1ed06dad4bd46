"""Measures the throughput of the converter between CSR and C2SR on the RTL."""

from __future__ import annotations

import numpy as np

from ..hw.emit.unit import emit
from ..hw.spec.c2sr_converter import C2srConverterConfig
from ..sim.c2sr_converter.driver import ConverterDriver
from ..sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from ..sim.sparse.c2sr import CsrPatterns, from_patterns

__all__ = ["converter_of", "converter_rate"]

Converter = NativeAccelerator[C2srConverterConfig]

_COLUMNS = 1000
_ROWS = {1: 3000, 2: 2000, 8: 400, 64: 40, 1000: 4}
"""Rows by the entries in a row: enough for reading to be ahead."""


def converter_of(config: C2srConverterConfig) -> Converter:
    """The RTL, with a memory. Raises as :class:`NativeAccelerator`."""
    return NativeAccelerator(emit("c2sr_converter", config), config, memory_bytes=1 << 19)


def converter_rate(rtl: Converter, direction: str, length: int, latency: int) -> float:
    """Entries a cycle with rows of a length (one of 1, 2, 8, 64, 1000), reads and writes answered
    after ``latency`` cycles: what twice as many rows take longer. Results are checked."""
    rng = np.random.default_rng(4)
    rtl.reset()
    rtl.behave(AxiBehaviour(latency=(latency, latency)))
    driver = ConverterDriver(rtl)
    counts = []
    for rows in (_ROWS[length], 2 * _ROWS[length]):
        columns = [np.sort(rng.choice(_COLUMNS, length, replace=False)) for _ in range(rows)]
        values = rng.integers(0, 1 << rtl.config.layout.format.bits, rows * length, np.uint64)
        entries = CsrPatterns(np.arange(rows + 1) * length, np.concatenate(columns), values)
        matrix = from_patterns(entries, (rows, _COLUMNS), rtl.config.layout)
        if not driver.convert(direction, matrix).same_as(matrix):
            raise RuntimeError(f"the converter gives a wrong matrix, {direction}")
        counts.append(driver.counts)
    more = {name: counts[1][name] - counts[0][name] for name in counts[0]}
    return more["entries"] / more["cycles"]
