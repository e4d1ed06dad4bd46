"""Prints docs/registers.md, the registers of all accelerators: ``python -m
tilewright.register_page``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from .hw.spec.registers.job_spec import JobSpec
from .hw.spec.registers.register_map import Field, Register
from .registry import Entry, entries

__all__ = ["register_page"]

_HEAD = """# Registers of all accelerators

Software controls an accelerator through these registers at `s_axil`. This page has the registers
that all accelerators share, the offset of every register, the error codes, and the registers of
each accelerator.

## Rules

* **Words.** Registers are 32-bit words. A 64-bit register is two words, the low one first.
* **Access.** `rw`: read and write. `ro`: read only. `w1c`: set by the hardware, cleared by writing
  1 and by a start. `wo`: acts once when written, reads 0. Other addresses, and writes to read-only
  registers, answer SLVERR.
* **Job registers** are latched at the start of a job.
* **Start.** A start is accepted if busy is 0. In the cycle in which busy rises, done, error,
  error_code and ERROR_DETAIL are 0. A read of STATUS after the response to the start, and `irq`
  after it, therefore never show the former job. A start while busy is 1, or in the same write as
  soft_reset, is ignored and clears nothing.
* **Acknowledging.** If the hardware sets done or error while software clears it, it is set. The
  error_code and ERROR_DETAIL appear in the cycle in which error is set. Acknowledging error does
  not change them.
* **Soft reset.** A soft reset ends the running job without done and without error. If busy is 0 it
  changes nothing.
* **VERSION** counts changes of the registers and of their behaviour. The upper 16 bits count those
  that break drivers, the lower 16 bits those that a driver may ignore.

