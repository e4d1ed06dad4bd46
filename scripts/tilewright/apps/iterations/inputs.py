"""Graphs, matrices, equations, labels and vectors from files, as iterations take them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...hw.spec.elementwise.program import Program
from ...hw.spec.formats import FloatFormat, Format
from ...numbers_given import real
from ...sim.sida.iterations.problem import Stop
from ..common.files import ARRAYS, kind_of
from ..common.graph import Graph, read_graph
from ..common.limits import counted
from ..common.matrix_files import numeric, read_array, read_matrix_file
from ..common.rounding import largest, round_to, warn_rounding
from ..common.units.sida import SidaChoice
from .options import OwnOptions

__all__ = ["Equations", "OwnInputs", "Source", "check_neighbours", "check_not_negative",
           "check_source", "check_symmetric", "graph_of", "matrix_of", "read_equations",
           "read_labels", "read_own", "read_vector", "source_of"]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Source:
    """File of a computation's matrix, and its description.

    Parameters
    ----------
    path: the file
    kind, text: what it holds, for the report
    details: the same for its JSON
    """

    path: Path
    kind: str
    text: str
    details: Mapping[str, Any]


def source_of(graph: Graph) -> Source:
    """A graph from a file."""
    return Source(
        path=Path(graph.name),
        kind="graph",
        text=f"{graph.vertices:,} vertices, {graph.edges:,} edges",
        details={"vertices": graph.vertices, "edges": graph.edges},
    )


def graph_of(choice: SidaChoice, path: Path, combine: np.ufunc) -> Graph:
    return read_graph(path, combine, choice.check_vertices)


def check_not_negative(graph: Graph) -> None:
    negative = graph.weights < 0
    if negative.any():
        first = int(np.argmax(negative))
        raise UserError(
            f"{graph.name}: the weight of the edge {graph.edge(first)} is "
            f"{graph.weights[first]:g}; weights must not be negative"
        )


def check_source(graph: Graph, source: int) -> None:
    if source > graph.vertices:
        raise UserError(
            f"--source must be in 1..{graph.vertices}, the vertices of {graph.name}, not {source}"
        )


def matrix_of(choice: SidaChoice, path: Path, *, square: bool = True) -> Any:
    """A matrix, SciPy CSR, float64. Raises UserError if the file holds none, it is not square but
    should be, or it does not fit."""
    check_shape = choice.check_matrix if square else choice.check_points
    found = read_matrix_file(path, check_shape)
    if found.dtype.kind == "c":
        raise UserError(f"{path}: holds complex numbers; values must be real")
    if isinstance(found, np.ndarray):
        if found.ndim != 2:
            dimensions = counted(found.ndim, "dimension")
            raise UserError(f"{path}: must hold a matrix (2 dimensions), not {dimensions}")
        check_shape(path, *found.shape)
        found = numeric(found, path)
    from scipy.sparse import csr_array

    matrix = csr_array(found, dtype=np.float64)
    matrix.sum_duplicates()
    if not matrix.nnz:
        raise UserError(f"{path}: the matrix has no entries")
    wrong = ~np.isfinite(matrix.data)
    if wrong.any():
        place = int(np.argmax(wrong))
        row = int(np.searchsorted(matrix.indptr, place, side="right"))
        raise UserError(
            f"{path}: the value of row {row}, column {matrix.indices[place] + 1} is "
            f"{matrix.data[place]:g}; values must be finite numbers"
        )
    return matrix


def read_vector(path: Path, size: int) -> NDArray[np.float64]:
    """(size,) real numbers, from a file of a row, a column or a vector of them; UserError if it
    holds anything else."""
    found = read_array(path)
    expected = f"{path}: must be a vector of {size} real values"
    if np.iscomplexobj(found):
        raise UserError(f"{expected}, not of complex ones")
    if found.size != size or max(found.shape) != size:
        raise UserError(f"{expected}, not {' x '.join(map(str, found.shape))}")
    return np.asarray(found, np.float64).reshape(-1)


@dataclass(frozen=True, kw_only=True)
class OwnInputs:
    """Program with its initial values by name. ``stop``: its stop rule beside the number of
    passes."""

    program: Program
    scalars: Mapping[str, float]
    vectors: Mapping[str, Path]
    stop: Stop | None


def read_own(choice: SidaChoice, own: OwnOptions, program: Program, path: Path) -> OwnInputs:
    """Reads the options of a user's program; UserError if it does not use one, or needs one."""
    fmt = choice.config.format
    scalars = _scalars(own.scalars or (), program, path, fmt)
    stop = _stop(own, program, fmt)
    vectors = _vectors(own.vectors or (), program)
    _check_written(path, program, fmt)
    if choice.config.value == "int32":
        _check_integers(path, program, scalars, stop)
    return OwnInputs(program=program, scalars=scalars, vectors=vectors, stop=stop)


