"""Large memories, which a chip has as macros and not as flip-flops.

A memory of at least ``MEMORY_BITS`` bits and ``MEMORY_WORDS`` words that is written, and whose read
ports are all clocked (all of it on the rising edge of one clock, without asynchronous reset), is
taken out of its module before that is mapped, together with the registers at its read ports. An
instance of a stand-in takes its place: a module that has its pins and nothing else. What it takes
in area and time is estimated by its shape (:mod:`..memories`).

Smaller memories, and those with a read port that is not clocked (or whose address alone is in a
register), are register files, made of flip-flops.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ..base.yosys import run_yosys
from .rtlil import CONNECTION, PARAMETER, number, signal_bits, wire_widths

__all__ = [
    "MEMORY_BITS",
    "MEMORY_WORDS",
    "MODULE",
    "Shape",
    "StandIn",
    "keep_memories",
    "register_files",
]

MEMORY_BITS = 2048
"""Bits from which on a memory is a macro."""

MEMORY_WORDS = 32
"""Words from which on a memory is a macro. The smallest of IHP's macros has 64: half of one with
two ports has less area than flip-flops, a quarter of one has not."""

MODULE = re.compile(r"^module (\S+)$(.*?)^end$", re.MULTILINE | re.DOTALL)
_MEMORY = re.compile(r"^ +memory (?:width (\d+) )?.*?size (\d+) .*?(\S+)$", re.MULTILINE)
_WRITE = re.compile(r"^  cell \$memwr(?:_v2)? \S+$(.*?)^  end$", re.MULTILINE | re.DOTALL)
_READ = re.compile(r"^  cell \$memrd(?:_v2)? \S+$(.*?)^  end$", re.MULTILINE | re.DOTALL)
_CELL = re.compile(r"^  cell \$mem_v2 (\S+)$(.*?)^  end$", re.MULTILINE | re.DOTALL)

_TIDY = """
opt_expr -fine -mux_undef -mux_bool
opt_reduce
opt_expr -mux_bool
opt_merge
opt_clean
"""
"""Script that omits ``opt_share``, which would undo choices between adders."""

_SCRIPT = f"""
read_rtlil design.il
opt_dff
opt_clean
write_rtlil before.il
memory_dff
opt_clean
write_rtlil after.il
{_TIDY}
memory_share -nosat -nowiden
memory_collect
dffunmap
{_TIDY}
write_rtlil collected.il
"""

_INPUTS = {
    "RD_EN": "read_enable",
    "RD_SRST": "read_reset",
    "RD_ADDR": "read_address",
    "WR_EN": "write_enable",
    "WR_ADDR": "write_address",
    "WR_DATA": "write_data",
}

_SIZES = ("SIZE", "WIDTH", "WR_PORTS")

_CONSTANTS = {"1'0", "1'1", "1'x"}


@dataclass(frozen=True)
class Shape:
    """A memory as it is written.

    Members
    -------
    words, width: of the array, in bits
    reads, writes: its ports
    enables: of all write ports together; more than these if parts of a word have their own
    """

    words: int
    width: int
    reads: int
    writes: int
    enables: int = 1

    @property
    def bits(self) -> int:
        return self.words * self.width


@dataclass(frozen=True)
class StandIn:
    """Module that replaces a memory.

    Members
    -------
    name: of the module
    shape: of the memory
    inputs: width of each, ports together: "read_address", "write_enable" and the like; it has a
        port ``clk`` besides
    data: width of its output ``read_data``, ports together
    """

    name: str
    shape: Shape
    inputs: Mapping[str, int]
    data: int

    def body(self) -> str:
        """Its RTLIL between first and last line."""
        lines = ["", "  wire input 1 \\clk"]
        ports = [(name, "input", width) for name, width in self.inputs.items()]
        ports.append(("read_data", "output", self.data))
        lines += [
            f"  wire width {width} {direction} {place} \\{name}"
            for place, (name, direction, width) in enumerate(ports, 2)
        ]
        return "\n".join([*lines, ""])


def _reads(rtlil: str) -> list[tuple[str, bool, str]]:
    """Read ports of a module's memories: memory, whether it is clocked, data."""
    found = []
    for body in _READ.findall(rtlil):
        facts, pins = dict(PARAMETER.findall(body)), dict(CONNECTION.findall(body))
        memory = facts["MEMID"].strip('"').replace("\\\\", "\\")
        found.append((memory, number(facts["CLK_ENABLE"]) == 1, pins["DATA"]))
    return found


def _unclocked(before: str, after: str) -> set[str]:
    """Memories of a module with a read port that has no register at its data."""
    # If yosys took the address register for the port's register, the data are the old ones.
    old = {data for _, _, data in _reads(before)}
    return {memory for memory, clocked, data in _reads(after) if not clocked or data in old}


