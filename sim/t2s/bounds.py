"""Derives the bounds of indices from the shapes of tensors."""

from __future__ import annotations

from collections.abc import Mapping

from ...hw.spec.t2s.affine import Affine
from ...hw.spec.t2s.program import Program
from .sizes import check_bound, check_bounds, shape_of

__all__ = ["bounds_of_shapes"]


def bounds_of_shapes(
    program: Program,
    shapes: Mapping[str, tuple[int, ...]],
    given: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """The bounds with which tensors have these shapes.

    Parameters
    ----------
    shapes: of the tensors, by name
    given: bounds that are known, for indices that shapes leave open

    Raises ValueError for shapes that contradict each other, or these bounds, and for indices of
    which nothing tells the bound; TypeError for a bound that is no integer.
    """
    found: dict[str, int] = {}
    told: dict[str, str] = {}
    for name, bound in (given or {}).items():
        if name not in program.indices:
            raise ValueError(f"bounds must be of {', '.join(program.indices)}, not of {name!r}")
        check_bound(name, bound)
        found[name], told[name] = bound, "`bounds`"
    for name, shape in shapes.items():
        dimensions = len(program.tensor(name).dimensions)
        if len(shape) != dimensions:
            raise ValueError(f"{name} must have {dimensions} dimensions, not be of shape {shape}")
    left = [
        (name, place, index, shapes[name][place])
        for name in shapes
        for place, index in enumerate(program.tensor(name).dimensions)
    ]
    while True:
        ready = [one for one in left if len(_open(one[2], found)) <= 1]
        if not ready:
            break
        # A dimension of one index gives its bound before dimensions of several indices are used.
        name, place, index, size = min(ready, key=lambda one: len(one[2].terms))
        left.remove((name, place, index, size))
        unknown = _open(index, found)
        if not unknown:
            _compare(name, place, index, size, found, told)
            continue
        found[unknown[0]] = _bound(name, place, index, size, unknown[0], found)
        told[unknown[0]] = name
    missing = [name for name in program.indices if name not in found]
    if missing:
        raise ValueError(f"shapes do not tell the bound of {', '.join(missing)}; give `bounds`")
    check_bounds(program, found)
    return {name: found[name] for name in program.indices}


def _open(index: Affine, found: Mapping[str, int]) -> list[str]:
    """Indices of a dimension of which the bound is not known yet."""
    return [name for name in index.variables if name not in found]


def _bound(
    name: str, place: int, index: Affine, size: int, unknown: str, found: Mapping[str, int]
) -> int:
    """The bound of the one index that is not known."""
    terms = dict(index.terms)
    by = terms.pop(unknown)
    rest = Affine(tuple(terms.items()), index.constant)
    (others,) = shape_of((rest,), found)
    last, over = divmod(size - others, by)
    if over or (rest.terms and last < 0):
        known = ", ".join(f"{one} = {found[one]}" for one in rest.variables)
        where = f"{index}, its dimension {place}"
        raise ValueError(
            f"{name} must not have {size} places for {where}{': ' if known else ''}{known}"
        )
    return last + 1


def _compare(
    name: str,
    place: int,
    index: Affine,
    size: int,
    found: Mapping[str, int],
    told: Mapping[str, str],
) -> None:
    (wanted,) = shape_of((index,), found)
    if wanted == size:
        return
    others = dict.fromkeys(told[one] for one in index.variables)
    bounds = ", ".join(f"{one} = {found[one]}" for one in index.variables)
    raise ValueError(
        f"{name} must have {wanted} places for {index}, its dimension {place}, not {size}: "
        f"{bounds} in {' and '.join(others)}"
    )
