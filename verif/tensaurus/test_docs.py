"""The examples of docs/tensaurus.md work."""

from __future__ import annotations

from tilewright.verif.kit.pages import examples, page

PAGE = page("tensaurus.md")


def test_python_examples_run() -> None:
    found = examples(PAGE, "python")
    assert found
    names: dict[str, object] = {}
    for example in found:
        exec(compile(example, str(PAGE), "exec"), names)
