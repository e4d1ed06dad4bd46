"""Designs that ship: after each pass they compute what their definitions say, which NumPy
confirms."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from tilewright.errors import UserError
from tilewright.hw.t2s.compiler.passes import MAPPED, PASSES, compiled, programs
from tilewright.hw.t2s.language.mapping_file import load_mapping
from tilewright.sim.t2s.any_bounds import depths_for_any_bounds
from tilewright.sim.t2s.checking import random_operands
from tilewright.sim.t2s.depths import run_empty
from tilewright.sim.t2s.interpreter import interpret
from tilewright.tables.t2s.designs import CGRA as PAPER_CGRA
from tilewright.tables.t2s.designs import PAPER, t2s_designs
from tilewright.verif.kit.pages import page
from tilewright.verif.t2s.designs import CGRA, DESIGNS, FOLDER, SPARSE, bounds_of
from tilewright.verif.t2s.numpy_results import by_numpy


def test_every_design_is_checked() -> None:
    files = {one.stem for one in FOLDER.glob("*.py")} - {"__init__"}
    assert files == set(DESIGNS)
    assert {one.stem for one in FOLDER.glob("cgra/[!_]*.py")} == set(CGRA)


@pytest.mark.parametrize("name", DESIGNS)
def test_passes(name: str) -> None:
    computation = load_mapping(FOLDER / f"{name}.py", largest=3)
    bounds = bounds_of(DESIGNS[name])
    found = list(programs(computation))
    operands = random_operands(found[0][1], bounds, seed=1)
    wanted = by_numpy(name, operands)
    assert [done for done, _ in found] == ["define", *PASSES]
    for done, program in found:
        assert np.array_equal(interpret(program, bounds, operands), wanted), done


@pytest.mark.parametrize("name", DESIGNS)
def test_lines(name: str) -> None:
    lines = (FOLDER / f"{name}.py").read_text().splitlines()[1:]
    assert sum(1 for line in lines if line.strip()) <= DESIGNS[name].lines


@pytest.mark.parametrize("name", CGRA)
def test_cgra(name: str) -> None:
    """Sums start from T; depths are found, and no more lines are taken than the thesis has."""
    file = FOLDER / "cgra" / f"{name}.py"
    computation = load_mapping(file, largest=2)
    bounds = bounds_of(CGRA[name])
    found = list(programs(computation))
    operands = random_operands(found[0][1], bounds, seed=1)
    wanted = by_numpy(f"cgra/{name}", operands)
    for done, program in found:
        assert np.array_equal(interpret(program, bounds, operands), wanted), done
    mapped = dict(found)[MAPPED]
    run_empty(mapped, bounds, depths_for_any_bounds(mapped))
    lines = file.read_text().splitlines()[1:]
    assert sum(1 for line in lines if line.strip()) <= CGRA[name].lines == PAPER_CGRA[name]


def test_table() -> None:
    """Arrays of Table 3.3 (that of GEMM is 10 x 8, as the text has it), no more lines than Table
    3.2's and 3.3's, and as many multipliers as there are DSP blocks but for 8 at most."""
    table = t2s_designs("cmos")
    rows = {row.label: row for row in table.rows}
    others = sorted(set(DESIGNS) - set(PAPER))
    cgra = [f"cgra/{name}" for name in CGRA]
    assert list(rows) == [*PAPER, *others, *cgra, *sorted(SPARSE)]
    for name, design in SPARSE.items():
        assert (rows[name].ours[0] or 99) <= design.lines
    assert rows["sparse/spmm"].ours[1:4] == (4, 8, 32)
    for name, most in PAPER_CGRA.items():
        assert rows[f"cgra/{name}"].paper == (most, None, None, None, None)
        assert rows[f"cgra/{name}"].ours[1:3] == (16, 4)
    for name, paper in PAPER.items():
        lines, elements, lanes, multipliers, sums = rows[name].ours
        assert rows[name].paper == paper
        assert (elements, lanes, sums) == (paper[1], paper[2], paper[4])
        assert 10 < (lines or 0) <= paper[0]
        assert paper[3] - 8 <= (multipliers or 0) <= paper[3]
    assert [rows[name].ours[3] for name in PAPER] == [1280, 1224, 1408, 1360]
    with pytest.raises(UserError, match="no --target, not 'ice40'"):
        t2s_designs("ice40")


def test_page_has_the_table() -> None:
    console = Console(width=120, file=StringIO())
    t2s_designs("cmos").print(console)
    assert isinstance(console.file, StringIO)
    shown = [line.split() for line in console.file.getvalue().splitlines()]
    told = [line.split() for line in page("t2s.md").read_text().splitlines()]
    assert [line for line in shown if line and line not in told] == []


def test_serialise(tmp_path: Path) -> None:
    """A serializer, and a deserializer, that are added behind others are as those named there."""
    text = (FOLDER / "gemm.py").read_text()
    chain, on_host = '"feeder", "loader"', ', "serializer")'
    for letter in "AB":
        own = letter.lower()
        named = f"feed_{own}, load_{own}, serialize_{own} = C.producers({letter}, {chain}{on_host}"
        added = (
            f"feed_{own}, load_{own} = C.producers({letter}, {chain})\n"
            f"serialize_{own} = C.serialise({letter})"
        )
        assert named in text
        text = text.replace(named, added)
    named = 'unload, store = C.consumers("drainer", "collector", "unloader", "deserializer")'
    assert named in text
    added = 'unload = C.consumers("drainer", "collector", "unloader")\nC.deserialise()'
    file = tmp_path / "mine.py"
    file.write_text(text.replace(named, added))
    assert compiled(load_mapping(file)) == compiled(load_mapping(FOLDER / "gemm.py"))
