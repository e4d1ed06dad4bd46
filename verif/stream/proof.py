"""Proofs that no sequence of inputs breaks a rule."""

from __future__ import annotations

from pathlib import Path

from amaranth.lib import wiring
from tilewright.verif.stream.prover import prove


def never_broken(watched: wiring.Component, directory: Path, *, cycles: int | None = None) -> bool:
    """Proves that the component never sets ``broken`` after its reset, whatever its inputs are:
    within ``cycles``, or in any number of cycles. Raises AssertionError if the prover reaches no
    result."""
    holds = prove(watched, directory, cycles=cycles).holds
    assert holds is not None, "the prover found neither a proof nor a break"
    return holds
