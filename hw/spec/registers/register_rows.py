"""Common rows of the register maps of all accelerators that run jobs."""

from __future__ import annotations

from collections.abc import Mapping

from .register_map import Field, Register

__all__ = [
    "CONTROL",
    "COUNTER_BITS",
    "constants",
    "counter_registers",
    "identity",
    "number",
]

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
_CODE = "why the last job failed; 0: it did not, or busy is 1"

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
            Field(name="busy", low=0, doc="a job runs, or the bus still owes answers"),
            Field(name="done", low=1, access="w1c", doc="a job has ended well"),
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
