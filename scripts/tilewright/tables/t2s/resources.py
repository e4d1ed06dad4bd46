"""The tables of what the designs in the mapping language take in cells: area, and period."""

from __future__ import annotations

import re
import resource
import sys
from collections.abc import Callable
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from ...errors import UserError
from ...synth.tables import Row, Table

if TYPE_CHECKING:
    from ...hw.spec.t2s.config import T2sConfig
    from ...synth.report import AsicReport

__all__ = [
    "PAPER",
    "Device",
    "Text",
    "small_sizes",
    "t2s_compile",
    "t2s_periods",
    "t2s_resources",
    "text_of",
]


class Device(NamedTuple):
    """Resources of the thesis' device that a design takes.

    Members
    -------
    logic: logic elements, in thousands
    multipliers: DSP blocks
    memories: RAM blocks of 20 Kbit
    megahertz: clock
    rate: GFLOP/s
    """

    logic: int
    multipliers: int
    memories: int
    megahertz: int
    rate: int


PAPER = {
    "gemm": Device(214, 1282, 1384, 215, 549),
    "mttkrp": Device(228, 1224, 1526, 204, 700),
    "ttm": Device(265, 1416, 2394, 201, 562),
    "ttmc": Device(229, 1368, 1679, 205, 738),
}
"""Tables 3.2 and 3.4 of the thesis, an Arria 10."""

NINJA = Device(230, 1280, 1069, 245, 626)
"""The product of matrices that experts wrote, Table 3.2."""

CGRA = {"gemm": (92, 100), "mttkrp": (99, 100), "ttm": (104, 100), "ttmc": (103, 95)}
"""Table 3.5: rate in % of a product of matrices that experts wrote for the same CGRA, and use of
multiply-adds."""

_BLOCK = 20 * 1024
"""Bits of a RAM block."""

_FEW = 2
"""Elements along each loop, of the arrays whose periods are measured."""

_LARGEST = 4
"""Their other factors, lanes too, at most."""


def t2s_resources(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    only: str | None = None,
) -> Table:
    """Area of all elements and of everything, and memory, of the designs that ship, with the sizes
    of their files; the thesis' logic elements, memory, clock and rate below.

    Every different module is mapped once, however many there are.

    Parameters
    ----------
    only: a design, or a part of the names of those that are measured; None: all

    Raises UserError for targets that are placed and routed, and if no design is named so.
    """
    rows = []
    for name in _names("t2s-resources", target, only):
        progress(name)
        config = _config(name)
        figures = _areas(config, _mapped(config, target, together=False))
        rows.append(Row(name, _of_paper(name), (*figures, *(None,) * 5), 0))
    columns = ["elements' area", "area", "memory bits", "logic elements", "MHz", "GFLOP/s",
               "% of ninja", "% busy"]  # fmt: skip
    return Table("t2s-resources", target, columns, rows)


def t2s_periods(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    only: str | None = None,
) -> Table:
    """Period and area of the designs that ship with two elements along each loop in space, and
    factors of at most 4 elsewhere: the modules of large arrays put together would be ten million
    cells. Neighbours alone are connected, so larger arrays have no longer paths; elements of more
    lanes have, by an adder for each doubling.

    Parameters and errors are those of :func:`t2s_resources`.
    """
    rows = []
    for name in _names("t2s-periods", target, only):
        progress(name)
        few = _config(name, small_sizes(_config(name)), largest=_LARGEST)
        report = _mapped(few, target, together=True)
        path = report.path
        figures = (path.fo4 if path else None, path.cells if path else None, report.area)
        rows.append(Row(name, (None,) * 3, figures, (1, 0, 0)))
    return Table("t2s-periods", target, ["period, FO4", "cells", "area"], rows)


def _names(table: str, target: str, only: str | None) -> list[str]:
    """The designs that are measured. Raises UserError, see :func:`t2s_resources`."""
    from ...hw.t2s.lowering.design import DESIGNS

    if target in ("ecp5", "ice40"):
        raise UserError(f"{table} is mapped to cells: --target cmos or liberty:FILE, not {target}")
    names = [*PAPER, *(name for name in DESIGNS if name not in PAPER)]
    chosen = [only] if only in names else [name for name in names if (only or "") in name]
    if not chosen:
        raise UserError(f"{table}: --only must be a part of {', '.join(names)}, not {only!r}")
    return chosen


def _config(name: str, sizes: str = "", largest: int = 0) -> T2sConfig:
    from ...hw.spec.t2s.config import T2sConfig

    return T2sConfig(design=name, largest=largest, sizes=sizes)


def _mapped(config: T2sConfig, target: str, *, together: bool) -> AsicReport:
    from ...hw.spec.t2s.config import T2S
    from ...synth.flow import synthesize
    from ...synth.report import AsicReport

    report = synthesize(T2S, config, target=target, together=together)
    assert isinstance(report, AsicReport)
    return report


