"""Full adders as cells: rules that turn yosys' ``$fa`` into a library's adder cells."""

from __future__ import annotations

from ..library.boolean import truth_table
from ..library.cells import Cell, Library

__all__ = ["SPLIT_RULE", "adder_rules", "constant_rules", "full_adder"]

MAJORITY = truth_table("A B | B C | C A", "ABC")
PARITY = truth_table("A ^ B ^ C", "ABC")
BOTH = truth_table("A B", "AB")
EITHER = truth_table("A ^ B", "AB")

SPLIT_RULE = """
(* techmap_celltype = "$fa" *)
module split_full_adder(A, B, C, X, Y);
  parameter WIDTH = 1;
  input [WIDTH-1:0] A, B, C;
  output [WIDTH-1:0] X, Y;
  wire _TECHMAP_FAIL_ = WIDTH == 1;
  genvar i;
  generate for (i = 0; i < WIDTH; i = i + 1) begin : bit_
    \\$fa #(.WIDTH(1)) fa (.A(A[i]), .B(B[i]), .C(C[i]), .X(X[i]), .Y(Y[i]));
  end endgenerate
endmodule
"""
"""One ``$fa`` a bit."""

_RULES = """
(* techmap_celltype = "$fa" *)
module map_full_adder(A, B, C, X, Y);
  parameter WIDTH = 1;
  parameter _TECHMAP_CONSTMSK_A_ = 0;
  parameter _TECHMAP_CONSTVAL_A_ = 0;
  parameter _TECHMAP_CONSTMSK_B_ = 0;
  parameter _TECHMAP_CONSTVAL_B_ = 0;
  parameter _TECHMAP_CONSTMSK_C_ = 0;
  parameter _TECHMAP_CONSTVAL_C_ = 0;
  input A, B, C;
  output X, Y;
  localparam constants = _TECHMAP_CONSTMSK_A_ + _TECHMAP_CONSTMSK_B_ + _TECHMAP_CONSTMSK_C_;
  localparam ones = _TECHMAP_CONSTMSK_A_ * _TECHMAP_CONSTVAL_A_
                  + _TECHMAP_CONSTMSK_B_ * _TECHMAP_CONSTVAL_B_
                  + _TECHMAP_CONSTMSK_C_ * _TECHMAP_CONSTVAL_C_;
  wire p = _TECHMAP_CONSTMSK_A_ ? B : A;
  wire q = _TECHMAP_CONSTMSK_C_ ? B : C;
  generate if (constants == 0) begin
    FULL
  end else if (constants == 1 && ones == 0) begin
    HALF
  end else begin
    assign Y = A ^ B ^ C;
    assign X = (A & B) | (C & (A | B));
  end endgenerate
endmodule
"""


_CONSTANT = """
(* techmap_celltype = "CELL" *)
module map_constant_adder(PINS);
  PARAMETERS
  input INPUTS;
  output OUTPUTS;
  wire _TECHMAP_FAIL_ = !(MASKS);
  ASSIGNMENTS
endmodule
"""


def full_adder(library: Library) -> Cell | None:
    """The smallest full adder cell of a library, found by what it computes."""
    return library.smallest(3, MAJORITY, PARITY)


def _instance(cell: Cell, inputs: str, outputs: dict[tuple[bool, ...], str]) -> str:
    ports = [f".{pin}({net})" for pin, net in zip(cell.inputs, inputs, strict=True)]
    ports += [f".{pin}({outputs[cell.truth(pin) or ()]})" for pin in cell.outputs]
    return f"{cell.name} cell_ ({', '.join(ports)});"


def adder_rules(library: Library) -> str:
    """Techmap rules from one-bit ``$fa`` cells to adder cells; an adder with a constant input
    becomes a half adder or gates. Empty if the library has no full adder."""
    full = full_adder(library)
    if full is None:
        return ""
    half = library.smallest(2, BOTH, EITHER)
    text = _instance(full, "ABC", {MAJORITY: "X", PARITY: "Y"})
    gates = "assign X = p & q; assign Y = p ^ q;"
    half_text = _instance(half, "pq", {BOTH: "X", EITHER: "Y"}) if half else gates
    return _RULES.replace("FULL", text).replace("HALF", half_text)


def constant_rules(library: Library) -> str:
    """Techmap rules from full adder cells with a constant input, which shows late, to gates."""
    cell = full_adder(library)
    if cell is None:
        return ""
    a, b, c = cell.inputs
    formulas = {MAJORITY: f"({a} & {b}) | ({c} & ({a} | {b}))", PARITY: f"{a} ^ {b} ^ {c}"}
    masks = [f"_TECHMAP_CONSTMSK_{pin}_" for pin in cell.inputs]
    parts = {
        "CELL": cell.name,
        "PINS": ", ".join(cell.pins),
        "PARAMETERS": "\n  ".join(f"parameter {mask} = 0;" for mask in masks),
        "INPUTS": ", ".join(cell.inputs),
        "OUTPUTS": ", ".join(cell.outputs),
        "MASKS": " + ".join(masks),
        "ASSIGNMENTS": "\n  ".join(
            f"assign {pin} = {formulas[cell.truth(pin) or ()]};" for pin in cell.outputs
        ),
    }
    text = _CONSTANT
    for key, value in parts.items():
        text = text.replace(key, value, 1)
    return text
