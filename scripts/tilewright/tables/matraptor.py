"""Tables of MatRaptor: rates beside the paper's, where cycles go, and both dataflows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UserError, user_errors
from ..hw.emit.unit import emit
from ..hw.spec.c2sr_converter import C2srConverterConfig
from ..hw.spec.host.activity import note_config
from ..sim.c2sr_converter.driver import ConverterDriver
from ..sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from ..sim.sparse.c2sr import CsrPatterns, from_patterns
from ..synth.tables import Row, Table, Tables

if TYPE_CHECKING:
    from ..sim.matraptor.cycles.rows import Cycles
    from ..sim.timing.dram import MemoryModel

__all__ = [
    "CASES",
    "SIZES",
    "converter_of",
    "converter_rate",
    "matraptor_breakdown",
    "matraptor_modes",
    "matraptor_rates",
    "needs_simulation",
]


_ELEMENT = {
    "1 row of B, 1 entry": (1,),
    "2 rows, 3 and 2 entries": (3, 2),
    "9 rows of 12 entries": (12,) * 9,
    "40 rows of 6 entries, 31 of them merged": (6,) * 40,
}
_PORT = (1, 2, 8, 64, 500)
_LENGTHS = (1, 2, 8, 64, 1000)
_CONVERTER_LATENCIES = (1, 50, 200)
_CONFIGS = ("1x1", "2x2", "4x2", "2x6", "3x3")
_APART = ("cycles", "busy_cycles", "stalls", "conflicts")
Progress = Callable[[str], None]


@contextmanager
def needs_simulation(name: str, target: str) -> Iterator[None]:
    """Guards a table that is measured on the RTL, under Verilator.

    Raises UserError for a target, or if there is no Verilator, or no compiler, or it fails.
    """
    if target != "cmos":
        raise UserError(f"{name} is measured in simulation: no --target, not {target!r}")
    from ..sim.rtl import toolchain

    with user_errors(toolchain.ToolMissing):
        toolchain.require_tools()
    try:
        from ..sim.rtl.build import BuildError
    except ModuleNotFoundError as error:
        raise UserError(
            f"{name} needs the package {error.name!r}: pip install 'tilewright[simulate]'"
        ) from None
    with user_errors(BuildError, about=name):
        yield


def _row(label: str, ours: Sequence[float], digits: int | Sequence[int] = 2) -> Row:
    return Row(label, [None] * len(ours), ours, digits)


def _element(progress: Progress) -> Table:
    from .element_rate import element_rate, element_unit

    progress("building a processing element")
    unit = element_unit()
    rows = [_row(label, element_rate(unit, lengths)) for label, lengths in _ELEMENT.items()]
    return Table("processing element, cycles a row of C", "RTL", ["needed", "taken"], rows)


def _port(progress: Progress) -> Table:
    from .cycle_deviation import config_of, device_of
    from .lane_rate import port_rate

    progress("building a lane with a channel of 64 bits")
    with device_of(config_of("1x1")) as rtl:
        rows = [
            _row(f"entries in a row of B: {length}", port_rate(rtl, length), 3) for length in _PORT
        ]
    return Table("lane with a channel of 64 bits, a cycle", "RTL", ["products", "beats read"], rows)


def _converter(progress: Progress) -> Table:
    from ..hw.spec.c2sr_converter import C2srConverterConfig

    progress("building the converter")
    rows = []
    with converter_of(C2srConverterConfig()) as rtl:
        for name, direction in (("CSR to C2SR", "csr_to_c2sr"), ("C2SR to CSR", "c2sr_to_csr")):
            for latency in _CONVERTER_LATENCIES:
                progress(f"{name}, latency {latency}")
                rates = [converter_rate(rtl, direction, length, latency) for length in _LENGTHS]
                rows.append(_row(f"{name}, latency {latency}", rates))
    columns = [f"{length} a row" for length in _LENGTHS]
    return Table("converter, entries a cycle, by entries in a row", "RTL", columns, rows)


def _model(progress: Progress, configs: Sequence[str]) -> Table:
    from .cycle_deviation import config_of, deviation, device_of

    rows = []
    for name in configs:
        progress(f"building lanes x channels {name}")
        with device_of(config_of(name)) as rtl:
            found = deviation(rtl)
        others = max(share for counter, share in found.worst.items() if counter not in _APART)
        shares = [*(found.worst[counter] for counter in _APART), others]
        figures = [found.jobs, *(100 * share for share in shares)]
        rows.append(_row(f"lanes x channels {name}", figures, [0] + [2] * len(shares)))
    columns = ["jobs", *_APART, "any other counter"]
    return Table("cycle model against RTL, largest deviation in percent", "RTL", columns, rows)


def matraptor_rates(
    target: str,
    progress: Progress = lambda said: None,
    *,
    configs: Sequence[str] = _CONFIGS,
) -> Tables:
    """Measures throughput per cycle on the RTL, under Verilator, and the cycle model's deviation.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    configs: on which the model is held against the RTL, of ``CONFIGS`` of ``cycle_deviation``

    Raises UserError for another target, or if there is no Verilator, or no compiler.
    """
    with needs_simulation("matraptor-rates", target):
        parts = [_element(progress), _port(progress), _converter(progress)]
        parts.append(_model(progress, configs))
    return Tables("matraptor-rates", parts)


SIZES = (1_000_000, 10_000_000)
"""Products that are asked for."""
HARDWARE = {"16 queues": {"queues": 16}, "and 256 bursts": {"queues": 16, "outstanding": 256}}
"""Configurations with more of something than the default one."""
_SEED = 11


def matraptor_breakdown(
    target: str, progress: Progress = lambda said: None, *, sizes: Sequence[int] = SIZES
) -> Tables:
    """Squares of generated matrices on the default configuration, at 2 GHz, with HBM channels.

    A table for each length of an access: products, jobs, cycles and their ratio to the bound, to it
    if channels and lanes had equal shares, then what the cycles of all lanes went to, in percent.
    One more, of the smallest matrices on ``HARDWARE``, with 64-byte accesses.

    Raises UserError for a target other than "cmos", the default: nothing is synthesised.
    """
    if target != "cmos":
        raise UserError(f"matraptor-breakdown is computed by a model: no --target, not {target!r}")
    from ..sim.timing.dram import HBM, HBM_32
    from .generated_matrices import KINDS

    parts = []
    for memory in (HBM, HBM_32):
        found, columns = [], []
        for kind in KINDS:
            for size in sizes:
                progress(f"{kind}, {size:,} products, {memory.name}")
                found.append(_measure(kind, size, memory))
                columns.append(f"{kind}, {sum(job.operations for job in found[-1]) / 1e6:.1f} M")
        name = f"matraptor-breakdown, {memory.access_bytes}-byte accesses"
        parts.append(Table(name, "model", columns, _rows(found)))
    found, columns = [], []
    for kind in KINDS:
        for what, changes in HARDWARE.items():
            progress(f"{kind}, {sizes[0]:,} products, {what}")
            found.append(_measure(kind, sizes[0], HBM, **changes))
            columns.append(f"{kind}, {what}")
    parts.append(Table("matraptor-breakdown, more hardware", "model", columns, _rows(found)))
    return Tables("matraptor-breakdown", parts)


def _measure(kind: str, size: int, memory: MemoryModel, **changes: Any) -> list[Cycles]:
    """The jobs of a matrix's square that ended well; ``changes``: of the default configuration."""
    from ..hw.spec.matraptor import MatRaptorConfig
    from ..sim.matraptor.driver import SparseDriver
    from ..sim.matraptor.model import MatRaptorModel
    from ..sim.sparse.c2sr import from_csr
    from .generated_matrices import KINDS

    config = MatRaptorConfig(**changes)
    note_config("matraptor", config.resolved())
    operand = from_csr(KINDS[kind](size, _SEED), config.layout)
    model = MatRaptorModel(config, 1 << 32, channel=memory)
    SparseDriver(model).multiply(operand, operand)
    return model.cycles


