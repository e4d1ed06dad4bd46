"""Products that the synthesis flow adds in their trees: proved equal to ``a * b + c`` by yosys."""

from __future__ import annotations

import pytest
from tilewright.synth.base.yosys import run_yosys
from tilewright.synth.flow import synthesize_verilog
from tilewright.synth.mapping.multiply_adds import MultiplyAdd, merge_products, multiply_add_map

PORTS = "input signed [{a}:0] a, input signed [{b}:0] b, input signed [{c}:0] c"

PROVE = """
read_rtlil gold.il
read_rtlil gate.il
techmap -map rules.v gate
select -assert-none gate/t:signed_*
techmap
miter -equiv -make_assert -flatten gold gate both
hierarchy -top both
sat -verify -prove-asserts both
write_rtlil proved.il
"""


def rtlil(body: str, ports: str, total: int, name: str = "gold") -> str:
    text = f"module {name}({ports}, output signed [{total - 1}:0] o);\n{body}\nendmodule\n"
    script = f"read_verilog -sv top.v\nhierarchy -top {name}\nproc\nopt_clean\nwrite_rtlil top.il"
    return run_yosys(script, {"top.v": text}, ["top.il"])["top.il"]


def of_widths(a: int, b: int, c: int, total: int) -> tuple[str, str, set[MultiplyAdd]]:
    """A module, and the same with the product merged into the sum."""
    ports = PORTS.format(a=a - 1, b=b - 1, c=c - 1)
    body = f"wire signed [{a + b - 1}:0] p = a * b;\nassign o = c + p;"
    gold = rtlil(body, ports, total)
    gate, found = merge_products(gold.replace("module \\gold", "module \\gate"))
    return gold, "".join(each.interface for each in found) + gate, found


@pytest.mark.parametrize(
    ("a", "b", "c", "total"),
    [(3, 3, 6, 6), (4, 4, 13, 13), (3, 6, 11, 11), (5, 4, 10, 10), (4, 4, 6, 12), (4, 5, 14, 14)],
)
def test_a_tree_is_product_and_sum(a: int, b: int, c: int, total: int) -> None:
    gold, gate, found = of_widths(a, b, c, total)
    assert found == {MultiplyAdd(a, b, total)}
    files = {"gold.il": gold, "gate.il": gate, "rules.v": multiply_add_map(found)}
    assert "module \\both" in run_yosys(PROVE, files, ["proved.il"])["proved.il"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("C[1]", "C[2]"),
        ("1'b1} +", "1'b0} +"),
        (", negative = ~", ", negative = "),
        ("(carry ^ negative)", "carry"),
    ],
)
def test_a_wrong_tree_is_found(old: str, new: str) -> None:
    gold, gate, found = of_widths(4, 4, 11, 11)
    right = multiply_add_map(found)
    assert old in right
    files = {"gold.il": gold, "gate.il": gate, "rules.v": right.replace(old, new)}
    with pytest.raises(RuntimeError):
        run_yosys(PROVE, files, ["proved.il"])


@pytest.mark.parametrize(
    "body",
    [
        # The product is used twice, or is not whole.
        "wire signed [7:0] p = a * b;\nassign o = {c + p, p};",
        "wire signed [7:0] p = a * b;\nassign o = p + p;",
        "wire signed [6:0] p = a * b;\nassign o = c + p;",
        "assign o = a * b;",
        # Its sign is not what it is extended by, or a factor is unsigned, or has constant bits.
        "wire signed [7:0] p = a * b;\nassign o = c + {4'b0, p};",
        "wire [7:0] p = a[2:0] * b[2:0];\nassign o = c + p;",
        "wire signed [7:0] p = a * 4'sd5;\nassign o = c + p;",
        # It is taken away.
        "wire signed [7:0] p = a * b;\nassign o = c - p;",
    ],
)
def test_other_products_stay(body: str) -> None:
    design = rtlil(body, PORTS.format(a=3, b=3, c=11), 19)
    assert "cell $mul" in design
    assert merge_products(design) == (design, set())


def test_a_product_that_leaves_the_module_stays() -> None:
    ports = PORTS.format(a=3, b=3, c=11) + ", output signed [7:0] p"
    design = rtlil("assign p = a * b;\nassign o = c + p;", ports, 12)
    assert "cell $add" in design
    assert merge_products(design) == (design, set())


def test_the_flow_merges_them() -> None:
    """Smaller than the same sum of a product that something else uses, too."""
    ports = PORTS.format(a=8, b=8, c=39).replace(",", ",\n")
    text = f"module top({ports}, output [39:0] o, output p);\nBODY\nendmodule\n"
    product = "wire signed [17:0] q = a * b;\nassign o = c + q;"
    merged, apart = (
        synthesize_verilog(text.replace("BODY", f"{product}\nassign p = {other};"), "top")
        for other in ("a[0]", "q[17]")
    )
    assert merged.area < 0.9 * apart.area  # type: ignore[attr-defined]
