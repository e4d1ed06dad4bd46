"""The graph applications as data: a semiring, what stands for no path, which graphs are allowed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...hw.spec.semirings import SEMIRINGS, Semiring
from . import references
from .references import Reference

__all__ = ["PROBLEMS", "Problem"]

_INF = np.inf


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
    weights: what they must be
    acyclic: whether cycles are refused, along which values would get better for ever
    undirected: whether edges must have no direction
    reference: the values by a library
    networkx: whether that, or the check of what comes of the values, takes NetworkX
    """

    name: str
    title: str
    operation: str
    empty: float
    absent: float
    joining: Literal["sum", "product", "selection"]
    reference: Callable[..., Reference]
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
        return np.minimum if self.semiring.plus == "min" else np.maximum


_ROWS = (
    Problem(
        name="apsp", title="shortest paths", operation="minplus", empty=0.0, absent=_INF,
        joining="sum", reference=references.shortest,
    ),
    Problem(
        name="aplp", title="longest (critical) paths of a graph without cycles",
        operation="maxplus", empty=0.0, absent=-_INF, joining="sum", acyclic=True,
        reference=references.longest, networkx=True,
    ),
    Problem(
        name="mcp", title="paths of maximum capacity", operation="maxmin", empty=_INF, absent=0.0,
        joining="selection", weights="not negative", reference=references.widest, networkx=True,
    ),
    Problem(
        name="maxrp", title="paths of maximum reliability", operation="maxmul", empty=1.0,
        absent=0.0, joining="product", weights="reliability", reference=references.most_reliable,
    ),
    Problem(
        name="minrp", title="paths of minimum reliability in a graph without cycles",
        operation="minmul", empty=1.0, absent=_INF, joining="product", weights="reliability",
        acyclic=True, reference=references.least_reliable,
    ),
    Problem(
        name="mst", title="minimax paths and the minimum spanning forest", operation="minmax",
        empty=-_INF, absent=_INF, joining="selection", undirected=True,
        reference=references.narrowest, networkx=True,
    ),
    Problem(
        name="gtc", title="the transitive and reflexive closure", operation="orand", empty=1.0,
        absent=0.0, joining="selection", weights="ignored", reference=references.reachable,
    ),
)  # fmt: skip

PROBLEMS: dict[str, Problem] = {row.name: row for row in _ROWS}
