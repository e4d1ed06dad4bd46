"""Where the exponents of floats lie in the bytes that they are made of."""

from __future__ import annotations

from typing import NamedTuple

from ...spec.formats import FLOAT_FORMATS
from ...spec.gta import LIMB_BITS, GtaConfig

__all__ = ["BitGroup", "exponent_groups"]


class BitGroup(NamedTuple):
    """Bits of a byte that are always of the exponent together.

    ``bits``: ascending, the sign not among them. ``places``: format and byte from the lowest one of
    each place where they are.
    """

    bits: tuple[int, ...]
    places: tuple[tuple[str, int], ...]


def exponent_groups(config: GtaConfig) -> list[BitGroup]:
    """The bits of a byte, grouped by the bytes of the configuration's floats in which they belong
    to the exponent; elsewhere they belong to the fraction, but for the sign."""
    found: dict[tuple[tuple[str, int], ...], list[int]] = {}
    for bit in range(LIMB_BITS):
        places = tuple(
            (name, byte)
            for name in config.floats
            for byte in range(FLOAT_FORMATS[name].bits // LIMB_BITS)
            if 0
            <= byte * LIMB_BITS + bit - FLOAT_FORMATS[name].fraction_bits
            < FLOAT_FORMATS[name].exponent_bits
        )
        found.setdefault(places, []).append(bit)
    return [BitGroup(tuple(bits), places) for places, bits in found.items()]
