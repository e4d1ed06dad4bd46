"""The example of docs/sida.md works, and its text on vectors in memory is true."""

from __future__ import annotations

from tilewright.hw.spec.jobs.sida import job_spec
from tilewright.hw.spec.sida import SidaConfig
from tilewright.verif.kit.pages import examples, page, register_rows

PAGE = page("sida.md")


def test_python_examples_run() -> None:
    found = examples(PAGE, "python")
    assert found
    names: dict[str, object] = {}
    for example in found:
        exec(compile(example, str(PAGE), "exec"), names)


def test_registers_of_vectors_in_memory() -> None:
    """The page lists exactly the additional registers; all other registers are the same."""
    config = SidaConfig()
    windowed = SidaConfig(rows_limit=config.vector_words)
    every = register_rows(job_spec(windowed).registers)
    others = register_rows(job_spec(config).registers)
    section = PAGE.read_text().partition("## Matrices with more rows\n")[2].partition("\n## ")[0]
    listed = [line for line in section.splitlines() if line.startswith("| 0x")]
    assert listed == [row for row in every if row not in others]
    assert [row for row in every if row not in listed] == others