def _rows(found: list[list[Cycles]]) -> list[Row]:
    from ..sim.matraptor.cycles.reasons import REASONS

    cycles = [sum(job.cycles for job in jobs) for jobs in found]
    bounds = [sum(job.bound.cycles for job in jobs) for jobs in found]
    even = [sum(job.bound.cycles_even for job in jobs) for jobs in found]
    merged = [sum(job.merge_steps for job in jobs) / 1e6 for jobs in found]
    none = [None] * len(found)
    rows = [
        Row("jobs", none, [len(jobs) for jobs in found], 0),
        Row("cycles", none, cycles, 0),
        Row("ratio to the bound", none, [x / y for x, y in zip(cycles, bounds, strict=True)], 3),
        Row("the same, evenly spread", none, [x / y for x, y in zip(cycles, even, strict=True)], 3),
        Row("merge steps, million", none, merged, 1),
    ]
    for name, words in REASONS.items():
        shares = []
        for jobs in found:
            spent = sum(job.lane_cycles[name] for job in jobs)
            shares.append(100 * spent / sum(job.lanes * job.cycles for job in jobs))
        rows.append(Row(f"{words}, %", none, shares, 1))
    return rows


_SQUARE = (0.02, 0.1, 0.3, 0.6, 1.0)
CASES: dict[str, tuple[int, int, int, float, float]] = {
    **{f"128 x 128 x 128, {100 * d:.0f} % full": (128, 128, 128, d, d) for d in _SQUARE},
    "64 x 576 x 196, 30 and 50 %": (64, 576, 196, 0.3, 0.5),
    "128 x 1152 x 49, 30 and 50 %": (128, 1152, 49, 0.3, 0.5),
}
"""Rows of A, columns of A, columns of B, densities of A and B. The last two are the layers of a
pruned convolutional network, 3 x 3 kernels on 64 and 128 channels."""


