"""Machine code is made anew whenever a model changes."""

import importlib
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
import pytest
import tilewright
from tilewright.hw.spec.host.activity import Event, Stopwatch, listening
from tilewright.sim.matraptor.cycles import rows
from tilewright.sim.timing import compiled as compiler
from tilewright.sim.timing.compiled import called, code_directory, compiled, inlined, sources
from tilewright.verif.kit.imports import imports_of

pytestmark = pytest.mark.quick

PACKAGE = Path(str(tilewright.__file__)).parent
MODELS = sorted(PACKAGE.glob("sim/*/cycles/**/*.py"))

COMPILED = """
from tilewright.sim.timing.compiled import compiled
from . import part

plus = part.plus

@compiled
def model(x):
    return plus(x) * 2
"""
PART = """
from tilewright.sim.timing.compiled import inlined
from .deep import (
    STEP,
)

@inlined
def plus(x):
    return x + STEP
"""


def test_content_and_name_decide_where_code_is_kept(tmp_path: Path) -> None:
    modules = sources(Path(str(rows.__file__)))
    directories = [code_directory(modules), code_directory(modules[1:])]
    for number, module in enumerate(modules):
        copy = tmp_path / str(number) / module.name
        copy.parent.mkdir()
        copy.write_bytes(module.read_bytes())
        others = [*modules[:number], copy, *modules[number + 1 :]]
        assert code_directory(others) == directories[0]
        compiler._content.cache_clear()
        copy.write_bytes(module.read_bytes() + b"# touched\n")
        directories.append(code_directory(others))
    assert len(set(directories)) == len(directories)


def test_a_model_consists_of_what_it_imports() -> None:
    """The sources of each model are those that Python's own parser finds in its imports, direct and
    indirect."""
    files = {}
    for file in (*PACKAGE.glob("sim/**/*.py"), *PACKAGE.glob("hw/spec/**/*.py")):
        name = ".".join(file.relative_to(PACKAGE).with_suffix("").parts)
        files[name.removesuffix(".__init__")] = file
    known = frozenset(files)

    @cache
    def targets(name: str) -> set[str]:
        file = files[name]
        text = file.read_text()
        return {one.target for one in imports_of(text, name, known, file.name == "__init__.py")}

    for model in MODELS:
        found: set[str] = set()
        left = {name for name, file in files.items() if file == model}
        while left:
            found |= left
            left = set().union(*map(targets, left)) - found
        assert {files[name] for name in found} <= set(sources(model)), model


def test_no_other_system_is_a_part_of_a_model() -> None:
    """Every loaded module is a source of the model, and no source belongs to another system."""
    machine = "tilewright.sim.sida.cycles.machine"
    listed = "print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('tilewright.')))"
    said = subprocess.check_output([sys.executable, "-c", f"import sys, {machine}; {listed}"])
    names = set(said.decode().split()) - {"None"}  # The folders.
    loaded = {Path(name) for name in names if not name.endswith("__init__.py")}
    known = sources(PACKAGE.joinpath(*machine.split(".")[1:]).with_suffix(".py"))
    assert len(loaded) > 20
    assert loaded <= set(known)
    assert {one.relative_to(PACKAGE).parts[:2] for one in known} == {
        ("hw", "spec"), ("sim", "sida"), ("sim", "timing")
    }  # fmt: skip


def test_what_imports_a_touched_module_is_compiled_anew(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "touched"
    package.mkdir()
    texts = {"__init__": "", "model": COMPILED, "part": PART, "deep": "STEP = 2", "other": ""}
    for name, text in texts.items():
        (package / f"{name}.py").write_text(text)

    def found(value: int) -> bool:
        """Returns whether the model of 1, which returns ``value``, is in the cache."""
        for memory in (compiler._imported, compiler._content, compiler._directory):
            memory.cache_clear()
        for name in [name for name in sys.modules if name.startswith("touched")]:
            monkeypatch.delitem(sys.modules, name)
        importlib.invalidate_caches()
        model = importlib.import_module("touched.model").model
        assert model(1) == value
        return bool(model.stats.cache_hits)

    def touch(name: str, text: str) -> None:
        (package / f"{name}.py").write_text(text)

    assert [found(6), found(6)] == [False, True]
    touch("other", "STEP = 3  # in no model")
    assert found(6)
    touch("deep", "STEP = 30 # in another module")
    assert [found(62), found(62)] == [False, True]
    touch("part", f"{PART}# a comment")
    assert [found(62), found(62)] == [False, True]


def test_compiled_code_lies_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tilewright.sim.timing.compiled._directory", lambda module: str(tmp_path))

    def twice(x: int) -> int:
        return 2 * x

    assert compiled(twice)(21) == 42
    assert [path.suffix for path in tmp_path.rglob("*.nb[ci]")]


def test_what_is_compiled_is_told_what_is_kept_is_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tilewright.sim.timing.compiled._directory", lambda module: str(tmp_path))
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
    monkeypatch.setattr("tilewright.sim.timing.compiled._directory", lambda module: str(tmp_path))

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
    monkeypatch.setattr("tilewright.sim.timing.compiled._directory", lambda module: str(tmp_path))

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
