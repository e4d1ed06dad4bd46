"""The items of a Verilog module's body, as yosys writes them: parsing and writing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .expressions import Node, Tokens, Unreadable, width

COLUMNS = 100


@dataclass
class Assign:
    """``target = value``, continuous if it is an item of the module, or ``target <= value``."""

    target: Node
    value: Node
    clocked: bool = False


@dataclass
class Branch:
    """Branch of a switch: a condition, labels, or (if both are absent) the default."""

    labels: tuple[Node, ...]
    body: list[Statement]


@dataclass
class Switch:
    """Chain of ifs (no subject), or a case statement; the first branch that fits is executed."""

    subject: Node | None
    branches: list[Branch]


Statement = Assign | Switch


@dataclass
class Process:
    """Process: ``always_comb`` or ``always_ff @(posedge clk)``, with its body."""

    head: str
    body: list[Statement]

    @property
    def clocked(self) -> bool:
        return self.head != "always_comb"


@dataclass
class Instance:
    """An instance: module and name, its pins, the values of the module's parameters."""

    head: str
    pins: list[tuple[str, Node | None]] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)

    @property
    def opening(self) -> str:
        """The text before the pins."""
        settings = ", ".join(f".{name}({value})" for name, value in self.parameters.items())
        return f"{self.head.replace(' ', f' #({settings}) ') if settings else self.head} ("


@dataclass
class Raw:
    """Text that is left as it is."""

    text: str


Item = Assign | Process | Instance | Raw


def _block(tokens: Tokens) -> list[Statement]:
    """One statement, or those between begin and end."""
    if not tokens.skip("begin"):
        return _statement(tokens)
    body: list[Statement] = []
    while not tokens.skip("end"):
        body += _statement(tokens)
    return body


def _zeros(target: Node, value: Node) -> tuple[Node, ...]:
    """A zero for each part of a target, if the value is one."""
    if value.kind != "constant" or not re.fullmatch(r"\d+'[bdh]0+", value.word):
        return ()
    try:
        return tuple(Node("constant", f"{width(part, {})}'h0") for part in target.parts)
    except Unreadable:
        return ()


def _split(statement: Assign) -> list[Statement]:
    """An assignment to several parts of signals as one to each, if the values are as wide."""
    target, value = statement.target, statement.value
    whole: list[Statement] = [statement]
    if target.kind != "concat":
        return whole
    values = value.parts if value.kind == "concat" else _zeros(target, value)
    if len(target.parts) != len(values) or target.signals() & value.signals():
        return whole
    pairs = list(zip(target.parts, values, strict=True))
    try:
        fits = all(width(left, {}) == width(right, {}) for left, right in pairs)
    except Unreadable:
        return whole
    return [Assign(*pair, statement.clocked) for pair in pairs] if fits else whole


def _statement(tokens: Tokens) -> list[Statement]:
    if tokens.skip(";"):
        return []
    if tokens.next == "begin":
        return _block(tokens)
    if tokens.next == "if":
        branches: list[Branch] = []
        while tokens.skip("if"):
            tokens.take("(")
            condition = tokens.expression()
            tokens.take(")")
            branches.append(Branch((condition,), _block(tokens)))
            if not tokens.skip("else"):
                return [Switch(None, branches)]
        branches.append(Branch((), _block(tokens)))
        return [Switch(None, branches)]
    if tokens.next in ("case", "casez"):
        return [_case(tokens)]
    target = tokens.operand()
    clocked = tokens.take("=", "<=") == "<="
    value = tokens.expression()
    tokens.take(";")
    return _split(Assign(target, value, clocked))


def _case(tokens: Tokens) -> Switch:
    tokens.take()
    tokens.take("(")
    subject = tokens.expression()
    tokens.take(")")
    branches: list[Branch] = []
    while not tokens.skip("endcase"):
        labels: list[Node] = []
        if not tokens.skip("default"):
            labels.append(tokens.operand())
            while tokens.skip(","):
                labels.append(tokens.operand())
        tokens.take(":")
        branches.append(Branch(tuple(labels), _block(tokens)))
    return Switch(subject, branches)