def _number(option: str, text: str, fmt: Format) -> float:
    """A number that a format reaches; UserError otherwise."""
    return real(option, -largest(fmt), largest(fmt))(text)


def _check_written(path: Path, program: Program, fmt: Format) -> None:
    """Warn of numbers in the text that a format of floats does not hold."""
    written = [one.value for one in program.scalars if one.value is not None]
    finite = np.array([value for value in written if np.isfinite(value)])
    if len(finite) and isinstance(fmt, FloatFormat):
        warn_rounding(path, round_to(finite, fmt), fmt)


def _scalars(given: Sequence[str], program: Program, path: Path, fmt: Format) -> dict[str, float]:
    """Parses --scalar."""
    known = {one.name: one for one in program.scalars if one.name and one.value is None}
    found: dict[str, float] = {}
    for text in given:
        name, equals, value = (word.strip() for word in text.partition("="))
        if not equals or name not in known:
            raise UserError(
                f"--scalar must be of NAME=VALUE, names {', '.join(known) or 'none'}, not {text!r}"
            )
        if name in found:
            raise UserError(f"--scalar must give {name} once, not {found[name]:g} and {value!r}")
        special = isinstance(fmt, FloatFormat) and re.fullmatch("[+-]?(inf|nan)", value)
        found[name] = float(value) if special else _number(f"--scalar {name}", value, fmt)
    missing = [name for name, one in known.items() if not one.reduction and name not in found]
    if missing:
        raise UserError(f"{path}: takes scalar {missing[0]}: give --scalar {missing[0]}=VALUE")
    return found


def _check_integers(
    path: Path, program: Program, scalars: Mapping[str, float], stop: Stop | None
) -> None:
    """Refuses values that do not fit integers of 32 bits."""
    written = [one.value for one in program.scalars if one.value is not None]
    for value in [*written, *scalars.values(), *([] if stop is None else [stop.limit])]:
        if not (abs(value) < 1 << 31 and value == int(value)):
            raise UserError(f"{path}: {value:g} is not a 32-bit integer, which int32 needs")


def _stop(own: OwnOptions, program: Program, fmt: Format) -> Stop | None:
    """Parses --until and --below."""
    if (own.until is None) != (own.below is None):
        raise UserError("--until and --below go together")
    if own.until is None or own.below is None:
        return None
    names = [word.strip() for word in own.until.split(",")]
    known = [one.name for one in program.scalars if one.reduction]
    if len(names) != 2 or not set(names) <= set(known):
        raise UserError(
            f"--until must be two reductions of {', '.join(known) or 'none'}, not {own.until!r}"
        )
    return Stop(reductions=(names[0], names[1]), limit=_number("--below", own.below, fmt))


