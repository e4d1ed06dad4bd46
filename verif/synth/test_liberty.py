"""Cell libraries: boolean expressions, Liberty files good and bad."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from tilewright.synth.cells import library_text
from tilewright.synth.flow import synthesize_verilog
from tilewright.synth.library import liberty
from tilewright.synth.library.cells import evaluate, truth_table
from tilewright.synth.library.liberty import read_library
from tilewright.synth.library.liberty_text import Group, parse_liberty
from tilewright.synth.targets import target_library
from tilewright.verif.kit.data import needs_data, real_libraries, real_library
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


# Several files, folders, names


def _halves() -> tuple[str, str]:
    """The library ``cmos`` as two: gates, and half of them with the flip-flop."""
    tree = parse_liberty(library_text())
    head = [group for group in tree.groups if group.name != "cell"]
    cells = list(tree.named("cell"))
    texts = []
    for number, part in enumerate((cells[:12], cells[12:])):
        power = Group("leakage_power", [], {"value": "1"})
        for cell in part:
            cell.groups.append(power)
        named = Group("library", [f"halves_{'ab'[number]}"], tree.attributes, tree.lists)
        texts.append(Group(**{**vars(named), "groups": [*head, *part]}).written())
    return texts[0], texts[1]


def test_a_library_of_several_files(tmp_path: Path) -> None:
    """Named by commas, as a folder, gzipped: the same cells, tables and text without power."""
    first, second = _halves()
    (tmp_path / "a.lib").write_text(first)
    (tmp_path / "b.lib.gz").write_bytes(gzip.compress(second.encode()))
    (tmp_path / "readme.txt").write_text("no library")
    folder = target_library(f"liberty:{tmp_path}")
    named = target_library(f"liberty:{tmp_path / 'a.lib'},{tmp_path / 'b.lib.gz'}")
    assert folder is not None
    assert named is not None
    assert folder.name == "halves"
    assert folder.files == named.files == (tmp_path / "a.lib", tmp_path / "b.lib.gz")
    assert list(folder.cells) == list(CMOS.cells)
    for name, cell in CMOS.cells.items():
        other = folder.cells[name]
        assert (other.area, other.pins, other.sequential) == (cell.area, cell.pins, cell.sequential)
        points = [(arc.delay[0].at(0.01, 0.02), arc.edges) for arc in cell.arcs]
        assert [(arc.delay[0].at(0.01, 0.02), arc.edges) for arc in other.arcs] == points
    assert "leakage_power (" in first
    assert "leakage_power (" not in folder.text + folder.gates + folder.outlines
    assert "timing (" not in folder.outlines
    assert "DFFX1" not in folder.gates


def test_files_of_one_library_agree_in_their_units(tmp_path: Path) -> None:
    first, second = _halves()
    (tmp_path / "a.lib").write_text(first)
    (tmp_path / "b.lib").write_text(second.replace("1ps", "1ns"))
    message = (
        f"liberty file {tmp_path / 'a.lib'},{tmp_path / 'b.lib'} is not a usable library: "
        "its units or thresholds are not those of library 'halves_a'"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        target_library(f"liberty:{tmp_path}")


def test_a_library_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.lib"
    path.write_text(library_text() + "\n")
    read_library(path)
    monkeypatch.setattr(liberty, "parse_liberty", None)
    assert read_library(path).cells.keys() == CMOS.cells.keys()
    monkeypatch.setattr(liberty, "_known", {})
    with pytest.raises(TypeError):
        read_library(path)
    path.write_text(library_text().replace("area : 24", "area : 25"))
    monkeypatch.undo()
    assert read_library(path).cells["DFFX1"].area == 25


def test_cells_to_avoid() -> None:
    library = target_library("cmos", ["XOR*", "*X2"])
    assert library is not None
    gone = {name for name, cell in library.cells.items() if not cell.usable}
    assert gone == {"XOR2X1", "INVX2", "BUFX2"}
    assert "cell (XOR2X1)" not in library.gates + library.outlines
    with pytest.raises(ValueError, match=r"^cells to avoid must be in library .*, not "):
        target_library("cmos", ["xor*"])
    with pytest.raises(ValueError, match=r"^cells to avoid are of cell libraries: no --dont-use "):
        target_library("ecp5", ["X*"])


def test_known_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is a folder or a file below the path, which an option or the environment has."""
    monkeypatch.delenv("TILEWRIGHT_LIBERTY", raising=False)
    with pytest.raises(ValueError, match=r"^target asap7 needs its Liberty files: give their fold"):
        target_library("asap7")
    with pytest.raises(ValueError, match=rf"^liberty path {re.escape(str(tmp_path))} must have "):
        target_library("asap7", liberty_path=tmp_path)
    (tmp_path / "sky130hd.lib.gz").write_bytes(gzip.compress(library_text().encode()))
    (tmp_path / "asap7").mkdir()
    weak = library_text().replace("INVX2", "INVxp5_ASAP7_75t_R")
    (tmp_path / "asap7" / "some.lib").write_text(weak)
    found = target_library("sky130hd", liberty_path=tmp_path)
    assert found is not None
    assert found.files == (tmp_path / "sky130hd.lib.gz",)
    monkeypatch.setenv("TILEWRIGHT_LIBERTY", str(tmp_path))
    found = target_library("asap7")
    assert found is not None
    assert [name for name, cell in found.cells.items() if not cell.usable] == ["INVxp5_ASAP7_75t_R"]


@needs_data
@pytest.mark.parametrize(
    ("name", "cells", "flip_flop"),
    [("asap7", 202, "DFFHQNx1_ASAP7_75t_R"), ("sg13g2", 84, "sg13g2_dfrbp_1"),
     ("sky130hd", 428, "sky130_fd_sc_hd__dfxtp_1"), ("gscl45nm", 31, "DFFPOSX1")],
)  # fmt: skip
def test_real_libraries(name: str, cells: int, flip_flop: str) -> None:
    library = target_library(name, liberty_path=real_libraries())
    assert library is not None
    assert len(library.cells) == cells
    assert library.cells[flip_flop].usable
    assert not any("xp" in cell for cell in library.cells if library.cells[cell].usable)
    assert "internal_power" not in library.text
