"""Divides the bits of a signal into fields: Amaranth's description, as far as Verilog can express
it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Format

from .keywords import KEYWORDS

__all__ = ["Fields", "Struct", "bits_of", "coded_parts", "fields_of", "ranges_of", "struct_of"]

Fields = tuple[tuple[str | int, Any], ...]
"""Fields of a signal, or signals: the name of each, and the description of its bits."""


@dataclass(frozen=True)
class Struct:
    """Fields, the first one in the low bits: name and width."""

    fields: tuple[tuple[str, int], ...]

    @property
    def width(self) -> int:
        return sum(bits for _, bits in self.fields)

    def field_at(self, low: int, size: int) -> str:
        """The field that some bits are in; empty if they are in several."""
        for name, bits in self.fields:
            if low + size <= bits:
                return name
            if low < bits:
                break
            low -= bits
        return ""


def bits_of(description: Any) -> int:
    """Width of the signal that a description of Amaranth's describes."""
    if isinstance(description, Format):
        values = [chunk[0] for chunk in description._chunks if not isinstance(chunk, str)]
        return len(values[0]) if len(values) == 1 else 0
    return len(description._value)


def _fields(name: str, description: Any) -> Iterator[tuple[str, int]]:
    """Yields a field, or the fields of a structure, under the names of both."""
    inner = struct_of(description)
    if inner is None:
        yield f"{name}_" if name in KEYWORDS else name, bits_of(description)
        return
    for below, bits in inner.fields:
        yield f"{name}_{below.removesuffix('_')}", bits


def struct_of(description: Any) -> Struct | None:
    """The structure that Amaranth's description of a signal stands for, if there is one.

    Structures within it become part of it. It has no arrays, but the bits of all their words:
    Verilog's tools do not agree on more. Nor is there one with gaps or overlaps.
    """
    if not isinstance(description, Format.Struct):
        return None
    found = [f for name, inner in description._fields.items() for f in _fields(name, inner)]
    struct = Struct(tuple((name, bits) for name, bits in found if bits > 0))
    names = [name for name, _ in struct.fields]
    plain = all(map(str.isidentifier, names)) and len(set(names)) == len(names) > 0
    return struct if plain and struct.width == bits_of(description) else None


def fields_of(descriptions: Mapping[Any, Any]) -> Fields:
    """Equal for signals of the same names that are divided alike."""
    return tuple((name, _parts(description)) for name, description in descriptions.items())


def _parts(description: Any) -> Any:
    """A width, or the fields, elements or names of values."""
    if isinstance(description, Format.Struct):
        return fields_of(description._fields)
    if isinstance(description, Format.Array):
        return tuple(_parts(element) for element in description._fields)
    if isinstance(description, Format.Enum):
        return tuple(description._variants.items())
    return bits_of(description)


def _range(bits: int, low: int = 0) -> str:
    return f"[{low + bits - 1}:{low}]" if bits > 1 else f"[{low}]"


def ranges_of(description: Any, room: int) -> str:
    """Describes the bits of a signal in a comment: the ranges of its fields, or of an element's
    fields.

    Nothing for a signal without parts or of a single one.

    Parameters
    ----------
    room: the longest that the text may be; of more fields than fit, those in the high bits
    """
    if isinstance(description, Format.Array) and description._fields:
        element = description._fields[0]
        count = f"{len(description._fields)} x "
        text = count + (ranges_of(element, room - len(count)) or _range(bits_of(element)))
        return text if len(text) <= room else ""
    struct = struct_of(description)
    if struct is None or len(struct.fields) == 1:
        return ""
    texts: list[str] = []
    low = 0
    for name, bits in struct.fields:
        texts.insert(0, f"{name} {_range(bits, low)}")
        low += bits
    for shown in range(len(texts), 0, -1):
        rest = ["..."] if shown < len(texts) else []
        text = f"{{{', '.join(texts[:shown] + rest)}}}"
        if len(text) <= room:
            return text
    return ""


def coded_parts(description: Any, low: int = 0) -> Iterator[tuple[int, int, Mapping[int, str]]]:
    """The fields and elements whose values have names: highest bit, lowest bit, value -> name."""
    if isinstance(description, Format.Enum):
        yield low + bits_of(description) - 1, low, dict(description._variants)
        return
    inner: list[Any] = []
    if isinstance(description, Format.Array):
        inner = description._fields
    elif struct_of(description) is not None:
        inner = list(description._fields.values())
    for part in inner:
        yield from coded_parts(part, low)
        low += bits_of(part)
