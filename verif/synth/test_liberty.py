"""Cell libraries: boolean expressions, Liberty files good and bad."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tilewright.synth.cells import library_text
from tilewright.synth.flow import synthesize_verilog, target_library
from tilewright.synth.library.cells import evaluate, truth_table
from tilewright.synth.library.liberty import read_library
from tilewright.verif.kit.data import needs_data, real_library
from tilewright.verif.synth.cell_libraries import CMOS, REGISTER

pytestmark = pytest.mark.quick


def test_boolean_expressions() -> None:
    assert truth_table("(!((S A) + (!S B)))", ["A", "B", "S"]) == truth_table(
        "!(A & S | B & S')", ["A", "B", "S"]
    )
    assert evaluate("(A B)' ^ 1", {"A": True, "B": True})
    assert not evaluate("A & !A | 0", {"A": True})


def test_the_cmos_library() -> None:
    cells = CMOS.cells
    assert cells["FAX1"].area == 28
    assert cells["DFFX1"].sequential
    assert cells["DFFX1"].clock == "CK"
    edges = {arc.source: arc.edges for arc in cells["MUXI2X1"].arcs}
    assert edges["A"] == ((0, 1), (1, 0))
    assert len(edges["S"]) == 4


@needs_data
def test_areal_library() -> None:
    library = read_library(real_library())
    adder = library.smallest(3, truth_table("A B + B C + C A", "ABC"), truth_table("A^B^C", "ABC"))
    assert adder is not None
    assert (adder.name, adder.area) == ("FAX1", 8.9167)
    assert not library.cells["TBUFX1"].usable


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "line 1: expected 'library', found 'an empty file'"),
        ("module x; endmodule", "line 1: expected 'library', found 'module'"),
        ("library (x) {\n cell (y) {\n", "line 3: the end of the file inside group `cell`"),
        ("library (x) { }", "it has no cells"),
        (library_text().replace("cell (DFFX1)", "other (DFFX1)"), "it lacks a flip-flop"),
        (library_text().replace('"!A"', '"A"'), "it lacks an inverter"),
    ],
)
def test_a_bad_library(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "bad.lib"
    path.write_text(text)
    message = f"liberty file {path} is not a usable library: {reason}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        synthesize_verilog(REGISTER, "register", f"liberty:{path}")


@pytest.mark.parametrize("what", ["missing.lib", "."])
def test_a_library_that_cannot_be_read(tmp_path: Path, what: str) -> None:
    start = re.escape(f"liberty file {tmp_path / what} cannot be read: ")
    with pytest.raises(ValueError, match=f"^{start}.+$"):
        target_library(f"liberty:{tmp_path / what}")
