"""The cell libraries that the tests of synthesis map to, and two small designs."""

from __future__ import annotations

from tilewright.synth.cells import library_text
from tilewright.synth.library.liberty import load_library

CMOS = load_library(library_text())


REGISTER = """
module register(input clk, input [4:0] d, output reg [4:0] q);
  always @(posedge clk) q <= d;
endmodule
"""
ACCUMULATOR = """
module leaf(input [7:0] a, input [7:0] b, output [15:0] p, output [7:0] same);
  assign p = a * b;
  assign same = a;
endmodule
module accumulator(input clk, input rst, input en, input [15:0] x, output reg [19:0] sum,
                   output [7:0] through);
  wire [15:0] p, r;
  wire [7:0] q;
  leaf one(.a(x[7:0]), .b(x[15:8]), .p(p), .same(through));
  leaf two(.a(x[15:8]), .b(x[7:0]), .p(r), .same(q));
  always @(posedge clk)
    if (rst) sum <= 0;
    else if (en) sum <= sum + p + r + q;
endmodule
"""
