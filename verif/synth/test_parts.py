"""The synthesis flow's Dadda multipliers: proved equal to ``a * b`` by yosys."""

from __future__ import annotations

import pytest
from tilewright.synth.base.yosys import run_yosys
from tilewright.synth.flow import synthesize_verilog
from tilewright.synth.mapping.abc import COMPARATOR_RULES, PREFIX_CARRIES
from tilewright.synth.mapping.multipliers import Multiplication, multiplications, multiplier_map
from tilewright.synth.mapping.multiply_adds import MultiplyAdd, merge_products, multiply_add_map
from tilewright.verif.kit.sampling import slow_but

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
    """A multiplication shrinks to its operands only if the product keeps all bits."""
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


@pytest.mark.parametrize("width", [3, 16, 33])
def test_prefix_carries_are_carries(width: int) -> None:
    """The adders of the mapping for speed."""
    script = f"""
    read_verilog top.v
    hierarchy -top gold
    proc
    copy gold gate
    alumacc gate
    select -assert-min 1 gate/t:$alu
    techmap {PREFIX_CARRIES} gate
    techmap gold
    miter -equiv -make_assert -flatten gold gate both
    hierarchy -top both
    sat -verify -prove-asserts both
    write_rtlil proved.il
    """
    ports = f"input [{width - 1}:0] a, b, input minus, output [{width}:0] o"
    text = f"module gold({ports});\nassign o = minus ? a - b : a + b;\nendmodule\n"
    assert "module \\both" in run_yosys(script, {"top.v": text}, ["proved.il"])["proved.il"]


# Products that the synthesis flow adds in their trees: proved equal to ``a * b + c`` by yosys.

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


def rtlil_multiply_adds(body: str, ports: str, total: int, name: str = "gold") -> str:
    text = f"module {name}({ports}, output signed [{total - 1}:0] o);\n{body}\nendmodule\n"
    script = f"read_verilog -sv top.v\nhierarchy -top {name}\nproc\nopt_clean\nwrite_rtlil top.il"
    return run_yosys(script, {"top.v": text}, ["top.il"])["top.il"]


def of_widths(a: int, b: int, c: int, total: int) -> tuple[str, str, set[MultiplyAdd]]:
    """A module, and the same with the product merged into the sum."""
    ports = PORTS.format(a=a - 1, b=b - 1, c=c - 1)
    body = f"wire signed [{a + b - 1}:0] p = a * b;\nassign o = c + p;"
    gold = rtlil_multiply_adds(body, ports, total)
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
def test_multiply_adds_a_wrong_tree_is_found(old: str, new: str) -> None:
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
    design = rtlil_multiply_adds(body, PORTS.format(a=3, b=3, c=11), 19)
    assert "cell $mul" in design
    assert merge_products(design) == (design, set())


def test_a_product_that_leaves_the_module_stays() -> None:
    ports = PORTS.format(a=3, b=3, c=11) + ", output signed [7:0] p"
    design = rtlil_multiply_adds("assign p = a * b;\nassign o = c + p;", ports, 12)
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


# The synthesis flow's comparators: proved equal to yosys' ordering cells by yosys.

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


def test_comparators_a_wrong_tree_is_found() -> None:
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
