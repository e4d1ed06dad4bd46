"""Bytes that a pass moves, in memory and on chip, beside an ideal accelerator's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...errors import UserError
from ...synth.tables import Row, Table

if TYPE_CHECKING:
    from ...hw.spec.sida import SidaConfig

__all__ = ["COLUMNS", "VERTICES", "sida_bytes"]

VERTICES = 1 << 14
"""Vertices of generated graphs."""
_SEED = 13
COLUMNS = [
    "memory saved, %", "on chip saved, %", "blocks", "operands", "rows", "z", "held", "w", "ideal",
]  # fmt: skip
_DIGITS = (1, 1, *[1] * 7)
_PAPER_MEMORY, _PAPER_ON_CHIP = 50.38, 38.35
"""Energy that the paper saves on memory, and on caches and buffers, in percent."""


def sida_bytes(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    only: str = "",
    settings: Sequence[str] = (),
    vertices: int = VERTICES,
) -> Table:
    """A pass of each computation between others, on generated graphs, by the cycle model: bytes
    that it moves less than two iterations of an accelerator without reuse between operators, in
    memory and in memories on chip, in percent; the latter by part, and that accelerator's, in bytes
    an element of the matrix.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    only: part of the name of a line, such as "sssp, R-MAT"
    settings: parameters of the accelerator, NAME=VALUE
    vertices: of generated graphs

    Raises
    ------
    UserError for another target, a wrong parameter, or if nothing is chosen.
    """
    if target != "cmos":
        raise UserError(f"sida-bytes is computed by a model: no --target, not {target!r}")
    from ...hw.spec.sida import SIDA, SidaConfig
    from ...settings import read_config
    from ...sim.sida.cycles.steady import steady_demand, steady_pass
    from ...sim.sida.references import ideal_bytes, pass_bytes
    from ..generated_matrices import GRAPHS
    from .computations import problems

    config = read_config(SIDA, None, settings)
    assert isinstance(config, SidaConfig)
    found: dict[str, list[float]] = {}
    for kind, generate in GRAPHS.items():
        for app, make in problems(generate(vertices, _SEED)).items():
            line = f"{app}, {kind}"
            if only not in line:
                continue
            progress(line)
            problem = make()
            _check(config, problem.matrix.size)
            one = steady_pass(config, problem)
            demand = steady_demand(config, problem, 2)
            ours, ideal = pass_bytes(config, problem, one.counts), ideal_bytes(demand)
            moved = one.counts["bytes_read"] + one.counts["bytes_written"]
            each = max(1, len(problem.matrix.rows))
            parts = (ours.blocks, ours.operands, ours.rows, ours.z, ours.held, ours.w, ideal)
            saved = (100 * (1 - moved / one.ideal.bytes), 100 * (1 - ours.total / ideal))
            found[line] = [*saved, *(part / each for part in parts)]
    if not found:
        raise UserError(f"--only must be part of the name of a line, not {only!r}")
    none = [None] * len(COLUMNS)
    rows = [Row(line, none, ours, _DIGITS) for line, ours in found.items()]
    if len(found) > 1:
        paper = [_PAPER_MEMORY, _PAPER_ON_CHIP, *none[2:]]
        means = [sum(each) / len(found) for each in zip(*found.values(), strict=True)]
        rows.append(Row("mean", paper, means, _DIGITS))
    return Table("sida-bytes, moved in a pass", "model", COLUMNS, rows)


def _check(config: SidaConfig, size: int) -> None:
    if size > config.vector_words:
        raise UserError(f"sida: `vector_words` must be at least {size}, not {config.vector_words}")
