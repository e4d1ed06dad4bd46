"""Jobs that are built from a sidecar alone, of units whose operations are programs or commands: the
RTL leaves what the model does.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.emit.unit import describe, emit
from tilewright.hw.spec.elementwise.instructions import (
    INSTRUCTIONS,
    Instruction,
    encode,
    scalar_operand,
)
from tilewright.hw.spec.unit import named_object
from tilewright.register_page import register_page
from tilewright.registry import Entry, entries
from tilewright.sim.device.driver import JobRegisters
from tilewright.sim.gta.golden.vector import OPERATIONS, elementwise
from tilewright.sim.rtl.accelerator import NativeAccelerator
from tilewright.sim.sida.images import matrix_images, program_image
from tilewright.sim.sida.result.products import Columns
from tilewright.verif.catalogue.described.programs import ProgramJob, command_job, program_job
from tilewright.verif.catalogue.sidecars import as_read
from tilewright.verif.kit.options import small
from tilewright.verif.kit.pages import error_rows, page, register_rows
from tilewright.verif.kit.reports import any_behaviour
from tilewright.verif.kit.sampling import by_size, rng_of, slow_but

MEMORY_BYTES = 1 << 16

JOBS = {"sida": program_job, "gta": command_job}

Memory = npt.NDArray[np.uint8]


def check_program(config: Any, job: ProgramJob, memory: Memory) -> None:
    """The words and the matrix are what the unit's own assembler and driver write for them."""
    words = [
        word
        for part in job.parts
        for word in encode([instruction(name, operands) for name, operands in part])
    ]
    elements = sorted((c, r, word) for r, c, word in job.elements)
    numbers = np.array(elements, np.int64).reshape(-1, 3)
    pointers = np.searchsorted(numbers[:, 0], np.arange(job.registers["ROWS"] + 1))
    values = np.array([one[2] for one in elements], np.uint64)
    matrix = Columns(pointers=pointers, rows=numbers[:, 1], values=values)
    images = matrix_images(matrix, config.format)
    names = ("column_pointers", "row_numbers", "column_values")
    expected = {name: images[name] for name in names} | {"program_base": program_image(words)}
    for name, content in expected.items():
        first = job.registers[name.upper()]
        assert memory[first : first + len(content)].tobytes() == content, name


def instruction(name: str, operands: tuple[tuple[str, int], ...]) -> Instruction:
    """Builds an instruction in the assembler's form."""
    operation = INSTRUCTIONS[name]
    numbers = (
        scalar_operand(number) if of == "scalars" and kind in "abc" else number
        for kind, (of, number) in zip(operation.operands, operands, strict=True)
    )
    return Instruction(operation=operation, operands=tuple(numbers))


def check_vectors(config: Any, job: ProgramJob, memory: Memory) -> None:
    """Results are those of the function, element by element, where it has a definition of one."""
    given = job.given
    if given["function"] not in OPERATIONS:
        return
    first, stride, banks, octets, size = given["rows"]
    expected = elementwise(given["function"], given["format"], *given["operands"])
    rows = memory[first : first + banks * stride].reshape(banks, stride)
    planes = rows[:, : octets * size * 8].reshape(banks, octets, size, 8).swapaxes(2, 3)
    found = np.pad(planes, [(0, 0)] * 3 + [(0, 8 - size)])
    assert np.array_equal(np.ascontiguousarray(found).view("<u8")[..., 0], expected)


CHECKS = {"sida": check_program, "gta": check_vectors}

LABELS = [f"{name}:{n}" for name in JOBS for n in range(1 + len(entries()[name].variants))]
"""Units with numbers of their variants, 0 being the small configuration."""


def config_of(label: str) -> tuple[Entry, Any]:
    """A unit, and its configuration."""
    name, number = label.split(":")
    entry = entries()[name]
    return entry, small(entry, ({}, *entry.variants)[int(number)])


