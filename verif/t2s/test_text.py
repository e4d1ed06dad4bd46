"""The Verilog of a design has one module for each different element, not for each copy. It grows
with the lists of copies, and with collectors, whose vectors have different widths.

Gearboxes between beats and words, at most one kind a side of memory, may be alike or not.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest
from tilewright.errors import UserError
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.t2s.config import T2S, T2sConfig
from tilewright.hw.t2s.lowering.design import DESIGNS
from tilewright.synth.fpga import FAMILIES, TooLarge
from tilewright.tables.t2s.designs import ARRAYS, t2s_fpga
from tilewright.tables.t2s.resources import (
    PAPER,
    small_sizes,
    t2s_compile,
    t2s_periods,
    t2s_resources,
    text_of,
)
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


# Tables of resources: figures of the thesis, measured figures, and refusals.


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=[] if one == "fir" else pytest.mark.long) for one in sorted(DESIGNS)],
)
def test_two_elements_each_way(name: str) -> None:
    """Everything else is as in the design's file."""
    config = T2sConfig(design=name, largest=0)
    few = replace(config, sizes=small_sizes(config)).plan
    loops, fewer = (
        {one.name: one.extent for function in plan.program.functions for one in function.instances}
        for plan in (config.plan, few)
    )
    assert set(fewer.values()) == ({2} if loops else set())
    assert set(fewer) == set(loops)
    assert few.element.arithmetic == config.plan.element.arithmetic


def test_busy() -> None:
    """The share of what multipliers could do that the thesis' rates are: all of it, but where some
    multiplications that are counted are not done."""
    shares = {
        name: one.rate / (2 * one.multipliers * one.megahertz / 1000) for name, one in PAPER.items()
    }
    assert 0.98 < shares["ttm"] < shares["gemm"] < 1
    assert 1.3 < shares["ttmc"] < shares["mttkrp"] < 1.41


@pytest.mark.long
def test_area() -> None:
    (row,) = t2s_resources("cmos", only="fir").rows
    elements, area, bits, *others = row.ours
    assert 0.5 * (area or 0) < (elements or 0) < (area or 0)
    assert (bits or 0) > 0
    assert {*others, *row.paper} == {None}
    (row,) = t2s_periods("cmos", only="fir").rows
    assert 20 < (row.ours[0] or 0) < 200
    assert (row.ours[2] or 0) < (area or 0)


def test_what_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table names the array and gives the look-up tables that it takes."""

    def synthesize(unit: object, config: T2sConfig, target: str) -> object:
        raise TooLarge("t2s", FAMILIES[target], 9000 + config.data_bits)

    monkeypatch.setattr("tilewright.synth.flow.synthesize", synthesize)
    rows = t2s_fpga("ice40").rows
    assert [row.label for row in rows] == [f"{label}: does not fit" for label in ARRAYS]
    assert rows[0].ours == (9064, *6 * (None,))
    assert ARRAYS["int8, one element"]["data_bits"] == 64


def test_resources_refused() -> None:
    for table in (t2s_resources, t2s_periods):
        with pytest.raises(UserError, match="is mapped to cells: --target cmos or liberty:FILE"):
            table("ecp5")
        with pytest.raises(UserError, match=r"--only must be a part of gemm, mttkrp, .*, not 'no'"):
            table("cmos", only="no")
    with pytest.raises(UserError, match=r"^t2s-fpga needs --target ecp5 or ice40, not cmos$"):
        t2s_fpga("cmos")
    with pytest.raises(UserError, match=r"--only must be a part of int8, .*, not 'no'"):
        t2s_fpga("ecp5", only="no")
