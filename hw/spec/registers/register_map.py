"""Register maps: the software's view of an accelerator, as data.

The hardware (``hw/axi/registers.py``), the sidecar, the drivers and the documentation all read
the same table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

from ..host.words import UnknownName, not_one_of, unknown

WORD_BITS = 32
"""Bits of a word on the register bus."""

ACCESSES: dict[str, str] = {
    "rw": "read and write",
    "ro": "read only",
    "w1c": "set by the hardware, cleared by writing ones or by the hardware",
    "wo": "write only: acts once for each write, reads as zero",
}

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")


def _check(name: str, value: Any, good: bool, allowed: str) -> None:
    if not good:
        raise ValueError(f"{name} must be {allowed}, not {value!r}")


def _check_name(kind: str, name: str) -> None:
    _check(f"the name of a {kind}", name, bool(_NAME.fullmatch(name)), "words joined by _")


@dataclass(frozen=True, kw_only=True)
class Field:
    """Adjacent bits of a register with one meaning.

    Parameters
    ----------
    name: unique name in its register, in lower case
    low, width: lowest bit and number of bits
    access: a key of ``ACCESSES``; empty for that of the register
    reset: value after reset
    constant: True if it always reads as ``reset``; only with access "ro"
    doc: description in one line
    values: meanings of some of its values, by name
    """

    name: str
    low: int = 0
    width: int = 1
    access: str = ""
    reset: int = 0
    constant: bool = False
    doc: str = ""
    values: Mapping[str, int] = dataclass_field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        _check_name("field", self.name)
        _check(f"`low` of {self.name}", self.low, self.low >= 0, "at least 0")
        _check(f"`width` of {self.name}", self.width, self.width >= 1, "at least 1")
        allowed = f"one of {', '.join(ACCESSES)}"
        _check(f"`access` of {self.name}", self.access, self.access in ("", *ACCESSES), allowed)
        fits = 0 <= self.reset < 1 << self.width
        _check(f"`reset` of {self.name}", self.reset, fits, f"in 0..{(1 << self.width) - 1}")
        for name, value in self.values.items():
            fits = 0 <= value < 1 << self.width
            _check(f"`{name}` of {self.name}", value, fits, f"in 0..{(1 << self.width) - 1}")

    @property
    def mask(self) -> int:
        """The mask of the field's bits in the register."""
        return ((1 << self.width) - 1) << self.low


