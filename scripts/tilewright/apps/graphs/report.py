"""What the graph applications print and write about a closure, beside what all of them do."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from .accuracy import Agreement
from .closure import Closure, Notation
from .critical_path import critical_path
from .graph import Graph
from .options import GraphOptions
from .references import Reference
from .spanning import spanning_forest, write_forest

__all__ = ["add_path", "add_tree", "closure_report"]

Rows = list[tuple[str, str]]


def closure_report(
    notation: Notation, graph: Graph, how: GraphOptions, closure: Closure, reference: Reference,
    agreement: Agreement,
) -> tuple[Rows, dict[str, Any]]:  # fmt: skip
    """Rows of the printed report and entries of the JSON one."""
    element, result = notation.numbers.element.name, notation.numbers.result.name
    ending = "not checked" if closure.settled is None else "nothing changed in the last"
    if closure.settled is False:
        ending = "the worst case"
    joined = closure.values != notation.problem.absent
    relative_max, relative_mean = _relative(closure, reference)
    rows = [
        ("graph", f"{graph.vertices:,} vertices, {graph.edges:,} edges"),
        ("algorithm", f"{how.algorithm}, {closure.iterations} iterations ({ending})"),
        ("pairs with a path", f"{np.count_nonzero(joined):,} of {joined.size:,}"),
        ("between iterations", f"{closure.rounded:,} {result} values rounded to {element}"),
        ("relative error", f"max {relative_max:.2e}, mean {relative_mean:.2e}"),
        ("reference", reference.source),
        ("agreement", _verdict(agreement, element)),
    ]
    details = {
        "graph": graph.name,
        "vertices": graph.vertices,
        "edges": graph.edges,
        "algorithm": how.algorithm,
        "convergence_check": how.convergence_check,
        "iterations": closure.iterations,
        "settled": closure.settled,
        "rounded_between_iterations": closure.rounded,
        "relative_error": {"max": relative_max, "mean": relative_mean},
        "reference": reference.source,
        "agreement": asdict(agreement),
    }
    return rows, details


def _relative(closure: Closure, reference: Reference) -> tuple[float, float]:
    expected = reference.values
    usable = np.isfinite(expected) & np.isfinite(closure.values) & (expected != 0)
    if not usable.any():
        return 0.0, 0.0
    shares = np.abs(closure.values[usable] - expected[usable]) / np.abs(expected[usable])
    return float(shares.max()), float(shares.mean())


def _verdict(agreement: Agreement, element: str) -> str:
    if agreement.wrong:
        return f"DIFFERENT: {agreement.wrong:,} values are wrong"
    if agreement.criterion == "exact":
        return f"every value equals the reference's, rounded to {element}"
    return (
        f"{agreement.criterion} error at most {agreement.worst:.2e}, of the {agreement.bound:.2e} "
        f"that rounding explains"
    )


def add_path(
    graph: Graph, closure: Closure, agreement: Agreement, rows: Rows,
    details: dict[str, Any],
) -> bool:  # fmt: skip
    """Add the critical path; tell whether it falls short of NetworkX's by more than rounding."""
    found = critical_path(graph, closure.values)
    shown = [str(v + 1) for v in found.vertices]
    if len(shown) > 12:
        shown = [*shown[:6], "...", *shown[-5:]]
    rows.append(("critical path", " -> ".join(shown)))
    rows.append(("its length", f"{found.length:.9g} (NetworkX dag_longest_path_length: "
                               f"{found.reference:.9g})"))  # fmt: skip
    details["critical_path"] = {
        "vertices": [v + 1 for v in found.vertices],
        "length": found.length,
        "reference": found.reference,
    }
    bound = agreement.bound if agreement.criterion == "absolute" else (
        max(agreement.bound, 1e-12) * abs(found.reference)
    )  # fmt: skip
    return abs(found.length - found.reference) > 2 * len(found.vertices) * bound


def add_tree(
    notation: Notation, graph: Graph, closure: Closure, tree: Path | None,
    rows: Rows, details: dict[str, Any],
) -> bool:  # fmt: skip
    """Add the spanning forest; tell whether it differs from SciPy's in edges or weight."""
    forest = spanning_forest(notation, graph, closure.values)
    rows.append(("forest", f"{len(forest.weights):,} edges, weight {forest.weight:.9g}, from "
                           f"{forest.candidates:,} candidates"))  # fmt: skip
    rows.append(("SciPy minimum_spanning_tree", f"{forest.reference_edges:,} edges, weight "
                                                f"{forest.reference_weight:.9g}"))  # fmt: skip
    details["forest"] = {
        "edges": len(forest.weights),
        "weight": forest.weight,
        "candidates": forest.candidates,
        "reference_edges": forest.reference_edges,
        "reference_weight": forest.reference_weight,
    }
    if tree:
        write_forest(tree, graph, forest)
        rows.append(("tree", str(tree)))
    return not forest.agrees
