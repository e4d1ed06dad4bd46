"""Multipliers as Dadda trees: what a synthesis tool's datapath generator makes of ``a * b``.

Sources: L. Dadda, "Some schemes for parallel multipliers" (1965): columns of partial products are
reduced by full and half adders, no sooner than needed, to two rows, which one adder sums. Signed
ones: C. R. Baugh and B. A. Wooley, "A two's complement parallel array multiplication algorithm"
(1973): partial products with one of the sign bits are inverted, and constants make up for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Multiplication", "Tree", "multiplications", "multiplier_map"]

_CELL = re.compile(r"cell \$mul \S+\n(.*?)\n\s*end\n", re.DOTALL)
_PARAMETER = re.compile(r"parameter (?:signed )?\\(\w+) (\S+)")


class Multiplication(NamedTuple):
    """Operand widths, and whether the operands are signed, both or none."""

    a: int
    b: int
    signed: bool = False


def multiplications(rtlil: str) -> list[Multiplication]:
    """The multipliers of a module that keep all product bits, once ``wreduce`` has cut off the sign
    bits by which operands are extended."""
    found = set()
    for match in _CELL.finditer(rtlil):
        given = {name: _number(value) for name, value in _PARAMETER.findall(match[1])}
        signed = bool(given["A_SIGNED"])
        a, b = (
            given[f"{pin}_WIDTH"] - (_extension(match[1], pin) if signed else 0) for pin in "AB"
        )
        whole = given["Y_WIDTH"] >= a + b if signed else given["Y_WIDTH"] == a + b
        if given["A_SIGNED"] == given["B_SIGNED"] and whole and min(a, b) > 2:
            found.add(Multiplication(a, b, signed))
    return sorted(found)


def _extension(cell: str, pin: str) -> int:
    """Returns how many copies of the sign bit extend an operand."""
    joined = re.search(rf"connect \\{pin} {{ (.*) }}", cell)
    if joined is None:
        return 0
    parts = re.findall(r"\S+(?: \[[\d:]+\])?", joined[1])
    return next(i for i, part in enumerate([*parts, ""]) if part != parts[0])


def _number(text: str) -> int:
    return int(text.split("'")[-1], 2) if "'" in text else int(text)


class Tree:
    """The partial products of one multiplier, column by column, and their reduction."""

    def __init__(self, a: int, b: int, *, signed: bool) -> None:
        self.lines: list[str] = []
        self.columns: list[list[str]] = [[] for _ in range(a + b)]
        for i in range(a):
            for j in range(b):
                inverted = signed and (i == a - 1) != (j == b - 1)
                product = f"A[{i}] & B[{j}]"
                self.columns[i + j].append(self._wire(f"~({product})" if inverted else product))
        if signed:
            # An inverted row of n bits from weight w on is too large by 2**w (2**n - 1).
            constant = (1 << (a - 1)) + (1 << (b - 1)) + (1 << (a + b - 1))
            for weight, column in enumerate(self.columns):
                if constant >> weight & 1:
                    column.append("1'b1")

    def _wire(self, expression: str) -> str:
        name = f"p{len(self.lines)}"
        self.lines.append(f"wire {name} = {expression};")
        return name

    def _add(self, bits: list[str], weight: int) -> str:
        """A full adder, or a half adder for two bits; returns the sum, files the carry."""
        index = len(self.lines)
        total, carry = f"s{index}", f"c{index}"
        a, b, c = [*bits, "1'b0"][:3]
        self.lines.append(
            f"wire {total}, {carry}; \\$fa #(.WIDTH(1)) f{index} "
            f"(.A({a}), .B({b}), .C({c}), .Y({total}), .X({carry}));"
        )
        if weight + 1 < len(self.columns):
            self.columns[weight + 1].append(carry)
        return total

    def reduce(self) -> None:
        """Bring every column down to two bits, by Dadda's sequence of heights."""
        heights = [2]
        while heights[-1] < max(map(len, self.columns)):
            heights.append(heights[-1] * 3 // 2)
        for height in reversed(heights):
            for weight, column in enumerate(self.columns):
                while len(column) > height:
                    count = 3 if len(column) > height + 1 else 2
                    bits, column[:] = column[:count], column[count:]
                    column.append(self._add(bits, weight))

    def ripple(self, count: int) -> tuple[list[str], str]:
        """Add up the lowest columns, of at most two bits each: their sum and its carry."""
        carry = ""
        total = []
        for column in self.columns[:count]:
            bits = [*column, carry] if carry else column
            if len(bits) == 1:
                total.append(bits[0])
                carry = ""
                continue
            total.append(self._add(bits, len(self.columns)))
            carry = f"c{total[-1][1:]}"
        return total, carry or "1'b0"


def _module(a: int, b: int, signed: bool) -> str:
    tree = Tree(a, b, signed=signed)
    tree.reduce()
    first = next(i for i, column in enumerate(tree.columns) if len(column) > 1)
    low = ", ".join(column[0] for column in reversed(tree.columns[:first]))
    tall = tree.columns[first:][::-1]
    rows = [", ".join([*column, "1'b0", "1'b0"][i] for column in tall) for i in range(2)]
    fits = f"A_WIDTH == {a} && B_WIDTH == {b} && Y_WIDTH == {a + b}"
    signs = "A_SIGNED && B_SIGNED" if signed else "!A_SIGNED && !B_SIGNED"
    kind = "signed" if signed else "unsigned"
    return "\n".join(
        [
            '(* techmap_celltype = "$mul" *)',
            f"module dadda_{kind}_{a}_by_{b}(A, B, Y);",
            "parameter A_SIGNED = 0; parameter B_SIGNED = 0;",
            "parameter A_WIDTH = 0; parameter B_WIDTH = 0; parameter Y_WIDTH = 0;",
            f"input [{a - 1}:0] A; input [{b - 1}:0] B; output [{a + b - 1}:0] Y;",
            f"wire _TECHMAP_FAIL_ = !({signs} && {fits});",
            *tree.lines,
            f"wire [{a + b - first - 1}:0] high = {{{rows[0]}}} + {{{rows[1]}}};",
            f"assign Y = {{high, {low}}};",
            "endmodule",
            "",
        ]
    )


def multiplier_map(found: Iterable[Multiplication]) -> str:
    """Techmap rules for ``$mul`` cells that are such multipliers."""
    return "\n".join(_module(*each) for each in found)
