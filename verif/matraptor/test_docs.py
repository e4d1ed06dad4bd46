"""docs/matraptor.md says what registers the second mode has, and its examples work."""

from __future__ import annotations

from tilewright.hw.spec.jobs.matraptor import job_spec
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.verif.kit.pages import examples, page, register_rows

PAGE = page("matraptor.md")


def test_registers_of_the_second_mode() -> None:
    both = register_rows(job_spec(MatRaptorConfig(outer_product=True)).registers)
    plain = register_rows(job_spec(MatRaptorConfig()).registers)
    more = [row for row in both if not row.startswith("| |") and row not in plain]
    assert len(more) == 2
    text = PAGE.read_text()
    assert all(row in text for row in more)


def test_python_examples_run() -> None:
    found = examples(PAGE, "python")
    assert found
    names: dict[str, object] = {}
    for example in found:
        exec(compile(example, str(PAGE), "exec"), names)
