"""From one module to gates of a cell library.

One script for every design. Multipliers become Dadda trees. Full adders are found (``extract_fa`` recovers those that
are written as gates, ``maccmap`` makes those of multi-operand sums) and become the library's
adder cell, which ABC, mapping to cells of one output, never uses; the rest goes to ABC, which
keeps the structure of the adders it is given (no rewriting, so that a carry look-ahead stays
one) and maps for area. Registers keep no enable pin: enables and resets become gates.
"""

from __future__ import annotations

from .cache import cached
from .hierarchy import Design
from .library import Cell, Library
from .multipliers import multiplier_map, multiplier_widths
from .yosys import run_yosys, yosys_version

__all__ = ["ABC_SCRIPT", "map_module", "scripts"]

ABC_SCRIPT = (
    "strash; ifraig; scorr; dch; amap -m; strash; dch; amap -m; topo; "
    "buffer -c -N 16; topo; upsize; dnsize; topo"
)

MAJORITY = tuple(a + b + c >= 2 for a in (0, 1) for b in (0, 1) for c in (0, 1))
PARITY = tuple((a + b + c) % 2 == 1 for a in (0, 1) for b in (0, 1) for c in (0, 1))
BOTH = (False, False, False, True)
EITHER = (False, True, True, False)

_SPLIT = """
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

_ADDERS = """
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


def _instance(cell: Cell, inputs: str, outputs: dict[tuple[bool, ...], str]) -> str:
    ports = [f".{pin}({net})" for pin, net in zip(cell.inputs, inputs, strict=True)]
    ports += [f".{pin}({outputs[cell.truth(pin) or ()]})" for pin in cell.outputs]
    return f"{cell.name} cell_ ({', '.join(ports)});"


def _adder_map(library: Library) -> str:
    """Techmap rules for one-bit ``$fa`` cells; empty if the library has no full adder."""
    full = library.smallest(3, MAJORITY, PARITY)
    if full is None:
        return ""
    half = library.smallest(2, BOTH, EITHER)
    text = _instance(full, "ABC", {MAJORITY: "X", PARITY: "Y"})
    gates = "assign X = p & q; assign Y = p ^ q;"
    half_text = _instance(half, "pq", {BOTH: "X", EITHER: "Y"}) if half else gates
    return _ADDERS.replace("FULL", text).replace("HALF", half_text)


def scripts(top: str, library: Library, multipliers: str) -> dict[str, str]:
    """The files of a mapping run, by name; ``script.ys`` is the script itself.

    ``multipliers`` are techmap rules for the multipliers of the design, possibly none.
    """
    adders = _adder_map(library)
    avoided = " ".join(f"-dont_use {c.name}" for c in library.cells.values() if not c.usable)
    extract = """
    extract_fa -fa
    opt_clean
    techmap -map split.v
    opt -full
    techmap -map adders.v
    opt_expr
    """
    multiply = "techmap -map multipliers.v\n    opt_clean" if multipliers else ""
    script = f"""
    read_liberty -lib -ignore_miss_func library.lib
    read_rtlil design.il
    hierarchy -check -top {top}
    opt -nodffe -nosdff
    wreduce
    peepopt
    opt_clean
    {multiply}
    alumacc
    opt -nodffe -nosdff
    memory
    opt -full -nodffe -nosdff
    maccmap
    opt_clean
    techmap
    opt -full -nodffe -nosdff
    {extract if adders else ""}
    techmap
    opt -full -nodffe -nosdff
    dfflibmap -liberty library.lib
    opt -full -nodffe -nosdff
    abc -liberty library.lib -script abc.script {avoided}
    opt_clean -purge
    write_json mapped.json
    """
    return {
        "script.ys": script,
        "abc.script": ABC_SCRIPT,
        "split.v": _SPLIT,
        "adders.v": adders or "\n",
        "multipliers.v": multipliers or "\n",
        "library.lib": library.text,
    }


def map_module(design: Design, name: str, library: Library) -> str:
    """The mapped netlist of a module as yosys JSON; instances of other modules stay."""
    module = design.modules[name]
    children = sorted(set(module.children.values()))
    text = "\n".join([*(design.modules[child].interface for child in children), module.rtlil])
    files = scripts(name, library, multiplier_map(multiplier_widths(module.rtlil)))
    script = files.pop("script.ys")
    files["design.il"] = text

    def make() -> str:
        return run_yosys(script, files, ["mapped.json"])["mapped.json"]

    parts = (f"{key}\n{value}" for key, value in sorted(files.items()))
    return cached((yosys_version(), script, *parts), make)
