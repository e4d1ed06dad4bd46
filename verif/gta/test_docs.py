"""docs/gta.md lists registers, errors and commands as the tables do, and its example works."""

from __future__ import annotations

import re

import pytest
from tilewright.hw.spec.gta import FORMATS_OF_GTA, GtaConfig, element_bytes, limbs, result_bytes
from tilewright.hw.spec.jobs.gta import job_spec
from tilewright.hw.spec.jobs.gta_commands import DEALS, FIELDS
from tilewright.hw.spec.jobs.gta_vector import VECTOR_FUNCTIONS
from tilewright.verif.kit.pages import (
    documented_errors,
    documented_registers,
    error_rows,
    examples,
    page,
    register_rows,
)

PAGE = page("gta.md")


def section(title: str) -> str:
    return PAGE.read_text().partition(f"\n##{title}\n")[2].partition("\n##")[0]


def test_registers_and_errors() -> None:
    spec = job_spec(GtaConfig())
    assert documented_registers(PAGE) == register_rows(spec.registers)
    assert documented_errors(PAGE) == error_rows(spec.errors)


@pytest.mark.slow
def test_python_examples_run() -> None:
    """The model of cycles among them, which takes twenty seconds to compile."""
    found = examples(PAGE, "python")
    assert found
    for example in found:
        exec(compile(example, str(PAGE), "exec"), {})


@pytest.mark.parametrize(
    ("title", "kinds"), [("# LOAD and STORE", ("load", "store")), ("# EXECUTE", ("execute",))]
)
def test_fields(title: str, kinds: tuple[str, ...]) -> None:
    """Lists each field once, in the section of its kind or in that of all commands."""
    text = section("# Of every command") + section(title)
    found = re.findall(r"^\| ([a-z]\w*) \| ([\d:]+) \|", text, re.M)
    fields = {name: place for kind in kinds for name, place in FIELDS[kind].items()}
    places = {
        name: f"{low + bits - 1}:{low}" if bits > 1 else str(low)
        for name, (low, bits) in fields.items()
    }
    assert sorted(found) == sorted(places.items())


def test_deals_and_formats() -> None:
    rows = re.findall(r"^\| (\d+) \| (\d+) \| (\d+) \|", PAGE.read_text(), re.M)
    assert rows == [(str(n), str(deal.element), str(deal.banks)) for n, deal in enumerate(DEALS)]
    formats = re.findall(r"^\| (\w+) \| (\d) \| (\d) \| (\d)", PAGE.read_text(), re.M)
    assert formats == [
        (name, *map(str, (limbs(name), element_bytes(name), result_bytes(name))))
        for name in FORMATS_OF_GTA
    ]


def test_functions_of_vectors() -> None:
    rows = re.findall(r"^\| (\d+) \| (\w+) \| .* \| (.*) \| (.*) \|$", section(" Vectors"), re.M)
    assert rows == [
        (str(n), name, *(", ".join(memories or "-") for memories in row))
        for n, (name, row) in enumerate(VECTOR_FUNCTIONS.items())
    ]
