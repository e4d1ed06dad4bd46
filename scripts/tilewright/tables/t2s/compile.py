"""The table of how long the compiler takes from a mapping to Verilog, and of how long that is."""

from __future__ import annotations

import re
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

from ...errors import UserError
from ...synth.tables import Row, Table

__all__ = ["Text", "t2s_compile", "text_of"]

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
        small = text_of(emit(T2S, T2sConfig(design=design, largest=SMALL)).verilog)
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
