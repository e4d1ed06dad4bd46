"""RTLIL to SystemVerilog: yosys writes it, this makes it pleasant to read.

Ports are declared once, in the module's head, clock and reset first; everything is ``logic``;
intermediate results are named after the operation that computes them.
"""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from amaranth.back import verilog

__all__ = ["LINT_WAIVERS", "to_verilog"]

LINT_WAIVERS: dict[str, str] = {
    "DECLFILENAME": "one file holds the unit and all modules below it, under any name",
    "SYMRSVDWORD": "a name that C++ reserves is a good name in Verilog",
    "VARHIDDEN": "a port may be named like an instance of its module",
    "UNUSEDSIGNAL": "bits that a computation drops on purpose: carries, ignored operand bits",
}
"""What Verilator's -Wall would report and why it is meant so; all other rules hold."""

_SCRIPT = "proc -nomux -norom -noopt\nmemory_collect\nwrite_verilog -sv -norename -noattr"

_DECLARATION = re.compile(
    r"^  (input|output|wire|reg)( signed)?( \[\d+:\d+\])? (\\\S+ |\w+)((?: \[\d+:\d+\])?);\n", re.M
)
_INSTANCE = re.compile(r"^(  \w+ \S+ \()\n((?:    \.\w+\(.*\),?\n)+)  \);\n", re.M)
_STEP = re.compile(
    r"^(  assign (\w+) = ([~!|&]?{0}|{0} [&|^] {0}|{0} \? {0} : {0});)$".format(
        r"(?:[\w$]+(?:\[[\d:]+\])?|\d+'[hd][0-9a-f]+)"
    ),
    re.M,
)
_PLAIN_ALWAYS = re.compile(r"^  always_comb begin\n    (\w+ = .*;)\n  end\n", re.M)
_UNARY = re.compile(r"(?<=[=?:(] )([~!|&^-]) (?=[\w$])")
_ZERO = re.compile(r"'(h0)0+\b")
_ESCAPED = re.compile(r"\\(\S+) ")
_REPEATED = re.compile(r"(?<=[{ ])([\w$]+\[\d+\])((?:, \1){2,})(?=[, ])")


def _run_yosys(rtlil: str) -> str:
    # The yosys of the package before one of the machine: the same text everywhere.
    os.environ.setdefault("AMARANTH_USE_YOSYS", "builtin,system")
    yosys = verilog.find_yosys(lambda version: version >= (0, 40))
    script = f"read_rtlil <<rtlil\n{rtlil}\nrtlil\n{_SCRIPT}\n"
    text: str = yosys.run(["-q", "-"], script, ignore_warnings=True)
    return text


def _operation_names(rtlil: str) -> dict[str, str]:
    """Readable names for the anonymous wires of a module: what computes them, numbered."""
    hints: dict[str, str] = {}
    for cell, body in re.findall(r"^  cell \\\S+ \\(\S+)\n(.*?)^  end$", rtlil, re.M | re.S):
        for port, wire in re.findall(r"connect \\(\S+) (\$\d+)$", body, re.M):
            hints[wire] = f"{cell}__{port}"
    for kind, body in re.findall(r"^  cell \$(\w+) \S+\n(.*?)^  end$", rtlil, re.M | re.S):
        ports = dict(re.findall(r"connect \\(\w+) ([\\$]\S+)", body))
        if kind in ("dff", "adff"):
            hints.setdefault(ports.get("D", ""), ports["Q"].lstrip("\\$") + "_next")
        else:
            hints.setdefault(ports.get("Y") or ports.get("DATA", ""), kind)
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    for wire in re.findall(r"^  wire width \d+ (\$\d+)$", rtlil, re.M):
        hint = hints.get(wire, "select")
        if hint.endswith("_next") or "__" in hint:
            names[wire] = hint
        else:
            counts[hint] = counts.get(hint, 0) + 1
            names[wire] = f"{hint}_{counts[hint]}"
    return names


def _rename(text: str, names: Mapping[str, str]) -> str:
    """Replace escaped identifiers by plain ones where one is free."""
    taken = set(re.findall(r"(?<![\\\w$'])[A-Za-z_]\w*", text))
    chosen: dict[str, str] = {}
    for escaped in dict.fromkeys(_ESCAPED.findall(text)):
        wanted = names.get(escaped, re.sub(r"\W+", "_", escaped).strip("_"))
        if wanted == escaped:  # a keyword
            wanted = f"{escaped}_"
        candidate, count = wanted, 1
        while candidate in taken:
            count += 1
            candidate = f"{wanted}_{count}"
        taken.add(candidate)
        chosen[escaped] = candidate
    text = _ESCAPED.sub(lambda m: chosen.get(m[1], m[0]), text)
    return text


def _wrap(words: Sequence[str], start: str, indent: str) -> str:
    """The words after ``start``, separated by commas, in lines of at most 100 columns."""
    lines, line = [], start
    for number, word in enumerate(words):
        item = word + ("," if number + 1 < len(words) else "")
        if line.strip() and len(line) + 1 + len(item) > 100 and line != start:
            lines.append(line)
            line = indent + item
        else:
            line += (" " if line.strip() and line != indent else "") + item
    return "\n".join([*lines, line])


def _declarations(texts: Sequence[str]) -> str:
    """Declarations of one width after the other, those of one width together."""
    lines = []
    for kind, group in itertools.groupby(texts, key=lambda text: text.rpartition(" ")[0]):
        names = [text.rpartition(" ")[2] for text in group]
        lines.append(_wrap(names, f"  {kind}", "    ") + ";\n")
    return "".join(lines)


