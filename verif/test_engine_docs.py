"""docs/engine.md says what the register table says, and its examples work."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tilewright.hw.spec.engine import Simd2EngineConfig
from tilewright.hw.spec.engine_registers import ERRORS, register_map
from tilewright.hw.spec.registers import Field, Register

PAGE = Path(__file__).resolve().parents[1] / "docs" / "engine.md"


def _bits(field: Field) -> str:
    return f"{field.low + field.width - 1}:{field.low}" if field.width > 1 else str(field.low)


def _rows(register: Register) -> list[str]:
    """A register's rows of the table: itself, and its fields if there are several."""
    where = f"0x{register.offset:02X}"
    if len(register.fields) == 1 and register.fields[0].name == "value":
        bits = _bits(register.fields[0])
        return [f"| {where} | {register.name} | {bits} | {register.access} | {register.doc} |"]
    rows = [f"| {where} | {register.name} | | | {register.doc} |"]
    return rows + [
        f"| | {field.name} | {_bits(field)} | {register.access_of(field)} | {field.doc} |"
        for field in register.fields
    ]


def register_table() -> list[str]:
    """The table of the page, for the default engine."""
    return [row for register in register_map(Simd2EngineConfig()) for row in _rows(register)]


def test_register_table() -> None:
    text = PAGE.read_text()
    section = text.partition("## Registers")[2].partition("\n## ")[0]
    found = [line for line in section.splitlines() if re.match(r"\| (0x|\|)", line)]
    assert found == register_table()


def test_error_codes() -> None:
    section = PAGE.read_text().partition("## Errors")[2].partition("\n## ")[0]
    found = re.findall(r"^\| (\d+) \| (\w+) \|", section, re.M)
    assert [(int(code), name) for code, name in found] == [(c, n) for n, c in ERRORS.items() if c]


def _examples(language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert found
    return [str(example) for example in found]


def test_python_examples_run() -> None:
    names: dict[str, object] = {}
    for example in _examples("python"):
        exec(compile(example, str(PAGE), "exec"), names)


@pytest.mark.skipif(not shutil.which("gcc"), reason="no C compiler is installed")
def test_c_examples_compile(tmp_path: Path) -> None:
    for example in _examples("c"):
        (tmp_path / "example.c").write_text(example)
        command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-c", "example.c"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        registers = register_map(Simd2EngineConfig())
        offsets = re.findall(r"^#define ENGINE_(\w+) +(0x[0-9A-F]+)", example, re.M)
        assert len(offsets) > 10
        for name, offset in offsets:
            assert registers[name].offset == int(offset, 16)