def _vectors(given: Sequence[str], program: Program) -> dict[str, Path]:
    """The files that --vector says."""
    files: dict[str, Path] = {}
    for text in given:
        name, equals, value = (word.strip() for word in text.partition("="))
        if not equals or name not in program.vectors:
            raise UserError(
                f"--vector must be of NAME=FILE, names {', '.join(program.vectors)}, not {text!r}"
            )
        if name in files:
            raise UserError(
                f"--vector must give {name} once, not {str(files[name])!r} and {value!r}"
            )
        files[name] = Path(value)
    return files


def read_labels(text: str) -> NDArray[np.float64]:
    """Reads labels from a file, or from text with commas. Raises UserError if one is not 0 or 1."""
    path = Path(text)
    if kind_of(path) not in ARRAYS:
        return np.array([float(word) for word in text.split(",")])
    found = read_array(path).reshape(-1)
    wrong = (found != 0) & (found != 1)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise UserError(f"{path}: label {place + 1} must be 0 or 1, not {found[place]:g}")
    return found.real


def check_neighbours(graph: Graph) -> None:
    """Raise UserError unless weights are positive and the same in both directions."""
    wrong = graph.weights <= 0
    if wrong.any():
        first = int(np.argmax(wrong))
        raise UserError(
            f"{graph.name}: the weight of the edge {graph.edge(first)} is "
            f"{graph.weights[first]:g}; weights must be positive"
        )
    if not graph.is_undirected:
        matrix = graph.sparse()
        first = int(np.flatnonzero(((matrix != matrix.T).tocsr())[graph.rows, graph.cols])[0])
        raise UserError(
            f"{graph.name}: the edge {graph.edge(first)} has no reverse edge of the same weight; "
            "weights must be symmetric"
        )


Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Equations:
    """A system from files.

    Parameters
    ----------
    file: of the matrix
    matrix: SciPy CSR
    right: the file of the right side; None: ones
    b: the right side
    """

    file: Path
    matrix: Any
    right: Path | None
    b: Floats

    @property
    def size(self) -> int:
        return len(self.b)

    @property
    def source(self) -> Source:
        right = None if self.right is None else str(self.right)
        return Source(
            path=self.file,
            kind="matrix",
            text=f"{self.size:,} x {self.size:,}",
            details={"rows": self.size, "right": right},
        )


def read_equations(choice: SidaChoice, file: Path, right: Path | None) -> Equations:
    """UserError for files that hold no system, or one that does not fit."""
    matrix = matrix_of(choice, file)
    size = matrix.shape[0]
    b = np.ones(size) if right is None else _right_side(right, size)
    _check_square(choice, right or f"{size:,} ones, the right side", b)
    return Equations(file=file, matrix=matrix, right=right, b=b)


def _right_side(path: Path, size: int) -> Floats:
    found = read_vector(path, size)
    wrong = ~np.isfinite(found)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise UserError(f"{path}: value {place + 1} is {found[place]:g}; values must be finite")
    if not found.any():
        raise UserError(f"{path}: values must not all be 0")
    return found


def _check_square(choice: SidaChoice, what: object, b: Floats) -> None:
    """UserError if the format of values does not hold the sum of a right side's squares."""
    fmt = choice.config.format
    with np.errstate(over="ignore", under="ignore"):
        [square] = round_to(np.array([b @ b]), fmt).values
    if not np.isfinite(square) or not square:
        raise UserError(
            f"{what}: the sum of the values' squares must be finite and above 0 in {fmt.name}, "
            f"not {square:g}"
        )


def check_symmetric(path: Path, matrix: Any) -> None:
    """UserError with the first element that is not the same in its place and its mirrored one."""
    different = (matrix != matrix.T).tocoo()
    if different.nnz:
        place = int(different.row[0]), int(different.col[0])
        said = [
            f"the value of row {row + 1}, column {column + 1} is {matrix[row, column]:g}"
            for row, column in (place, place[::-1])
        ]
        raise UserError(
            f"{path}: {', '.join(said)}; the matrix must be symmetric; "
            "run bicgstab and gmres take others"
        )
