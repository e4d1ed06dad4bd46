"""The synthesis flow's Dadda multipliers: proved equal to ``a * b`` by yosys."""

from __future__ import annotations

import pytest
from tilewright.synth.base.yosys import run_yosys
from tilewright.synth.mapping.multipliers import multiplier_map, multiplier_widths

SOURCE = """
module top(input [{a}:0] a, input [{b}:0] b, output [{y}:0] o);
  assign o = a * b;
endmodule
"""


def rtlil(a: int, b: int) -> str:
    files = {"top.v": SOURCE.format(a=a - 1, b=b - 1, y=a + b - 1)}
    script = "read_verilog top.v\nhierarchy -top top\nproc\nwrite_rtlil top.il"
    return run_yosys(script, files, ["top.il"])["top.il"]


@pytest.mark.parametrize(("a", "b"), [(3, 3), (4, 7), (5, 5), (6, 6)])
def test_a_tree_is_a_product(a: int, b: int) -> None:
    design = rtlil(a, b)
    assert multiplier_widths(design) == [(a, b)]
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
    files = {"top.il": design, "multipliers.v": multiplier_map([(a, b)])}
    assert "module \\both" in run_yosys(script, files, ["proved.il"])["proved.il"]


def test_a_wrong_tree_is_found() -> None:
    design = rtlil(4, 4)
    wrong = multiplier_map([(4, 4)]).replace("A[1] & B[1]", "A[1] & B[2]")
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