`python -m tilewright.register_page` prints this page for the default configurations. Multiples of
bases, and the values of ID and CONFIG registers, depend on the parameters. For any other
configuration, `tilewright generate` writes the registers into [the sidecar](sidecar.md), a C
header, SystemRDL or IP-XACT ([the command line](command-line.md#generate)).
"""

_COLUMNS = ["| offset | register, field | bits | access | meaning |", "|---|---|---|---|---|"]


def _bits(field: Field) -> str:
    return f"{field.low + field.width - 1}:{field.low}" if field.width > 1 else str(field.low)


def _rows(register: Register, remark: str = "") -> Iterator[str]:
    """Yields the rows of a register: its own, and one per field if it has several."""
    where, doc = f"| 0x{register.offset:02X} | {register.name}", register.doc + remark
    if [field.name for field in register.fields] == ["value"]:
        (field,) = register.fields
        yield f"{where} | {_bits(field)} | {register.access_of(field)} | {doc} |"
        return
    yield f"{where} | | | {doc} |"
    for field in register.fields:
        yield f"| | {field.name} | {_bits(field)} | {register.access_of(field)} | {field.doc} |"


def _layout(register: Register) -> tuple[object, ...]:
    """Returns the layout of a register: all but its constants and texts."""
    fields = tuple((x.name, x.low, x.width, register.access_of(x)) for x in register.fields)
    return register.name, register.offset, register.bits, fields


def _alike(spec: JobSpec) -> tuple[object, ...]:
    return (*map(_layout, spec.registers), spec.errors)


def _groups() -> list[list[Entry]]:
    """Returns the accelerators, grouped by equal registers and errors."""
    found: dict[tuple[object, ...], list[Entry]] = {}
    for entry in entries().values():
        if entry.unit.jobs is not None:
            spec = entry.unit.job_spec(entry.unit.config())
            found.setdefault(_alike(spec), []).append(entry)
    return list(found.values())


def _registers(entry: Entry, changes: Mapping[str, Any]) -> tuple[Register, ...]:
    """Returns the registers of the small configuration with changes; none if it is not allowed."""
    with suppress(ValueError):
        config = entry.unit.config(**{**entry.small, **changes})
        return entry.unit.job_spec(config).registers.registers
    return ()


def _optional(entry: Entry) -> dict[Register, str]:
    """Returns the registers that the default configuration lacks, each with the parameters that add
    it: alone, or else the first one of a variant without which that lacks the register."""
    unit = entry.unit
    known = {register.name for register in unit.job_spec(unit.config()).registers}
    found: dict[Register, str] = {}
    alone = [
        (name, {register.name for register in _registers(entry, {name: value})})
        for variant in entry.variants
        for name, value in variant.items()
    ]
    for variant in entry.variants:
        without = {
            name: _registers(entry, {x: y for x, y in variant.items() if x != name})
            for name in variant
        }
        for register in _registers(entry, variant):
            if register.name not in known:
                known.add(register.name)
                needed = (
                    name
                    for name, others in without.items()
                    if others and register.name not in {other.name for other in others}
                )
                adding = dict.fromkeys(name for name, names in alone if register.name in names)
                found[register] = _any_of([*adding] or [next(needed)])
    return found


def _any_of(names: list[str]) -> str:
    """Joins the names of parameters."""
    *first, last = (f"`{name}`" for name in names)
    return f"{', '.join(first)} or {last}" if first else last


def _title(group: Iterable[Entry]) -> str:
    return ", ".join(f"`{entry.unit.name}`" for entry in group)


_DIFFERENT = {
    "ID": "four letters that name the accelerator",
    "ERROR_DETAIL": "place of the last job's error; 0 without an error and while busy is 1",
}
"""Registers whose text differs between accelerators, and the text that holds for all of them."""


def _texts(groups: list[list[Entry]], specs: list[JobSpec]) -> Iterator[str]:
    """Returns a table of the texts of ``_DIFFERENT``, one row per group."""
    yield "| accelerator | " + " | ".join(_DIFFERENT) + " |"
    yield "|---|" + "---|" * len(_DIFFERENT)
    for group, spec in zip(groups, specs, strict=True):
        docs = (spec.registers[name].doc for name in _DIFFERENT)
        yield f"| {_title(group)} | " + " | ".join(docs) + " |"


def _shared(register: Register, specs: list[JobSpec]) -> Register:
    """Returns a register with the text that holds for all accelerators. Raises ValueError if their
    texts differ and ``_DIFFERENT`` does not name it."""
    if register.name in _DIFFERENT:
        return replace(register, doc=_DIFFERENT[register.name])
    if len({spec.registers[register.name].doc for spec in specs}) > 1:
        raise ValueError(f"the texts of {register.name} differ: name it in _DIFFERENT")
    return register


def _common(specs: list[JobSpec]) -> list[Register]:
    """Returns the registers that all accelerators have with the same offset and fields."""
    first, *others = specs
    layouts = [set(map(_layout, spec.registers)) for spec in others]
    return [x for x in first.registers if all(_layout(x) in layout for layout in layouts)]


def _overview(groups: list[list[Entry]], specs: list[JobSpec]) -> Iterator[str]:
    """Yields one row per register name, in order of first occurrence."""
    offsets: dict[str, dict[int, str]] = {}
    for index, (group, spec) in enumerate(zip(groups, specs, strict=True)):
        for register in spec.registers:
            offsets.setdefault(register.name, {})[index] = f"0x{register.offset:02X}"
        for register, name in _optional(group[0]).items():
            text = f"0x{register.offset:02X} with {name}"
            offsets.setdefault(register.name, {})[index] = text
    yield "| register | " + " | ".join(map(_title, groups)) + " |"
    yield "|---|" + "---|" * len(groups)
    for name, found in offsets.items():
        yield f"| {name} | " + " | ".join(found.get(x, "") for x in range(len(groups))) + " |"


def _errors(specs: list[JobSpec], groups: list[list[Entry]]) -> Iterator[str]:
    codes = sorted({error.code for spec in specs for error in spec.errors})
    yield "| code | " + " | ".join(map(_title, groups)) + " |"
    yield "|---|" + "---|" * len(groups)
    for code in codes:
        names = [{error.code: error.name for error in spec.errors}.get(code, "") for spec in specs]
        yield f"| {code} | " + " | ".join(names) + " |"


def _own(group: list[Entry], spec: JobSpec, common: Iterable[Register]) -> Iterator[str]:
    shared = {register.name for register in common}
    optional = _optional(group[0])
    own = [register for register in (*spec.registers, *optional) if register.name not in shared]
    yield from _COLUMNS
    for register in sorted(own, key=lambda register: register.offset):
        name = optional.get(register)
        yield from _rows(register, f"; with {name} only" if name else "")
    yield ""
    yield from ("| code | error | cause |", "|---|---|---|")
    for error in spec.errors:
        yield f"| {error.code} | {error.name} | {error.doc} |"


def register_page() -> str:
    """Returns the page: common registers, all offsets, error codes, then each accelerator's own."""
    groups = _groups()
    specs = [group[0].unit.job_spec(group[0].unit.config()) for group in groups]
    common = _common(specs)
    lines = [_HEAD, "## Common registers", "", *_COLUMNS]
    for register in common:
        lines += _rows(_shared(register, specs))
    lines += ["", "Contents of ID and ERROR_DETAIL:", "", *_texts(groups, specs), ""]
    lines += ["Counters and job registers differ.", ""]
    lines += ["## Offsets of all registers", "", *_overview(groups, specs), ""]
    lines += ["## Error codes", "", "STATUS.error_code of a failed job:", ""]
    lines += [*_errors(specs, groups), ""]
    for group, spec in zip(groups, specs, strict=True):
        lines += [f"## {_title(group)}", "", *_own(group, spec, common), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    print(register_page(), end="")
