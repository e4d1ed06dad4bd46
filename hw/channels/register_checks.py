"""The rules that the job registers of MatRaptor and of the converter obey."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Const, Value

from ..spec.c2sr import C2srLayout
from ..spec.job_registers import Check

__all__ = ["breaks"]

_ANYTHING = (1 << 32) - 1


def breaks(
    check: Check, register: Value, *, layout: C2srLayout, limits: Mapping[str, int], addr_bits: int
) -> Value:
    """Whether a register breaks a rule.

    Parameters
    ----------
    layout: whose blocks bases and capacities are multiples of
    limits: the greatest value of each size
    addr_bits: width of an address
    """
    if check.error == "zero_size":
        return register == 0
    if check.error == "size_limit":
        most = limits[check.register]
        return register > most if most < _ANYTHING else Const(0)
    if check.error == "misaligned_base":
        return register[: layout.interleave.bit_length() - 1].any()
    if check.error == "misaligned_capacity":
        return register[: layout.block_entries.bit_length() - 1].any()
    assert check.error == "address_range"
    return register[addr_bits:].any() if addr_bits < len(register) else Const(0)
