"""Area of memories, which are not synthesised: an estimate from their bits alone."""

from __future__ import annotations

__all__ = ["BIT_TRANSISTORS", "BIT_UM2", "bit_area", "bit_formula"]

BIT_UM2 = 1 / 0.826
"""um2 a bit of SRAM, with decoders, sense amplifiers and the like: 0.826 Mb/mm2 is what OpenRAM
(M. Guthaus et al., ICCAD 2016, comparison with fabricated SRAMs) publishes for its memories in
FreePDK45, the process of the library gscl45nm. Those have one port for reading and writing, ours
one for each, and small memories are less dense. Fabricated 40 to 45 nm memories are given there
with 0.33 to 0.94 Mb/mm2. So this is an estimate, and one for 45 nm alone."""

BIT_TRANSISTORS = 6
"""Transistors of a memory cell, without decoders and sense amplifiers."""


def bit_area(target: str) -> float:
    """Area of a bit in the unit of a target's cell library: transistors of ``cmos``, um2 of a real
    one, whose unit is taken to be that."""
    return BIT_TRANSISTORS if target == "cmos" else BIT_UM2


def bit_formula(target: str) -> str:
    """The formula of :func:`bit_area`, in words."""
    if target == "cmos":
        return f"{BIT_TRANSISTORS} transistors per bit"
    return f"{BIT_UM2:.3f} um2 per bit, as in 45 nm"
