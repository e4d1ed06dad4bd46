"""The table of the designs in the mapping language: their lines and what they become."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from pathlib import Path

from ...errors import UserError
from ...synth.tables import Row, Table

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