@dataclass(frozen=True, kw_only=True)
class Register:
    """A register of one or two words.

    Parameters
    ----------
    name: unique name in its map, in upper case
    offset: byte address, a multiple of the register's size
    access: access of the fields that do not have one
    fields: its fields from low to high bits
    bits: 32, or 64: two words, the low one first; a field may have bits in both
    doc: description in one line
    """

    name: str
    offset: int
    access: str = "rw"
    fields: tuple[Field, ...]
    bits: int = WORD_BITS
    doc: str = ""

    def __post_init__(self) -> None:
        _check_name("register", self.name)
        allowed = f"one of {', '.join(ACCESSES)}"
        _check(f"`access` of {self.name}", self.access, self.access in ACCESSES, allowed)
        sizes = (WORD_BITS, 2 * WORD_BITS)
        _check(f"`bits` of {self.name}", self.bits, self.bits in sizes, "32 or 64")
        aligned = self.offset >= 0 and self.offset % (self.bits // 8) == 0
        allowed = f"a multiple of {self.bits // 8}"
        _check(f"`offset` of {self.name}", self.offset, aligned, allowed)
        end = 0
        for field in self.fields:
            where = f"{self.name}.{field.name}"
            _check(f"`low` of {where}", field.low, field.low >= end, f"at least {end}")
            end = field.low + field.width
            _check(f"the end of {where}", end, end <= self.bits, f"at most {self.bits}")
            if field.constant and self.access_of(field) != "ro":
                raise ValueError(f"{where} is constant, so its access must be ro")
        names = [field.name for field in self.fields]
        _check(f"the fields of {self.name}", names, len(set(names)) == len(names) > 0, "different")

    @property
    def words(self) -> int:
        return self.bits // WORD_BITS

    def access_of(self, field: Field) -> str:
        return field.access or self.access

    def field(self, name: str) -> Field:
        """Returns a field by name. Raises UnknownName, a ValueError and a KeyError, if there is
        none."""
        fields = {field.name: field for field in self.fields}
        if name not in fields:
            raise UnknownName(not_one_of(f"the field of {self.name}", fields, name))
        return fields[name]

    def member(self, field: Field) -> str:
        """Returns the name of a field in the hardware."""
        parts = (self.name,) if field.name == "value" else (self.name, field.name)
        return "_".join(parts).lower()

    def get(self, value: int, name: str) -> int:
        """Extracts a field from a value of the register."""
        field = self.field(name)
        return (value & field.mask) >> field.low

    def put(self, **values: int) -> int:
        """Returns a value of the register with these fields, and zeros elsewhere.

        Raises UnknownName for an unknown field, ValueError for a value that does not fit.
        """
        word = 0
        for name, value in values.items():
            field = self.field(name)
            fits = 0 <= value < 1 << field.width
            allowed = f"in 0..{(1 << field.width) - 1}"
            _check(f"{self.name}.{name}", value, fits, allowed)
            word |= value << field.low
        return word

    def describe(self) -> dict[str, Any]:
        """Returns the register's entry in the sidecar."""
        fields = [
            {
                "name": field.name,
                "low": field.low,
                "width": field.width,
                "access": self.access_of(field),
                "reset": field.reset,
                "constant": field.constant,
                "doc": field.doc,
                **({"values": dict(field.values)} if field.values else {}),
            }
            for field in self.fields
        ]
        entry = {"name": self.name, "offset": self.offset, "bits": self.bits}
        return entry | {"access": self.access, "fields": fields, "doc": self.doc}


@dataclass(frozen=True, kw_only=True)
class RegisterMap:
    """Registers at different addresses, in the order of the addresses.

    ``registers["NAME"]`` returns a :class:`Register`, and iteration yields all of them.
    """

    registers: tuple[Register, ...]

    def __post_init__(self) -> None:
        end, before = 0, ""
        for register in self.registers:
            if register.offset < end:
                raise ValueError(
                    f"{register.name} at offset {register.offset:#x} must follow {before}, "
                    f"which ends at {end:#x}"
                )
            end, before = register.offset + register.bits // 8, register.name
        members: set[str] = set()
        for register in self.registers:
            for field in register.fields:
                member = register.member(field)
                kinds = ("set", "clear") if register.access_of(field) == "w1c" else ()
                extra = [f"{member}_{kind}" for kind in kinds]
                for name in (member, *extra):
                    if name in members:
                        raise ValueError(f"two members would be called `{name}`")
                    members.add(name)

    def __iter__(self) -> Iterator[Register]:
        return iter(self.registers)

    def __getitem__(self, name: str) -> Register:
        """A register by name. Raises UnknownName, a ValueError and a KeyError, if there is none."""
        for register in self.registers:
            if register.name == name:
                return register
        known = [register.name for register in self.registers]
        raise UnknownName(unknown("register", name, known, "tilewright show UNIT"))

    @property
    def size(self) -> int:
        """Bytes from offset 0 to the end of the last register."""
        return max((r.offset + r.bits // 8 for r in self.registers), default=0)

    @property
    def address_bits(self) -> int:
        """Bits of the smallest address that reaches every register."""
        return max(2, (self.size - 1).bit_length())

    def describe(self) -> list[dict[str, Any]]:
        """The sidecar's ``registers``."""
        return [register.describe() for register in self.registers]


COUNTER_BITS = 48
"""Width of a counter; it reads as 64 bits, the upper ones zero."""

_FIRST_COUNTER = 0x30


def identity(letters: bytes, version: int) -> list[Register]:
    """ID and VERSION."""
    value = int.from_bytes(letters, "little")
    said = f"the letters {letters.decode()}"
    return [
        constants("ID", 0x00, said, ("value", 32, value, "")),
        constants("VERSION", 0x04, "version of this register map", ("value", 32, version, "")),
    ]


def constants(name: str, offset: int, doc: str, *fields: tuple[str, int, int, str]) -> Register:
    """A read-only register of constants, each (name, width, value, doc), from bit 0 on."""
    placed, low = [], 0
    for field, width, value, said in fields:
        placed.append(Field(name=field, low=low, width=width, reset=value, constant=True, doc=said))
        low += width
    return Register(name=name, offset=offset, access="ro", fields=tuple(placed), doc=doc)


def number(
    name: str,
    offset: int,
    access: str,
    width: int,
    doc: str,
    values: Mapping[str, int] | None = None,
) -> Register:
    """Register with one number; ``values``: the meaning of some numbers, by name."""
    return Register(
        name=name,
        offset=offset,
        access=access,
        bits=64 if width > 32 else 32,
        fields=(Field(name="value", low=0, width=width, values=values or {}),),
        doc=doc,
    )


_START = (
    "1: take the job registers and run; clears done, error, error_code and ERROR_DETAIL; "
    "ignored while busy"
)
_SOFT_RESET = "1: back to idle, whatever runs; wins over start"
_CODE = "error code of the last job; 0: no error, or busy is 1"

CONTROL = (
    Register(
        name="CTRL",
        offset=0x20,
        access="rw",
        fields=(
            Field(name="start", low=0, access="wo", doc=_START),
            Field(name="soft_reset", low=1, access="wo", doc=_SOFT_RESET),
            Field(name="irq_enable", low=2, doc="irq is high while done or error is set"),
        ),
        doc="commands",
    ),
    Register(
        name="STATUS",
        offset=0x24,
        access="ro",
        fields=(
            Field(name="busy", low=0, doc="a job runs, or responses are outstanding on the bus"),
            Field(name="done", low=1, access="w1c", doc="a job completed without error"),
            Field(name="error", low=2, access="w1c", doc="a job has failed"),
            Field(name="error_code", low=8, width=8, doc=_CODE),
        ),
        doc="state",
    ),
)
"""Control registers. ERROR_DETAIL follows them, at 0x28; its contents differ."""


def counter_registers(counters: Mapping[str, str]) -> list[Register]:
    """Registers of the counters, each (name, doc), one after the other."""
    return [
        number(name.upper(), _FIRST_COUNTER + 8 * index, "ro", COUNTER_BITS, doc)
        for index, (name, doc) in enumerate(counters.items())
    ]
