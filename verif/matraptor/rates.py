"""How fast a processing element merges, and a lane multiplies, on the RTL."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.matraptor.driver import SparseDriver
from tilewright.sim.rtl.accelerator import AxiBehaviour
from tilewright.sim.rtl.streams import NativeSimulation, Pauses
from tilewright.sim.sparse.c2sr import from_csr
from tilewright.verif.matraptor.cycles.deviation import SparseNative
from tilewright.verif.matraptor.merge.element import Row, expected, shaped_rows
from tilewright.verif.matraptor.merge.element_outcome import Outcome, tokens
from tilewright.verif.matraptor.merge.element_unit import ProcessingElementUnit

__all__ = ["ELEMENT", "element_rate", "element_unit", "port_rate"]

ELEMENT = MatRaptorConfig(queues=10, queue_depth=16)
"""Ten queues and an adder of three stages, as by default; values do not matter."""

_COLUMNS = 16


def element_unit() -> NativeSimulation:
    """A processing element alone. Raises as :class:`NativeSimulation`."""
    return NativeSimulation(emit_component(ProcessingElementUnit(ELEMENT), name="element"))


def _needed(rows: Sequence[Row]) -> float:
    """Cycles a row if an entry moves in every one: those of the longer phase."""
    most = 0
    for row in rows:
        job = expected(ELEMENT, [row])
        appended = sum(len(part.columns) for part in row[: ELEMENT.queues - 1])
        most += max(1, appended + job.merge_steps, len(job.rows[0][0]))
    return most / len(rows)


def element_rate(
    unit: NativeSimulation, lengths: Sequence[int], count: int = 200
) -> tuple[float, float]:
    """Cycles a row of C: needed and taken, for rows of partial rows of these lengths.

    What twice as many rows take longer, so that filling and emptying do not count. Results are
    checked. ``count``: rows.
    """
    rows = shaped_rows(ELEMENT, np.random.default_rng(1), [lengths] * (2 * count), _COLUMNS)
    taken = []
    for part in (rows[:count], rows):
        unit.reset()
        given = tokens(part, np.random.default_rng(2), closed=0)
        taken.append(Outcome(unit, given, [expected(ELEMENT, part)], Pauses()).cycles())
    return _needed(rows[count:]), (taken[1] - taken[0]) / count


def port_rate(rtl: SparseNative, length: int, products: int = 20_000) -> tuple[float, float]:
    """Products and beats read, a cycle, with rows of B of a length, on a memory that answers in
    the next cycle. What twice as many rows of A, of four entries, take longer."""
    counts = []
    # Whole blocks of pairs.
    block = rtl.config.layout.block_pairs
    rows = max(1, products // (4 * length * block)) * block
    for count in (rows, 2 * rows):
        index = np.arange(4 * count)
        inner = 4 * count
        a = sp.csr_array((np.ones(4 * count), index, np.arange(count + 1) * 4), (count, inner))
        columns = np.tile(np.arange(length), inner)
        b = sp.csr_array(
            (np.ones(inner * length), columns, np.arange(inner + 1) * length), (inner, length)
        )
        rtl.reset()
        rtl.behave(AxiBehaviour())
        driver = SparseDriver(rtl)
        driver.multiply(*(from_csr(m, rtl.config.layout) for m in (a, b)))
        counts.append(driver.jobs[0].counts)
    more = {name: counts[1][name] - counts[0][name] for name in counts[0]}
    beats = more["bytes_read"] / rtl.config.beat_bytes
    return more["operations"] / more["cycles"], beats / more["cycles"]
