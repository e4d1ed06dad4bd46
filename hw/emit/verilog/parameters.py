"""Merges modules that differ in numbers alone into one module with parameters.

A component declares which of its arguments may become Verilog parameters (``variants``). Two
modules of one component are variants if their texts are equal but for numbers: widths, bounds,
constants. Each number that differs must follow from the declared arguments by a formula, the same
for all variants and for a further one, the probe, that the design does not use.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ..layouts import ranges_of
from .expressions import Node, regrouped
from .modules import Draft
from .statements import COLUMNS, Assign, Branch, Instance, Item, Process, Raw, Statement, Switch

__all__ = ["Use", "merged"]

_DECLARED = re.compile(r"logic( signed)?(?: \[(\d+):0\])? (\w+)(?: \[(\d+):0\])?")
_SIZED = re.compile(r"(\d+)'([bdh])([0-9a-f]+)")
_NUMBERS = re.compile(r"(?<![\w'$])(\d+)(?:'h([0-9a-f]+))?\b(?!')")
_RANGE = re.compile(r"(\w+)\[(\d+)(?::(\d+))?\]")
_LOW_BITS = re.compile(r"([\w.]+)(?:\[(?:(\d+):)?0\])?")
_CONSTANT_BITS = 31
"""Width of the largest constant that may depend on a parameter."""

_Values = Mapping[str, int]


class _NoFormulaError(Exception):
    """A number that does not follow from the parameters."""


@dataclass(frozen=True)
class Use:
    """The module that a block became, and the values of its parameters in that block's place."""

    module: str
    parameters: Mapping[str, int] = field(default_factory=dict)

    def instance(self, name: str, pins: Sequence[tuple[str, Node | None]] = ()) -> Instance:
        """An instance of it."""
        settings = {parameter: str(value) for parameter, value in self.parameters.items()}
        return Instance(f"{self.module} {name}", [*pins], settings)


def _atoms(values: _Values) -> Iterator[tuple[str, int]]:
    """The parameters and the widths that usually follow from them."""
    yield from values.items()
    for name, value in values.items():
        yield f"{name}_BITS", max(value - 1, 0).bit_length()
        yield f"{name}_LEVEL_BITS", value.bit_length()