def _instance(text: str) -> Instance:
    match = re.match(r" *(\w+ \w+) \(", text)
    if not match:
        raise Unreadable(text)
    tokens = Tokens(text[match.end() :])
    instance = Instance(match[1])
    while not tokens.skip(")"):
        tokens.take(".")
        pin = tokens.take()
        tokens.take("(")
        instance.pins.append((pin, None if tokens.next == ")" else tokens.expression()))
        tokens.take(")")
        tokens.skip(",")
    tokens.take(";")
    return instance


def _item(text: str) -> Item:
    word = text.split(None, 1)[0]
    if word == "assign":
        tokens = Tokens(text.split(None, 1)[1])
        target = tokens.operand()
        tokens.take("=")
        item: Item = Assign(target, tokens.expression())
        tokens.take(";")
    elif word == "always_comb":
        tokens = Tokens(text.split(None, 1)[1])
        item = Process(word, _block(tokens))
    elif match := re.match(r" *(always_ff @\(posedge \w+\))", text):
        tokens = Tokens(text[match.end() :])
        item = Process(match[1], _block(tokens))
    else:
        return _instance(text)
    if tokens.next:
        raise Unreadable(tokens.next)
    return item


def items(body: str) -> Iterator[Item]:
    """The items of a body; those that are not understood as raw text."""
    chunks: list[str] = []
    for line in body.splitlines():
        starts = re.match(r"  (?![ )])", line) and not re.match(r"  end\b", line)
        if starts or not chunks:
            chunks.append(line)
        else:
            chunks[-1] += "\n" + line
    for chunk in chunks:
        try:
            yield _item(chunk)
        except Unreadable:
            yield Raw(re.sub(r"'(s?h)0+(?=[0-9a-f]+\b)", r"'\1", chunk))


def _spots(line: str) -> Iterator[tuple[int, int]]:
    """Finds the places at which a line may be broken, after commas and operators: number of open
    brackets, and one more after a comparison; column."""
    nesting = 0
    for column, character in enumerate(line[:COLUMNS]):
        nesting += (character in "([{") - (character in ")]}")
        if character in ",?:&|^+*=<-" and re.match(r" \S", line[column + 1 : column + 3]):
            compares = character in "=<" and line[column - 1] in "=!<> "
            yield nesting + (compares and nesting > 0), column + 2


def broken(line: str) -> str:
    """A line that is too long, in several, broken where the fewest brackets are open."""
    lines: list[str] = []
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    while len(line) > COLUMNS:
        spots = [spot for spot in _spots(line) if spot[1] > len(indent)]
        late = [spot for spot in spots if spot[1] > COLUMNS // 2] or spots
        if not late:
            break
        column = min(late, key=lambda spot: (spot[0], -spot[1]))[1]
        lines.append(line[:column].rstrip())
        line = indent + line[column:]
    return "\n".join([*lines, line])


def wrapped(words: Sequence[str], start: str, indent: str) -> str:
    """The words after ``start``, separated by commas, in lines that are not too long."""
    lines, line = [], start
    for number, word in enumerate(words):
        item = word + "," if number + 1 < len(words) else word
        room = COLUMNS if number + 1 < len(words) else COLUMNS - len(");")
        if line.strip() and len(line) + 1 + len(item) > room and line != start:
            lines.append(line)
            line = indent + item
        else:
            line += (" " if line.strip() and line != indent else "") + item
    return "\n".join(map(broken, [*lines, line]))


def _is_plain(body: list[Statement]) -> bool:
    return len(body) == 1 and isinstance(body[0], Assign)


def _assign_text(statement: Assign) -> str:
    return f"{statement.target} {'<=' if statement.clocked else '='} {statement.value};"


def _body_lines(body: list[Statement], indent: str) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, Assign):
            yield indent + _assign_text(statement)
        elif statement.subject is None:
            yield from _if_lines(statement, indent)
        else:
            yield from _case_lines(statement, indent)


