"""Maps one module to gates of a cell library.

One script for every design. Multipliers become Dadda trees, comparisons prefix trees. Full adders
(``extract_fa`` recovers those that are written as gates, ``maccmap`` makes those of multi-operand
sums) become the library's adder cell, which ABC, mapping to cells of one output, never uses; the
rest goes to ABC, with one of three scripts. For area it keeps the structure of the adders it is
given (no rewriting, so that a carry look-ahead stays one). Registers keep no enable pin: enables
and resets become gates.
"""

from __future__ import annotations

from ..base.cache import cached
from ..base.errors import ToolError
from ..base.yosys import run_yosys, yosys_version
from ..library.cells import Cell, Library, truth_table
from .hierarchy import Design
from .multipliers import multiplications, multiplier_map
from .multiply_adds import merge_products, multiply_add_map

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


_BEGIN = "strash; ifraig; scorr; "
_END = "topo; buffer -c -N 16; topo; upsize; dnsize; topo"

MAPPINGS = {
    "area": f"{_BEGIN}dch; amap -m; strash; dch; amap -m; {_END}",
    "balanced": f"{_BEGIN}{2 * 'if -g -K 6; strash; '}&get -n; &dch -f; &nf; &put; {_END}",
    "fast": f"{_BEGIN}if -g -K 6; strash; dch -f; map -B 0.9; {_END}",
}
"""ABC scripts of the mappings, the smallest one first. The first keeps the structure that it is
given; ``if -g`` of the others balances sums of products by the arrival of their terms (Mishchenko,
Brayton, Jang and Kravets, "Delay optimization using SOP balancing", ICCAD 2011). ``map`` is fast
and large, ``&nf`` between the two. The last one leaves adder cells to ABC, too, as gates, and makes
carries by Han and Carlson's prefix trees ("Fast area-efficient VLSI adders", 1987) in place of
Brent and Kung's: 17 to 25 % less delay of an adder of 64 bits, for half again its area."""

PREFIX_CARRIES = "-map +/techmap.v -map +/choices/han-carlson.v"
"""Options of ``techmap`` for Han and Carlson's carries."""


def scripts(top: str, library: Library, multipliers: str, mapping: str = "area") -> dict[str, str]:
    """The files of a mapping run, by name; ``script.ys`` is the script itself.

    ``multipliers`` are techmap rules for the multipliers of the design, possibly none; ``mapping``
    is one of ``MAPPINGS``.
    """
    adders = "" if mapping == "fast" else adder_rules(library)
    carries = PREFIX_CARRIES if mapping == "fast" else ""
    extract = """
    extract_fa -fa
    opt_clean
    techmap -map split.v
    opt -full
    techmap -map adders.v
    opt_expr
    """
    abc = "abc -liberty gates.lib -script abc.script"
    again = f"techmap -map constants.v\n    techmap\n    opt_expr\n    {abc}\n    opt_clean -purge"
    multiply = "techmap -map multipliers.v\n    opt_clean" if multipliers else ""
    script = f"""
    read_liberty -lib -ignore_miss_func cells.lib
    read_rtlil design.il
    hierarchy -check -top {top}
    opt -nodffe -nosdff
    wreduce
    peepopt
    opt_clean
    {multiply}
    techmap -map comparators.v
    opt_clean
    alumacc
    opt -nodffe -nosdff
    memory
    opt -full -nodffe -nosdff
    maccmap
    opt_clean
    techmap {carries}
    opt -full -nodffe -nosdff
    {extract if adders else ""}
    techmap
    opt -full -nodffe -nosdff
    dfflibmap -liberty cells.lib
    opt -full -nodffe -nosdff
    {abc}
    opt_clean -purge
    {again if adders else ""}
    write_json mapped.json
    """
    return {
        "script.ys": script,
        "abc.script": MAPPINGS[mapping],
        "split.v": SPLIT_RULE,
        "adders.v": adders or "\n",
        "constants.v": constant_rules(library) or "\n",
        "multipliers.v": multipliers or "\n",
        "comparators.v": COMPARATOR_RULES,
        "cells.lib": library.outlines,
        "gates.lib": library.gates,
    }


def map_module(design: Design, name: str, library: Library, mapping: str = "area") -> str:
    """The mapped netlist of a module as yosys JSON; instances of other modules stay.

    Where ABC fails, the next smaller mapping takes the place of this one: its ``map`` cannot read
    every library. Raises ToolError if the one for area fails.
    """
    module = design.modules[name]
    children = sorted(set(module.children.values()))
    rtlil, merged = merge_products(module.rtlil)
    boxes = [each.interface for each in sorted(merged)]
    text = "\n".join([*boxes, *(design.modules[child].interface for child in children), rtlil])
    rules = [multiplier_map(multiplications(rtlil)), multiply_add_map(merged)]
    files = scripts(name, library, "\n".join(filter(None, rules)), mapping)
    script = files.pop("script.ys")
    files["design.il"] = text

    def make() -> str:
        try:
            return run_yosys(script, files, ["mapped.json"])["mapped.json"]
        except ToolError:
            smaller = list(MAPPINGS)[: list(MAPPINGS).index(mapping)]
            if not smaller:
                raise
            return map_module(design, name, library, smaller[-1])

    parts = (f"{key}\n{value}" for key, value in sorted(files.items()))
    return cached((yosys_version(), script, *parts), make)
