"""Functions of the header that read and write registers, and run jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..texts import identifier
from .words import comment, member

__all__ = ["access_lines", "job_lines"]

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