def small_sizes(config: T2sConfig) -> str:
    """Sizes of the same design with two elements along each loop in space. A loop's size has the
    loop's name, in capitals."""
    program = config.plan.program
    loops = program.function(program.name).instances
    return ",".join(f"{one.name.upper()}={min(_FEW, one.extent or 1)}" for one in loops)


def _areas(config: T2sConfig, report: AsicReport) -> tuple[float, ...]:
    """Returns the area of all elements and of the whole design, and the memory."""
    kind = "sparse_pe" if config.plan.sparse else "pe"
    (element,) = (one for one in report.modules if one.name == f"{report.unit}_{kind}")
    loops = config.plan.program.function(config.plan.program.name).instances
    assert element.instances == prod(one.extent or 1 for one in loops)
    return (element.whole * element.instances, report.area, report.memory_bits)


def _of_paper(name: str) -> tuple[float | None, ...]:
    if name.startswith("cgra/"):
        return (*(None,) * 6, *CGRA[name.removeprefix("cgra/")])
    if name not in PAPER:
        return (None,) * 8
    one = PAPER[name]
    most = 2 * one.multipliers * one.megahertz / 1000
    shares = (100 * one.rate / NINJA.rate, 100 * one.rate / most)
    figures = (_BLOCK * one.memories, 1000 * one.logic, one.megahertz, one.rate)
    return (None, None, *figures, *shares)


SMALL = 2
"""The largest factor of the small array beside each."""

LARGE = {"gemm, 16x16x16": ("gemm", "II=16,JJ=16,KKK=16")}
"""Arrays beyond those of the thesis."""

BARS = (10, 30)
"""Seconds of processor time: of a design that ships, and of a larger one."""

_MODULE = re.compile(r"^module \w+.*?^endmodule", re.MULTILINE | re.DOTALL)
_COPIES = ("module t2s_pe_array ", "module t2s_sparse_array ")


class Text(NamedTuple):
    """Size of a design's Verilog.

    Members
    -------
    modules: how many
    lines: of all but the next
    copies: lines of the module that lists the copies of all others, and the wires between them
    """

    modules: int
    lines: int
    copies: int


def text_of(verilog: str) -> Text:
    """Measures the Verilog of a design."""
    modules = _MODULE.findall(verilog)
    (array,) = (one for one in modules if one.startswith(_COPIES))
    copies = array.count("\n") + 1
    return Text(len(modules), verilog.count("\n") - copies, copies)


def t2s_compile(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    only: str | None = None,
) -> Table:
    """Processor time of ``tilewright generate``, in a process of its own that imports everything,
    what that may be at most, and the time that passed; modules and lines of Verilog beside those of
    the same design with factors of 2 at most.

    Parameters
    ----------
    only: a part of the names of those that are compiled; None: all

    Raises UserError for a target other than "cmos", the default: nothing is synthesised; and if no
    design is named so.
    """
    from ...hw.emit.unit import emit
    from ...hw.spec.t2s.config import T2S, T2sConfig
    from ...hw.t2s.lowering.design import DESIGNS

    if target != "cmos":
        raise UserError(f"t2s-compile is of the compiler: no --target, not {target!r}")
    rows = []
    named = {**{name: (name, "") for name in DESIGNS}, **LARGE}
    designs = {label: one for label, one in named.items() if (only or "") in label}
    if not designs:
        raise UserError(f"t2s-compile: --only must be a part of a design's name, not {only!r}")
    for label, (design, sizes) in designs.items():
        progress(label)
        seconds, passed, verilog = _generated(design, sizes)
        whole = text_of(verilog)
        # As many stages, which would be fewer by default with few sums.
        stages = T2sConfig(design=design, largest=0, sizes=sizes).plan.element.arithmetic.pipeline
        few = T2sConfig(design=design, largest=SMALL, pipeline=stages)
        small = text_of(emit(T2S, few).verilog)
        bar = BARS[label in LARGE]
        ours = (seconds, bar, passed, whole.modules, small.modules, whole.lines, small.lines)
        figures = (*ours, whole.copies, small.copies)
        rows.append(Row(label, (None,) * len(figures), figures, (1, 0, 1, *(0,) * 6)))
    columns = ["seconds", "at most", "passed"]
    for name in ("modules", "lines", "copies"):
        columns += [name, "small"]
    return Table("t2s-compile", "compiler", columns, rows)


def _generated(design: str, sizes: str) -> tuple[float, float, str]:
    """Processor time, time that passed, and the Verilog."""
    from ...hw.spec.host.programs import run_program

    words = [f"design={design}", "largest=0", f"sizes={sizes}"]
    settings = [word for one in words for word in ("--set", one)]
    with TemporaryDirectory() as folder:
        output = Path(folder) / "array.sv"
        command = [sys.executable, "-m", "tilewright", "generate", "t2s", *settings, "-o"]
        before, began = _of_children(), perf_counter()
        done = run_program([*command, str(output)])
        passed = perf_counter() - began
        if done.returncode:
            raise UserError(f"t2s-compile: {design}: {done.stderr.strip()}")
        return _of_children() - before, passed, output.read_text()


def _of_children() -> float:
    """Processor time of the processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
