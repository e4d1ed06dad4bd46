"""The example of docs/sida.md works."""

from __future__ import annotations

from tilewright.verif.kit.pages import examples, page

PAGE = page("sida.md")


def test_python_examples_run() -> None:
    found = examples(PAGE, "python")
    assert found
    names: dict[str, object] = {}
    for example in found:
        exec(compile(example, str(PAGE), "exec"), names)
