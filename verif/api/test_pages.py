"""The examples of pages work, and what they say of backends is so: the same text on each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tilewright.verif.kit.pages import examples, page

_MODEL = 'backend="model"'


ELSEWHERE = {
    ("engine.md", "rtl"): pytest.mark.slow,
    ("engine.md", "cycles"): pytest.mark.long,
    ("matraptor.md", "rtl"): pytest.mark.long,
    ("matraptor.md", "cycles"): pytest.mark.long,
    ("c2sr.md", "rtl"): pytest.mark.long,
    ("tensaurus.md", "rtl"): pytest.mark.long,
    ("tensaurus.md", "cycles"): pytest.mark.long,
    ("sida.md", "rtl"): pytest.mark.long,
    ("sida.md", "cycles"): pytest.mark.long,
    ("sida-applications.md", "rtl"): pytest.mark.long,
    ("sida-applications.md", "cycles"): pytest.mark.long,
}
"""What pages say that their programs run on, too, and how long that takes. On the model other tests
run them."""


def run(name: str, backend: str = "model") -> tuple[int, dict[str, Any]]:
    """Run a page's examples, one after the other, devices of models having another backend. Returns
    how many there are of those, and the names that the examples leave."""
    names: dict[str, Any] = {}
    count = 0
    for block in examples(page(name), "python"):
        text = block.replace(_MODEL, f'backend="{backend}"')
        count += block.count(_MODEL)
        exec(compile(text, name, "exec"), names)
    return count, names


def counters(driver: Any) -> Any:
    """Of the last product: some drivers have those of its jobs."""
    if not hasattr(driver, "jobs"):
        return driver.counts
    return [getattr(job, "counts", job) for job in driver.jobs]


@pytest.mark.slow
def test_the_page_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On RTL and on the cycle model, too: where it says so itself."""
    monkeypatch.chdir(tmp_path)
    assert examples(page("python.md"), "python")
    run("python.md")
    assert (tmp_path / "unit.sv").exists()


@pytest.mark.parametrize(
    ("name", "backend"), [pytest.param(*one, marks=mark) for one, mark in ELSEWHERE.items()]
)
def test_the_same_program_on_another_backend(
    name: str, backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    count, _ = run(name, backend)
    assert count


@pytest.mark.long
@pytest.mark.parametrize("name", ["engine.md", "matraptor.md", "tensaurus.md", "sida.md"])
def test_every_counter_is_equal(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On RTL and on the cycle model, in the last program of each page."""
    monkeypatch.chdir(tmp_path)
    found = {}
    for backend in ("model", "rtl", "cycles"):
        _, names = run(name, backend)
        found[backend] = counters(names["driver"])
    assert found["rtl"] == found["cycles"]
    assert found["rtl"] != found["model"]


def test_every_page_that_says_so_is_here() -> None:
    said = set()
    for path in sorted(page("README.md").parent.glob("*.md")):
        text = " ".join(path.read_text().split())
        if _MODEL in text and path.name != "python.md":
            offered = re.findall(r'[`with ]backend="(rtl|cycles)"`', text)
            assert "rtl" in offered or path.name == "tensaurus-applications.md", path.name
            said |= {(path.name, backend) for backend in offered}
    assert said == set(ELSEWHERE)