def _inline(body: str, declared: dict[str, str]) -> str:
    """Write an operation of one step that only feeds one pin of an instance at that pin."""
    counts = Counter(re.findall(r"\w+", body))
    pins = {
        f"{instance}__{pin}": f".{pin}({instance}__{pin})"
        for _, instance, text in re.findall(r"^  (\w+) (\w+) \(\n(.*?)^  \);", body, re.M | re.S)
        for pin in re.findall(r"\.(\w+)\(", text)
    }
    written: dict[str, str] = {}
    gone: set[str] = set()
    for line, name, expression in _STEP.findall(body):
        if name in pins and name in declared and counts[name] == 2:
            written[pins[name]] = f"{pins[name].split('(')[0]}({expression})"
            gone.add(line)
            del declared[name]
    lines = [line for line in body.split("\n") if line not in gone]
    pattern = re.compile(r"\.\w+\(\w+\)")
    return pattern.sub(lambda match: written.get(match[0], match[0]), "\n".join(lines))


def _complete_cases(body: str) -> str:
    """Say that a case statement does nothing for the values that it does not list."""
    lines: list[str] = []
    open_cases: list[tuple[str, list[str]]] = []  # indentation, labels
    for line in body.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        if line.startswith(f"{indent}case"):
            open_cases.append((indent, []))
        elif open_cases and indent == open_cases[-1][0] + "  " and line.endswith(":"):
            open_cases[-1][1].extend(line.strip().rstrip(":").split(", "))
        elif line.strip() == "endcase":
            _, labels = open_cases.pop()
            values = sum(1 << label.count("?") for label in labels)
            if "default" not in labels and values < 1 << int(labels[0].partition("'")[0]):
                lines.append(f"{indent}  default: ;")
        lines.append(line)
    return "\n".join(lines)


def _name_broadcasts(body: str, declared: dict[str, str], ports: Mapping[str, str]) -> str:
    """Name a signal that goes to one pin of several instances after that pin."""
    uses: dict[str, Counter[str]] = {}
    for pin, name in re.findall(r"\.(\w+)\((\w+)\)", body):
        if name in declared and "__" in name:
            uses.setdefault(name, Counter())[pin] += 1
    instances = re.findall(r"^  \w+ (\w+) \($", body, re.M)
    taken = {*declared, *ports, *instances}
    chosen: dict[str, str] = {}
    for name, pins in uses.items():
        pin, count = pins.most_common(1)[0]
        if count > 2 and pin not in taken:
            taken.add(pin)
            chosen[name] = pin
            declared[pin] = re.sub(rf"\b{name}\b", pin, declared.pop(name))
    return re.sub(r"\b\w+__\w+\b", lambda match: chosen.get(match[0], match[0]), body)


def _pins(match: re.Match[str]) -> str:
    pins = [line.strip().removesuffix(",") for line in match[2].splitlines()]
    pins = [re.sub(r"^\.(\w+)\(\1\)$", r".\1", pin) for pin in pins]
    return f"{match[1]}\n{_wrap(pins, '    ', '    ')});\n"


def _repeat(match: re.Match[str]) -> str:
    count = match[2].count(",") + 1
    return f"{{{count}{{{match[1]}}}}}"


def _declaration_order(declared: Mapping[str, str], names: Mapping[str, str]) -> list[str]:
    """Signals named by people first, then intermediate results, by width, name and number."""
    derived = set(names.values())

    def key(name: str) -> tuple[bool, str, list[tuple[int, str]]]:
        parts = [(int(p), "") if p.isdigit() else (-1, p) for p in re.findall(r"\d+|\D+", name)]
        return name in derived, declared[name].rpartition(" ")[0], parts

    return sorted(declared, key=key)


def _module(text: str, ports: Sequence[str], names: Mapping[str, str]) -> str:
    head, _, body = text.partition(");\n")
    module = head.split("(")[0].split()[1]
    body = _rename(body, names)
    directions: dict[str, str] = {}
    declared: dict[str, str] = {}
    for kind, signed, size, name, memory in _DECLARATION.findall(body):
        name = name.strip()
        if kind in ("input", "output"):
            directions[name] = kind
        else:
            declared[name] = f"logic{signed}{size} {name}{memory}"
    order = [name for name in ports if name in directions]
    order += sorted(set(directions) - set(order))
    lines = ",\n".join(f"  {directions[p]:6} {declared.pop(p)}" for p in order)
    body = _DECLARATION.sub("", body)
    body = re.sub(r"(?<=\S) +(?=[,;)}\[])", "", re.sub(r"([{~]) (?=\S)", r"\1", body))
    body = _PLAIN_ALWAYS.sub(r"  assign \1\n", body)
    body = _UNARY.sub(r"\1", _ZERO.sub(r"'\1", _REPEATED.sub(_repeat, body)))
    body = _name_broadcasts(_inline(body, declared), declared, directions)
    body = _INSTANCE.sub(_pins, _complete_cases(body))
    inner = _declarations([declared[name] for name in _declaration_order(declared, names)])
    return f"module {module} (\n{lines}\n);\n{inner}{body}"


def to_verilog(modules: Mapping[str, tuple[str, Sequence[str]]]) -> str:
    """SystemVerilog of the modules, given as name -> (RTLIL, port names in order)."""
    text = _run_yosys("\n".join(rtlil for rtlil, _ in modules.values()))
    texts: dict[str, str] = {}
    for module in re.findall(r"^module .*?^endmodule$", text, re.M | re.S):
        name = module.split("(")[0].split()[1].lstrip("\\")
        rtlil, ports = modules.get(name, ("", ()))
        texts[name] = _module(module, ports, _operation_names(rtlil))
    order = [name for name in modules if name in texts]
    order += [name for name in texts if name not in modules]
    return "\n\n".join(texts[name] for name in order) + "\n"
