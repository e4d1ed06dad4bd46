"""Liberty as text: its groups, read, stripped of power, put together and written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile

__all__ = [
    "SHARED", "Group", "merged", "parse_liberty", "resistance_unit", "units", "without_power",
]  # fmt: skip

_TOKEN = re.compile(
    r"""(?P<skip>\s+|\\\r?\n|\\|/\*.*?\*/|//[^\n]*)
      | (?P<string>"[^"]*")
      | (?P<mark>[(){}:;,])
      | (?P<word>[^\s(){}:;,"\\]+)""",
    re.VERBOSE | re.DOTALL,
)


_PLAIN = re.compile(r"[\w.+-]+")


def _words(words: list[str]) -> str:
    return ", ".join(word if _PLAIN.fullmatch(word) else f'"{word}"' for word in words)


@dataclass
class Group:
    """One group: ``name (arguments) { ... }``.

    Members
    -------
    attributes: simple attributes, the value without quotes; the last one of a name counts
    lists: attributes with a list in parentheses, such as ``values``: the lists of a name in order
    groups: the groups inside, in order
    """

    name: str
    arguments: list[str]
    attributes: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[list[str]]] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)

    def named(self, name: str) -> Iterator[Group]:
        """The groups inside of that name."""
        return (group for group in self.groups if group.name == name)

    def numbers(self, name: str) -> list[float]:
        """Returns a list attribute as numbers; empty if it is missing."""
        words = " ".join(self.lists.get(name, [[]])[-1]).replace(",", " ").split()
        return [float(word) for word in words]

    def written(self) -> str:
        """Returns the group as Liberty text."""
        lines: list[str] = []
        self._write(lines)
        return "\n".join([*lines, ""])

    def _write(self, lines: list[str]) -> None:
        lines.append(f"{self.name} ({_words(self.arguments)}) {{")
        lines += [f"{name} : {_words([value])};" for name, value in self.attributes.items()]
        lines += [f"{name} ({_words(one)});" for name, each in self.lists.items() for one in each]
        for group in self.groups:
            group._write(lines)
        lines.append("}")


class _Tokens:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self._tokens = self._scan()
        self.next: str = ""
        self.advance()

    def _scan(self) -> Iterator[str]:
        position, text = 0, self.text
        while position < len(text):
            match = _TOKEN.match(text, position)
            self.position = position
            if match is None:
                raise self.error(f"unexpected {text[position]!r}")
            position = match.end()
            if match.lastgroup != "skip":
                yield match.group()
        self.position = len(text)

    def advance(self) -> str:
        token = self.next
        self.next = next(self._tokens, "")
        return token

    def expect(self, mark: str) -> None:
        if self.next != mark:
            raise self.error(f"expected {mark!r}, found {self.next or 'the end of the file'!r}")
        self.advance()

    def error(self, what: str) -> ValueError:
        return ValueError(f"line {self.text.count(chr(10), 0, self.position) + 1}: {what}")


def _value(tokens: _Tokens) -> str:
    words = []
    while tokens.next and tokens.next not in ";{}":
        line = tokens.position
        words.append(tokens.advance().strip('"'))
        if "\n" in tokens.text[line : tokens.position] and tokens.next != ";":
            break
    if tokens.next == ";":
        tokens.advance()
    return " ".join(words)


def _arguments(tokens: _Tokens) -> list[str]:
    words = []
    tokens.expect("(")
    while tokens.next != ")":
        if not tokens.next or tokens.next in "{};":
            raise tokens.error("a parenthesis that is not closed")
        word = tokens.advance()
        if word != ",":
            words.append(word.strip('"'))
    tokens.expect(")")
    return words


def _fill(tokens: _Tokens, group: Group) -> None:
    """Read statements up to the closing brace."""
    while tokens.next != "}":
        if not tokens.next:
            raise tokens.error(f"the end of the file inside group `{group.name}`")
        if tokens.next == ";":
            tokens.advance()
            continue
        name = tokens.advance()
        if tokens.next == ":":
            tokens.advance()
            group.attributes[name] = _value(tokens)
            continue
        arguments = _arguments(tokens)
        if tokens.next == "{":
            tokens.advance()
            inner = Group(name, arguments)
            _fill(tokens, inner)
            group.groups.append(inner)
        else:
            group.lists.setdefault(name, []).append(arguments)
    tokens.expect("}")


