"""Reads pages of the documentation, for benches that compare them with the tables."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from tilewright.hw.spec.registers.job_spec import Error
from tilewright.hw.spec.registers.register_map import Field, Register, RegisterMap


def page(name: str) -> Path:
    """A page of ``docs``."""
    return Path(__file__).resolve().parents[2] / "docs" / name


def _section(path: Path, title: str) -> str:
    return path.read_text().partition(f"## {title}")[2].partition("\n## ")[0]


def _bits(field: Field) -> str:
    return f"{field.low + field.width - 1}:{field.low}" if field.width > 1 else str(field.low)


def _rows(register: Register) -> list[str]:
    """Returns the rows of a register in a table: one for it, and one for each field if it has
    several."""
    where = f"0x{register.offset:02X}"
    if len(register.fields) == 1 and register.fields[0].name == "value":
        bits = _bits(register.fields[0])
        return [f"| {where} | {register.name} | {bits} | {register.access} | {register.doc} |"]
    rows = [f"| {where} | {register.name} | | | {register.doc} |"]
    return rows + [
        f"| | {field.name} | {_bits(field)} | {register.access_of(field)} | {field.doc} |"
        for field in register.fields
    ]


def register_rows(registers: RegisterMap) -> list[str]:
    """The rows that a page's table of these registers must have."""
    return [row for register in registers for row in _rows(register)]


def documented_registers(path: Path) -> list[str]:
    """The rows of the table in the section "Registers"."""
    lines = _section(path, "Registers").splitlines()
    return [line for line in lines if re.match(r"\| (0x|\|)", line)]


def error_rows(errors: Iterable[Error]) -> list[str]:
    """The rows that a page's table of these errors must have."""
    return [f"| {error.code} | {error.name} | {error.doc} |" for error in errors]


def documented_errors(path: Path) -> list[str]:
    """The rows of the table in the section "Errors"."""
    return re.findall(r"^\| \d.*", _section(path, "Errors"), re.M)


def examples(path: Path, language: str) -> list[str]:
    """The blocks of code in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.M | re.S)
