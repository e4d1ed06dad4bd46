"""Generalised minimal residuals, restarted: two products a pass, a sum over both behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ....hw.spec.formats import FloatFormat
from ..result.products import Rules
from .conjugate import right_side
from .graphs import columns_of
from .jobs import Found, Job, Machine, Method, Setup
from .programs import clean, krylov_programs, most_at_once

Floats = npt.NDArray[np.float64]

_ROUNDINGS = 8
"""Rounding error of a vector, at most, in roundings of its length; a smaller remainder is zero."""

_LOST = 1 / 6
"""Share of the digits that the image of what is left of z may lose, or the product is not used."""

_LITTLE = 0.1
"""Least remainder of a vector, as a share of what was subtracted last; below it the whole basis is
subtracted once more, since the roundings have grown by as much."""


def basis_name(number: int) -> str:
    """Name of a basis vector in memory."""
    return f"basis {number}"


class KrylovSpace:
    """The space of a residual, its images, the images of those, and so on.

    Of v, the last vector of the basis, a pass gives y, the image of v, and that of z, y less a
    multiple of v that is known before the pass. Both are orthogonalised afterwards, and what is
    left of them, made unit vectors, are the next two of the basis. Coefficients that were taken
    from y are its image in the basis as they are; the image of the vector that is left of y follows
    from those of z, y being v's.

    Parameters
    ----------
    machine: with the programs of ``krylov_programs``, the matrix, and the vectors *residual*,
        *first*, *second* and, as many as the space is to have, those of the basis
    at_once: vectors of the basis that a program goes over at most
    shift: the multiple of v in the first pass; then it is what y has of v in the pass before

    Members
    -------
    residuals: of each image that is known the norm of what is left of the residual in the best case
    ended: whether the last one was below the goal, or nothing leads further
    closed: whether the space has its own image
    why: what has gone wrong, or empty
    wasted: products whose result is not used, of all spaces
    """

    residuals: list[float]
    ended: bool
    closed: bool
    why: str
    wasted: int

    def __init__(self, machine: Machine, at_once: int, shift: float) -> None:
        assert isinstance(machine.fmt, FloatFormat)
        self._machine, self._at_once, self._shift = machine, at_once, shift
        self._unit = 2.0**-machine.fmt.significand_bits
        self.wasted = 0

    def begin(self, size: float) -> None:
        """Anew, of a residual of that size."""
        self._size = size
        self._columns: list[Floats] = []
        self.residuals, self.ended, self.closed, self.why = [], False, False, ""
        self._scale("residual", 0, size)

    def grow(self, most: int, goal: float) -> None:
        """A pass: the images of two vectors more of the basis, or of the last one.

        Parameters
        ----------
        most: vectors that the basis has in the end
        goal: it ends with a residual below
        """
        k = len(self._columns)
        v, two = basis_name(k), k + 2 <= most
        self._machine.give({"shift": -self._shift})
        self._run("images", v, {"operand": v}, matrix="matrix", second=two)
        targets = ("first", "second") if two else ("first",)
        taken, left = self._orthogonal(k + 1, targets)
        image = np.append(taken[:, 0], left[0])
        if not self._take(image, float(np.linalg.norm(image)), goal):
            self.wasted += two
            return
        z = image.copy()
        # The shift as it was rounded.
        z[k] += self._machine.scalars()["shift"]
        self._shift = float(image[k])
        if two and left[0] >= self._unit**_LOST * np.linalg.norm(z):
            self._second(z, taken[:, 1], goal, most)
        else:
            self.wasted += two
            if k + 1 < most:
                self._scale("first", k + 1, left[0])

    def _second(self, z: Floats, taken: Floats, goal: float, most: int) -> None:
        """Adds the remainder of z's image to the basis; z is in the basis, and ``taken`` are the
        coefficients subtracted from its image so far."""
        k = len(taken)
        self._machine.give({"scale": 1 / z[k]})
        places = {"given": "first", "unit": basis_name(k), "other": "second"}
        self._run("pair", "first", places, second=True)
        found = self._machine.scalars()
        taken = np.append(taken, -found["of_1_1"])
        left = float(np.sqrt(found["left_1"]))
        if left < _LITTLE * abs(taken[k]):
            more, rest = self._orthogonal(k + 1, ("second",))
            taken, left = taken + more[:, 0], float(rest[0])
        image = np.append(taken, left)
        length = float(np.linalg.norm(image))
        image[: k + 1] -= self._images() @ z[:k]
        if self._take(image / z[k], length / z[k], goal) and k + 1 < most:
            self._scale("second", k + 1, left)

    def least(self) -> tuple[Floats, float]:
        """Returns the coefficients of the basis vectors whose sum has the image nearest to the
        residual, and the norm of the remainder."""
        images = self._images()
        residual = np.zeros(len(images))
        residual[0] = self._size
        found = np.asarray(np.linalg.lstsq(images, residual, rcond=None)[0], np.float64)
        return found, float(np.linalg.norm(residual - images @ found))

    def _images(self) -> Floats:
        """Returns the images of the basis vectors in the basis: a column each, and one row more."""
        size = len(self._columns)
        images = np.zeros((size + 1, size))
        for number, column in enumerate(self._columns):
            images[: len(column), number] = column
        return images

    def add_to(self, name: str, coefficients: Floats) -> None:
        """Add a sum of the basis to a vector in memory."""
        for first in range(0, len(coefficients), self._at_once):
            part = coefficients[first : first + self._at_once]
            self._machine.give({f"of_1_{n}": float(one) for n, one in enumerate(part, 1)})
            basis = {f"basis_{n}": basis_name(first + n - 1) for n in range(1, len(part) + 1)}
            self._run(f"add {len(part)}", name, {"sum_so_far": name, **basis})

    def _take(self, image: Floats, length: float, goal: float) -> bool:
        """The image of the next vector of the basis, of whose last element roundings are a share of
        ``length``. Returns whether the space is to go on."""
        if not np.isfinite(image).all():
            self.ended, self.why = True, "the image of a vector is not finite"
            return False
        self.closed = bool(image[-1] <= _ROUNDINGS * self._unit * length)
        if self.closed:
            image = np.append(image[:-1], 0.0)
        self._columns.append(image)
        self.residuals.append(self.least()[1])
        self.ended = self.closed or self.residuals[-1] < goal
        return not self.ended

    def _orthogonal(self, size: int, targets: Sequence[str]) -> tuple[Floats, Floats]:
        """Orthogonalises vectors against so many of the basis; once more if the remainder of one is
        shorter than its subtracted part. Returns the coefficients, and the norms of the
        remainders."""
        whole = np.zeros((size, len(targets)))
        for _ in range(2):
            found, left = self._once(size, targets)
            whole += found
            if (left >= np.linalg.norm(found, axis=0)).all():
                break
        return whole, left

    def _once(self, size: int, targets: Sequence[str]) -> tuple[Floats, Floats]:
        found = np.zeros((size, len(targets)))
        scalars: dict[str, float] = {}
        names = {f"target_{t}": name for t, name in enumerate(targets, 1)}
        for first in range(0, size, self._at_once):
            count = min(self._at_once, size - first)
            basis = {f"basis_{n}": basis_name(first + n - 1) for n in range(1, count + 1)}
            program = clean(len(targets), count)
            self._run(program, targets[0], names | basis, second=True)
            scalars = self._machine.scalars()
            for t in range(len(targets)):
                for n in range(count):
                    found[first + n, t] = -scalars[f"of_{t + 1}_{n + 1}"]
        left = [np.sqrt(scalars[f"left_{t}"]) for t in range(1, len(targets) + 1)]
        return found, np.array(left)

    def _scale(self, name: str, number: int, size: float) -> None:
        """A vector over its size becomes one of the basis."""
        self._machine.give({"scale": 1 / size})
        self._run("scale", name, {"given": name, "unit": basis_name(number)})

    def _run(
        self,
        program: str,
        x: str,
        places: Mapping[str, str],
        *,
        matrix: str | None = None,
        second: bool = False,
    ) -> None:
        self._machine.run(Job(program=program, x=x, matrix=matrix, second=second, stored=places))


_TIGHTER, _LOOSER = 0.25, 1.5
"""Factors by which the share of the limit that a cycle aims at changes."""


def minimal_residuals(
    rules: Rules,
    matrix: Any,
    right: npt.ArrayLike,
    *,
    tolerance: float,
    restart: int = 20,
    words: int = 64,
) -> Method:
    """The solution of ``matrix`` times it equals ``right``, from 0 on, until the residual is less
    than ``tolerance`` times the right side, in the 2-norm.

    Parameters
    ----------
    restart: iterations of a cycle, behind which the solution and its residual are computed, and
        from that residual a new space; at most as many as the matrix has rows
    words: of the program memory: how many vectors of the basis a job goes over

    An iteration is a vector of the space. The residual that is said is in the last one of a cycle
    that of the solution, in the others that of the small problem. A cycle ends when the latter is
    below its goal, which is the limit, or less where that has not been enough, as in SciPy.

    Source: Saad and Schultz, GMRES (1986).

    Raises ValueError if the right side is 0, or ``restart`` less than 1.
    """
    b = right_side(right, tolerance, rules.fmt)
    if restart < 1:
        raise ValueError(f"`restart` must be at least 1, not {restart}")
    fmt, size = rules.fmt, len(b.values)
    restart, at_once = min(restart, size), most_at_once(words)
    programs = krylov_programs(at_once)
    names = {one.name for one in programs["images"].scalars if not one.reduction}
    setup = Setup(
        size=size,
        # A product is a vector's with columns.
        matrices={"matrix": columns_of(csr_array(matrix).T, fmt)},
        programs=programs,
        vectors={
            **dict.fromkeys(("right", "residual"), b.given),
            **dict.fromkeys(("x", "first", "second", *map(basis_name, range(restart))), b.nothing),
        },
        given=dict.fromkeys(names, 0.0),
    )
    with np.errstate(over="ignore"):
        shift = float(csr_array(matrix).diagonal().mean())

    def host(machine: Machine, most: int) -> Found:
        residuals = [b.norm]
        space = KrylovSpace(machine, at_once, shift)
        goal, share, why = b.limit, 1.0, ""
        while not b.solved(residuals[-1]) and not why and len(residuals) <= most:
            before = residuals[-1]
            vectors = min(restart, most + 1 - len(residuals))
            space.begin(before)
            while len(space.residuals) < vectors and not space.ended:
                space.grow(vectors, goal)
            why = space.why
            if not space.residuals:
                break
            coefficients, expected = space.least()
            space.add_to("x", coefficients)
            machine.run(Job(program="residual", x="x", matrix="matrix", second=False))
            left = float(np.sqrt(machine.scalars()["left_1"]))
            residuals += [*space.residuals[:-1], left]
            if not 0 < left < np.inf:
                why = f"the residual is {left:g}"
                break
            if space.closed and before / 2 < left:
                why = "the space has its own image, but not the residual"
            share = _TIGHTER * share if expected < goal else min(1.0, _LOOSER * share)
            goal = expected * min(share, b.limit / left)
        settled = b.solved(residuals[-1])
        return Found(
            result="x", iterations=len(residuals) - 1, settled=settled,
            residuals=tuple(residuals), why="" if settled else why, wasted=space.wasted,
        )  # fmt: skip

    def quiet(machine: Machine, most: int) -> Found:
        """Runs the computation without NumPy's warnings: infinite results show in the values."""
        with np.errstate(all="ignore"):
            return host(machine, most)

    return Method(setup=setup, host=quiet, limit=b.limit)
