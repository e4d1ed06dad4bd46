"""Verilog expressions as yosys writes them: parsing, writing, widths and signs (IEEE 1800, 11.6).

An operand is *self-determined* if nothing around it influences its width and sign; elsewhere the
width and the sign come from the whole expression it is part of.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

__all__ = [
    "COMPARISONS",
    "Node",
    "Scope",
    "Tokens",
    "Unreadable",
    "depth",
    "regrouped",
    "replaced",
    "signed",
    "sites",
    "width",
]

Scope = Mapping[str, tuple[int, bool]]
"""Width and sign of every signal; memories are listed with the width of a word."""


class Unreadable(Exception):
    """Text outside of the part of Verilog that is understood here."""


_TOKEN = re.compile(
    r"\s*(\d+'s?[bodh][0-9a-fxz?_]+|[$\w]+|<<<|>>>|===|!==|<=|>=|==|!=|&&|\|\||<<|>>|~\^|\+:|\S)"
)
_CONSTANT = re.compile(r"(\d+)'(s?)[bodh][0-9a-fxz?_]+|\d+")
_NAME = re.compile(r"[A-Za-z_]\w*")
_RANGE = re.compile(r"(\w+)\[(\d+)(?::(\d+))?\]")

_LEVELS = (
    "||", "&&", "|", "^ ~^", "&", "== != === !==", "< <= > >=", "<< >> <<< >>>", "+ -", "* / %"
)  # fmt: skip
_BINDS = {operator: level for level, row in enumerate(_LEVELS) for operator in row.split()}
"""Precedence of each operator."""
COMPARISONS = {"==", "!=", "===", "!==", "<", "<=", ">", ">="}
_SHIFTS = {"<<", ">>", "<<<", ">>>"}
_LOGICAL = {"&&", "||"}
_CHAINS = {"&", "|", "^"}
_REDUCTIONS = {"&", "|", "^", "!", "~^"}


class Node(NamedTuple):
    """Expression: ``kind``, its details in ``word``, operands in ``parts``.

    Kinds: name, range (``word`` is the text), constant, index (memory in ``word``), part (of an
    index; ``word`` is the bits), window (``word`` is name and size), concat, repeat (``word`` is
    the count), unary, binary, ``?``, call (``$signed``), code (a constant by its name),
    field (of a structure).
    """

    kind: str
    word: str = ""
    parts: tuple[Node, ...] = ()

    def __str__(self) -> str:
        return _WRITERS[self.kind](self)

    @property
    def signal(self) -> str:
        """The signal that a name, range, index, part or window is of; else empty."""
        kind = self.kind
        if kind == "name":
            return self.word
        if kind == "part":
            return self.parts[0].signal
        if kind not in _OF_SIGNALS:
            return ""
        return self.word.partition("[")[0].partition(" ")[0]

    def walk(self) -> Iterator[Node]:
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.parts[::-1]

    def signals(self) -> set[str]:
        return {node.signal for node in self.walk() if node.kind in _OF_SIGNALS}


_OF_SIGNALS = {"name", "range", "index", "window"}
_ATOMS = _OF_SIGNALS | {"constant", "code", "field", "part", "concat", "repeat", "call"}


def _operand(node: Node, chain: str = "") -> str:
    """An operand as text, in parentheses unless it binds tightly or continues a chain."""
    plain = node.kind in _ATOMS or (node.kind == "unary" and node.word in "~-!" and chain)
    plain = plain or (node.kind == "binary" and node.word == chain and chain in _CHAINS)
    return str(node) if plain else f"({node})"


def _binary(node: Node) -> str:
    left, right = node.parts
    if node.word == "+" and {left.kind, right.kind} <= {"binary", "name", "constant"}:
        sums = [part.word in "+*" or part.kind != "binary" for part in node.parts]
        if all(sums) and (right.kind != "binary" or right.word == "*"):
            return f"{left} + {right}"
    return f"{_operand(left, node.word)} {node.word} {_operand(right, node.word)}"


def _choice(node: Node) -> str:
    condition, first = (_operand(part, "?") for part in node.parts[:2])
    last = node.parts[2]
    return f"{condition} ? {first} : {last if last.kind == '?' else _operand(last, '?')}"


def _collected(parts: Sequence[Node]) -> list[Node]:
    """Bits that stand several times in a row as one part that is repeated."""
    result: list[Node] = []
    for part, group in itertools.groupby(parts, key=lambda p: p if p.kind == "range" else id(p)):
        same = list(group)
        alone = len(same) == 1 or not isinstance(part, Node) or ":" in part.word
        result += same if alone else [Node("repeat", str(len(same)), (same[0],))]
    return result


def regrouped(parts: Sequence[Node]) -> Iterator[Node]:
    """Moves bits at the ends of a range to the repeated bits beside it, where they are the same."""
    parts = _collected(parts)
    repeated = [str(part.parts[0]) if part.kind == "repeat" else "" for part in parts]
    for part, before, after in zip(parts, ["", *repeated], [*repeated[1:], ""], strict=False):
        match = _RANGE.fullmatch(part.word) if part.kind == "range" else None
        if match is None or match[3] is None:
            yield part
            continue
        name, high, low = match[1], int(match[2]), int(match[3])
        if before == f"{name}[{high}]":
            yield Node("range", before)
            high -= 1
        last = after == f"{name}[{low}]"
        low += last
        if high >= low:
            yield Node("range", f"{name}[{high}:{low}]" if high > low else f"{name}[{high}]")
        if last:
            yield Node("range", after)


def _concat(node: Node) -> str:
    texts: list[str] = []
    runs: list[tuple[str, int]] = []
    for part in regrouped(node.parts) if node.kind == "concat" else (node,):
        repeated = part.kind == "repeat"
        if repeated and not part.word.isdigit():
            runs.append((f"{{{part.word}{{{part.parts[0]}}}}}", 1))
            continue
        text, count = str(part.parts[0] if repeated else part), int(part.word) if repeated else 1
        if runs and runs[-1][0] == text and part.kind != "constant":
            runs[-1] = (text, runs[-1][1] + count)
        else:
            runs.append((text, count))
    for text, count in runs:
        bare = text[1:-1] if text.startswith("{") and text.endswith("}") else ""
        inner = text if bare and "{" not in bare else f"{{{text}}}"
        texts += [text] * count if count < 3 else [f"{{{count}{inner}}}"]
    only = len(texts) == 1 and texts[0].startswith("{")
    return texts[0] if only else "{" + ", ".join(texts) + "}"


@lru_cache(maxsize=1 << 14)
def _constant(word: str) -> str:
    return re.sub(r"'(s?h)0+(?=[0-9a-f]+$)", r"'\1", word)


_WRITERS: dict[str, Callable[[Node], str]] = {
    "name": lambda node: node.word,
    "range": lambda node: node.word,
    "constant": lambda node: _constant(node.word),
    "code": lambda node: node.word,
    "field": lambda node: node.word,
    "index": lambda node: f"{node.word}[{node.parts[0]}]",
    "part": lambda node: f"{node.parts[0]}[{node.word}]",
    "window": lambda node: "{0}[{2} +: {1}]".format(*node.word.split(), node.parts[0]),
    "concat": _concat,
    "repeat": _concat,
    "unary": lambda node: f"{node.word}{_operand(node.parts[0])}",
    "binary": _binary,
    "?": _choice,
    "call": lambda node: f"{node.word}({node.parts[0]})",
}


class Tokens:
    """A reader of tokens; ``expression`` reads as much as belongs together."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(re.sub(r"/\*.*?\*/", "", text))
        self._at = 0

    @property
    def next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def take(self, *wanted: str) -> str:
        """The next token, which must be one of those wanted, if any are given."""
        token = self.next
        if not token or (wanted and token not in wanted):
            raise Unreadable(token)
        self._at += 1
        return token

    def skip(self, token: str) -> bool:
        """Pass over the token if it is the next one."""
        found = self.next == token
        self._at += found
        return found

    def expression(self) -> Node:
        condition = self._level(0)
        if not self.skip("?"):
            return condition
        first = self.expression()
        self.take(":")
        return Node("?", "", (condition, first, self.expression()))

    def _level(self, level: int) -> Node:
        left = self._unary()
        while (binds := _BINDS.get(self.next, -1)) >= level:
            left = Node("binary", self.take(), (left, self._level(binds + 1)))
        return left

    def _unary(self) -> Node:
        if self.next in ("~", "!", "&", "|", "^", "~^", "-"):
            return Node("unary", self.take(), (self._unary(),))
        return self.operand()

    def operand(self) -> Node:
        """Parses a name with its index, a constant, a concatenation, a call, or a parenthesised
        expression."""
        token = self.take()
        if token == "(":
            inner = self.expression()
            self.take(")")
            return inner
        if token == "{":
            return self._braces()
        if token in ("$signed", "$unsigned"):
            self.take("(")
            argument = self.expression()
            self.take(")")
            return Node("call", token, (argument,))
        if _CONSTANT.fullmatch(token):
            return Node("constant", token)
        if not _NAME.fullmatch(token):
            raise Unreadable(token)
        return self._indexed(token) if self.skip("[") else Node("name", token)

    def _indexed(self, name: str) -> Node:
        index = self.expression()
        if self.skip(":"):
            low = self.take()
            self.take("]")
            return Node("range", f"{name}[{index}:{low}]")
        if self.skip("+:"):
            size = self.take()
            self.take("]")
            return Node("window", f"{name} {size}", (index,))
        self.take("]")
        if index.kind == "constant" and index.word.isdigit():
            return Node("range", f"{name}[{index}]")
        word = Node("index", name, (index,))
        return self._part_of(word) if self.skip("[") else word

    def _part_of(self, word: Node) -> Node:
        bits = self.take()
        if self.skip(":"):
            bits += f":{self.take()}"
        self.take("]")
        return Node("part", bits, (word,))

    def _braces(self) -> Node:
        first = self.expression()
        if self.skip("{"):
            if first.kind != "constant" or not first.word.isdigit():
                raise Unreadable(str(first))
            inner = self._braces()
            self.take("}")
            part = inner.parts[0] if len(inner.parts) == 1 else inner
            return Node("repeat", first.word, (part,))
        parts = [first]
        while self.skip(","):
            parts.append(self.expression())
        self.take("}")
        return Node("concat", "", tuple(parts))


