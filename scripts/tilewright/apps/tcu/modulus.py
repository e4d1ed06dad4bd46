"""Words of residues on the command line: ``--words modular --modulus P``, or the latter alone."""

from __future__ import annotations

from ...errors import UserError
from ...numbers_given import whole

__all__ = ["MODULAR", "modulus_given"]

MODULAR = "modular"


def modulus_given(words: str | None, modulus: str | None) -> int | None:
    """P, of an option's text; None if words are others. Raises UserError for what does not go
    together."""
    number = None if modulus is None else whole("--modulus", 2, 1 << 62)(modulus)
    if words == MODULAR and number is None:
        raise UserError(f"--words {MODULAR} must come with --modulus P")
    if number is not None and words not in (None, MODULAR):
        raise UserError(f"--modulus must come with --words {MODULAR}, or without, not with {words}")
    return number
