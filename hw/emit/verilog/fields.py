"""Parts of structured signals by the names of their fields.

A signal is declared as a packed structure if a field of it is used by name. Icarus 11 gives up on
structures within others and takes the wrong bits of arrays in them; so there are neither.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..layouts import Struct
from .expressions import Node, regrouped
from .loops import free_name
from .registers import assigned, expressions
from .statements import COLUMNS, Assign, Branch, Instance, Item, Process, Raw, Statement, Switch

__all__ = ["StructUse", "structures", "type_names", "with_fields"]

_RANGE = re.compile(r"(\w+)\[(\d+)(?::(\d+))?\]")
MOST = 3
"""Fields that are written one by one where neighbouring ones are meant."""


def _path(struct: Struct, low: int, size: int) -> str:
    """Returns the text after a structure's name that selects some bits of it, or nothing."""
    for name, bits in struct.fields:
        if low + size <= bits:
            whole = low == 0 and size == bits
            place = f"{low + size - 1}:{low}" if size > 1 else f"{low}"
            return f".{name}" if whole else f".{name}[{place}]"
        if low < bits:
            return ""
        low -= bits
    return ""


def _neighbours(struct: Struct, low: int, size: int) -> list[str]:
    """The names of the whole fields that some bits are, from the top down, or nothing."""
    names: list[str] = []
    place = covered = 0
    for name, bits in struct.fields:
        if low <= place and place + bits <= low + size:
            names.insert(0, name)
            covered += bits
        place += bits
    return names if covered == size and 1 < len(names) <= MOST else []


class _Fields:
    def __init__(self, structs: Mapping[str, Struct]) -> None:
        self._structs = structs
        self.used: set[str] = set()

    def _bits(self, node: Node) -> tuple[str, int, int] | None:
        """The structure that a node is some bits of, the lowest of them, how many."""
        match = _RANGE.fullmatch(node.word) if node.kind == "range" else None
        if match is None or match[1] not in self._structs:
            return None
        low = int(match[3] or match[2])
        return match[1], low, int(match[2]) - low + 1

    def _part(self, node: Node) -> Node:
        """Bits of a signal by the name of their field."""
        bits = self._bits(node)
        path = _path(self._structs[bits[0]], *bits[1:]) if bits else ""
        if not bits or not path:
            return node
        self.used.add(bits[0])
        return Node("field", bits[0] + path)

    def read(self, node: Node) -> Node:
        """An expression with the fields that it reads by name."""
        if bits := self._bits(node):
            name, low, size = bits
            several = _neighbours(self._structs[name], low, size)
            if several:
                self.used.add(name)
                return Node("concat", "", tuple(Node("field", f"{name}.{f}") for f in several))
            return self._part(node)
        if node.kind != "concat":
            return Node(node.kind, node.word, tuple(map(self.read, node.parts)))
        parts: list[Node] = []
        for part in map(self.read, regrouped(node.parts)):
            parts += part.parts if part.kind == "concat" else (part,)
        return Node("concat", "", tuple(parts))

    def driven(self, node: Node) -> Node:
        """Rewrites the target of an assignment."""
        if node.kind == "range":
            return self._part(node)
        within = self.driven if node.kind == "concat" else self.read
        return Node(node.kind, node.word, tuple(map(within, node.parts)))

    def _assign(self, item: Assign) -> Assign:
        return Assign(self.driven(item.target), self.read(item.value), item.clocked)

    def _body(self, body: Sequence[Statement]) -> list[Statement]:
        return [self._assign(s) if isinstance(s, Assign) else self._switch(s) for s in body]

    def _switch(self, switch: Switch) -> Switch:
        subject = None if switch.subject is None else self.read(switch.subject)
        branches = [
            Branch(tuple(map(self.read, branch.labels)), self._body(branch.body))
            for branch in switch.branches
        ]
        return Switch(subject, branches)

    def item(self, item: Item) -> Item:
        if isinstance(item, Assign):
            return self._assign(item)
        if isinstance(item, Process):
            return Process(item.head, self._body(item.body))
        if isinstance(item, Instance):
            return Instance(item.head, [(pin, self._pin(value)) for pin, value in item.pins])
        return item

    def _pin(self, value: Node | None) -> Node | None:
        """Rewrites the connection of a pin, which may drive bits of a signal."""
        if value is None:
            return None
        return self._part(value) if value.kind == "range" else self.read(value)


def _targets(item: Item) -> Iterator[Node]:
    if isinstance(item, Assign):
        yield item.target
    elif isinstance(item, Process):
        yield from (assignment.target for assignment in assigned(item.body))


def _indexed(items: Sequence[Item]) -> set[str]:
    """The signals of which a part is used whose place is computed, and so has no name."""
    found: set[str] = set()
    for item in items:
        if isinstance(item, Raw):
            found.update(re.findall(r"(\w+)\[", item.text))
        for node in itertools.chain(expressions(item), _targets(item)):
            found |= {n.signal for n in node.walk() if n.kind in ("index", "window", "part")}
    return found


def with_fields(
    items: Sequence[Item], structs: Mapping[str, Struct]
) -> tuple[list[Item], dict[str, Struct]]:
    """The items with parts of structured signals by name, and the signals so used."""
    indexed = _indexed(items)
    fields = _Fields({name: s for name, s in structs.items() if name not in indexed})
    result = [fields.item(item) for item in items]
    return result, {name: structs[name] for name in structs if name in fields.used}


@dataclass(frozen=True)
class StructUse:
    """A structured signal: its structure, a name that would suit it, and how well (0: best)."""

    struct: Struct
    name: str
    rank: int


def type_names(uses: Sequence[StructUse]) -> dict[Struct, str]:
    """A name for each structure."""
    names: dict[Struct, str] = {}
    for use in sorted(uses, key=lambda use: use.rank):
        if use.struct not in names:
            taken = {name.removesuffix("_t") for name in names.values()}
            names[use.struct] = f"{free_name(use.name, taken)}_t"
    return names


def structures(names: Mapping[Struct, str]) -> str:
    """The declarations of the structures, each in as few lines as it needs."""
    lines = []
    for struct, name in names.items():
        fields = [
            f"logic [{bits - 1}:0] {field};" if bits > 1 else f"logic {field};"
            for field, bits in reversed(struct.fields)
        ]
        fields[0] = f"typedef struct packed {{{fields[0]}"
        line = ""
        for text in [*fields[:-1], f"{fields[-1]}}} {name};"]:
            if line and len(f"{line} {text}") > COLUMNS:
                lines.append(line)
                line = f"  {text}"
            else:
                line = f"{line} {text}" if line else text
        lines.append(line)
    return "".join(f"{line}\n" for line in lines)
