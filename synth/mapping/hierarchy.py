"""A design cut into its different modules, each of which is synthesised once.

Large memories become modules of their own, see :mod:`.memories`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..base.errors import ToolError
from ..base.yosys import run_yosys
from .memories import MODULE, StandIn, keep_memories, register_files

__all__ = ["Design", "Module", "split_design"]

_CELL = re.compile(r"^ +cell (\S+) (\S+)$", re.MULTILINE)
_PORT = re.compile(r"^ +wire .*\b(?:input|output|inout) \d+.*$", re.MULTILINE)
_SOURCE = re.compile(r"^ *attribute \\(?:src|top|hdlname|keep_hierarchy) .*\n", re.MULTILINE)


@dataclass(frozen=True)
class Module:
    """A module of a design.

    Members
    -------
    name: without RTLIL's backslash
    rtlil: its text, without source locations
    interface: its text with the ports alone, as a black box
    children: instances inside: name -> name of the module
    memory: that it stands for; None for a module of the design itself
    register_files: words and width of the memories inside that are made of flip-flops
    """

    name: str
    rtlil: str
    interface: str
    children: dict[str, str]
    memory: StandIn | None = None
    register_files: tuple[tuple[int, int], ...] = ()

    @property
    def memory_bits(self) -> int:
        """Bits of the memory that it stands for; 0 for a module of the design itself."""
        return self.memory.shape.bits if self.memory else 0


@dataclass(frozen=True)
class Design:
    """The modules below ``top``, by name."""

    top: str
    modules: dict[str, Module]

    def order(self) -> list[str]:
        """Module names, children before parents."""
        done: dict[str, None] = {}

        def visit(name: str) -> None:
            for child in self.modules[name].children.values():
                if child not in done:
                    visit(child)
            done.setdefault(name)

        visit(self.top)
        return list(done)

    def parent(self, instance: str) -> str:
        """Name of the module that has an instance, which is named from the top, by dots; the top's
        for the top, empty for an unknown one."""
        module = self.top
        for name in instance.split(".")[:-1]:
            module = self.modules[module].children.get(name, "")
            if not module:
                break
        return module

    def counts(self) -> dict[str, int]:
        """Counts the instances of each module in the whole design."""
        counts = dict.fromkeys(self.modules, 0)
        counts[self.top] = 1
        for name in reversed(self.order()):
            for child in self.modules[name].children.values():
                counts[child] += counts[name]
        return counts


def _plain_names(text: str) -> str:
    """Renames the modules that yosys derived from parameters in RTLIL."""
    derived = sorted({name for name, _ in MODULE.findall(text) if name.startswith("$")})
    plain = {}
    for number, name in enumerate(derived):
        base = re.sub(r"\W+", "_", name.split("\\")[1]) if "\\" in name else "module"
        plain[name] = f"\\{base}__{number}"
    if plain:
        text = re.sub(r"(?<=\s)\$\S+(?=\s)", lambda found: plain.get(found[0], found[0]), text)
    return text


def _interface(name: str, body: str) -> str:
    ports = "\n".join(_PORT.findall(body))
    return f"attribute \\blackbox 1\nmodule {name}\n{ports}\nend\n"


def split_design(verilog: str, top: str) -> Design:
    """Elaborate Verilog and cut it into modules. Raises ValueError if it is not legal."""
    if not re.fullmatch(r"[A-Za-z_][\w$]*", top):
        raise ValueError(f"the top module must be named by a Verilog identifier, not {top!r}")
    script = f"""
    read_verilog -sv design.v
    hierarchy -check -top {top}
    proc
    opt_clean
    write_rtlil design.il
    """
    try:
        text = run_yosys(script, {"design.v": verilog}, ["design.il"])["design.il"]
    except ToolError as error:
        raise ValueError(f"the Verilog of `{top}` is not usable: {error}") from None
    text = _plain_names(_SOURCE.sub("", text))
    bodies: dict[str, str] = dict(MODULE.findall(text))
    kept, stand_ins = keep_memories(bodies, lambda name: _interface(name, bodies[name]))
    bodies |= {name: _SOURCE.sub("", body) for name, body in kept.items()}
    bodies |= {f"\\{memory.name}": memory.body() for memory in stand_ins}
    memories = {memory.name: memory for memory in stand_ins}
    found = {}
    for name, body in bodies.items():
        children = {i[1:]: kind[1:] for kind, i in _CELL.findall(body) if kind in bodies}
        rtlil, plain = f"module {name}{body}end\n", name[1:]
        interface = _interface(name, body)
        found[plain] = Module(
            plain, rtlil, interface, children, memories.get(plain), tuple(register_files(body))
        )
    return Design(top, found)
