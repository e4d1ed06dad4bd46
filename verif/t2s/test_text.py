"""The Verilog of a design has one module for each different element, not for each copy. It grows
with the lists of copies, and with collectors, whose vectors have different widths.

Gearboxes between beats and words, at most one kind a side of memory, may be alike or not.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest
from tilewright.errors import UserError
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.t2s.config import T2S, T2sConfig
from tilewright.tables.t2s.compile import t2s_compile, text_of
from tilewright.verif.kit.sampling import slow_but

GROWN = {
    # Along i nothing is gathered in vectors.
    "gemm": ("II=2,JJ=3", "II=4,JJ=3", 0),
    # Each column more has a collector of a width more, and a register behind it.
    "gemm, columns": ("II=2,JJ=2", "II=2,JJ=4", 2),
    "mttkrp": ("II=2,JJ=3", "II=4,JJ=4", 1),
    "ttm": ("JJ=2,KK=3", "JJ=4,KK=4", 1),
    "ttmc": ("JJ=2,KK=3", "JJ=4,KK=4", 1),
    "apsp": ("II=2,JJ=3", "II=4,JJ=4", 0),
    "conv2d": ("OO=3,XX=3", "OO=4,XX=4", 0),
    "fir": ("NN=2", "NN=4", 0),
    "gemv": ("II=2", "II=4", 0),
    "stencil3d": ("XX=2", "XX=4", 0),
    "ttv": ("JJ=2", "JJ=4", 0),
}
"""Sizes of a small array and of a larger one, and how many columns that has more whose collectors
differ."""


def _verilog(design: str, sizes: str) -> str:
    return emit(T2S, T2sConfig(design=design, sizes=sizes, format="int8")).verilog


def _kinds(verilog: str) -> Counter[str]:
    """Counts the modules of each component."""
    names = re.findall(r"^module (\w+)", verilog, re.MULTILINE)
    return Counter(re.sub(r"_\d+$", "", name) for name in names)


@pytest.mark.parametrize("case", slow_but(["gemm, columns"], GROWN, ["gemm", "fir"]))
def test_modules(case: str) -> None:
    small, large, columns = GROWN[case]
    before, after = (_verilog(case.partition(",")[0], sizes) for sizes in (small, large))
    more = _kinds(after)
    more.subtract(_kinds(before))
    assert abs(more.pop("t2s_gearbox")) <= 1
    grown = {kind: count for kind, count in more.items() if count}
    assert grown == ({"t2s_packer": columns} if columns else {})
    few, many = text_of(before), text_of(after)
    assert many.copies > few.copies
    assert abs(many.lines - few.lines) <= 40 * columns + 80


def test_parts_of_a_text() -> None:
    verilog = "// a\nmodule t2s_pe_array (\n  input a\n);\nendmodule\n\nmodule t2s ();\nendmodule\n"
    assert text_of(verilog) == (2, 4, 4)


def test_refused() -> None:
    with pytest.raises(UserError, match="no --target, not 'ecp5'"):
        t2s_compile("ecp5")
    with pytest.raises(UserError, match=r"--only must be a part of a design's name, not 'no'"):
        t2s_compile("cmos", only="no")


@pytest.mark.slow
def test_table() -> None:
    """One design; seconds depend on the machine, the rest does not."""
    (row,) = t2s_compile("cmos", only="fir").rows
    seconds, most, passed, *text = row.ours
    assert 0 < (seconds or 0) < 10 * (most or 0)
    assert (passed or 0) > 0
    modules, small, lines, short, copies, few = (one or 0 for one in text)
    assert small <= modules <= small + 2
    assert short <= lines <= short + 100
    assert few < copies


def test_sparse_operands() -> None:
    """Their arrays are of another module, whose copies are counted, too."""
    (row,) = t2s_compile("cmos", only="sparse/spmv_ciss").rows
    assert row.ours[7] is not None
    assert row.ours[8] is not None
    assert row.ours[7] > row.ours[8] > 0
