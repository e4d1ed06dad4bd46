"""Measures the gain of vertex orders, and of blocks, for passes at the paper's size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import UserError
from ...synth.tables import Row, Table
from .speedup import RATIOS, VERTICES, fitting, graphs, paper_machine

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from ...hw.spec.sida import WideSidaConfig
    from ...sim.timing.dram import MemoryModel

__all__ = ["sida_orders"]

_PAPER = 1.37
"""Over ideal, without orders or blocks, in the mean."""


def sida_orders(
    target: str,
    progress: Callable[[str], None] = lambda said: None,
    *,
    files: Sequence[Path] = (),
    only: str = "",
    settings: Sequence[str] = (),
    vertices: int = VERTICES,
) -> Table:
    """A pass of PageRank between others on matrices of the files, or on generated graphs, as they
    are and in each order of ``ORDERS``: two iterations of an ideal accelerator without reuse
    between operators over it, as ``sida-speedup`` has it. Below it the same if the matrix lay in
    blocks, and reading them took as many bytes a cycle as reading lists: no hardware does.

    Parameters
    ----------
    target: "cmos", the default: nothing is synthesised
    progress: is told what comes next
    only: part of the name of a line, such as "R-MAT"
    settings: parameters of the accelerator, NAME=VALUE; buffers are as the lines need them
    vertices: of generated graphs

    Raises
    ------
    UserError for another target, a wrong parameter, a file that is no square matrix or is too
    large, or if nothing is chosen.
    """
    if target != "cmos":
        raise UserError(f"sida-orders is computed by a model: no --target, not {target!r}")
    import numpy as np

    from ...sim.sida.order import ORDERS

    config, memory = paper_machine(settings)
    plain: dict[str, list[float]] = {}
    blocked: dict[str, list[float]] = {}
    for name, graph in graphs(files, vertices, large=False):
        lines = {f"{name}, {label}": ratio for label, ratio in RATIOS.items()}
        lines = {line: ratio for line, ratio in lines.items() if only in line}
        if not lines:
            continue
        for order, found in {"as it is": None, **ORDERS}.items():
            progress(f"{name}, {order}")
            matrix = graph if found is None else _reordered(graph, found)
            for line, (each, with_blocks) in _lines(config, matrix, lines, memory).items():
                plain.setdefault(line, []).append(each)
                blocked.setdefault(line, []).append(with_blocks)
    if not plain:
        raise UserError(f"--only must be part of the name of a line, not {only!r}")
    none: list[float | None] = [None] * (len(ORDERS) + 1)
    rows = []
    for line, ours in plain.items():
        rows += [Row(line, none, ours, 2), Row("with blocks", none, blocked[line], 2)]
    for label, lines_of in (("geometric mean", plain), ("with blocks", blocked)):
        means = np.exp(np.log(list(lines_of.values())).mean(axis=0)).tolist()
        paper = [_PAPER, *none[1:]] if lines_of is plain else none
        rows.append(Row(label, paper, means, 2))
    return Table("sida-orders, PageRank over ideal", "model", ["as it is", *ORDERS], rows)


def _reordered(graph: csr_array, order: Callable[[csr_array], object]) -> csr_array:
    from .reuse import reordered

    return reordered(graph, order)


def _lines(
    config: WideSidaConfig, graph: csr_array, lines: dict[str, int], memory: MemoryModel
) -> dict[str, tuple[float, float]]:
    """Returns for each line the speed relative to ideal, as it is and with blocks."""
    from ...hw.spec.formats import FORMATS
    from ...sim.sida.blocked import best_side, flat_bytes
    from ...sim.sida.cycles.steady import steady_pass
    from ...sim.sida.iterations.graphs import pagerank
    from ...sim.sida.result.products import Rules

    problem = pagerank(Rules(fmt=FORMATS["fp32"]), graph)
    best = best_side(problem.matrix, 4)
    share = best.column_bytes(4) / flat_bytes(problem.matrix, 4)
    found = {}
    for line, ratio in lines.items():
        chosen = fitting(config, problem.matrix.size, len(problem.matrix.rows), ratio)
        one = steady_pass(chosen, problem, memory=memory)
        counts = one.counts
        read = ("pointers", "rows", "values", "again")
        matrix = sum(counts[f"bytes_{name}"] for name in read)
        moved = counts["bytes_read"] + counts["bytes_written"]
        over_ideal = one.ideal.cycles / one.cycles
        found[line] = (over_ideal, over_ideal * moved / (moved - matrix + share * matrix))
    return found
