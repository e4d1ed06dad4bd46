"""A bit of a vector that a signal chooses, by its index: ``x[i]``, not bit 0 of ``x >> i``."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["indexed_bits", "with_indices"]

_SHIFT = re.compile(r"^  assign (\w+) = (\w+) >> (\w+)(?:\[(\d+)(?::(\d+))?\])?;$", re.M)


def indexed_bits(body: str, widths: Mapping[str, int]) -> list[str]:
    """Returns the signals of a body that are shifted vectors with only bit 0 in use.

    ``widths``: of all signals.
    """
    return [match[1] for match in _SHIFT.finditer(body) if _is_bit(body, match, widths)]


def _is_bit(body: str, match: re.Match[str], widths: Mapping[str, int]) -> bool:
    uses = re.findall(rf"\b{match[1]}\b(\[[^]]*\])?", body)
    # Behind the last bit there would be an X, not a zero; and of an index that does not reach all
    # bits linters complain.
    inside = widths[match[2]] == 1 << _index_width(match, widths)
    return inside and sorted(set(uses)) == ["", "[0]"] and uses.count("") == 1


def _index_width(match: re.Match[str], widths: Mapping[str, int]) -> int:
    return int(match[4]) - int(match[5] or match[4]) + 1 if match[4] else widths[match[3]]


def with_indices(body: str, names: list[str]) -> str:
    """The body with these signals as bits."""

    def indexed(match: re.Match[str]) -> str:
        if match[1] not in names:
            return match[0]
        vector, index = re.split(" >> ", match[0].partition(" = ")[2].rstrip(";"))
        return f"  assign {match[1]} = {vector}[{index}];"

    body = _SHIFT.sub(indexed, body)
    for name in names:
        body = re.sub(rf"\b{name}\[0\]", name, body)
    return body
