"""The tables of what the designs in the mapping language take in cells: area, and period."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from ...errors import UserError
from ...synth.tables import Row, Table

if TYPE_CHECKING:
    from ...hw.spec.t2s.config import T2sConfig
    from ...synth.report import AsicReport

__all__ = ["PAPER", "Device", "small_sizes", "t2s_periods", "t2s_resources"]


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