@lru_cache(maxsize=1 << 14)
def _range_width(text: str) -> int:
    match = _RANGE.fullmatch(text)
    if not match:
        raise Unreadable(text)
    return int(match[2]) - int(match[3] or match[2]) + 1


def width(node: Node, scope: Scope) -> int:
    """The self-determined width. Raises Unreadable for a signal that is not in the scope."""
    return _width(node, scope, {})


def _width(node: Node, scope: Scope, known: dict[int, int]) -> int:
    """The width; ``known`` are those of operations by their identity."""
    if node.kind in ("name", "index"):
        if node.signal not in scope:
            raise Unreadable(node.signal)
        memory = node.kind == "index" and scope[node.signal][0] < 0
        return abs(scope[node.signal][0]) if node.kind == "name" or memory else 1
    if node.kind == "range":
        return _range_width(node.word)
    if node.kind == "constant":
        size, mark, _ = node.word.partition("'")
        return int(size) if mark and size.isdigit() else 32
    if node.kind == "window":
        return int(node.word.split()[1])
    if node.kind == "part":
        high, _, low = node.word.partition(":")
        return int(high) - int(low or high) + 1
    if id(node) not in known:
        known[id(node)] = _width_of_operation(node, scope, known)
    return known[id(node)]


def _width_of_operation(node: Node, scope: Scope, known: dict[int, int]) -> int:
    widths = [_width(part, scope, known) for part in node.parts]
    if node.kind == "concat":
        return sum(widths)
    if node.kind == "repeat":
        return int(node.word) * widths[0]
    if node.kind == "?":
        return max(widths[1:])
    if node.kind == "unary":
        return 1 if node.word in _REDUCTIONS else widths[0]
    if node.kind == "binary" and node.word in COMPARISONS | _LOGICAL:
        return 1
    return widths[0] if node.kind == "call" or node.word in _SHIFTS else max(widths)


