"""Registers and jobs of an accelerator as constants and a structure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..texts import identifier
from .words import Definitions, comment, hexadecimal, member

__all__ = ["error_lines", "operation_lines", "register_lines", "structure_lines"]

_Register = Mapping[str, Any]


def _field_lines(
    names: Definitions, register: _Register, field: Mapping[str, Any]
) -> Iterator[str]:
    bits, low, width = register["bits"], field["low"], field["width"]
    parts = (register["name"], "" if field["name"] == "value" else field["name"])
    ones = (1 << width) - 1
    doc = f"{field['access']}: {field['doc']}" if field["doc"] else field["access"]
    yield names.define((*parts, "SHIFT"), str(low), doc)
    yield names.define((*parts, "MASK"), hexadecimal(ones << low, bits))
    if field["constant"]:
        yield names.define((*parts, "CONSTANT"), hexadecimal(field["reset"], bits))
    for name, value in field.get("values", {}).items():
        yield names.define((*parts, "VALUE", name), hexadecimal(value, bits))


def register_lines(sidecar: Mapping[str, Any], names: Definitions) -> Iterator[str]:
    """Writes the offset of each register, and shift, mask, constant and named values of each
    field."""
    yield from comment(
        "Registers. OFFSET counts bytes; MASK is in the place that SHIFT says. CONSTANT is what "
        "a field holds that never changes, VALUE what others may hold."
    )
    for register in sidecar["registers"]:
        yield ""
        offset = hexadecimal(register["offset"])
        yield names.define((register["name"], "OFFSET"), offset, register["doc"])
        for field in register["fields"]:
            yield from _field_lines(names, register, field)


def structure_lines(sidecar: Mapping[str, Any], names: Definitions) -> Iterator[str]:
    """Writes the block of registers as a structure, and asserts every offset in it."""
    prefix, end, gaps = member(sidecar["module"]), 0, 0
    members, asserts = [], []
    tag = f"struct {prefix}_registers"
    check = names.name("ASSERT")
    for register in sidecar["registers"]:
        offset = register["offset"]
        if offset > end:
            members.append(f"    const uint32_t reserved_{gaps}[{(offset - end) // 4}];")
            gaps += 1
        only_read = all(field["access"] == "ro" for field in register["fields"])
        name = member(register["name"])
        array = "[2]" if register["bits"] == 64 else ""
        members.append(f"    {'const ' if only_read else ''}uint32_t {name}{array};")
        full = f"{names.prefix}_{identifier(register['name']).upper()}_OFFSET"
        asserts.append(f'{check}(offsetof({tag}, {name}) == {full}, "{name}");')
        end = offset + register["bits"] // 8
    yield from comment(
        "The registers as they lie: make a pointer to volatile of their address. A register of "
        "64 bits is two words, the low one first."
    )
    yield from (f"{tag} {{", *members, "};", "")
    yield "#ifdef __cplusplus"
    yield f"#define {check}(condition, text) static_assert(condition, text)"
    yield "#else"
    yield f"#define {check}(condition, text) _Static_assert(condition, text)"
    yield "#endif"
    yield from asserts
    yield f'{check}(sizeof({tag}) == {end}, "size");'


def error_lines(sidecar: Mapping[str, Any], names: Definitions) -> Iterator[str]:
    """Writes the codes with which a job may end, and a function that returns their meaning."""
    jobs, prefix = sidecar["jobs"], member(sidecar["module"])
    yield from comment(
        "How a job ended. What ERROR_DETAIL holds stands in brackets: "
        + "; ".join(f"{name} is {what}" for name, what in jobs["details"].items())
        + "."
    )
    yield f"enum {prefix}_error {{"
    yield f"    {names.name('ERROR', 'NONE')} = 0,"
    texts = []
    for error in jobs["errors"]:
        name = names.name("ERROR", error["name"])
        yield from (f"    {line}" for line in comment(f"{error['doc']} [{error['detail']}]"))
        yield f"    {name} = {error['code']},"
        said = error["doc"].replace("\\", "/").replace('"', "'").replace("`", "")
        texts.append(f'    case {name}: return "{error["name"]}: {said}";')
    yield from ("};", "")
    yield f"static inline const char *{prefix}_error_text(int code)"
    yield from ("{", "    switch (code) {", f'    case {names.prefix}_ERROR_NONE: return "none";')
    yield from (*texts, '    default: return "unknown";', "    }", "}")


def _leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    """The numbers in a description, with the names on the way to them."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _leaves(item, (*path, name))
    elif isinstance(value, int) and not isinstance(value, bool):
        yield path, value


def operation_lines(sidecar: Mapping[str, Any], names: Definitions) -> Iterator[str]:
    """Writes each operation's selection, its fixed sizes, and the places of its operands' bits."""
    yield from comment(
        "Operations. SELECT is what a field holds for one, SIZE a size that is fixed; OPERAND "
        "are the numbers of an operand's placement, which the sidecar's schema explains."
    )
    for operation in sidecar["operations"]:
        yield ""
        yield from comment(f"{operation['name']}: {operation['compute']['doc']}")
        for setting in operation["select"]:
            owner = setting.get("stream", setting.get("register"))
            field = "" if setting["field"] == "value" else setting["field"]
            parts = ("SELECT", operation["name"], owner, field)
            yield names.define(parts, hexadecimal(setting["value"]))
        for size in operation["sizes"]:
            if "value" in size:
                fixed = ("SIZE", operation["name"], size["name"])
                yield names.define(fixed, hexadecimal(size["value"]), size["doc"])
        for operand in operation["operands"]:
            start = ("OPERAND", operation["name"], operand["name"])
            for path, value in _leaves(operand["placement"]):
                bits = 64 if value >> 32 else 32
                yield names.define((*start, *path), hexadecimal(value, bits))
