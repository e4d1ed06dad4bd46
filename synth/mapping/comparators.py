"""Comparators as prefix trees: smaller and faster than the subtractors yosys makes of them."""

from __future__ import annotations

__all__ = ["COMPARATOR_RULES"]

_RULE = """
(* techmap_celltype = "{cells}" *)
module map_compare_{name}(A, B, Y);
  parameter A_SIGNED = 0;
  parameter B_SIGNED = 0;
  parameter A_WIDTH = 1;
  parameter B_WIDTH = 1;
  parameter Y_WIDTH = 1;
  parameter _TECHMAP_CONSTMSK_A_ = 0;
  parameter _TECHMAP_CONSTMSK_B_ = 0;
  input [A_WIDTH-1:0] A;
  input [B_WIDTH-1:0] B;
  output [Y_WIDTH-1:0] Y;
  localparam WIDTH = A_WIDTH > B_WIDTH ? A_WIDTH : B_WIDTH;
  localparam LEVELS = $clog2(WIDTH);
  wire _TECHMAP_FAIL_ = WIDTH < 4 || _TECHMAP_CONSTMSK_A_ != 0 || _TECHMAP_CONSTMSK_B_ != 0;
  wire [WIDTH-1:0] a, b;
  \\$pos #(.A_SIGNED(A_SIGNED), .A_WIDTH(A_WIDTH), .Y_WIDTH(WIDTH)) extend_a (.A(A), .Y(a));
  \\$pos #(.A_SIGNED(B_SIGNED), .A_WIDTH(B_WIDTH), .Y_WIDTH(WIDTH)) extend_b (.A(B), .Y(b));
  // Of signed numbers the top bit counts the other way round.
  wire [WIDTH-1:0] flip = A_SIGNED && B_SIGNED ? {{1'b1, {{WIDTH-1{{1'b0}}}}}} : {{WIDTH{{1'b0}}}};
  wire [WIDTH-1:0] x = {left} ^ flip, y = {right} ^ flip;
  // Of groups of 2**level bits, from place level*WIDTH on: greater; no bit less.
  wire [WIDTH*(LEVELS+1)-1:0] greater, no_less;
  assign greater[WIDTH-1:0] = x & ~y;
  assign no_less[WIDTH-1:0] = x | ~y;
  genvar level, k;
  generate for (level = 0; level < LEVELS; level = level + 1) begin : tree
    localparam COUNT = (WIDTH + (1 << level) - 1) >> level;
    localparam FROM = level * WIDTH, TO = FROM + WIDTH;
    for (k = 0; k < COUNT; k = k + 2) begin : node
      if (k + 1 < COUNT) begin
        assign greater[TO+k/2] = greater[FROM+k+1] | (no_less[FROM+k+1] & greater[FROM+k]);
        assign no_less[TO+k/2] = no_less[FROM+k+1] & no_less[FROM+k];
      end else begin
        assign greater[TO+k/2] = greater[FROM+k];
        assign no_less[TO+k/2] = no_less[FROM+k];
      end
    end
  end endgenerate
  assign Y = {result};
endmodule
"""


def _rule(cell: str, left: str, right: str, result: str) -> str:
    return _RULE.format(cells=f"${cell}", name=cell, left=left, right=right, result=result)


COMPARATOR_RULES = (
    _rule("gt", "a", "b", "greater[WIDTH*LEVELS]")
    + _rule("lt", "b", "a", "greater[WIDTH*LEVELS]")
    + _rule("ge", "a", "b", "greater[WIDTH*LEVELS] | no_less[WIDTH*LEVELS]")
    + _rule("le", "b", "a", "greater[WIDTH*LEVELS] | no_less[WIDTH*LEVELS]")
)
"""Techmap rules for the four ordering cells of at least four bits, neither side constant."""
