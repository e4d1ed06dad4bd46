"""Which operands of a computation are sparse, how their entries are merged, and by what indices."""

from __future__ import annotations

from dataclasses import dataclass

from ...language import Computation
from ...language.tensors import Element
from .refusals import refused

__all__ = ["SparseOperands", "operands_of"]


@dataclass(frozen=True)
class SparseOperands:
    """Operands, and indices of sparse ones.

    Parameters
    ----------
    sparse, dense: operands
    merge: of two sparse ones: "intersection" or "union"; empty of one
    row: the index of their rows
    coordinates: their other indices, in the order of their modes
    """

    sparse: tuple[Element, ...]
    dense: tuple[Element, ...]
    merge: str
    row: str
    coordinates: tuple[str, ...]


def operands_of(computation: Computation) -> SparseOperands:
    """Of a computation with sparse tensors. Raises MappingError for what has no hardware."""
    sparse = computation.sparse
    names = [one.tensor.name for one in sparse]
    if len(sparse) > 2:
        raise refused(computation, f"{', '.join(names)} are sparse: two at most")
    merge = ""
    if len(sparse) == 2:
        merge = "intersection" if len(computation.products) == 1 else "union"
    row, *coordinates = _indices(computation, sparse[0])
    for one in sparse[1:]:
        if _indices(computation, one) != [row, *coordinates]:
            raise refused(computation, f"{names[0]} and {names[1]} have other indices")
    _check_indices(computation, names[0], row, coordinates)
    dense = tuple(one for one in computation.factors if not one.tensor.sparse)
    for one in dense:
        used = {index for subscript in one.subscripts for index in subscript.variables}
        if row in used:
            raise refused(
                computation, f"index `{row}`, of rows, chooses words of {one.tensor.name}"
            )
        if not used & set(coordinates):
            raise refused(computation, f"no index of entries chooses words of {one.tensor.name}")
    if merge:
        _check_merged(computation, names, merge)
    return SparseOperands(sparse, dense, merge, row, tuple(coordinates))


def _indices(computation: Computation, element: Element) -> list[str]:
    """Of a sparse tensor, one a mode."""
    found: list[str] = []
    for subscript in element.subscripts:
        if subscript.constant or [by for _, by in subscript.terms] != [1]:
            raise refused(
                computation,
                f"`{subscript}` is not an index alone, in {element.tensor.name}, which is sparse",
            )
        found += subscript.variables
    for index in found:
        if found.count(index) > 1:
            raise refused(
                computation, f"index `{index}` stands in {element.tensor.name} more than once"
            )
    return found


def _check_indices(computation: Computation, tensor: str, row: str, coordinates: list[str]) -> None:
    if row not in computation.result:
        raise refused(computation, f"index `{row}`, of rows of {tensor}, is summed over")
    for index in coordinates:
        if index in computation.result:
            raise refused(
                computation,
                f"index `{index}` of {tensor}, which is not that of rows, is not summed over",
            )
    for index in computation.sum_over:
        if index not in coordinates:
            raise refused(
                computation, f"index `{index}`, which is summed over, is none of {tensor}"
            )


def _check_merged(computation: Computation, names: list[str], merge: str) -> None:
    for loop, place in computation.unrolled:
        why = f"loop `{loop}` is unrolled: {names[0]} and {names[1]} are merged for one element"
        raise refused(computation, why, place)
    if merge == "union" and computation.vectorised:
        loop, place = computation.vectorised
        why = f"loop `{loop}` is vectorised: {names[0]} and {names[1]} are lanes"
        raise refused(computation, why, place)
