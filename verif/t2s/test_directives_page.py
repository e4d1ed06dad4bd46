"""The page of directives equals the docstrings, and the refusals in it happen."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from tilewright.apps.t2s.directives_page import BEFORE, DIRECTIVES, directives_page, refusals
from tilewright.hw.t2s.compiler.passes import compiled
from tilewright.hw.t2s.language import Computation, Isolated, MappingError
from tilewright.verif.kit.pages import page

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