def matraptor_modes(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    cases: Mapping[str, tuple[int, int, int, float, float]] = CASES,
) -> Table:
    """Products row by row and by outer products, 4 lanes and channels, memory latency 50.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    cases: see ``CASES``

    Raises UserError for another target, or if there is no Verilator, or no compiler.
    """
    with needs_simulation("matraptor-modes", target):
        from .element_rate import Case, compare_modes, modes_device

        rows = []
        progress("building 4 lanes")
        with modes_device() as rtl:
            for label, (m, k, n, left, right) in cases.items():
                progress(label)
                case = Case(rows=m, inner=k, columns=n, left=left, right=right)
                rows.append(_row_of_modes(label, compare_modes(rtl, case)))
    names = ["cycles", "multipliers, %", "kB read"]
    columns = [f"{name}, {mode}" for name in names for mode in ("by rows", "outer")]
    return Table("matraptor-modes", "RTL", columns, rows)


def _row_of_modes(label: str, rates: tuple[Any, Any]) -> Row:
    found = [[x.cycles, 100 * x.utilisation, x.bytes_read / 1000] for x in rates]
    figures = [mode[n] for n in range(len(found[0])) for mode in found]
    return Row(label, [None] * len(figures), figures, [0, 0, 1, 1, 0, 0])


Converter = NativeAccelerator[C2srConverterConfig]

_COLUMNS = 1000
_ROWS = {1: 3000, 2: 2000, 8: 800, 64: 80, 1000: 16}
"""Rows by the entries in a row: enough for reading to be ahead."""


def converter_of(config: C2srConverterConfig) -> Converter:
    """The RTL, with a memory. Raises as :class:`NativeAccelerator`."""
    return NativeAccelerator(emit("c2sr_converter", config), config, memory_bytes=1 << 20)


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
