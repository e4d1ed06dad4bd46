"""The table of the designs in the mapping language: their lines and what they become."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

from ...errors import UserError
from ...synth.tables import Row, Table

__all__ = ["ARRAYS", "CGRA", "PAPER", "SIZE", "t2s_designs", "t2s_fpga", "t2s_steps"]


PAPER = {
    "gemm": (20, 10 * 8, 16, 1282, 32 * 32),
    "mttkrp": (28, 8 * 9, 16, 1224, 16 * 16),
    "ttm": (30, 8 * 11, 16, 1416, 8 * 8 * 16),
    "ttmc": (37, 8 * 10, 16, 1368, 16 * 4 * 4),
}
"""Tables 3.2 to 3.4 of the thesis: lines, elements, lanes, DSP blocks of the whole device, results
that an element computes."""

CGRA = {"gemm": 40, "mttkrp": 32, "ttm": 47, "ttmc": 38}
"""Table 3.5: lines of the same kernels for a research CGRA."""


def t2s_designs(target: str, progress: Callable[[str], None] = lambda said: None) -> Table:
    """Lines, elements, lanes, multipliers and sums of an element of the designs that ship.

    Lines are without the docstring and blank ones. The thesis has DSP blocks where we have
    multipliers: each of its blocks multiplies and adds a word of fp32.

    Raises UserError for a target other than "cmos", the default: nothing is synthesised.
    """
    from ...hw.t2s import designs
    from ...hw.t2s.compiler.operations import multiplications
    from ...hw.t2s.compiler.passes import compiled
    from ...hw.t2s.language.computation import load_mapping

    if target != "cmos":
        raise UserError(f"t2s-designs is counted by the compiler: no --target, not {target!r}")
    folder = Path(designs.__file__).parent
    rows = []
    others = sorted({one.stem for one in folder.glob("[!_]*.py")} - set(PAPER))
    papers: dict[str, tuple[int | None, ...]] = {**PAPER, **dict.fromkeys(others, (None,) * 5)}
    papers |= {f"cgra/{name}": (lines, *(None,) * 4) for name, lines in CGRA.items()}
    sparse = sorted(one.stem for one in folder.glob("sparse/[!_]*.py"))
    papers |= {f"sparse/{name}": (None,) * 5 for name in sparse}
    for name, paper in papers.items():
        progress(name)
        file = folder / f"{name}.py"
        computation = load_mapping(file)
        program = compiled(computation)
        element = program.function(computation.name)
        elements = prod(one.extent or 1 for one in element.instances)
        wide = computation.loop(computation.vectorised[0]) if computation.vectorised else None
        lines = sum(1 for line in file.read_text().splitlines()[1:] if line.strip())
        ours = (
            lines,
            elements,
            wide.extent if wide else 1,
            elements * multiplications(program, computation),
            prod(one.extent or 1 for one in element.buffers[0].dimensions),
        )
        rows.append(Row(name, paper, ours, 0))
    columns = ["lines", "elements", "lanes", "multipliers", "sums of an element"]
    return Table("t2s-designs", "compiler", columns, rows)


SIZE = 64
"""Rows and columns of the matrices: two blocks of results each way, four blocks that are summed
over."""

_LATENCY = 20
"""Latency of the memory, in cycles."""


def t2s_steps(target: str, progress: Callable[[str], None] = lambda said: None) -> Table:
    """Lines, elements, cycles, cycles in which an element begins products, and bytes that are read,
    of each step: the Verilog, on a product of matrices of int8 that is checked.

    Raises UserError for a target other than "cmos", the default: nothing is synthesised.
    """
    import numpy as np

    from ...apps.common.session import rtl_device
    from ...hw.spec.t2s.config import T2S, T2sConfig
    from ...hw.t2s import designs
    from ...sim.t2s.driver import Driver

    if target != "cmos":
        raise UserError(f"t2s-steps is counted by simulation: no --target, not {target!r}")
    folder = Path(designs.__file__).parent / "steps"
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-128, 128, (SIZE, SIZE)) for _ in range(2))
    rows = []
    for file in sorted(folder.glob("step*.py")):
        progress(file.stem)
        config = T2sConfig(design=f"steps/{file.stem}", format="int8", largest=0)
        with rtl_device(T2S, config, 1 << 24) as device:
            driver = Driver(device)
            if not np.array_equal(driver.compute(A=a, B=b), a @ b):
                raise UserError(f"t2s-steps: the product of {file.stem} is not NumPy's")
        program = config.plan.program
        lines = sum(1 for line in file.read_text().splitlines()[1:] if line.strip())
        elements = prod(one.extent or 1 for one in program.function(program.name).instances)
        counts = driver.counts
        busy = 100 * counts.busy_cycles / counts.cycles
        ours = (lines, elements, counts.cycles, busy, counts.bytes_read)
        rows.append(Row(file.stem, (None,) * 5, ours, (0, 0, 0, 1, 0)))
    columns = ["lines", "elements", "cycles", "busy %", "bytes read"]
    return Table("t2s-steps", "verilator", columns, rows)


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
    """Look-up tables, those of the shell and of the array, flip-flops, multiplier blocks, memory
    blocks and clock of products of matrices, placed and routed; of arrays that do not fit the
    look-up tables alone.

    The shell is all around the array: registers, job control, counters, loaders, readers, unloader
    and writer.

    Parameters
    ----------
    only: a part of the labels of those that are placed; None: all

    Raises UserError for targets of standard cells, and if no array is named so.
    """
    from ...hw.spec.t2s.config import T2S, T2sConfig
    from ...synth.flow import synthesize
    from ...synth.fpga import FAMILIES, TooLarge
    from ...synth.fpga_report import FpgaReport

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
            figures = (error.luts, *6 * (None,))
            label += ": does not fit"
        else:
            assert isinstance(report, FpgaReport)
            array = sum(one.luts for one in report.instances if one.instance == "array")
            luts = (report.luts, report.luts - array, array)
            figures = (*luts, report.flip_flops, report.dsps, report.block_rams, report.fmax_mhz)
        rows.append(Row(label, (None,) * 7, figures, (0, 0, 0, 0, 0, 0, 1)))
    columns = ["luts", "shell", "array", "flip-flops", "multipliers", "memories", "MHz"]
    return Table("t2s-fpga", target, columns, rows)
