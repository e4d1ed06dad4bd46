"""``tilewright run apsp|aplp|mcp|maxrp|minrp|mst|gtc``: closures of graphs over semirings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ....errors import UserError
from ...common.files import ARRAY_NAMES, MARKET, check_installed, check_output, check_picture
from ...common.first_lines import check_graph_file
from ...common.limits import VERTICES
from ...common.units.matraptor import choose_sparse_unit
from ...common.units.matrix_unit import (
    SemiringOptions,
    UnitChoice,
    choose_semiring_unit,
    refuse_values,
)
from ..options import GraphOptions, SparseExtra, check_words
from ..problems import PROBLEMS, Problem

__all__ = ["aplp", "apsp", "gtc", "maxrp", "mcp", "minrp", "mst"]

GraphArgument = Annotated[
    Path, typer.Argument(metavar="GRAPH", help=f"Adjacency matrix, {ARRAY_NAMES}.")
]
TreeOption = Annotated[Path | None, typer.Option(help="Write the edges of the forest, .mtx.")]

_MOST_VERTICES = 4096
"""The reference has an entry for every pair of vertices."""


def _command(problem: Problem) -> Callable[..., None]:
    """The command of a problem, with its help as docstring."""

    def run(graph: GraphArgument, how: GraphOptions, options: SemiringOptions) -> None:
        _run(problem, graph, how, options)

    def run_tree(
        graph: GraphArgument, how: GraphOptions, options: SemiringOptions, tree: TreeOption = None
    ) -> None:
        _run(problem, graph, how, options, tree)

    def run_sparse(
        graph: GraphArgument, how: GraphOptions, options: SemiringOptions, sparse: SparseExtra,
    ) -> None:  # fmt: skip
        if sparse.sparse:
            sparse.check_others(options)
            _run_sparse(problem, graph, how, options, sparse.lanes)
        else:
            sparse.check_none()
            _run(problem, graph, how, options)

    command: Callable[..., None] = run_tree if problem.undirected else run
    if problem.name == "apsp":
        command = run_sparse
    command.__doc__ = (
        f"Compute {problem.title}, of all pairs of vertices: iterated {problem.operation}.\n\n"
        f"Every operation goes through the unit and is checked; the values are compared with "
        f"those of a library."
    )
    return command


def _run(
    problem: Problem, file: Path, how: GraphOptions, options: SemiringOptions,
    tree: Path | None = None,
) -> None:  # fmt: skip
    check_words(how)
    choice = choose_semiring_unit(options, problem.name, problem.operation)
    timed = choice.backend == "cycles"
    if timed:
        refuse_values({"--output": how.output, "--picture": how.picture, "--tree": tree})
    if how.output:
        check_output(how.output)
    if tree:
        check_output(tree, MARKET, beside=how.output)
    if how.picture:
        check_picture(how.picture)
    if problem.networkx:
        check_installed("networkx", "NetworkX")
    check_vertices = partial(_check_vertices, choice, problem.name)
    check_graph_file(file, check_vertices)
    from ...common.graph import read_graph
    from ..prepared import prepared

    read = read_graph(file, problem.combine, check_vertices)
    graph = prepared(read, problem, how)
    if timed:
        from ..paths import time_paths

        time_paths(problem, graph, choice, how)
        return
    from ..paths import best_paths

    best_paths(problem, graph, choice, how, tree)


def _check_vertices(choice: UnitChoice, name: str, what: object, vertices: int) -> None:
    most = VERTICES[choice.backend]
    if vertices > most:
        operations = choice.operations(1, (vertices, vertices, vertices))
        instead = "; run sssp finds paths from one vertex" if name == "apsp" else ""
        raise UserError(
            f"{what}: {vertices} vertices are too many for the {choice.backend} backend, which "
            f"takes at most {most}; each iteration would be {operations:,} operations of the "
            f"unit{instead}"
        )


def _run_sparse(
    problem: Problem, file: Path, how: GraphOptions, options: SemiringOptions, lanes: int | None
) -> None:
    check_words(how)
    app = f"{problem.name} --sparse"
    choice = choose_sparse_unit(options, problem.operation, lanes=lanes, app=app)
    if how.output:
        check_output(how.output)
    if how.picture:
        check_picture(how.picture)
    check_graph_file(file, _check_sparse_vertices)
    from ...common.graph import read_graph
    from ..prepared import prepared

    read = read_graph(file, problem.combine, _check_sparse_vertices)
    graph = prepared(read, problem, how)
    from ..sparse_paths import sparse_paths

    sparse_paths(problem, graph, choice, how)


def _check_sparse_vertices(what: object, vertices: int) -> None:
    if vertices > _MOST_VERTICES:
        raise UserError(f"{what}: {vertices} vertices are too many with --sparse; at most "
                        f"{_MOST_VERTICES} are allowed, since every pair is checked")  # fmt: skip


apsp = _command(PROBLEMS["apsp"])
aplp = _command(PROBLEMS["aplp"])
mcp = _command(PROBLEMS["mcp"])
maxrp = _command(PROBLEMS["maxrp"])
minrp = _command(PROBLEMS["minrp"])
mst = _command(PROBLEMS["mst"])
gtc = _command(PROBLEMS["gtc"])
