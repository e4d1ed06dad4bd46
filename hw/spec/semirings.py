"""The semirings: one table from which hardware, models, padding and the sparse units are built."""

from __future__ import annotations

from dataclasses import dataclass

from .formats import Format
from .host.words import not_one_of

__all__ = ["PLUS", "SEMIRINGS", "TIMES", "Semiring"]

PLUS = ("add", "min", "max", "or")
TIMES = ("mul", "add", "min", "max", "and", "square_difference", "second")


@dataclass(frozen=True, kw_only=True)
class Semiring:
    """A pair of operators, ``d = c (+) (+)_k (a_k (x) b_k)``.

    Parameters
    ----------
    name: as users type it
    opcode: the value of ``op`` that selects it
    plus: the operator (+), one of ``PLUS``
    times: the operator (x), one of ``TIMES``; "and" goes with "or" only, "square_difference"
        and "second" (b where a is not 0, else 0) with "add" only
    identity: what (+) leaves alone: "0", "+inf" or "-inf"
    padding: what a and b are padded with, so that their product is the identity

    Infinities stand for the ends of the range in integer formats. There a product of two padding
    values is defined to be the identity of the accumulator's format.
    """

    name: str
    opcode: int
    plus: str
    times: str
    identity: str
    padding: tuple[str, str]

    def __post_init__(self) -> None:
        for role, operator, known in (("plus", self.plus, PLUS), ("times", self.times, TIMES)):
            if operator not in known:
                raise ValueError(not_one_of(f"`{role}`", known, operator))
        # A truth value is no number; squares, and operands that pass, are only ever added.
        for plus, times in (("or", "and"), ("add", "square_difference"), ("add", "second")):
            if self.times == times and self.plus != plus:
                raise ValueError(f"`plus` must be {plus} with times {times}, not {self.plus!r}")
        if self.plus == "or" and self.times != "and":
            raise ValueError(f"`times` must be and with plus or, not {self.times!r}")

    @property
    def multiplies(self) -> bool:
        """Returns whether (x) needs a multiplier."""
        return self.times in ("mul", "square_difference")

    def identity_in(self, fmt: Format) -> int | None:
        """The identity's pattern in a format; None in one without infinities, if it is one."""
        return fmt.constant(self.identity)

    def padding_in(self, fmt: Format) -> tuple[int, int] | None:
        """Patterns that pad a and b; None in a float format that cannot hold them."""
        a, b = (fmt.constant(word) for word in self.padding)
        return None if a is None or b is None else (a, b)


def _row(
    opcode: int, name: str, plus: str, times: str, identity: str, padding: tuple[str, str]
) -> Semiring:
    return Semiring(
        name=name, opcode=opcode, plus=plus, times=times, identity=identity, padding=padding
    )


_ROWS = (
    _row(0, "mma", "add", "mul", "0", ("0", "0")),
    _row(1, "minplus", "min", "add", "+inf", ("+inf", "+inf")),
    _row(2, "maxplus", "max", "add", "-inf", ("-inf", "-inf")),
    _row(3, "minmul", "min", "mul", "+inf", ("+inf", "+inf")),
    _row(4, "maxmul", "max", "mul", "-inf", ("-inf", "+inf")),
    _row(5, "minmax", "min", "max", "+inf", ("+inf", "+inf")),
    _row(6, "maxmin", "max", "min", "-inf", ("-inf", "-inf")),
    _row(7, "orand", "or", "and", "0", ("0", "0")),
    _row(8, "addnorm", "add", "square_difference", "0", ("0", "0")),
)

SEMIRINGS: dict[str, Semiring] = {row.name: row for row in _ROWS}
"""Semirings by name. A new row is a new operation, if the units have the operators (+) and (x)."""