@pytest.mark.parametrize("label", slow_but(["gta:0"], LABELS, ["sida:0"]))
def test_a_job_from_the_sidecar_alone(label: str) -> None:
    entry, config = config_of(label)
    draw = JOBS[label.split(":")[0]]
    made = emit(entry.unit, config)
    sidecar, spec = as_read(made.sidecar), entry.unit.job_spec(config)
    rng = rng_of(1)
    seen = set()
    with NativeAccelerator(made, config, memory_bytes=MEMORY_BYTES, time_out=400_000) as device:
        for _ in range(by_size(4, 8, 60)):
            device.behave(any_behaviour(rng))
            job = draw(rng, sidecar, MEMORY_BYTES, 24)
            model = named_object(entry.models["model"])(config, MEMORY_BYTES)
            left = []
            for one in (model, device):
                one.write_memory(0, job.memory.tobytes())
                status = JobRegisters(one, spec).submit(job.registers)
                assert status.error == "none", status
                memory = np.frombuffer(one.read_memory(0, MEMORY_BYTES), np.uint8).copy()
                for first, count in job.work:
                    memory[first : first + count] = 0
                left.append(memory)
            assert np.array_equal(left[0], left[1])
            CHECKS[label.split(":")[0]](config, job, left[1])
            changed = left[0] != job.memory
            for first, count in job.work:
                changed[first : first + count] = False
            for first, count in job.results:
                seen.add(bool(changed[first : first + count].any()))
                changed[first : first + count] = False
            assert not changed.any()
        assert device.faults == []
    assert True in seen


def programs(sidecar: dict[str, Any], config: Any) -> None:
    """Checks some programs in memory."""
    for seed in range(9):
        job = program_job(np.random.default_rng(seed), sidecar, MEMORY_BYTES, 24)
        check_program(config, job, job.memory)


def vectors(sidecar: dict[str, Any], entry: Entry, config: Any) -> None:
    """Some lists of commands, done by the model."""
    for seed in range(30):
        job = command_job(np.random.default_rng(seed), sidecar, MEMORY_BYTES, 24)
        model = named_object(entry.models["model"])(config, MEMORY_BYTES)
        model.write_memory(0, job.memory.tobytes())
        JobRegisters(model, entry.unit.job_spec(config)).submit(job.registers)
        check_vectors(config, job, model.memory)


def test_a_wrong_sidecar_is_found() -> None:
    """Parts of a word that change places; functions with each other's numbers."""
    entry, config = config_of("sida:0")
    sidecar = as_read(describe(entry.unit, config))
    programs(sidecar, config)
    parts = sidecar["operations"][0]["program"]["parts"]
    parts["a"], parts["b"] = parts["b"], parts["a"]
    with pytest.raises(AssertionError, match="program_base"):
        programs(sidecar, config)
    entry, config = config_of("gta:0")
    sidecar = as_read(describe(entry.unit, config))
    vectors(sidecar, entry, config)
    for one in sidecar["operations"][0]["commands"]["functions"]:
        one["value"] = {0: 7, 7: 0}.get(one["value"], one["value"])
    with pytest.raises(AssertionError):
        vectors(sidecar, entry, config)


# The page with the registers of all accelerators.

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
    in_common = {row for row in register_rows(spec.registers) if row in section("Common registers")}
    wanted = [row for row in rows if row not in in_common]
    found, optional = [], False
    for row in own:
        if re.match(r"\| (0x|\|)", row):
            # Fields follow their register.
            optional = "` only |" in row or (optional and row.startswith("| |"))
            found += [] if optional else [row]
    assert found == wanted
    assert [row for row in own if re.match(r"\| \d+ \|", row)] == error_rows(spec.errors)


def test_the_overview_has_every_register_once() -> None:
    """Lists every register of each accelerator and of each of its variants once, at its offset."""
    lines = section("Offsets of all registers").splitlines()
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
