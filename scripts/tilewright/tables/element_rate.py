"""Measures the merge throughput of a processing element of MatRaptor on the RTL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from ..hw.emit.unit import emit, emit_component
from ..hw.matraptor.layouts import product_layout, result_layout
from ..hw.matraptor.merge.processing_element import ProcessingElement
from ..hw.spec.matraptor import MatRaptorConfig
from ..sim.matraptor.driver import SparseDriver
from ..sim.matraptor.result.queues import merge_rows
from ..sim.numbers.values import encode
from ..sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from ..sim.rtl.streams import NativeSimulation, pack, unpack
from ..sim.sparse.c2sr import from_csr, starts_of

_LATENCY = 50


@dataclass(frozen=True, kw_only=True)
class Case:
    """A product of random matrices, ``rows`` x ``inner`` by ``inner`` x ``columns``.

    Parameters
    ----------
    left, right: densities
    """

    rows: int
    inner: int
    columns: int
    left: float
    right: float


@dataclass(frozen=True, kw_only=True)
class ModeRates:
    """Cycles, traffic and utilisation of a product.

    Parameters
    ----------
    cycles, bytes_read: of all its jobs
    utilisation: products over cycles and lanes
    """

    cycles: int
    bytes_read: int
    utilisation: float


def modes_device(lanes: int = 4) -> NativeAccelerator[MatRaptorConfig]:
    """An accelerator with both modes and as many channels as lanes, whose memory answers after 50
    cycles. Raises as :class:`NativeAccelerator`."""
    config = MatRaptorConfig(lanes=lanes, channels=lanes, outer_product=True)
    return NativeAccelerator(
        emit("matraptor", config),
        config,
        memory_bytes=1 << 26,
        behaviour=AxiBehaviour(latency=(_LATENCY, _LATENCY)),
        time_out=1 << 32,
    )


def compare_modes(
    device: NativeAccelerator[MatRaptorConfig], case: Case
) -> tuple[ModeRates, ModeRates]:
    """The product row by row, and by outer products.

    Raises RuntimeError if they differ: values are integers so small that sums are exact.
    """
    rng = np.random.default_rng(1)
    shapes = ((case.rows, case.inner, case.left), (case.inner, case.columns, case.right))
    matrices = []
    for rows, columns, density in shapes:
        found = sp.random_array((rows, columns), density=density, format="csr", rng=rng)
        found.data = rng.integers(1, 8, found.nnz).astype(np.float64)
        matrices.append(from_csr(found, device.config.layout))
    driver = SparseDriver(device)
    rates, results = [], []
    for mode in ("rows", "outer"):
        results.append(driver.multiply(*matrices, mode=mode).patterns())
        counts = [job.counts for job in driver.jobs]
        cycles, products, read = (
            sum(count[name] for count in counts) for name in ("cycles", "operations", "bytes_read")
        )
        rates.append(
            ModeRates(
                cycles=cycles,
                bytes_read=read,
                utilisation=products / (cycles * device.config.lanes),
            )
        )
    if not all(map(np.array_equal, *results)):
        raise RuntimeError(f"the modes differ on {case}")
    return rates[0], rates[1]


ELEMENT = MatRaptorConfig(queues=10, queue_depth=16)
"""Ten queues and an adder of three stages, as by default; values do not matter."""

_COLUMNS = 16
Ints = NDArray[np.int64]


class _Element(wiring.Component):
    """A processing element that is never stopped.

    Members
    -------
    i, o: as those of :class:`ProcessingElement`
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(product_layout(ELEMENT))),
                "o": Out(stream.Signature(result_layout(ELEMENT))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.element = element = ProcessingElement(ELEMENT)
        wiring.connect(m, wiring.flipped(self.i), element.i)
        wiring.connect(m, element.o, wiring.flipped(self.o))
        return m


def element_unit() -> NativeSimulation:
    """A processing element alone. Raises as :class:`NativeSimulation`."""
    return NativeSimulation(emit_component(_Element(), name="element"))


def element_rate(
    unit: NativeSimulation, lengths: Sequence[int], count: int = 200
) -> tuple[float, float]:
    """Cycles a row of C: needed and taken, for rows of partial rows of these lengths.

    Needed are those of the longer phase, if an entry moves in every one. Taken is what twice the
    rows take longer, so that filling and emptying do not count. Results are checked.
    ``count``: rows.
    """
    rng = np.random.default_rng(1)
    rows = [
        [np.sort(rng.choice(_COLUMNS, length, replace=False)) for length in lengths]
        for _ in range(count)
    ]
    needed = sum(map(_needed, rows)) / count
    return needed, (_cycles(unit, [*rows, *rows]) - _cycles(unit, rows)) / count


def _needed(row: Sequence[Ints]) -> int:
    starts = starts_of(np.array([len(part) for part in row]))
    ends, parts = np.array([0, len(row)]), np.arange(len(row))
    sizes = {"queues": ELEMENT.queues, "depth": ELEMENT.queue_depth}
    merged = merge_rows(ends, parts, starts, np.concatenate(row), **sizes)
    appended = int(starts[min(len(row), ELEMENT.queues - 1)])
    return max(1, appended + merged.merge_steps, int(merged.lengths[0]))


def _cycles(unit: NativeSimulation, rows: Sequence[Sequence[Ints]]) -> int:
    """Counts cycles from the first product in to the last entry out. All values are one, so an
    entry of C is the number of its products."""
    parts = [part for row in rows for part in row]
    columns = np.concatenate(parts)
    row = np.repeat(np.arange(len(rows)), [sum(map(len, row)) for row in rows])
    one = int(encode(np.array([1.0]), ELEMENT.format)[0])
    given = {
        "a": np.full(len(columns), one, np.uint64),
        "b": np.full(len(columns), one, np.uint64),
        "column": columns,
        "b_last": _last([len(part) for part in parts]),
        "present": np.ones(len(columns), np.uint64),
        "row_last": np.append(np.diff(row) != 0, True),
        "lane_last": _last([len(columns)]),
        "row": row,
    }
    found = [np.unique(np.concatenate(row), return_counts=True) for row in rows]
    expected = {
        "column": np.concatenate([columns for columns, _ in found]),
        "value": encode(np.concatenate([n for _, n in found]).astype(float), ELEMENT.format),
        "row_last": _last([len(columns) for columns, _ in found]),
    }
    unit.reset()
    run = unit.run(pack(_unsigned(given), unit.stream("i")), outputs=len(expected["column"]))
    got = unpack(run.payloads, unit.stream("o"))
    if not all(np.array_equal(got[name], values) for name, values in expected.items()):
        raise RuntimeError("the processing element gives wrong results")
    return int(run.output_cycles[-1] - run.input_cycles[0]) + 1


def _last(lengths: Sequence[int]) -> NDArray[np.bool_]:
    """Marks of the last of each run of these lengths."""
    last = np.zeros(sum(lengths), np.bool_)
    last[np.cumsum(lengths) - 1] = True
    return last


def _unsigned(fields: dict[str, Any]) -> dict[str, NDArray[np.uint64]]:
    return {name: np.asarray(values).astype(np.uint64) for name, values in fields.items()}