def _declared_atoms(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The atoms that are no parameters, and their definitions."""
    for name in names:
        yield f"{name}_BITS", f"$clog2({name})"
        yield f"{name}_LEVEL_BITS", f"$clog2({name}+1)"


def _offset(text: str, offset: int) -> str:
    return f"{text}{offset:+d}" if offset else text


def _fits(found: Sequence[int], wanted: Sequence[int]) -> int | None:
    """Returns the difference between numbers and the wanted ones, if it is the same everywhere."""
    differences = {want - have for have, want in zip(found, wanted, strict=True)}
    return differences.pop() if len(differences) == 1 else None


_Atoms = Mapping[str, Sequence[int]]
_Found = Iterator[tuple[str, Sequence[int], int]]
"""Formulas: text, numbers for the values of the parameters, the largest offset that may follow."""
_LARGEST_OFFSET = 1 << 12


def _powers(atoms: _Atoms) -> _Found:
    """Powers of two."""
    for name, found in atoms.items():
        if max(found) <= _CONSTANT_BITS:
            for less in range(min(*found, 2)):
                power = f"(32'd1<<({name}-{less}))" if less else f"(32'd1<<{name})"
                yield power, [1 << n - less for n in found], 1


def _pairs(atoms: _Atoms) -> _Found:
    """Sums, differences and products of two."""
    for (left, first), (right, second) in itertools.combinations(atoms.items(), 2):
        pairs = [*zip(first, second, strict=True)]
        for text, numbers in (
            (f"{left}+{right}", [a + b for a, b in pairs]),
            (f"{left}-{right}", [a - b for a, b in pairs]),
            (f"{right}-{left}", [b - a for a, b in pairs]),
            (f"{left}*{right}", [a * b for a, b in pairs]),
        ):
            yield text, numbers, _LARGEST_OFFSET


def _multiples(atoms: _Atoms, wanted: Sequence[int]) -> _Found:
    """Multiples that rise as fast as the wanted numbers."""
    for name, found in atoms.items():
        low, high = min(found), max(found)
        if low < high:
            rise = wanted[found.index(high)] - wanted[found.index(low)]
            factor, rest = divmod(rise, high - low)
            if not rest and factor > 1:
                yield f"{factor}*{name}", [factor * n for n in found], _LARGEST_OFFSET


def _formula(values: Sequence[_Values], wanted: Sequence[int]) -> str:
    """Finds the formula that computes each wanted number from its parameters, the simplest one
    first."""
    if len(set(wanted)) == 1:
        return str(wanted[0])
    columns = [dict(_atoms(one)) for one in values]
    atoms = {name: [column[name] for column in columns] for name in columns[0]}
    plain = {name: atoms[name] for name in values[0]}
    searches: tuple[_Found, ...] = (
        ((name, found, 1) for name, found in atoms.items()),
        ((name, found, _LARGEST_OFFSET) for name, found in atoms.items()),
        _powers(plain),
        _pairs(plain),
        _multiples(plain, wanted),
        _multiples(atoms, wanted),
        _pairs(atoms),
        _powers(atoms),
    )
    for text, found, limit in itertools.chain(*searches):
        offset = _fits(found, wanted)
        if offset is not None and abs(offset) <= limit:
            return _offset(text, offset)
    raise _NoFormulaError


def _repeated(parts: Iterable[Node]) -> Iterator[Node]:
    """The parts of a concatenation, with a signal that stands several times in a row as one."""
    for part, group in itertools.groupby(parts):
        count = len([*group])
        if part.kind == "name" and count > 1:
            yield Node("repeat", str(count), (part,))
        else:
            yield from itertools.repeat(part, count)


def _widths(draft: Draft) -> Iterator[tuple[str, int]]:
    """The widths of a module's signals without a sign, and of the fields of its structures."""
    for name, text in draft.declared.items():
        match = _DECLARED.fullmatch(text)
        if match is not None and not match[1] and not match[4]:
            yield name, int(match[2] or 0) + 1
    for name, struct in draft.structs.items():
        yield from ((f"{name}.{part}", bits) for part, bits in struct.fields)


@dataclass
class _Numbers:
    """Texts that are written for the numbers of a module, in their order.

    Parameters
    ----------
    number: the text of a number
    constant: the text of a constant of a width and a value, and whether it is part of a
        concatenation
    resized: the text of the low bits of a signal or field, or of all with zeros above them: how
        many bits, the signal's width and its name, and the text that is there
    """

    number: Callable[[int], str]
    constant: Callable[[int, int, bool], str]
    resized: Callable[[int, int, str, str], str]
    _widths: dict[str, int] = field(default_factory=dict, init=False)
    """Widths of unsigned signals and fields."""

    def node(self, node: Node, *, joined: bool = False) -> Node:
        """An expression with its numbers written so."""
        if of_signal := self._low_bits(node):
            return self._resized(*of_signal, node)
        if node.kind == "constant":
            return self._constant(node, joined=joined)
        if node.kind == "range" and (match := _RANGE.fullmatch(node.word)):
            return Node("range", f"{match[1]}{self._bits(match[2], match[3] or match[2])}")
        if node.kind == "part":
            high, _, low = node.word.partition(":")
            return Node("part", self._bits(high, low or high)[1:-1], (self.node(node.parts[0]),))
        if node.kind == "code":
            return node
        if node.kind == "field":
            return Node("field", self.text(node.word))
        word = node.word
        if node.kind == "repeat":
            word = self.number(int(word))
        elif node.kind == "window":
            name, size = word.split()
            word = f"{name} {self.number(int(size))}"
        if node.kind == "concat":
            return self._concat([*_repeated(regrouped(node.parts))])
        inner = node.kind == "repeat"
        return Node(node.kind, word, tuple(self.node(part, joined=inner) for part in node.parts))

    def _low_bits(self, node: Node) -> tuple[int, str] | None:
        """Returns (count, name) of a node that consists of the low bits of a signal or field."""
        if node.kind not in ("name", "range", "field"):
            return None
        match = _LOW_BITS.fullmatch(node.word)
        if match is None or match[1] not in self._widths:
            return None
        whole = match[1] == node.word
        return self._widths[match[1]] if whole else int(match[2] or 0) + 1, match[1]

    def _resized(self, bits: int, name: str, node: Node) -> Node:
        text = self.resized(bits, self._widths[name], name, str(node))
        if text == name:
            return Node("field" if "." in name else "name", name)
        return Node("code", text, (node,))

    def _concat(self, parts: Sequence[Node]) -> Node:
        """A concatenation, with zeros and what is below them as one part."""
        found: list[Node] = []
        left = [*reversed(parts)]
        while left:
            part = left.pop()
            match = _SIZED.fullmatch(part.word) if part.kind == "constant" else None
            low = self._low_bits(left[-1]) if match and left and not int(match[3], 16) else None
            if match and low:
                pair = Node("concat", "", (part, left.pop()))
                below = self._resized(int(match[1]) + low[0], low[1], pair)
                found.extend(pair.parts if str(below) == str(pair) else [below])
            else:
                found.append(self.node(part, joined=True))
        return found[0] if len(found) == 1 else Node("concat", "", tuple(found))

    def _constant(self, node: Node, *, joined: bool) -> Node:
        if node.word.isdigit():
            text = self.number(int(node.word))
            return Node("code", text if re.fullmatch(r"\w+|§", text) else f"({text})", (node,))
        if match := _SIZED.fullmatch(node.word):
            value = int(match[3], {"b": 2, "d": 10, "h": 16}[match[2]])
            return Node("code", self.constant(int(match[1]), value, joined), (node,))
        return node

    def _bits(self, high: str, low: str) -> str:
        first, last = self.number(int(high)), self.number(int(low))
        return f"[{first}:{last}]" if first != last or first == "§" else f"[{first}]"

    def text(self, text: str) -> str:
        """A text with its numbers written so."""
        return _NUMBERS.sub(
            lambda m: self.constant(int(m[1]), int(m[2], 16), True) if m[2]
            else self.number(int(m[1])),
            text,
        )  # fmt: skip

    def declared(self, text: str) -> str:
        """A declaration with its widths written so."""
        match = _DECLARED.fullmatch(text)
        if match is None:
            raise _NoFormulaError
        high = self.number(int(match[2] or 0))
        size = "" if high == "0" else f" [{high}:0]"
        words = f" [{self.number(int(match[4]))}:0]" if match[4] else ""
        return f"logic{match[1] or ''}{size} {match[3]}{words}"

    def body(self, body: Sequence[Statement]) -> list[Statement]:
        return [self._assign(s) if isinstance(s, Assign) else self._switch(s) for s in body]

    def _assign(self, item: Assign) -> Assign:
        return Assign(self.node(item.target), self.node(item.value), item.clocked)

    def _switch(self, switch: Switch) -> Switch:
        subject = None if switch.subject is None else self.node(switch.subject)
        branches = [
            Branch(tuple(map(self.node, branch.labels)), self.body(branch.body))
            for branch in switch.branches
        ]
        return Switch(subject, branches)

    def item(self, item: Item) -> Item:
        if isinstance(item, Assign):
            return self._assign(item)
        if isinstance(item, Process):
            return Process(item.head, self.body(item.body))
        if isinstance(item, Instance):
            parameters = {name: self.text(value) for name, value in item.parameters.items()}
            pins = [(pin, None if v is None else self.node(v)) for pin, v in item.pins]
            return Instance(item.head, pins, parameters)
        return Raw(self.text(item.text))

    def draft(self, draft: Draft) -> Draft:
        """A module with its numbers written so; its structures must have no others."""
        self._widths = dict(_widths(draft))
        declared = {
            name: text if name in draft.structs else self.declared(text)
            for name, text in sorted(draft.declared.items())
        }
        codes = self.text(draft.codes)
        return replace(draft, declared=declared, codes=codes, items=[*map(self.item, draft.items)])


class _Module:
    """A module that may be a variant of others: its text without numbers, and the numbers."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft

    @cached_property
    def _read(self) -> tuple[str, tuple[int, ...]]:
        found: list[int] = []

        def number(value: int) -> str:
            found.append(value)
            return "§"

        def constant(bits: int, value: int, _joined: bool) -> str:
            found.extend((bits, value))
            return "§'h§"

        def resized(bits: int, size: int, name: str, _text: str) -> str:
            found.extend((bits, size))
            return name

        try:
            plain = _Numbers(number, constant, resized).draft(self.draft)
        except _NoFormulaError:
            return f"{self.draft.block.module} as it is", ()
        types = {struct: repr(struct) for struct in plain.structs.values()}
        block = replace(plain.block, module="", comment=())
        return replace(plain, block=block, layouts={}).text(types), tuple(found)

    @property
    def shape(self) -> str:
        return self._read[0]

    @property
    def numbers(self) -> tuple[int, ...]:
        return self._read[1]

    @property
    def ranges(self) -> dict[str, str]:
        """The comments on signals that consist of parts."""
        return {name: ranges_of(of, COLUMNS) for name, of in self.draft.layouts.items()}

    @property
    def values(self) -> Mapping[str, int]:
        return self.draft.block.parameters


def _cast_size(bits: str) -> str:
    """A width in front of a cast."""
    return bits if re.fullmatch(r"\w+", bits) else f"({bits})"


def _constant_text(joined: bool, bits: str, value: str, largest: int) -> str:
    """A constant of which the width or the value follows from parameters."""
    if bits.isdigit() and value.isdigit():
        return f"{bits}'h{int(value):x}"
    if value == "0":
        return f"{{{bits}{{1'h0}}}}" if joined else "'0"
    if largest.bit_length() > _CONSTANT_BITS:
        raise _NoFormulaError
    plain = value.isdigit()
    number = f"{int(value).bit_length()}'h{int(value):x}" if plain else value
    return f"{_cast_size(bits)}'({number})"


def _parametrised(members: Sequence[_Module], names: Sequence[str]) -> Draft:
    """One module for all members. Raises _NoFormulaError if there is none."""
    values = [{name: member.values[name] for name in names} for member in members]
    found = iter([*zip(*(member.numbers for member in members), strict=True)])

    def number(_value: int) -> str:
        return _formula(values, next(found))

    def constant(_bits: int, _value: int, joined: bool) -> str:
        sizes, contents = next(found), next(found)
        full = all(c == (1 << s) - 1 for s, c in zip(sizes, contents, strict=True))
        if full and len(set(sizes)) > 1 and not joined:
            return "'1"
        bits = _formula(values, sizes)
        try:
            value = _formula(values, contents)
        except _NoFormulaError:
            value = ""
        highest = all(c == 1 << s - 1 and s > 1 for s, c in zip(sizes, contents, strict=True))
        if highest and not bits.isdigit() and (not value or "<<" in value):
            return f"{{1'h1, {{{_formula(values, [s - 1 for s in sizes])}{{1'h0}}}}}}"
        if not value:
            raise _NoFormulaError
        return _constant_text(joined, bits, value, max(contents))

    def resized(_bits: int, _size: int, name: str, text: str) -> str:
        bits, sizes = next(found), next(found)
        if bits == sizes:
            return name
        if len(set(bits)) == len(set(sizes)) == 1:
            return text
        pairs = [*zip(bits, sizes, strict=True)]
        if all(count <= size for count, size in pairs):
            high = _formula(values, [count - 1 for count in bits])
            return f"{name}[{high}:0]" if high != "0" else f"{name}[0]"
        if all(count >= size for count, size in pairs):
            return f"{_cast_size(_formula(values, bits))}'({name})"
        raise _NoFormulaError

    first = members[0]
    draft = _Numbers(number, constant, resized).draft(first.draft)
    common = set.intersection(*(set(member.ranges.items()) for member in members))
    layouts = {name: draft.layouts[name] for name, _ in common}
    plain = replace(draft, layouts={}).text(dict.fromkeys(draft.structs.values(), ""))
    written = {*re.findall(r"\w+", plain)}
    atoms = {name: text for name, text in _declared_atoms(names) if name in written}
    own = {*first.draft.declared, *re.findall(r"(\w+) =", first.draft.codes)}
    if own & {*names, *atoms}:
        raise _NoFormulaError
    parameters = {name: first.values[name] for name in names if name in written or
                  any(re.search(rf"\b{name}\b", text) for text in atoms.values())}  # fmt: skip
    return replace(draft, layouts=layouts, parameters=parameters, widths=atoms)


def _together(members: Sequence[_Module], names: Sequence[str]) -> Draft | None:
    """One module for all members, if there is one."""
    try:
        return _parametrised(members, names)
    except _NoFormulaError:
        return None


def _group(first: list[_Module], others: Sequence[_Module], names: Sequence[str]) -> list[_Module]:
    """The first modules and all others that are variants of them."""
    if _together([*first, *others], names):
        return [*first, *others]
    group = first
    for other in others:
        if _together([*group, other], names):
            group = [*group, other]
    return group


def _cluster(modules: Sequence[_Module]) -> Iterator[tuple[Draft, Sequence[_Module]]]:
    """Modules of one component and one shape in groups of variants.

    A group has a probe that fits, if any value is left that no variant has.
    """
    names = [*modules[0].values]
    left = [*modules]
    firsts = [[module] for module in modules if module.draft.block.probe]
    exhausted = [module for module in modules if module.draft.block.exhausted]
    for first in [*firsts, exhausted[:1]]:
        if not names or not first or first[0] not in left:
            continue
        group = _group(first, [module for module in left if module is not first[0]], names)
        group.sort(key=lambda module: module.draft.block.probe)
        if len([module for module in group if not module.draft.block.probe]) > 1:
            yield _parametrised(group, names), group
            left = [module for module in left if module not in group]
    left = [module for module in left if not module.draft.block.probe]
    if len(left) == 1:  # Its numbers need not be read: there is nothing to compare them with.
        yield left[0].draft, left
        return
    alike: dict[tuple[Any, ...], list[_Module]] = {}
    for module in left:
        key = module.numbers, *module.ranges.items()
        alike.setdefault(key, []).append(module)
    for equal in alike.values():
        yield equal[0].draft, equal


_UNIT = re.compile(r"^( *)(\w+)( #\(.*\))? unit \(", re.M)
"""Beginning of an instance in a loop."""


def _instantiated(draft: Draft, uses: Mapping[str, Use]) -> Draft:
    """Rewrites a module: its instances refer to the modules that replace the original ones."""

    def unit(match: re.Match[str]) -> str:
        return match[1] + uses[match[2]].instance("unit").opening

    items: list[Item] = []
    for item in draft.items:
        if isinstance(item, Instance):
            module, name = item.head.split()
            items.append(uses[module].instance(name, item.pins))
        else:
            items.append(Raw(_UNIT.sub(unit, item.text)) if isinstance(item, Raw) else item)
    return replace(draft, items=items)


def _renamed(draft: Draft, names: Mapping[str, str]) -> Draft:
    """A module with it and others under new names."""

    def unit(match: re.Match[str]) -> str:
        return f"{match[1]}{names[match[2]]}{match[3] or ''} unit ("

    items: list[Item] = []
    for item in draft.items:
        if isinstance(item, Instance):
            module, name = item.head.split()
            items.append(replace(item, head=f"{names[module]} {name}"))
        else:
            items.append(Raw(_UNIT.sub(unit, item.text)) if isinstance(item, Raw) else item)
    return replace(draft, items=items, block=replace(draft.block, module=names[draft.module]))


def _children(draft: Draft) -> Iterator[str]:
    """The modules of a module's instances."""
    for item in draft.items:
        if isinstance(item, Instance):
            yield item.head.split()[0]
        elif isinstance(item, Raw):
            yield from (match[2] for match in _UNIT.finditer(item.text))


def _new_names(modules: Sequence[str], left: Sequence[str]) -> dict[str, str]:
    """Names of the modules that are left, numbered without gaps."""
    counts: dict[str, int] = {}
    names: dict[str, str] = {}
    for module in left:
        base = re.sub(r"_\d+$", "", module)
        base = base if base in modules else module
        counts[base] = counts.get(base, 0) + 1
        names[module] = f"{base}_{counts[base]}" if counts[base] > 1 else base
    return names


def merged(drafts: Sequence[Draft]) -> tuple[list[Draft], dict[str, Use]]:
    """Merges the variants of modules; returns the modules, and the replacement of each.

    Parameters
    ----------
    drafts: all modules, children before parents, the top module last, and probes anywhere; the
        result is in this order, without probes
    """
    by_name = {draft.module: draft for draft in drafts}
    heights: dict[str, int] = {}

    def height_of(module: str) -> int:
        if module not in heights:
            inner = (height_of(child) for child in _children(by_name[module]))
            heights[module] = 1 + max(inner, default=0)
        return heights[module]

    groups: dict[tuple[int, type], list[Draft]] = {}
    for draft in drafts:
        kind = height_of(draft.module), draft.block.source.component
        groups.setdefault(kind, []).append(draft)
    uses: dict[str, Use] = {}
    found: dict[str, Draft] = {}
    for _, group in sorted(groups.items(), key=lambda entry: entry[0][0]):
        shapes: dict[str, list[_Module]] = {}
        for draft in group:
            module = _Module(_instantiated(draft, uses))
            shapes.setdefault(module.shape if len(group) > 1 else "", []).append(module)
        for modules in shapes.values():
            for draft, variants in _cluster(modules):
                found[draft.module] = draft
                for variant in variants:
                    values = {name: variant.values[name] for name in draft.parameters}
                    uses[variant.draft.module] = Use(draft.module, values)
            for module in modules:
                uses.setdefault(module.draft.module, Use(module.draft.module))
    left = [draft.module for draft in drafts if draft.module in found]
    names = _new_names([draft.module for draft in drafts], left)
    uses = {
        name: replace(use, module=names[use.module])
        for name, use in uses.items()
        if use.module in names
    }
    return [_renamed(found[module], names) for module in left], uses
