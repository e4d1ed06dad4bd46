"""The synthesis flow's comparators: proved equal to yosys' ordering cells by yosys."""

from __future__ import annotations

import pytest
from tilewright.synth.base.yosys import run_yosys
from tilewright.synth.mapping.comparators import COMPARATOR_RULES
from tilewright.verif.kit.sampling import slow_but

CELLS = {"$gt": "a > b", "$lt": "a < b", "$ge": "a >= b", "$le": "a <= b"}
WIDTHS = [(7, 5), (3, 6), (5, 5), (4, 4), (1, 9), (13, 13)]

_SOURCE = """
module top(input {signed_a} [{a}:0] a, input {signed_b} [{b}:0] b, output [3:0] y);
  assign y = {{{orders}}};
endmodule
"""

_MAPPED = "select -assert-none " + " ".join(f"gate/t:{cell}" for cell in CELLS)
_KEPT = "\n    ".join(f"select -assert-count 1 gate/t:{cell}" for cell in CELLS)


def prove(source: str, expected: str, rules: str = COMPARATOR_RULES) -> None:
    """Map the comparisons of ``source`` and prove that nothing changed. Raises RuntimeError."""
    script = f"""
    read_verilog -sv top.v
    hierarchy -top top
    proc
    opt_clean
    rename top gold
    copy gold gate
    techmap -map comparators.v gate
    opt_clean gate
    {expected}
    miter -equiv -make_assert -flatten gold gate both
    hierarchy -top both
    sat -verify -prove-asserts both
    write_rtlil proved.il
    """
    files = {"top.v": source, "comparators.v": rules}
    assert "module \\both" in run_yosys(script, files, ["proved.il"])["proved.il"]


def comparisons(a: int, b: int, signs: tuple[str, str] = ("", "")) -> str:
    orders = ", ".join(CELLS.values())
    return _SOURCE.format(a=a - 1, b=b - 1, signed_a=signs[0], signed_b=signs[1], orders=orders)


@pytest.mark.parametrize("signs", [("", ""), ("signed", "signed"), ("signed", "")])
@pytest.mark.parametrize("widths", slow_but(WIDTHS[:3], WIDTHS))
def test_a_tree_compares(widths: tuple[int, int], signs: tuple[str, str]) -> None:
    prove(comparisons(*widths, signs), _MAPPED)


def test_narrow_comparisons_and_those_with_a_constant_are_left_alone() -> None:
    prove(comparisons(3, 3), _KEPT)
    constant = comparisons(6, 6)
    for order in CELLS.values():
        constant = constant.replace(order, order.replace("b", "6'd21"))
    prove(constant, _KEPT)


def test_a_wrong_tree_is_found() -> None:
    wrong = COMPARATOR_RULES.replace("no_less[FROM+k+1] & greater", "no_less[FROM+k] & greater")
    assert wrong != COMPARATOR_RULES
    with pytest.raises(RuntimeError, match="yosys"):
        prove(comparisons(5, 5), _MAPPED, wrong)


@pytest.mark.parametrize("cell", CELLS)
def test_a_wrong_result_of_any_one_is_found(cell: str) -> None:
    start = COMPARATOR_RULES.index(f'"{cell}"')
    place = COMPARATOR_RULES.index("assign Y = ", start) + len("assign Y = ")
    wrong = COMPARATOR_RULES[:place] + "!" + COMPARATOR_RULES[place:]
    with pytest.raises(RuntimeError, match="yosys"):
        prove(comparisons(5, 5), _MAPPED, wrong)
