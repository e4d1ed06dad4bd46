"""The page of directives equals the docstrings, and the refusals in it happen."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from tilewright.apps.t2s.directives_page import BEFORE, DIRECTIVES, directives_page, refusals
from tilewright.cli import main
from tilewright.hw.t2s.compiler.passes import compiled
from tilewright.hw.t2s.language import Computation, Isolated, MappingError
from tilewright.hw.t2s.lowering.design import DESIGNS as SHIPPED
from tilewright.verif.kit.pages import page
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.t2s.designs import CGRA, DESIGNS, FOLDER, SPARSE

REFUSED = [
    (one.line, one.message) for _, directive in DIRECTIVES.values() for one in refusals(directive)
]
QUERIES = {"chain", "index_of_loops", "loop", "loops_of", "check_unrolled", "refuse_if_sparse"}
"""Methods that say something of a computation and change nothing."""


def followed(text: str) -> None:
    names: dict[str, object] = {}
    exec(compile(text, str(Path("mine.py")), "exec"), names)
    for name in "CDY":
        computation = names[name]
        assert isinstance(computation, Computation)
        compiled(computation)


def test_the_page_is_what_is_printed() -> None:
    assert page("t2s-directives.md").read_text() == directives_page()


def test_every_directive_is_there() -> None:
    methods = {
        (prefix, name)
        for prefix, one in (("C", Computation), ("function", Isolated))
        for name, _ in inspect.getmembers(one, inspect.isfunction)
        if not name.startswith("_") and name not in QUERIES
    }
    assert {f"{prefix}.{name}" for prefix, name in methods} | {"compute", "tensor", "sizes"} == set(
        DIRECTIVES
    )


def test_what_stands_before_is_legal() -> None:
    followed(BEFORE)


@pytest.mark.parametrize(("line", "message"), REFUSED)
def test_what_is_refused(line: str, message: str) -> None:
    with pytest.raises(MappingError) as told:
        followed(BEFORE + line)
    assert str(told.value) == f"mine.py:{BEFORE.count(chr(10)) + 1}: {message}"


# The page of designs has all of them, and each drawing is the command's.

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
