"""Products of signed integers that are only added to something: one tree for both.

A datapath generator does not finish a product before it adds it: the addend is one more row of the
multiplier's tree, and one adder is less. Of the sum's bits that are above the product's only the
sign and a carry are added: they pass upwards, or count down, by one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from .multipliers import Tree
from .rtlil import CONNECTION, PARAMETER, number, signal_bits, wire_widths

__all__ = ["MultiplyAdd", "merge_products", "multiply_add_map"]

_CELL = re.compile(r"^  cell \$(mul|add) (\S+)\n(.*?)^  end\n", re.MULTILINE | re.DOTALL)
_WIRE = re.compile(r"^ +wire .*\n", re.MULTILINE)
_OUTPUT = re.compile(r"^ +wire .*\boutput \d+ .*?(\S+)$", re.MULTILINE)


class MultiplyAdd(NamedTuple):
    """Widths of the factors, and of addend and sum, which are at least as wide as the product."""

    a: int
    b: int
    total: int

    @property
    def cell(self) -> str:
        """Name of the cells that stand for it."""
        return f"signed_{self.a}_by_{self.b}_plus_{self.total}"

    @property
    def interface(self) -> str:
        """RTLIL of such a cell as a black box."""
        widths = {"A": self.a, "B": self.b, "C": self.total}
        ports = [f"  wire width {n} input {i} \\{p}" for i, (p, n) in enumerate(widths.items(), 1)]
        ports.append(f"  wire width {self.total} output 4 \\Y")
        return "\n".join(["attribute \\blackbox 1", f"module \\{self.cell}", *ports, "end", ""])


class _Cell(NamedTuple):
    kind: str
    name: str
    text: str
    facts: Mapping[str, int]
    pins: Mapping[str, list[str]]
    output: str

    @property
    def signed(self) -> bool:
        return bool(self.facts["A_SIGNED"] and self.facts["B_SIGNED"])


def _cells(rtlil: str) -> list[_Cell]:
    widths = wire_widths(rtlil)
    found = []
    for match in _CELL.finditer(rtlil):
        kind, name, body = match.groups()
        facts = {key: number(value) for key, value in PARAMETER.findall(body)}
        given = dict(CONNECTION.findall(body))
        pins = {pin: signal_bits(signal, widths) for pin, signal in given.items()}
        found.append(_Cell(kind, name, match[0], facts, pins, given["Y"]))
    return found


def _without_extension(bits: list[str]) -> list[str]:
    """A signed operand without copies of its sign bit."""
    size = len(bits)
    while size > 1 and bits[size - 2] == bits[size - 1]:
        size -= 1
    return bits[:size]


def _addend(product: _Cell, add: _Cell) -> list[str] | None:
    """Returns the operand that is added to the product; None if the product is not added whole and
    with its sign."""
    total = add.facts["Y_WIDTH"]
    if not add.signed or total < len(product.pins["Y"]):
        return None
    for one, other in (("A", "B"), ("B", "A")):
        bits = add.pins[other]
        if _without_extension(add.pins[one]) == product.pins["Y"]:
            return (bits + [bits[-1]] * total)[:total]
    return None


def merge_products(rtlil: str) -> tuple[str, set[MultiplyAdd]]:
    """A module's text with a cell, see :class:`MultiplyAdd`, for each signed product of at least
    3 x 3 bits, none of its factors' bits a constant, and the sum that alone uses it."""
    cells = _cells(rtlil) if "cell $mul" in rtlil else []
    outputs = set(_OUTPUT.findall(rtlil))
    found = set()
    for product in cells:
        if product.kind != "mul" or not product.signed or product.output in outputs:
            continue
        factors = [_without_extension(product.pins[pin]) for pin in "AB"]
        a, b = map(len, factors)
        whole = a + b <= product.facts["Y_WIDTH"] and " " not in product.output
        if min(a, b) < 3 or not whole or any("'" in bit for bits in factors for bit in bits):
            continue
        elsewhere = _WIRE.sub("", rtlil).replace(product.text, "")
        for add in cells:
            addend = _addend(product, add) if add.kind == "add" else None
            used = re.escape(product.output) + r"(?!\S)"
            if addend is None or re.search(used, elsewhere.replace(add.text, "")):
                continue
            if any(bit in addend for bit in product.pins["Y"]):
                continue
            merged = MultiplyAdd(a, b, add.facts["Y_WIDTH"])
            found.add(merged)
            pins = {"A": factors[0], "B": factors[1], "C": addend, "Y": add.pins["Y"]}
            lines = [f"    connect \\{p} {{ {' '.join(x[::-1])} }}" for p, x in pins.items()]
            cell = "\n".join([f"  cell \\{merged.cell} {add.name}", *lines, "  end", ""])
            rtlil = rtlil.replace(product.text, "").replace(add.text, cell)
            break
    return rtlil, found


def _module(found: MultiplyAdd) -> str:
    """A techmap rule.

    The low half of the columns is ready early, and rippled; the others are added as ever. The
    product is its value and a carry out of the tree, which is not there if it is negative.
    """
    bits, upper = found.a + found.b, found.total - found.a - found.b
    tree = Tree(found.a, found.b, signed=True)
    for weight, column in enumerate(tree.columns):
        column.append(f"C[{weight}]")
    tree.columns.append([])
    tree.reduce()
    half = bits // 2
    low, carry = tree.ripple(half)
    rows = [
        ", ".join([*c, "1'b0", "1'b0"][i] for c in tree.columns[half:bits][::-1]) for i in (0, 1)
    ]
    lines = [
        f'(* techmap_celltype = "{found.cell}" *)',
        f"module map_{found.cell}(A, B, C, Y);",
        f"input [{found.a - 1}:0] A; input [{found.b - 1}:0] B; input [{found.total - 1}:0] C;",
        f"output [{found.total - 1}:0] Y;",
        *tree.lines,
        f"wire [{bits - half + 1}:0] high = {{{rows[0]}, 1'b1}} + {{{rows[1]}, {carry}}};",
        f"assign Y[{bits - 1}:0] = {{high[{bits - half}:1], {', '.join(low[::-1])}}};",
    ]
    if upper:
        lines += [
            f"wire carry = high[{bits - half + 1}], negative = ~{tree.columns[bits][0]};",
            f"wire [{upper - 1}:0] flip = {{{upper}{{negative}}}};",
            f"wire [{upper - 1}:0] above = C[{found.total - 1}:{bits}] ^ flip;",
            f"assign Y[{found.total - 1}:{bits}] = (above + (carry ^ negative)) ^ flip;",
        ]
    return "\n".join([*lines, "endmodule", ""])


def multiply_add_map(found: set[MultiplyAdd]) -> str:
    """Techmap rules for such cells."""
    return "\n".join(map(_module, sorted(found)))
