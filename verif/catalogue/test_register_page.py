"""The page with the registers of all accelerators."""

from __future__ import annotations

import re

import pytest
from tilewright.register_page import register_page
from tilewright.registry import entries
from tilewright.verif.kit.pages import error_rows, page, register_rows

ACCELERATORS = {name: entry for name, entry in entries().items() if entry.unit.jobs is not None}
PAGE = register_page()
COMMON = ("ID", "VERSION", "CTRL", "STATUS", "ERROR_DETAIL", "CYCLES")


def section(title: str) -> str:
    """The part of the page whose heading has a text in it."""
    (found,) = [x for x in re.split(r"^## ", PAGE, flags=re.M)[1:] if title in x.splitlines()[0]]
    return found


def test_the_page_is_what_is_printed() -> None:
    assert page("registers.md").read_text() == PAGE


@pytest.mark.parametrize("name", ACCELERATORS)
def test_an_accelerators_registers_and_errors(name: str) -> None:
    """All but those that all have, in its own section, and nothing else."""
    unit = ACCELERATORS[name].unit
    spec = unit.job_spec(unit.config())
    own = section(f"`{name}`").splitlines()
    rows = [row for row in register_rows(spec.registers) if row.split("|")[2].strip() not in COMMON]
    in_common = {row for row in register_rows(spec.registers) if row in section("What all have")}
    wanted = [row for row in rows if row not in in_common]
    found = [row for row in own if re.match(r"\| (0x|\|)", row) and "` only |" not in row]
    assert found == wanted
    assert [row for row in own if re.match(r"\| \d+ \|", row)] == error_rows(spec.errors)


def test_the_overview_has_every_register_once() -> None:
    """Lists every register of each accelerator and of each of its variants once, at its offset."""
    lines = section("Where each register is").splitlines()
    heading = next(line for line in lines if line.startswith("| register"))
    titles = [part.strip() for part in heading.split("|")[1:-1]]
    rows = [[part.strip() for part in line.split("|")[1:-1]] for line in lines]
    cells = {
        row[0]: dict(zip(titles, row, strict=True)) for row in rows if row and row[0].isupper()
    }
    for name, entry in ACCELERATORS.items():
        (title,) = [title for title in titles if f"`{name}`" in title]
        for changes in ({}, *entry.variants):
            config = entry.unit.config(**{**entry.small, **changes})
            for register in entry.unit.job_spec(config).registers:
                offset = cells[register.name][title].partition(" with ")[0]
                assert offset == f"0x{register.offset:02X}", (name, register.name)
