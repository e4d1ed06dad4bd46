"""Measures SIDA's vector traffic on the RTL where the vectors are in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...hw.spec.sida import SIDA, SidaConfig
from ...synth.tables import Row, Table
from ..matraptor import needs_simulation
from .rates import MEMORY_BYTES, VERTICES, matrix_bytes, one_pass

if TYPE_CHECKING:
    from ...sim.sida.driver import SidaDriver

__all__ = ["CONFIGS", "MATRICES", "sida_windows"]


def _config(**others: Any) -> SidaConfig:
    return SidaConfig(pes=4, buffer_words=32768, **others)


CONFIGS = {
    "on chip": _config(vector_words=VERTICES),
    "1,024 on chip": _config(vector_words=VERTICES, rows_limit=VERTICES),
    "256 on chip": _config(vector_words=VERTICES // 4, rows_limit=VERTICES),
    "64 on chip": _config(vector_words=VERTICES // 16, rows_limit=VERTICES),
}
"""Four elements a cycle and room for all that waits; vectors on chip, and in memory with so many of
their elements on chip."""

MATRICES = {
    "band of 33": False,
    "2-D grid": False,
    "R-MAT": False,
    "R-MAT, transpose": True,
}
"""Matrices of ``sida-rates``, and whether the second product is with the transpose."""


def sida_windows(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    matrices: tuple[str, ...] = tuple(MATRICES),
) -> Table:
    """The passes of ``sida-rates``, with less and less of the vectors on chip.

    Bytes are those of x, z and w that are read and written, over three times a vector's; and all
    that is read and written over that of the matrix, of x and of the two vectors that are stored.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    matrices: see ``MATRICES``

    Raises as :func:`sida_rates`.
    """
    with needs_simulation("sida-windows", target):
        from ...hw.emit.unit import emit
        from ...sim.rtl.accelerator import NativeAccelerator
        from ...sim.sida.driver import SidaDriver

        rows = []
        for name, config in CONFIGS.items():
            progress(f"building {name}")
            with NativeAccelerator(emit(SIDA, config), config, memory_bytes=MEMORY_BYTES) as device:
                for kind in matrices:
                    progress(f"{name}: {kind}")
                    rows.append(_row(f"{name}: {kind}", kind, SidaDriver(device)))
    columns = ["elements a cycle, %", "cycles", "read of vectors", "written", "all bytes"]
    return Table("sida-windows", "RTL", columns, rows)


def _row(label: str, kind: str, driver: SidaDriver) -> Row:
    counts, elements = one_pass(label, kind.partition(",")[0], MATRICES[kind], driver)
    config = driver.config
    value = config.format.bits // 8
    vectors = 3 * value * VERTICES
    busy = counts["busy_cycles"] + counts["stalls"]
    ours = [
        100 * elements / (config.pes * busy),
        counts["cycles"],
        counts.get("bytes_windows_read", 0) / vectors,
        counts.get("bytes_windows_written", 0) / vectors,
        (counts["bytes_read"] + counts["bytes_written"])
        / (matrix_bytes(elements, value) + vectors),
    ]
    return Row(label, [None] * len(ours), ours, [1, 0, 2, 2, 3])
