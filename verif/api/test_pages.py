"""The examples of pages work, and what they say of backends is so: the same text on each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tilewright.verif.kit.pages import examples, page

_MODEL = 'backend="model"'


ELSEWHERE = {
    ("engine.md", "rtl"): pytest.mark.slow,
    ("engine.md", "cycles"): pytest.mark.long,
    ("matraptor.md", "rtl"): pytest.mark.long,
    ("matraptor.md", "cycles"): pytest.mark.long,
    ("c2sr.md", "rtl"): pytest.mark.slow,
    ("tensaurus.md", "rtl"): pytest.mark.long,
    ("tensaurus.md", "cycles"): pytest.mark.long,
    ("sida.md", "rtl"): pytest.mark.long,
    ("sida.md", "cycles"): pytest.mark.long,
    ("sida-applications.md", "rtl"): pytest.mark.long,
    ("sida-applications.md", "cycles"): pytest.mark.long,
}
"""What pages say that their programs run on, too, and how long that takes. On the model other tests
run them."""


def run(name: str, backend: str = "model") -> int:
    """Run a page's examples, one after the other, devices of models having another backend. Returns
    how many there are of those."""
    names: dict[str, object] = {}
    count = 0
    for block in examples(page(name), "python"):
        text = block.replace(_MODEL, f'backend="{backend}"')
        count += block.count(_MODEL)
        exec(compile(text, name, "exec"), names)
    return count


@pytest.mark.slow
def test_the_page_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On RTL and on the cycle model, too: where it says so itself."""
    monkeypatch.chdir(tmp_path)
    assert examples(page("python.md"), "python")
    run("python.md")
    assert (tmp_path / "unit.v").exists()


@pytest.mark.parametrize(
    ("name", "backend"), [pytest.param(*one, marks=mark) for one, mark in ELSEWHERE.items()]
)
def test_the_same_program_on_another_backend(
    name: str, backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(name, backend)


def test_every_page_that_says_so_is_here() -> None:
    said = set()
    for path in sorted(page("README.md").parent.glob("*.md")):
        text = " ".join(path.read_text().split())
        if _MODEL in text and path.name != "python.md":
            offered = re.findall(r'[`with ]backend="(rtl|cycles)"`', text)
            assert "rtl" in offered or path.name == "tensaurus-applications.md", path.name
            said |= {(path.name, backend) for backend in offered}
    assert said == set(ELSEWHERE)