def _short(head: str, body: list[Statement], indent: str) -> str:
    """A head and its only assignment on one line, or nothing if that does not fit."""
    if not _is_plain(body) or not isinstance(body[0], Assign):
        return ""
    line = f"{indent}{head} {_assign_text(body[0])}"
    return line if len(line) <= COLUMNS else ""


def _if_lines(switch: Switch, indent: str) -> Iterator[str]:
    heads = [
        ("else " if number else "") + (f"if ({branch.labels[0]})" if branch.labels else "")
        for number, branch in enumerate(switch.branches)
    ]
    heads = [head.rstrip() for head in heads]
    bodies = [branch.body for branch in switch.branches]
    short = [_short(head, body, indent) for head, body in zip(heads, bodies, strict=True)]
    if all(short):
        yield from short
        return
    for number, (head, body) in enumerate(zip(heads, bodies, strict=True)):
        yield f"{indent}{'end ' if number else ''}{head} begin"
        yield from _body_lines(body, indent + "  ")
    yield f"{indent}end"


def _only_if(body: list[Statement], indent: str) -> list[str]:
    """The lines of a body that is nothing but a chain of ifs, in blocks."""
    only = body[0] if len(body) == 1 else None
    if not isinstance(only, Switch) or only.subject is not None:
        return []
    lines = list(_if_lines(only, indent))
    return lines if lines[0].endswith("begin") or len(lines) == 1 else []


def is_complete(switch: Switch) -> bool:
    """Returns whether a case statement has a branch for every value."""
    every = [label for branch in switch.branches for label in branch.labels]
    labels = [str(label.parts[0] if label.kind == "code" else label) for label in every]
    if not all(branch.labels for branch in switch.branches):
        return True
    return sum(1 << label.count("?") for label in labels) >= 1 << int(labels[0].split("'")[0])


def _many_labels(branch: Branch, indent: str) -> Iterator[str]:
    """A branch of a case with more labels than a line holds, and its only assignment."""
    lines = wrapped([*map(str, branch.labels)], indent, indent + "    ").split("\n")
    yield from lines[:-1]
    yield from _body_lines(branch.body, f"{lines[-1]}: ")


def _case_lines(switch: Switch, indent: str) -> Iterator[str]:
    labels = [str(label) for b in switch.branches for label in b.labels if label.kind != "code"]
    yield f"{indent}{'casez' if re.search('[xz?]', ''.join(labels)) else 'case'} ({switch.subject})"
    for branch in switch.branches:
        head = (", ".join(map(str, branch.labels)) or "default") + ":"
        if not branch.body:
            yield f"{indent}  {head} ;"
        elif line := _short(head, branch.body, indent + "  "):
            yield line
        elif len(head) > COLUMNS and _is_plain(branch.body):
            yield from _many_labels(branch, indent + "  ")
        elif lines := _only_if(branch.body, indent + "  "):
            yield f"{indent}  {head} {lines[0].lstrip()}"
            yield from lines[1:]
        else:
            yield f"{indent}  {head} begin"
            yield from _body_lines(branch.body, indent + "    ")
            yield f"{indent}  end"
    if not is_complete(switch):
        yield f"{indent}  default: ;"
    yield f"{indent}endcase"


def written(item: Item) -> str:
    """The text of an item."""
    if isinstance(item, Raw):
        return item.text
    if isinstance(item, Assign):
        return broken(f"  assign {item.target} = {item.value};")
    if isinstance(item, Instance):
        pins = [
            f".{pin}" if str(value) == pin else f".{pin}({'' if value is None else value})"
            for pin, value in item.pins
        ]
        return f"{broken(f'  {item.opening}')}\n{wrapped(pins, '    ', '    ')});"
    if _is_plain(item.body) and item.clocked:
        return broken("  " + item.head + next(_body_lines(item.body, " ")))
    lines = [f"  {item.head} begin", *_body_lines(item.body, "    "), "  end"]
    return "\n".join(map(broken, lines))
