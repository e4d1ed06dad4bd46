"""Multipliers as Dadda trees: what a synthesis tool's datapath generator makes of ``a * b``.

Source: L. Dadda, "Some schemes for parallel multipliers" (1965): columns of partial products are
reduced by full and half adders, no sooner than needed, to two rows, which one adder sums.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["multiplier_map", "multiplier_widths"]

_CELL = re.compile(r"cell \$mul \S+\n(.*?)\n\s*end\n", re.DOTALL)
_PARAMETER = re.compile(r"parameter (?:signed )?\\(\w+) (\S+)")


def multiplier_widths(rtlil: str) -> list[tuple[int, int]]:
    """Operand widths of the unsigned multipliers of a module that keep all product bits."""
    found = set()
    for match in _CELL.finditer(rtlil):
        given = {name: _number(value) for name, value in _PARAMETER.findall(match[1])}
        a, b = given["A_WIDTH"], given["B_WIDTH"]
        unsigned = not given["A_SIGNED"] and not given["B_SIGNED"]
        if unsigned and given["Y_WIDTH"] == a + b and min(a, b) > 2:
            found.add((a, b))
    return sorted(found)


def _number(text: str) -> int:
    return int(text.split("'")[-1], 2) if "'" in text else int(text)


class _Tree:
    """The partial products of one multiplier, column by column, and their reduction."""

    def __init__(self, a: int, b: int) -> None:
        self.lines: list[str] = []
        self.columns: list[list[str]] = [[] for _ in range(a + b)]
        for i in range(a):
            for j in range(b):
                self.columns[i + j].append(self._wire(f"A[{i}] & B[{j}]"))

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


def _module(a: int, b: int) -> str:
    tree = _Tree(a, b)
    tree.reduce()
    first = next(i for i, column in enumerate(tree.columns) if len(column) > 1)
    low = ", ".join(column[0] for column in reversed(tree.columns[:first]))
    tall = tree.columns[first:][::-1]
    rows = [", ".join([*column, "1'b0", "1'b0"][i] for column in tall) for i in range(2)]
    fits = f"A_WIDTH == {a} && B_WIDTH == {b} && Y_WIDTH == {a + b}"
    return "\n".join(
        [
            '(* techmap_celltype = "$mul" *)',
            f"module dadda_{a}_by_{b}(A, B, Y);",
            "parameter A_SIGNED = 0; parameter B_SIGNED = 0;",
            "parameter A_WIDTH = 0; parameter B_WIDTH = 0; parameter Y_WIDTH = 0;",
            f"input [{a - 1}:0] A; input [{b - 1}:0] B; output [{a + b - 1}:0] Y;",
            f"wire _TECHMAP_FAIL_ = A_SIGNED || B_SIGNED || !({fits});",
            *tree.lines,
            f"wire [{a + b - first - 1}:0] high = {{{rows[0]}}} + {{{rows[1]}}};",
            f"assign Y = {{high, {low}}};",
            "endmodule",
            "",
        ]
    )


def multiplier_map(widths: Iterable[tuple[int, int]]) -> str:
    """Techmap rules for ``$mul`` cells of these operand widths."""
    return "\n".join(_module(a, b) for a, b in widths)