def parse_liberty(text: str) -> Group:
    """The ``library`` group of a Liberty text.

    Raises ValueError with the line number if it is not one.
    """
    tokens = _Tokens(text)
    name = tokens.advance()
    if name != "library":
        raise ValueError(f"line 1: expected 'library', found {name or 'an empty file'!r}")
    library = Group(name, _arguments(tokens))
    tokens.expect("{")
    _fill(tokens, library)
    return library


def units(library: Group) -> tuple[float, float]:
    """Factors from the library's units to ns and pF."""
    match = re.fullmatch(r"\s*([\d.]+)\s*([pn])s\s*", library.attributes.get("time_unit", "1ns"))
    load = library.lists.get("capacitive_load_unit", [["1", "pf"]])[-1]
    scale = {"pf": 1.0, "ff": 1e-3}.get(load[-1].lower())
    if match is None or scale is None:
        raise ValueError("its time unit must be ns or ps and its load unit pf or ff")
    return float(match[1]) * {"p": 1e-3, "n": 1.0}[match[2]], float(load[0]) * scale


def resistance_unit(library: Group) -> float:
    """Factor from the library's unit of resistance to kilohm, which is ns/pF."""
    match = re.fullmatch(
        r"\s*([\d.]+)\s*(k?)ohm\s*", library.attributes.get("pulling_resistance_unit", "1kohm")
    )
    if match is None:
        raise ValueError("its pulling resistance unit must be ohm or kohm")
    return float(match[1]) * (1.0 if match[2] else 1e-3)


POWER = frozenset(
    ("internal_power", "leakage_power", "pg_pin", "power_lut_template", "test_cell",
     "normalized_driver_waveform", "input_voltage", "output_voltage", "define")
)  # fmt: skip
"""Names of the groups and lists that no tool reads here: of power, levels and waveforms. They are
two thirds of a large library."""

SHARED = (
    "time_unit", "input_threshold_pct_rise", "input_threshold_pct_fall",
    "output_threshold_pct_rise", "output_threshold_pct_fall", "slew_lower_threshold_pct_rise",
    "slew_lower_threshold_pct_fall", "slew_upper_threshold_pct_rise",
    "slew_upper_threshold_pct_fall", "slew_derate_from_library",
)  # fmt: skip
"""Attributes in which the files of one library agree."""


def without_power(group: Group) -> None:
    group.groups = [inner for inner in group.groups if inner.name not in POWER]
    group.lists.pop("define", None)
    for inner in group.groups:
        without_power(inner)


def _rename_templates(group: Group, prefix: str) -> None:
    if group.arguments and (group.name == "lu_table_template" or "values" in group.lists):
        group.arguments[0] = prefix + group.arguments[0]
    for inner in group.groups:
        _rename_templates(inner, prefix)


def _common_start(names: list[str]) -> str:
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    return "".join(letters[0] for letters in same)


def merged(trees: list[Group]) -> Group:
    """One library of the trees of its files. Raises ValueError if they differ in their units."""
    first = trees[0]
    for number, tree in enumerate(trees[1:], 1):
        facts = [[one.attributes.get(name) for name in SHARED] for one in (first, tree)]
        if facts[0] != facts[1] or units(first) != units(tree):
            name = first.arguments[0] if first.arguments else ""
            raise ValueError(f"its units or thresholds are not those of library {name!r}")
        _rename_templates(tree, f"file{number}_")
    names = [tree.arguments[0] for tree in trees if tree.arguments]
    first.arguments = [_common_start(names).rstrip("_-.") or "".join(names[:1])]
    first.groups += [
        group
        for tree in trees[1:]
        for group in tree.groups
        if group.name in ("lu_table_template", "cell")
    ]
    return first
