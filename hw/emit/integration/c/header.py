"""The whole header of a unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..texts import about, identifier
from .words import (
    Definitions,
    bit_lines,
    comment,
    hexadecimal,
    literal,
    member,
    stream_lines,
    timing_lines,
)

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


_ACCESS = """
#ifndef @P@_READ32
#define @P@_READ32(device, offset) (((const volatile uint32_t *)(device))[(offset) / 4u])
#endif
#ifndef @P@_WRITE32
#define @P@_WRITE32(device, offset, value) \\
    ((void)(((volatile uint32_t *)(device))[(offset) / 4u] = (value)))
#endif

static inline uint32_t @p@_read(void *device, uint32_t offset)
{
    return @P@_READ32(device, offset);
}

static inline void @p@_write(void *device, uint32_t offset, uint32_t value)
{
    @P@_WRITE32(device, offset, value);
}

/* A register of 64 bits in two words; if it counts meanwhile, a value that it had. */
static inline uint64_t @p@_read64(void *device, uint32_t offset)
{
    uint32_t high = @p@_read(device, offset + 4u), low, before;
    do {
        before = high;
        low = @p@_read(device, offset);
        high = @p@_read(device, offset + 4u);
    } while (high != before);
    return (uint64_t)high << 32 | low;
}

static inline void @p@_write64(void *device, uint32_t offset, uint64_t value)
{
    @p@_write(device, offset, (uint32_t)value);
    @p@_write(device, offset + 4u, (uint32_t)(value >> 32));
}
"""

_JOBS = """
/* Acknowledge how the last job ended, so that the interrupt falls. */
static inline void @p@_acknowledge(void *device)
{
    @p@_write(device, @STATUS@_OFFSET, @DONE@_MASK | @ERROR@_MASK);
}

/* Start the job that the registers hold; interrupt: whether its end raises one. It is taken if no
 * job runs, and then clears how the last one ended. */
static inline void @p@_start(void *device, int interrupt)
{
    @p@_write(device, @CTRL@_OFFSET, @START@_MASK | (interrupt ? @ENABLE@_MASK : 0u));
}

static inline int @p@_busy(void *device)
{
    return (@p@_read(device, @STATUS@_OFFSET) & @BUSY@_MASK) != 0;
}

/* Wait until a job has ended, and acknowledge it. Gives 0 if it ended well, else its error's
 * code; -1 if it has not ended after so many looks at the registers. */
static inline int @p@_wait(void *device, uint64_t looks)
{
    for (; looks; looks--) {
        uint32_t status = @p@_read(device, @STATUS@_OFFSET);
        if (status & (@DONE@_MASK | @ERROR@_MASK)) {
            @p@_acknowledge(device);
            return status & @ERROR@_MASK ? (int)((status & @CODE@_MASK) >> @CODE@_SHIFT) : 0;
        }
    }
    return -1;
}

