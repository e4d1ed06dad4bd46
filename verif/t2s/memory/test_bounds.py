"""Bounds of indices from the shapes of tensors, and contradictions among them."""

from __future__ import annotations

import pytest
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.program import Program
from tilewright.sim.t2s.bounds import bounds_of_shapes
from tilewright.sim.t2s.images import operand_names
from tilewright.sim.t2s.sizes import shape_of
from tilewright.verif.kit.refusal import refused

from ..designs import IN_HARDWARE, bounds_of


def program_of(name: str) -> Program:
    return T2sConfig(design=name, largest=2).plan.program


@pytest.mark.parametrize("name", IN_HARDWARE)
def test_shapes_tell_all_bounds(name: str) -> None:
    program, bounds = program_of(name), bounds_of(IN_HARDWARE[name])
    shapes = {
        one: shape_of(program.tensor(one).dimensions, bounds) for one in operand_names(program)
    }
    assert bounds_of_shapes(program, shapes) == bounds
    assert bounds_of_shapes(program, dict(reversed(shapes.items())), bounds) == bounds


@pytest.mark.parametrize(
    ("name", "shapes", "given", "text"),
    [
        (
            "gemm",
            {"A": (3, 4), "B": (5, 6)},
            {},
            "B must have 4 places for k, its dimension 0, not 5: k = 4 in A",
        ),
        (
            "gemm",
            {"A": (3, 4), "B": (4, 6)},
            {"j": 7},
            "B must have 7 places for j, its dimension 1, not 6: j = 7 in `bounds`",
        ),
        ("gemm", {"A": (3,), "B": (4, 6)}, {}, "A must have 2 dimensions, not be of shape (3,)"),
        (
            "fir",
            {"X": (3,), "H": (4,)},
            {},
            "X must not have 3 places for n + t, its dimension 0: t = 4",
        ),
        (
            "fir",
            {"X": (9,), "H": (4,)},
            {"n": 7},
            "X must have 10 places for n + t, its dimension 0, not 9: n = 7, t = 4 in `bounds` "
            "and H",
        ),
        ("gemm", {"A": (0, 4), "B": (4, 6)}, {}, "bound of i must be 1 or more, not 0"),
        (
            "gemm",
            {"A": (3, 4), "B": (4, 6)},
            {"l": 7},
            "bounds must be of i, j, k, not of 'l'",
        ),
        (
            "gemm",
            {"A": (3, 4), "B": (4, 6)},
            {"j": -1},
            "bound of j must be 1 or more, not -1",
        ),
        ("gemm", {"A": (3, 4)}, {}, "shapes do not tell the bound of j; give `bounds`"),
    ],
)
def test_refused(
    name: str, shapes: dict[str, tuple[int, ...]], given: dict[str, int], text: str
) -> None:
    program = program_of(name)
    with refused(ValueError, text):
        bounds_of_shapes(program, shapes, given)


def test_a_bound_that_is_no_integer_is_refused() -> None:
    with refused(TypeError, "bound of j must be an integer, not '6'"):
        bounds_of_shapes(program_of("gemm"), {"A": (3, 4), "B": (4, 6)}, {"j": "6"})  # type: ignore[dict-item]
