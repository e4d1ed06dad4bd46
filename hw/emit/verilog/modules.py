"""A module on its way to text, whose structures have no names yet."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from ..blocks import Block
from ..layouts import Struct, ranges_of
from .codes import with_enumerations
from .fields import StructUse
from .statements import COLUMNS, Item, wrapped, written

__all__ = ["Draft"]

PARAMETER = "parameter logic [31:0]"
"""Beginning of a parameter: Icarus 11 knows no ``int unsigned``, and linters complain of a signed
one that is compared with a signal."""


def _with_ranges(text: str, layout: Any) -> str:
    """Writes a declaration, followed by a comment on the bits of the signal if it has parts."""
    ranges = ranges_of(layout, COLUMNS - len(f"{text} // ".rpartition("\n")[2]))
    return f"{text} // {ranges}" if ranges else text


def _declarations(texts: Sequence[str], layouts: Mapping[str, Any]) -> str:
    """Declarations of one width after the other, those of one width and layout together."""
    lines = []
    for kind, group in itertools.groupby(texts, key=lambda text: text.rpartition(" ")[0]):
        alike: dict[str, list[str]] = {}
        for name in (text.rpartition(" ")[2] for text in group):
            alike.setdefault(ranges_of(layouts.get(name), COLUMNS), []).append(name)
        for ranges, names in sorted(alike.items(), reverse=True):
            line = wrapped(names, f"  {kind}", "    ") + ";"
            lines.append((_with_ranges(line, layouts[names[0]]) if ranges else line) + "\n")
    return "".join(lines)


def _declaration_order(declared: Mapping[str, str], derived: Set[str]) -> list[str]:
    """Signals named by people first, then intermediate results, by width, name and number."""

    def key(name: str) -> tuple[bool, str, list[tuple[int, str]]]:
        parts = [(int(p), "") if p.isdigit() else (-1, p) for p in re.findall(r"\d+|\D+", name)]
        return name in derived, declared[name].rpartition(" ")[0], parts

    return sorted(declared, key=key)


@dataclass
class Draft:
    """A module whose structures have no names yet.

    Parameters
    ----------
    block: what it is made from; the module's name is the block's
    ports: "input" or "output" by name, in their order
    declared: the declarations of the signals, ports included
    derived: the signals that were named after the operation that computes them
    codes: the declarations of the constants that have names
    items: its body
    structs: the signals that are declared as structures
    layouts: Amaranth's descriptions of the signals that consist of fields or elements
    carried: what the Python calls the layouts of structures
    styles: attributes of memories, for synthesis
    parameters: their default values
    widths: local parameters that follow from these
    """

    block: Block
    ports: dict[str, str]
    declared: dict[str, str]
    derived: set[str]
    codes: str
    items: Sequence[Item]
    structs: dict[str, Struct]
    layouts: dict[str, Any]
    carried: Mapping[str, str] = field(default_factory=dict)
    styles: Mapping[str, str] = field(default_factory=dict)
    parameters: dict[str, int] = field(default_factory=dict)
    widths: dict[str, str] = field(default_factory=dict)

    @property
    def module(self) -> str:
        return self.block.module

    def uses(self, top: str) -> Iterator[StructUse]:
        """The structured signals, with names for their structures."""
        for name, struct in self.structs.items():
            stem = name.removesuffix("__payload")
            if name in self.carried:
                yield StructUse(struct, f"{top}_{self.carried[name]}", -1)
            elif name in self.ports:
                is_output = self.block.ports[name] == "o"
                yield StructUse(struct, f"{self.block.module}_{stem}", 0 if is_output else 1)
            else:
                yield StructUse(struct, f"{top}_{stem.replace('__', '_')}", 2)

    def text(self, types: Mapping[Struct, str]) -> str:
        """The module, with these names for its structures."""
        declared = dict(self.declared)
        declared.update({name: f"{types[s]} {name}" for name, s in self.structs.items()})
        ports = [f"  {kind:6} {declared.pop(port)}" for port, kind in self.ports.items()]
        order = _declaration_order(declared, self.derived)
        flat = {n: layout for n, layout in self.layouts.items() if n not in self.structs}
        plain = [text for name, text in declared.items() if name not in self.structs]
        taken = {*declared, *self.ports, *self.parameters, *self.widths, *types.values()}
        codes, enumerated = with_enumerations(self.items, self.codes, plain, taken)
        declared.update({name: f"{kind} {name}" for name, kind in enumerated.items()})
        declared.update({name: f"{style} {declared[name]}" for name, style in self.styles.items()})
        inner = codes + _declarations([declared[name] for name in order], flat)
        ends = [","] * (len(ports) - 1) + [""]
        heads = zip(self.ports, map(str.__add__, ports, ends), strict=True)
        lines = "\n".join(_with_ranges(line, flat.get(port)) for port, line in heads)
        head = f"{self._head()} (\n{lines}\n);\n"
        return head + inner + "\n".join(map(written, self.items)) + "\nendmodule"

    def _head(self) -> str:
        """The comment, the name and the parameters."""
        comment = "".join(f"// {line}\n" for line in self.block.comment)
        settings = [f"{PARAMETER} {name} = {value}" for name, value in self.parameters.items()]
        local = PARAMETER.replace("parameter", "localparam")
        settings += [f"{local} {name} = {text}" for name, text in self.widths.items()]
        inner = ",\n".join(f"  {line}" for line in settings)
        return f"{comment}module {self.block.module}" + (f" #(\n{inner}\n)" if settings else "")
