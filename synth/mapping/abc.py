"""From one module to gates of a cell library.

One script for every design. Multipliers become Dadda trees, comparisons prefix trees. Full adders
(``extract_fa`` recovers those that are written as gates, ``maccmap`` makes those of multi-operand
sums) become the library's adder cell, which ABC, mapping to cells of one output, never uses; the
rest goes to ABC, which keeps the structure of the adders it is given (no rewriting, so that a
carry look-ahead stays one) and maps for area. Registers keep no enable pin: enables and resets
become gates.
"""

from __future__ import annotations

from ..base.cache import cached
from ..base.yosys import run_yosys, yosys_version
from ..library.cells import Library
from .adders import SPLIT_RULE, adder_rules, constant_rules
from .comparators import COMPARATOR_RULES
from .hierarchy import Design
from .multipliers import multiplications, multiplier_map
from .multiply_adds import merge_products, multiply_add_map

__all__ = ["ABC_SCRIPT", "map_module", "scripts"]

ABC_SCRIPT = (
    "strash; ifraig; scorr; dch; amap -m; strash; dch; amap -m; topo; "
    "buffer -c -N 16; topo; upsize; dnsize; topo"
)


def scripts(top: str, library: Library, multipliers: str) -> dict[str, str]:
    """The files of a mapping run, by name; ``script.ys`` is the script itself.

    ``multipliers`` are techmap rules for the multipliers of the design, possibly none.
    """
    adders = adder_rules(library)
    avoided = " ".join(f"-dont_use {c.name}" for c in library.cells.values() if not c.usable)
    extract = """
    extract_fa -fa
    opt_clean
    techmap -map split.v
    opt -full
    techmap -map adders.v
    opt_expr
    """
    abc = f"abc -liberty library.lib -script abc.script {avoided}"
    again = f"techmap -map constants.v\n    techmap\n    opt_expr\n    {abc}\n    opt_clean -purge"
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
    techmap -map comparators.v
    opt_clean
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
    {abc}
    opt_clean -purge
    {again if adders else ""}
    write_json mapped.json
    """
    return {
        "script.ys": script,
        "abc.script": ABC_SCRIPT,
        "split.v": SPLIT_RULE,
        "adders.v": adders or "\n",
        "constants.v": constant_rules(library) or "\n",
        "multipliers.v": multipliers or "\n",
        "comparators.v": COMPARATOR_RULES,
        "library.lib": library.text,
    }


def map_module(design: Design, name: str, library: Library) -> str:
    """The mapped netlist of a module as yosys JSON; instances of other modules stay."""
    module = design.modules[name]
    children = sorted(set(module.children.values()))
    rtlil, merged = merge_products(module.rtlil)
    boxes = [each.interface for each in sorted(merged)]
    text = "\n".join([*boxes, *(design.modules[child].interface for child in children), rtlil])
    rules = [multiplier_map(multiplications(rtlil)), multiply_add_map(merged)]
    files = scripts(name, library, "\n".join(filter(None, rules)))
    script = files.pop("script.ys")
    files["design.il"] = text

    def make() -> str:
        return run_yosys(script, files, ["mapped.json"])["mapped.json"]

    parts = (f"{key}\n{value}" for key, value in sorted(files.items()))
    return cached((yosys_version(), script, *parts), make)
