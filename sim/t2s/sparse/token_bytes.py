"""Tokens as bytes, many at once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ....hw.spec.t2s.sparse_parts import Field, TokenLayout

__all__ = ["field_of", "put_field", "put_fields"]

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]


def put_fields(layout: TokenLayout, tokens: Bytes, fields: Mapping[str, npt.NDArray[np.int64]],
               where: npt.NDArray[np.int64], values: Words) -> None:  # fmt: skip
    """Make entries of some tokens, all of whose bits are 0.

    Parameters
    ----------
    tokens: (tokens, bytes of one)
    fields: numbers of each field but ``value`` and ``present``
    where: which tokens
    values: their words
    """
    put_field(layout, tokens, "value", where, values)
    for name, numbers in fields.items():
        put_field(layout, tokens, name, where, numbers.astype(np.uint64))
    put_field(layout, tokens, "present", where, np.ones(len(where), np.uint64))


def put_field(
    layout: TokenLayout, tokens: Bytes, name: str, where: npt.NDArray[np.int64], numbers: Words
) -> None:
    """Set a field, all of whose bits are 0, of some tokens (tokens, bytes of one)."""
    field = layout.field(name)
    first, shift = divmod(field.low, 8)
    for byte in range(first, _behind(field)):
        # From which bit of the number on this byte has it.
        from_bit = 8 * (byte - first) - shift
        part = numbers >> np.uint64(from_bit) if from_bit >= 0 else numbers << np.uint64(-from_bit)
        tokens[where, byte] |= part.astype(np.uint8)


def field_of(layout: TokenLayout, tokens: Bytes, name: str) -> Words:
    """A field of tokens (..., bytes of one)."""
    field = layout.field(name)
    first, shift = divmod(field.low, 8)
    found = np.zeros(tokens.shape[:-1], np.uint64)
    for byte in range(first, _behind(field)):
        part = tokens[..., byte].astype(np.uint64)
        from_bit = 8 * (byte - first) - shift
        found |= part << np.uint64(from_bit) if from_bit >= 0 else part >> np.uint64(-from_bit)
    return found & np.uint64((1 << field.bits) - 1)


def _behind(field: Field) -> int:
    """Returns the place of the byte after the field's last one."""
    return -(-(field.low + field.bits) // 8)
