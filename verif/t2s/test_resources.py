"""Tables of resources: figures of the thesis, measured figures, and refusals."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tilewright.errors import UserError
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.t2s.lowering.design import DESIGNS
from tilewright.synth.fpga import FAMILIES, TooLarge
from tilewright.tables.t2s import fpga
from tilewright.tables.t2s.fpga import ARRAYS, t2s_fpga
from tilewright.tables.t2s.resources import PAPER, small_sizes, t2s_periods, t2s_resources


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
    assert rows[0].ours == (9064, None, None, None, None)
    assert fpga.ARRAYS["int8, one element"]["data_bits"] == 64


def test_refused() -> None:
    for table in (t2s_resources, t2s_periods):
        with pytest.raises(UserError, match="is mapped to cells: --target cmos or liberty:FILE"):
            table("ecp5")
        with pytest.raises(UserError, match=r"--only must be a part of gemm, mttkrp, .*, not 'no'"):
            table("cmos", only="no")
    with pytest.raises(UserError, match=r"^t2s-fpga needs --target ecp5 or ice40, not cmos$"):
        t2s_fpga("cmos")
    with pytest.raises(UserError, match=r"--only must be a part of int8, .*, not 'no'"):
        t2s_fpga("ecp5", only="no")
