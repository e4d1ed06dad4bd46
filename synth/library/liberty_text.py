"""Reading Liberty: the text of a cell library into a tree of groups."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Group", "parse_liberty"]

_TOKEN = re.compile(
    r"""(?P<skip>\s+|\\\r?\n|\\|/\*.*?\*/|//[^\n]*)
      | (?P<string>"[^"]*")
      | (?P<mark>[(){}:;,])
      | (?P<word>[^\s(){}:;,"\\]+)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass
class Group:
    """One group: ``name (arguments) { ... }``.

    Members
    -------
    attributes: simple attributes, the value without quotes; the last one of a name counts
    lists: attributes with a list in parentheses, such as ``values``
    groups: the groups inside, in order
    """

    name: str
    arguments: list[str]
    attributes: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)

    def named(self, name: str) -> Iterator[Group]:
        """The groups inside of that name."""
        return (group for group in self.groups if group.name == name)

    def numbers(self, name: str) -> list[float]:
        """A list attribute as numbers; empty if there is none."""
        words = " ".join(self.lists.get(name, ())).replace(",", " ").split()
        return [float(word) for word in words]


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
            group.lists[name] = arguments
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
