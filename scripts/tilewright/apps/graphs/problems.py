"""The graph applications as data: a semiring, what stands for no path, which graphs are allowed."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Literal

from ...hw.spec.semirings import SEMIRINGS, Semiring

if TYPE_CHECKING:
    import numpy as np

    from ..common.graph import Graph
    from ..common.graph_references import Reference

__all__ = ["PROBLEMS", "Problem"]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """The best paths between all pairs of vertices, for some meaning of best.

    Parameters
    ----------
    name, title: as users type it, and in words
    operation: the semiring: (x) joins paths, (+) chooses among them
    empty: value of the path without edges, from each vertex to itself
    absent: value where there is no path
    joining: what (x) does to values: it adds, multiplies or selects one of them
    value: what a value is, beside the colours of a plot
    weights: what they must be
    acyclic: whether cycles are refused, along which values would get better for ever
    undirected: whether edges must have no direction
    library: the function of ``references`` that has the values by a library
    networkx: whether that, or the check of what comes of the values, takes NetworkX
    """

    name: str
    title: str
    operation: str
    empty: float
    absent: float
    joining: Literal["sum", "product", "selection"]
    library: str
    value: str
    weights: Literal["any", "not negative", "reliability", "ignored"] = "any"
    acyclic: bool = False
    undirected: bool = False
    networkx: bool = False

    @property
    def semiring(self) -> Semiring:
        return SEMIRINGS[self.operation]

    @property
    def combine(self) -> np.ufunc:
        """(+) on NumPy numbers."""
        import numpy as np

        return np.minimum if self.semiring.plus == "min" else np.maximum

    def reference(self, graph: Graph) -> Reference:
        """The values by a library."""
        from ..common import graph_references as references

        found: Reference = getattr(references, self.library)(graph)
        return found


_ROWS = (
    Problem(
        name="apsp", title="shortest paths", operation="minplus", empty=0.0, absent=inf,
        joining="sum", library="shortest", value="length of the shortest path",
    ),
    Problem(
        name="aplp", title="longest (critical) paths of a graph without cycles",
        operation="maxplus", empty=0.0, absent=-inf, joining="sum", acyclic=True,
        library="longest", value="length of the longest path", networkx=True,
    ),
    Problem(
        name="mcp", title="paths of maximum capacity", operation="maxmin", empty=inf, absent=0.0,
        joining="selection", weights="not negative", library="widest",
        value="capacity of the path", networkx=True,
    ),
    Problem(
        name="maxrp", title="paths of maximum reliability", operation="maxmul", empty=1.0,
        absent=0.0, joining="product", weights="reliability", library="most_reliable",
        value="reliability of the path",
    ),
    Problem(
        name="minrp", title="paths of minimum reliability in a graph without cycles",
        operation="minmul", empty=1.0, absent=inf, joining="product", weights="reliability",
        acyclic=True, library="least_reliable", value="reliability of the path",
    ),
    Problem(
        name="mst", title="minimax paths and the minimum spanning forest", operation="minmax",
        empty=-inf, absent=inf, joining="selection", undirected=True,
        library="narrowest", value="largest weight on the path", networkx=True,
    ),
    Problem(
        name="gtc", title="the transitive and reflexive closure", operation="orand", empty=1.0,
        absent=0.0, joining="selection", weights="ignored", library="reachable",
        value="1: a path exists",
    ),
)  # fmt: skip

PROBLEMS: dict[str, Problem] = {row.name: row for row in _ROWS}