/* Back to idle, whatever runs. Gives 0; -1 if it is still busy after so many looks. */
static inline int @p@_soft_reset(void *device, uint64_t looks)
{
    @p@_write(device, @CTRL@_OFFSET, @RESET@_MASK);
    for (; looks; looks--)
        if (!@p@_busy(device))
            return 0;
    return -1;
}
"""

_CONTROLS = {
    "STATUS": ("done", False),
    "CTRL": ("start", False),
    "DONE": ("done", True),
    "ERROR": ("error", True),
    "BUSY": ("busy", True),
    "CODE": ("error_code", True),
    "START": ("start", True),
    "RESET": ("soft_reset", True),
    "ENABLE": ("interrupt_enable", True),
}
"""Marks in the text above: a control of the sidecar, and whether the mark is its register or its
field."""


def _macro(unit: str, control: Mapping[str, str], field: bool) -> str:
    parts = [unit, control["register"]]
    if field and control["field"] != "value":
        parts.append(control["field"])
    return "_".join(map(identifier, parts)).upper()


def _filled(text: str, sidecar: Mapping[str, Any]) -> list[str]:
    unit = sidecar["module"]
    controls = sidecar["jobs"]["controls"]
    marks = {"P": identifier(unit).upper(), "p": member(unit)}
    marks |= {mark: _macro(unit, controls[name], f) for mark, (name, f) in _CONTROLS.items()}
    for mark, value in marks.items():
        text = text.replace(f"@{mark}@", value)
    return text.strip("\n").split("\n")


def access_lines(sidecar: Mapping[str, Any]) -> Iterator[str]:
    """Writes the functions that read and write words, and the one that checks that a device is the
    generated unit."""
    unit, upper = member(sidecar["module"]), identifier(sidecar["module"]).upper()
    yield from comment(
        "A device is the address of its registers. A program that reaches them in another way "
        f"defines {upper}_READ32 and {upper}_WRITE32 before it includes this file; a device is "
        "then what these take."
    )
    yield from _filled(_ACCESS, sidecar)
    yield ""
    yield from comment("Whether all constants are those of this configuration.")
    yield f"static inline int {unit}_is_there(void *device)"
    yield from ("{", "    return 1")
    for register in sidecar["registers"]:
        if all(field["constant"] for field in register["fields"]):
            name = f"{upper}_{identifier(register['name']).upper()}"
            value = sum(field["reset"] << field["low"] for field in register["fields"])
            yield f"        && {unit}_read(device, {name}_OFFSET) == UINT32_C({value:#x})"
    yield from ("        ;", "}")


def _transfers(
    sidecar: Mapping[str, Any], registers: list[str], tag: str, doc: str
) -> Iterator[str]:
    """A structure with a member for each register."""
    found = {register["name"]: register for register in sidecar["registers"]}
    yield from comment(doc)
    yield f"struct {member(sidecar['module'])}_{tag} {{"
    for name in registers:
        remark = "".join(f" {line}" for line in comment(found[name]["doc"]))
        yield f"    uint{found[name]['bits']}_t {member(name)};{remark}"
    yield "};"


def _each(sidecar: Mapping[str, Any], registers: list[str], text: str) -> Iterator[str]:
    """Writes a line for each register: @M@ is its member, @O@ its offset, @64@ is ``64`` for wide
    ones."""
    found = {register["name"]: register for register in sidecar["registers"]}
    upper = identifier(sidecar["module"]).upper()
    for name in registers:
        line = text.replace("@M@", member(name))
        line = line.replace("@O@", f"{upper}_{identifier(name).upper()}_OFFSET")
        yield "    " + line.replace("@64@", "64" if found[name]["bits"] == 64 else "")


def job_lines(sidecar: Mapping[str, Any]) -> Iterator[str]:
    """A job and its counters as structures; functions that write, run and wait for a job."""
    unit, jobs = member(sidecar["module"]), sidecar["jobs"]
    counters = [counter["register"] for counter in jobs["counters"]]
    doc = "A job: what its registers hold, each a whole word."
    yield from _transfers(sidecar, jobs["registers"], "job", doc)
    yield ""
    yield f"static inline void {unit}_write_job(void *device, const struct {unit}_job *job)"
    yield "{"
    yield from _each(sidecar, jobs["registers"], f"{unit}_write@64@(device, @O@, job->@M@);")
    yield from ("}", "")
    doc = "What was counted from the start of the last job to its end."
    yield from _transfers(sidecar, counters, "counters", doc)
    yield ""
    yield f"static inline void {unit}_read_counters(void *device, struct {unit}_counters *counters)"
    yield "{"
    yield from _each(sidecar, counters, f"counters->@M@ = {unit}_read@64@(device, @O@);")
    yield from ("}", "")
    yield from _filled(_JOBS, sidecar)


def _sections(sidecar: Mapping[str, Any]) -> Iterator[Iterator[str]]:
    names = Definitions(sidecar["module"])
    yield _parameters(sidecar, names)
    if sidecar.get("registers"):
        yield register_lines(sidecar, names)
        yield structure_lines(sidecar, names)
        yield error_lines(sidecar, names)
    if sidecar["streams"]:
        yield timing_lines(sidecar, names)
        yield bit_lines(sidecar)
        yield stream_lines(sidecar, names)
    if sidecar["operations"]:
        yield operation_lines(sidecar, names)
    if sidecar.get("registers"):
        yield access_lines(sidecar)
        yield job_lines(sidecar)


def _parameters(sidecar: Mapping[str, Any], names: Definitions) -> Iterator[str]:
    yield from comment("Parameters of the configuration.")
    for name, value in sidecar["config"].items():
        yield names.define(("PARAM", name), literal(value))


def header(sidecar: Mapping[str, Any]) -> str:
    """A header for C11 and C++11, which needs only ``stddef.h`` and ``stdint.h``.

    All names begin with the module's, so that headers of several units go together. An accelerator
    has registers, errors, operations, and functions that read, write and run jobs; a unit of
    streams opcodes, timing, payloads and functions that put fields into them.
    """
    guard = Definitions(sidecar["module"]).name("H")
    said = [f" * {line.replace('*/', '* /')}".rstrip() for line in about(sidecar)]
    lines = [f"/*{said[0][2:]}", *said[1:], " */", f"#ifndef {guard}", f"#define {guard}", ""]
    lines += ["#include <stddef.h>", "#include <stdint.h>"]
    for section in _sections(sidecar):
        lines += ["", *section]
    return "\n".join([*lines, "", f"#endif /* {guard} */", ""])
