"""Limits of the bus traffic of an accelerator's managers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Blocks", "BusSide", "IdPart", "Traffic", "one_id_each"]


@dataclass(frozen=True, kw_only=True)
class IdPart:
    """Bits of an AXI ID: a number below ``count``, which is of ``names`` if these are given."""

    name: str
    low: int
    bits: int
    count: int
    names: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class BusSide:
    """One direction of a manager: the longest burst in beats, bursts in flight in all and under one
    ID, and the parts of an ID; bits of no part are zero."""

    longest_beats: int
    outstanding: int
    outstanding_per_id: int
    id_parts: tuple[IdPart, ...]


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """Blocks of a channel: the one with a ``number`` of every ``count`` blocks of ``bytes`` bytes,
    from address 0 on."""

    bytes: int
    count: int
    number: int


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Both directions; None: it is not used. ``blocks``: the part of memory that is accessed, if
    not all."""

    reads: BusSide | None = None
    writes: BusSide | None = None
    blocks: Blocks | None = None


def one_id_each(
    what: str, names: Sequence[str], *, longest_beats: int, outstanding: int, id_bits: int
) -> BusSide | None:
    """Several who have ``outstanding`` bursts each, all under an ID of their own; None of none."""
    if not names:
        return None
    part = IdPart(name=what, low=0, bits=id_bits, count=len(names), names=tuple(names))
    return BusSide(
        longest_beats=longest_beats,
        outstanding=len(names) * outstanding,
        outstanding_per_id=outstanding,
        id_parts=(part,),
    )
