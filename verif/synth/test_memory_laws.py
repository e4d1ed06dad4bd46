"""Checks the laws of memories against the figures that they are fitted over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tilewright.synth.mapping.memories import Shape
from tilewright.synth.memories.estimate import Estimate, estimate, library_law
from tilewright.synth.memories.fits import Fit, fitted, inside
from tilewright.synth.memories.laws import (
    CACTI,
    CACTI_CELL,
    CACTI_FO4,
    IHP,
    Law,
    law_of,
    scaled,
    transistors,
)
from tilewright.synth.memories.macros import Macro, macro_files, read_macro, read_macros
from tilewright.synth.tables.memories import main
from tilewright.synth.targets import target_library
from tilewright.verif.kit.data import data_file, needs_data, real_libraries

from .cell_libraries import CMOS

FAKERAM = {
    (1024, 32): (16406.082, 0.309), (128, 116): (9280.208, 0.279), (128, 256): (33990.259, 0.302),
    (128, 32): (3295.74, 0.2), (128, 64): (5479.6, 0.233), (2048, 39): (45478.818, 0.435),
    (256, 16): (3155.026, 0.204), (256, 32): (5065.704, 0.235), (256, 34): (6476.036, 0.241),
    (256, 48): (7775.712, 0.246), (256, 95): (13701.66, 0.292), (256, 96): (13701.66, 0.292),
    (32, 64): (2285.32, 0.188), (512, 64): (17301.438, 0.305), (64, 124): (8792.934, 0.232),
    (64, 256): (33990.259, 0.253), (64, 32): (1240.624, 0.207), (64, 62): (4712.95, 0.198),
    (64, 64): (4845.38, 0.198), (64, 96): (4874.982, 0.234),
}  # fmt: skip
"""Area in um2 and access time in ns by size: flow/platforms/nangate45/lib of OpenROAD-flow-scripts,
commit 8c009b0b of August 2026."""


def _check_fit(stated: Fit, found: Fit) -> None:
    assert stated.terms == found.terms
    assert stated.coefficients == pytest.approx(found.coefficients, rel=2e-5)
    for name in ("largest", "rms", "left_out_largest", "left_out_rms"):
        stated_error, error = getattr(stated.errors, name), getattr(found.errors, name)
        assert stated_error == pytest.approx(error, abs=0.051)


def test_the_formula_after_cacti() -> None:
    for number, fit in ((0, CACTI.area), (1, CACTI.access_ns)):
        assert fit is not None
        figures = [figure[number] for figure in FAKERAM.values()]
        _check_fit(fit, fitted(fit.terms, list(FAKERAM), figures))
    assert sorted(CACTI.sizes) == sorted(FAKERAM)


@needs_data
def test_the_formula_of_ihp_s_macros() -> None:
    """As stated and as fitted over the files; no macro is far from it."""
    library = target_library("sg13g2", liberty_path=real_libraries())
    assert library is not None
    found = library_law(library)
    assert (len(found.macros), found.kind) == (10, "macros")
    assert sorted(found.sizes) == sorted(IHP.sizes)
    for name in ("area", "access_ns", "read_pj", "write_pj"):
        _check_fit(getattr(IHP, name), getattr(found, name))
    assert IHP.leakage_nw == pytest.approx(found.leakage_nw, rel=1e-5)
    assert IHP.pins is not None
    assert found.pins is not None
    assert IHP.pins.capacitance == pytest.approx(found.pins.capacitance)
    for kind, (fast, growth) in IHP.pins.setup_ns.items():
        assert found.pins.setup_ns[kind] == pytest.approx((fast, growth), rel=1e-4)
    # Without its files the library has the stated law.
    assert library_law(replace(library, files=())) is IHP


@needs_data
def test_the_page_has_the_errors(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--liberty-path", str(real_libraries())])
    said = capsys.readouterr().out
    page = (Path(__file__).parents[2] / "docs" / "synth.md").read_text(encoding="utf-8")
    rows = [line for line in said.splitlines() if line.startswith("|")]
    assert len(rows) == 12
    assert "\n".join(rows) in page
    main(["--target", "cmos"])
    assert "6 transistors a bit" in capsys.readouterr().out


@needs_data
def test_a_macro_that_is_read() -> None:
    files = macro_files([data_file("liberty/sg13g2/any.lib")])
    assert len(files) == 10
    macro = read_macro(next(file for file in files if "_1024x16_" in file.name), 0.0339)
    assert (macro.words, macro.width, macro.area) == (1024, 16, 79673.728)
    assert macro.access_ns == 4.3051
    assert macro.setup_ns["enable"] == (0.298, 0.6887)
    assert (macro.slowest_ns, macro.capacitance["mask"]) == (0.476, 0.00285703)
    assert (macro.read_pj, macro.write_pj, macro.leakage_nw) == (26.4863, 32.918, 198.0155)


def _macro(words: int, width: int) -> Macro:
    return Macro(
        words=words, width=width, area=100 + 2.0 * words * width + 5 * width + words / 4,
        access_ns=1 + 0.1 * max(words / 4 - 64, 0) ** 0.5,
        setup_ns=dict.fromkeys(("address", "data", "enable"), (0.1, 0.3)), slowest_ns=0.5,
        capacitance=dict.fromkeys(("address", "data", "enable", "mask"), 0.002),
        read_pj=1 + 0.01 * words * width + width, write_pj=2 + 0.02 * words * width + width,
        leakage_nw=3.0 * words * width,
    )  # fmt: skip


MACROS = [_macro(words, width) for words in (64, 512, 2048) for width in (8, 32)]


def test_a_law_over_macros() -> None:
    """A formula that fits has no error; it is that of the macros."""
    law = law_of(MACROS)
    assert law.area is not None
    assert law.area.coefficients == pytest.approx((100, 2, 5, 1))
    assert (law.area.errors.largest, law.area.errors.left_out_largest) == pytest.approx((0, 0))
    assert law.access_ns.at(1024, 1) == pytest.approx(1 + 0.1 * 192**0.5)
    assert (law.words, law.width, law.bits) == ((64, 2048), (8, 32), 65536)
    assert law.leakage_nw == pytest.approx(3)
    with pytest.raises(ValueError, match="4 macros do not decide a formula of 4 terms"):
        law_of(MACROS[:4])
    with pytest.raises(ValueError, match="5 macros do not decide a formula of 4 terms"):
        law_of([_macro(64, 8)] * 5)


def _realised(shape: Shape, law: Law | None = None) -> Estimate:
    return estimate(shape, law or law_of(MACROS), 0.05)


def test_macros_of_a_memory() -> None:
    """Few words fill a part of a macro; wide words and many of them take several; each read port
    has a copy; more than two ports, and sizes beyond the macros, are told."""
    one = _macro(64, 8)
    found = _realised(Shape(40, 5, 1, 1))
    assert (found.realised, found.extrapolated) == ("1 x 64 x 8, 2 ports", ())
    assert found.area == pytest.approx(2.03 * one.area)
    assert found.leakage_nw == pytest.approx(1.61 * one.leakage_nw)
    assert (found.read_pj, found.write_pj) == pytest.approx((one.read_pj, one.write_pj))
    assert _realised(Shape(512, 70, 1, 1)).realised == "3 x 512 x 24, 2 ports"
    copies = _realised(Shape(512, 32, 2, 1))
    assert (copies.copies, copies.realised) == (2, "2 x 512 x 32, 2 ports")
    assert copies.write_pj == pytest.approx(2 * _macro(512, 32).write_pj)
    assert copies.read_pj == pytest.approx(_macro(512, 32).read_pj)
    deep = _realised(Shape(5000, 8, 1, 1))
    assert (deep.banks, deep.realised) == (3, "3 x 1667 x 8, 2 ports")
    assert deep.extrapolated == ("more than 2048 words",)
    assert deep.access_ns == pytest.approx(law_of(MACROS).access_ns.at(1667, 8) + 4 * 0.05)
    ports = _realised(Shape(512, 32, 1, 2))
    assert (ports.ports, ports.extrapolated) == (3, ("3 ports",))
    assert ports.area == pytest.approx(3.06 * _macro(512, 32).area)


def test_sizes_between_others() -> None:
    sizes = [(64, 64), (1024, 8), (1024, 64)]
    assert [inside(sizes, size) for size in (*sizes, (512, 60), (256, 40))] == [True] * 5
    assert not any(inside(sizes, size) for size in ((64, 8), (2048, 64), (32, 64), (512, 10)))


def test_the_formula_in_other_processes() -> None:
    """Areas go by the cell, times by FO4; transistors are counted."""
    assert CACTI.area is not None
    access = CACTI.access_ns.at(512, 64)
    for name, cell in (("sky130_fd_sc_hd__tt", 1.896), ("asap7sc7p5t", 0.02916), ("other", 4 / 3)):
        law = scaled(name, 0.1, 4.0)
        assert law.area is not None
        assert law.area.at(512, 64) == pytest.approx(CACTI.area.at(512, 64) * cell / CACTI_CELL)
        assert law.access_ns.at(512, 64) == pytest.approx(access / CACTI_FO4 * 0.1)
    law = library_law(CMOS)
    assert (law.kind, law.area, law.pins) == ("transistors", None, None)
    found = _realised(Shape(300, 8, 1, 1), law)
    assert (found.realised, found.area) == ("1 x 300 x 8, 2 ports", transistors(300, 8, 2))
    assert found.extrapolated == ("300 x 8 is not between them",)
    assert (found.read_pj, found.leakage_nw) == (None, None)
    # 6 a bit; 94 a data bit with its four columns, 14 a row, 28 for each of 9 bits and 2 enables.
    assert transistors(300, 8) == 300 * 8 * 6 + 8 * 94 + 75 * 14 + 11 * 28


def test_a_file_that_is_no_macro(tmp_path: Path) -> None:
    (tmp_path / "sram").mkdir()
    file = tmp_path / "sram" / "a.lib"
    file.write_text('library (a) { cell (b) { area : 1; pin (A_CLK) { direction : "input"; } } }')
    assert macro_files([tmp_path / "cells.lib"]) == [file]
    with pytest.raises(ValueError, match=r"liberty file .*a.lib is not a usable SRAM macro: "):
        read_macros([file], 0.01)