def signed(node: Node, scope: Scope) -> bool:
    """Returns whether the expression by itself is signed."""
    if node.kind == "name":
        return scope[node.word][1]
    if node.kind == "constant":
        return node.word.isdigit() or "'s" in node.word
    if node.kind == "call":
        return node.word == "$signed"
    if node.kind == "?":
        return all(signed(part, scope) for part in node.parts[1:])
    if node.kind == "unary" and node.word not in _REDUCTIONS:
        return signed(node.parts[0], scope)
    if node.kind == "binary" and node.word not in COMPARISONS | _LOGICAL:
        parts = node.parts[:1] if node.word in _SHIFTS else node.parts
        return all(signed(part, scope) for part in parts)
    return False


def sites(
    node: Node, scope: Scope, context: int, *, alone: bool
) -> Iterator[tuple[Node, int, bool]]:
    """Every operand with the width at which it is computed and whether it is self-determined.

    ``context`` is the width of what the expression is assigned to, 0 if that does not count.
    """
    known: dict[int, int] = {}
    waiting = [(node, context, alone)]
    while waiting:
        node, context, alone = waiting.pop()
        context = max(context, _width(node, scope, known))
        yield node, context, alone
        operands = []
        for position, part in enumerate(node.parts):
            apart = (
                node.kind in ("concat", "repeat", "call", "index", "part", "window")
                or (node.kind == "?" and position == 0)
                or (node.kind == "unary" and node.word in _REDUCTIONS)
                or (node.kind == "binary" and node.word in _LOGICAL)
                or (node.kind == "binary" and node.word in _SHIFTS and position == 1)
            )
            inner = 0 if apart else context
            if node.kind == "binary" and node.word in COMPARISONS:
                inner = max(_width(other, scope, known) for other in node.parts)
            operands.append((part, inner, apart))
        waiting += reversed(operands)


def replaced(node: Node, values: Mapping[int, Node]) -> Node:
    """The expression with some operands, given by their identity, replaced."""
    if id(node) in values:
        return values[id(node)]
    parts: list[Node] = []
    for part in node.parts:
        new = replaced(part, values)
        splice = node.kind == "concat" and new.kind == "concat" and new is not part
        parts += new.parts if splice else (new,)
    return Node(node.kind, node.word, tuple(parts))


def depth(node: Node) -> int:
    """Levels of operations; inversions do not count, nor does a chain of one operator."""
    levels = [
        depth(part) - (part.kind == "binary" == node.kind and part.word == node.word in _CHAINS)
        for part in node.parts
    ]
    own = node.kind in ("binary", "?", "concat") or (node.kind == "unary" and node.word != "~")
    return max(levels, default=0) + own