class _Keeper:
    """Replaces memories; ``stand_ins`` by what they look like."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self.stand_ins: dict[tuple[Shape, tuple[int, ...]], StandIn] = {}

    def _stand_in(self, base: str, shape: Shape, inputs: Mapping[str, int]) -> StandIn:
        key = shape, tuple(inputs.values())
        if key not in self.stand_ins:
            name, number = base, 2
            while name in self._taken:
                name, number = f"{base}_{number}", number + 1
            self._taken.add(name)
            self.stand_ins[key] = StandIn(name, shape, inputs, shape.reads * shape.width)
        return self.stand_ins[key]

    def _instance(self, name: str, body: str, widths: Mapping[str, int]) -> str | None:
        """The instance for a memory cell; None if that has to stay."""
        facts = dict(PARAMETER.findall(body))
        pins = {pin: signal_bits(signal, widths) for pin, signal in CONNECTION.findall(body)}
        size, width, reads, writes = (
            number(facts[key]) for key in ("SIZE", "WIDTH", "RD_PORTS", "WR_PORTS")
        )
        if size * width < MEMORY_BITS or size < MEMORY_WORDS or not reads or not writes:
            return None
        clocks = {*pins["RD_CLK"], *pins["WR_CLK"]}
        rising = all(
            number(facts[f"{kind}_{fact}"]) == (1 << ports) - 1
            for kind, ports in (("RD", reads), ("WR", writes))
            for fact in ("CLK_ENABLE", "CLK_POLARITY")
        )
        if len(clocks) > 1 or not rising or not set(pins["RD_ARST"]) <= _CONSTANTS:
            return None
        # An enable for each part of a word that is written together, not for each bit.
        enable = pins["WR_EN"]
        starts = [i for i, bit in enumerate(enable) if i % width == 0 or bit != enable[i - 1]]
        pins["WR_EN"] = [enable[i] for i in starts]
        inputs = {title: pins[pin] for pin, title in _INPUTS.items()}
        lengths = {title: len(bits) for title, bits in inputs.items()}
        parts = f"_{len(starts)}enables" if len(starts) > writes else ""
        base = f"memory_{size}x{width}_{reads}r{writes}w{parts}"
        shape = Shape(size, width, reads, writes, len(starts))
        module = self._stand_in(base, shape, lengths)
        wires = {"clk": clocks, **inputs, "read_data": pins["RD_DATA"]}
        connections = [
            f"    connect \\{title} {{ {' '.join([*bits][::-1])} }}"
            for title, bits in wires.items()
        ]
        return "\n".join([f"  cell \\{module.name} {name}", *connections, "  end"])

    def replace(self, before: str, after: str, collected: str) -> str:
        """A module's RTLIL with its large memories as instances.

        Parameters
        ----------
        before, after: with its read ports, before and after they took in their registers
        collected: with ports and memories as one cell each
        """
        unclocked = _unclocked(before, after)
        widths = wire_widths(collected)

        def place(match: re.Match[str]) -> str:
            name, body = match.groups()
            return (None if name in unclocked else self._instance(name, body, widths)) or match[0]

        return _CELL.sub(place, collected)


def keep_memories(
    bodies: Mapping[str, str], interface: Callable[[str], str]
) -> tuple[dict[str, str], list[StandIn]]:
    """Modules (name -> RTLIL between its first and last line) that have large memories, with
    instances of stand-ins in their place; and the stand-ins.

    ``interface`` gives a module's text as a black box.
    """
    large = [
        name
        for name, body in bodies.items()
        if any(int(w or 1) * int(s) >= MEMORY_BITS for w, s, _ in _MEMORY.findall(body))
    ]
    if not large:
        return {}, []
    boxes = [interface(name) for name in bodies if name not in large]
    text = "\n".join([*boxes, *(f"module {name}{bodies[name]}end\n" for name in large)])
    files = ("before.il", "after.il", "collected.il")
    results = run_yosys(_SCRIPT, {"design.il": text}, files)
    stages = [dict(MODULE.findall(results[file])) for file in files]
    keeper = _Keeper(name.removeprefix("\\") for name in bodies)
    changed = {name: keeper.replace(*(stage[name] for stage in stages)) for name in large}
    kept = {name: body for name, body in changed.items() if body != stages[-1][name]}
    return kept, list(keeper.stand_ins.values())


def register_files(body: str) -> list[tuple[int, int]]:
    """Words and width of the memories in a module's RTLIL that are written there: those that are
    no macros."""
    written = set()
    for cell in _WRITE.findall(body):
        identifier = dict(PARAMETER.findall(cell))["MEMID"]
        written.add(identifier.strip('"').replace("\\\\", "\\"))
    found = [(int(s), int(w or 1)) for w, s, name in _MEMORY.findall(body) if name in written]
    for _, cell in _CELL.findall(body):
        facts = {key: number(value) for key, value in PARAMETER.findall(cell) if key in _SIZES}
        if facts["WR_PORTS"]:
            found.append((facts["SIZE"], facts["WIDTH"]))
    return sorted(found)
