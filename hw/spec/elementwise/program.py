"""Describes a program of the element-wise core: its two parts, and the names in them."""

from __future__ import annotations

from dataclasses import dataclass, field

from .instructions import INSTRUCTIONS, REDUCTIONS, Instruction, encode

__all__ = ["PARTS", "Program", "Scalar", "words_of"]

PARTS = ("e1", "e2")
"""Parts of a program: after the first product, and after the second."""


@dataclass(frozen=True, kw_only=True)
class Scalar:
    """A number that is the same for all elements.

    Parameters
    ----------
    name: empty for a constant that is written where it is used
    value: of a constant; None if it comes with the job, or is a reduction
    reduction: the instruction that reduces it, one of ``REDUCTIONS``; else empty
    """

    name: str = ""
    value: float | None = None
    reduction: str = ""

    def __post_init__(self) -> None:
        if self.reduction and self.reduction not in REDUCTIONS:
            known = ", ".join(REDUCTIONS)
            raise ValueError(f"`reduction` must be one of {known}, not {self.reduction!r}")
        if self.reduction and self.value is not None:
            raise ValueError(f"`value` of reduction {self.name} must be None, not {self.value}")


@dataclass(frozen=True, kw_only=True)
class Program:
    """Both parts; an empty one passes its product on unchanged.

    Parameters
    ----------
    scalars, vectors, matrices: by number; of vectors and matrices the names
    e1, e2: instructions, without ``end``
    """

    scalars: tuple[Scalar, ...] = ()
    vectors: tuple[str, ...] = ()
    matrices: tuple[str, ...] = ()
    e1: tuple[Instruction, ...] = field(default=())
    e2: tuple[Instruction, ...] = field(default=())

    def part(self, name: str) -> tuple[Instruction, ...]:
        """One of ``PARTS``."""
        return {"e1": self.e1, "e2": self.e2}[name]

    def reduced_in(self, part: str) -> tuple[int, ...]:
        """The reductions that a part adds to, each once."""
        return tuple(dict.fromkeys(n for one in self.part(part) for n in one.of("s")))

    @property
    def words(self) -> int:
        """Words of the instruction memory that it takes."""
        return sum(len(words_of(self.part(name))) for name in PARTS)


def words_of(part: tuple[Instruction, ...]) -> list[int]:
    """A part's words, with the one that ends it."""
    return encode([*part, Instruction(operation=INSTRUCTIONS["end"])])
