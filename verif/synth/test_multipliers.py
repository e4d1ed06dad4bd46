"""The synthesis flow's Dadda multipliers: proved equal to ``a * b`` by yosys."""

from __future__ import annotations

import pytest
from tilewright.synth.base.yosys import run_yosys
from tilewright.synth.mapping.multipliers import (
    Multiplication,
    multiplications,
    multiplier_map,
)

SOURCE = """
module top(input {sign}[{a}:0] a, input {sign}[{b}:0] b, output {sign}[{y}:0] o);
  assign o = a * b;
endmodule
"""


def rtlil(a: int, b: int, *, signed: bool = False) -> str:
    sign = "signed " if signed else ""
    files = {"top.v": SOURCE.format(a=a - 1, b=b - 1, y=a + b - 1, sign=sign)}
    script = "read_verilog top.v\nhierarchy -top top\nproc\nwrite_rtlil top.il"
    return run_yosys(script, files, ["top.il"])["top.il"]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("a", "b"), [(3, 3), (4, 7), (5, 5), (6, 6)])
def test_a_tree_is_a_product(a: int, b: int, signed: bool) -> None:
    design = rtlil(a, b, signed=signed)
    found = multiplications(design)
    assert found == [Multiplication(a, b, signed)]
    script = """
    read_rtlil top.il
    rename top gold
    copy gold gate
    techmap -map multipliers.v gate
    select -assert-none gate/t:$mul
    techmap gate
    miter -equiv -make_assert -flatten gold gate both
    hierarchy -top both
    sat -verify -prove-asserts both
    write_rtlil proved.il
    """
    files = {"top.il": design, "multipliers.v": multiplier_map(found)}
    assert "module \\both" in run_yosys(script, files, ["proved.il"])["proved.il"]


@pytest.mark.parametrize(
    ("operands", "product", "found"),
    [
        ("$signed(a[4:0]) * $signed(b)", 10, []),
        ("$signed(a[4:0]) * $signed(b)", 11, [(5, 6, True)]),
        ("$signed(a[4:0]) * $signed(b)", 16, [(5, 6, True)]),
        ("a * b", 12, [(6, 6, False)]),
        ("a * b", 11, []),
    ],
)
def test_operands_are_taken_without_their_extension(
    operands: str, product: int, found: list[tuple[int, int, bool]]
) -> None:
    """And only where no bit of the product is left out."""
    ports = f"input [5:0] a, b, output [{product - 1}:0] o"
    files = {"top.v": f"module top({ports});\nassign o = {operands};\nendmodule\n"}
    script = "read_verilog top.v\nhierarchy -top top\nproc\nwrite_rtlil top.il"
    got = multiplications(run_yosys(script, files, ["top.il"])["top.il"])
    assert got == found


@pytest.mark.parametrize(
    ("signed", "old", "new"),
    [
        (False, "A[1] & B[1]", "A[1] & B[2]"),
        (True, "~(A[3] & B[1])", "A[3] & B[1]"),
        (True, "1'b1", "1'b0"),
    ],
)
def test_a_wrong_tree_is_found(signed: bool, old: str, new: str) -> None:
    design = rtlil(4, 4, signed=signed)
    right = multiplier_map([Multiplication(4, 4, signed)])
    assert old in right
    wrong = right.replace(old, new)
    script = """
    read_rtlil top.il
    rename top gold
    copy gold gate
    techmap -map multipliers.v gate
    techmap gate
    miter -equiv -make_assert -flatten gold gate both
    sat -verify -prove-asserts both
    write_rtlil proved.il
    """
    with pytest.raises(RuntimeError):
        run_yosys(script, {"top.il": design, "multipliers.v": wrong}, ["proved.il"])
