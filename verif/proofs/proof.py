"""A proof as a row of a table, and a broken variant that it refutes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tilewright.verif.proofs.claim import Claim


@dataclass(frozen=True)
class Proof:
    """Something that is proved of a part.

    Parameters
    ----------
    part: what it is about, and its size
    says: what holds
    claim: makes the claim
    cycles: how many are looked at; None: all, of any number
    size: the smallest test that runs it, ``default`` or ``long``
    refuted: the part is a broken one, and the claim must be found wrong
    unreached: what the claim says can be reached, and cannot in this configuration
    within: cycles in which the rest of that is reached
    """

    part: str
    says: str
    claim: Callable[[], Claim] = field(repr=False)
    cycles: int | None = None
    size: str = "default"
    refuted: bool = False
    unreached: frozenset[str] = frozenset()
    within: int = 40

    @property
    def name(self) -> str:
        """Unique name of the test."""
        return f"{self.part}: {self.says}" + (" (refuted)" if self.refuted else "")
