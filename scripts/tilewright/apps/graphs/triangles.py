"""Triangles of a graph by one sparse product.

L holds the edges from a vertex to a lower one. Entry i, j of L L counts the paths from i down to j
by a vertex between them; where L has an entry, too, each of them closes a triangle, and every
triangle is counted once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ...errors import UserError
from ...hw.spec.formats import FloatFormat
from ...sim.sparse.c2sr import to_csr
from ..common.files import need
from ..common.graph import Graph
from ..common.units.matraptor import SparseChoice
from ..common.units.matraptor_products import SparseProducts, sparse_report

__all__ = ["count_triangles"]


def count_triangles(choice: SparseChoice, whole: Graph, graph: Path) -> None:
    """Count them, and report."""
    low, high = np.minimum(whole.rows, whole.cols), np.maximum(whole.rows, whole.cols)
    edges = np.unique(high[low < high] * np.int64(whole.vertices) + low[low < high])
    rows, cols = np.divmod(edges, whole.vertices)
    shape = whole.vertices, whole.vertices
    lower: Any = csr_array((np.ones(len(edges), np.int64), (rows, cols)), shape=shape)
    _check_counts(choice.config.format, lower, graph)
    with SparseProducts(choice) as products:
        operand = products.operand(lower)
        wedges = to_csr(products.multiply(operand, operand))
        tally = products.tally
    closed = lower.multiply(wedges.astype(np.int64))
    count = int(closed.sum())
    expected = _reference(whole.vertices, rows, cols)
    agrees = "equal" if count == expected else "DIFFERENT"
    shown = [
        ("graph", f"{whole.vertices:,} vertices, {len(edges):,} edges without direction"),
        ("triangles", f"{count:,}"),
        ("NetworkX triangles", f"{expected:,}: {agrees}"),
    ]
    details = {
        "graph": str(graph),
        "vertices": whole.vertices,
        "edges": len(edges),
        "triangles": count,
        "reference": expected,
    }
    sparse_report("triangles", f"triangles of {graph.name}", shown, choice, tally, details,
                  wrong=count != expected).finish()  # fmt: skip


def _check_counts(fmt: Any, lower: Any, graph: Path) -> None:
    """Refuse a format that does not hold every count."""
    if not isinstance(fmt, FloatFormat):
        return
    most = int(min(np.diff(lower.indptr).max(), np.bincount(lower.indices).max(initial=0)))
    if most > 1 << fmt.significand_bits:
        raise UserError(f"{graph}: counts may reach {most}, which {fmt.name} does not hold; "
                        f"--set value=int32 does")  # fmt: skip


def _reference(vertices: int, rows: Any, cols: Any) -> int:
    networkx = need("networkx", "NetworkX")
    graph = networkx.Graph()
    graph.add_nodes_from(range(vertices))
    graph.add_edges_from(zip(rows.tolist(), cols.tolist(), strict=True))
    return int(sum(networkx.triangles(graph).values())) // 3
