"""Machine code is made anew whenever a model changes."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest
from tilewright.hw.spec import matraptor as spec
from tilewright.hw.spec.host.activity import Event, Stopwatch, listening
from tilewright.sim.matraptor.cycles import element, rows
from tilewright.sim.timing.compiled import called, code_directory, compiled, inlined, sources


def test_every_module_decides_where_code_is_kept(tmp_path: Path) -> None:
    copies = []
    for number, module in enumerate(sources()):
        copy = tmp_path / str(number) / module.name
        copy.parent.mkdir()
        copy.write_bytes(module.read_bytes())
        copies.append(copy)
    before = code_directory(copies)
    for copy in copies:
        text = copy.read_bytes()
        copy.write_bytes(text + b"# touched\n")
        assert code_directory(copies) != before, copy.name
        copy.write_bytes(text)
    assert code_directory(copies) == before


def test_models_and_shared_words_are_among_them() -> None:
    """Whatever module of ours is loaded where the cycle models are, it is one of them."""
    known = set(sources())
    for module in (element, rows, spec):
        assert Path(str(module.__file__)) in known
    names = ("tilewright.sim.", "tilewright.hw.spec.")
    loaded = {str(m.__file__) for n, m in sys.modules.items() if n.startswith(names)}
    assert {Path(path) for path in loaded} <= known


def test_compiled_code_lies_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tilewright.sim.timing.compiled._directory", lambda: str(tmp_path))

    def twice(x: int) -> int:
        return 2 * x

    assert compiled(twice)(21) == 42
    assert [path.suffix for path in tmp_path.rglob("*.nb[ci]")]


def test_what_is_compiled_is_told_what_is_kept_is_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tilewright.sim.timing.compiled._directory", lambda: str(tmp_path))
    told: list[tuple[Event, str]] = []

    def twice(x: int) -> int:
        return 2 * x

    with listening(lambda event, one: told.append((event, one.what))):
        watch = Stopwatch()
        assert compiled(twice)(21) == 42
        assert watch.compiled > 0
        watch = Stopwatch()
        assert compiled(twice)(21) == 42
        assert watch.compiled == 0
    what = "compiling the cycle model, once"
    assert told == [("begin", what), ("end", what)]


@pytest.mark.parametrize("part", [called, inlined])
def test_parts_are_kept_too(
    part: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The next function that is of them does not compile them again."""
    monkeypatch.setattr("tilewright.sim.timing.compiled._directory", lambda: str(tmp_path))

    def twice(x: int) -> int:
        return 2 * x

    found = []
    for _ in range(2):
        kept = part(twice)
        kept.compile((numba.int64,))
        found.append(sum(kept.stats.cache_hits.values()))
    assert found == [0, 1]


def test_a_constant_is_no_type_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A part that is called with a constant and with a variable is compiled once."""
    monkeypatch.setattr("tilewright.sim.timing.compiled._directory", lambda: str(tmp_path))

    @inlined
    def plus(x: int, y: int) -> int:
        return x + y

    @compiled
    def count(most: int) -> int:
        now = 0
        while now < most:
            now = plus(now, 1)
        return plus(now, most)

    assert count(5) == 10
    (kinds,) = vars(plus)["overloads"]
    assert kinds == (numba.int64, numba.int64)
