"""The page of designs has all of them, and each drawing is the command's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tilewright.cli import main
from tilewright.hw.t2s.lowering.design import DESIGNS as SHIPPED
from tilewright.verif.kit.pages import page
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.t2s.designs import CGRA, DESIGNS, FOLDER, SPARSE

PAGE = page("t2s-designs.md")


def _drawing(name: str) -> Path:
    return PAGE.parent / "t2s-designs" / f"{name.replace('/', '-')}.svg"


def test_every_design_has_a_section() -> None:
    sections = dict(re.findall(r"^## (\S+)\n\n    (.+)$", PAGE.read_text(), re.MULTILINE))
    assert list(sections) == [*DESIGNS, *(f"cgra/{name}" for name in CGRA), *SPARSE]
    assert set(sections) == set(SHIPPED)
    for name, definition in sections.items():
        assert f"]({_drawing(name).relative_to(PAGE.parent)})" in PAGE.read_text()
        # The result, as the file has it: `C(i, j) = `.
        assert (FOLDER / f"{name}.py").read_text()[3:].startswith(definition.split("=")[0]), name
    drawn = {one.name for one in (PAGE.parent / "t2s-designs").iterdir()}
    assert drawn == {_drawing(name).name for name in sections}


@pytest.mark.parametrize("name", slow_but(["fir", "cgra/ttmc"], sorted(SHIPPED)))
def test_the_drawing(name: str, tmp_path: Path) -> None:
    drawn = tmp_path / "drawn.svg"
    assert main(["t2s", "show", str(FOLDER / f"{name}.py"), "--svg", str(drawn)]) == 0
    assert drawn.read_text() == _drawing(name).read_text()
