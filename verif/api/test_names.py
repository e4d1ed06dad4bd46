"""The package itself: importing it costs nothing, and every public name is available."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import tilewright
from tilewright.verif.kit.imports import ROOMS
from tilewright.verif.kit.refusal import refused

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[2]
_PACKAGE = Path(tilewright.__file__)


def modules_after(statement: str) -> set[str]:
    """Returns the modules that a new interpreter imports to run a statement."""
    text = f"import sys; known = set(sys.modules); {statement}; print(*set(sys.modules) - known)"
    command = [sys.executable, "-c", text]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_imports_nothing_else() -> None:
    """The import loads no other module, and so takes a millisecond or two."""
    assert modules_after("import tilewright") == {"tilewright"}
    assert modules_after("import tilewright; tilewright.__version__; dir(tilewright)") == {
        "tilewright"
    }


def test_units_are_known_without_numpy() -> None:
    found = modules_after("import tilewright; tilewright.units['m3xu'].config(rows=4)")
    assert not found & {"numpy", "amaranth", "numba", "scipy"}


@pytest.mark.parametrize("name", tilewright.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert name in dir(tilewright)
    found = getattr(tilewright, name)
    assert found is getattr(tilewright, name)
    assert name == "__version__" or found.__doc__


def test_others_are_not() -> None:
    with refused(AttributeError, "module 'tilewright' has no attribute 'device_'"):
        tilewright.device_  # type: ignore[attr-defined]  # noqa: B018


def test_type_checkers_see_every_name() -> None:
    """The names imported for type checkers are the names found at run time."""
    tree = ast.parse(_PACKAGE.read_text())
    branch = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {
        alias.asname: f"{one.module}:{alias.name}"
        for one in branch.body
        if isinstance(one, ast.ImportFrom)
        for alias in one.names
    }
    assert imported == {**tilewright._FOUND_IN, "synth": "api.reports:synth"}
    assert set(tilewright.__all__) == {*imported, *tilewright._MODULES, "__version__"}


@pytest.mark.parametrize("first", ["tilewright.synth", "import tilewright.synth.report"])
def test_synth_is_a_function_and_a_package(first: str) -> None:
    """The package can be called as the function, whichever was imported first."""
    check = "assert callable(tilewright.synth); from tilewright.synth.report import Report"
    modules_after(f"import tilewright; {first}; {check}; tilewright.synth.report.Report")


def test_nothing_is_imported_beside() -> None:
    """All other imports are in functions."""
    tree = ast.parse(_PACKAGE.read_text())
    assert not [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]


def test_rooms_name_the_package_for_its_version_only() -> None:
    """Else they would reach the command line through it, and no arrow would show."""
    wrong = []
    for room in set(ROOMS) - {"verif"}:
        for path in sorted((ROOT / room).rglob("*.py")):
            text = path.read_text()
            for node in ast.walk(ast.parse(text)) if "tilewright" in text else ():
                if isinstance(node, ast.ImportFrom) and node.module == "tilewright":
                    wrong += [path] * any(one.name not in ROOMS for one in node.names)
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    ours = node.value.id == "tilewright" and node.attr != "__version__"
                    wrong += [path] * (ours and node.attr not in ROOMS)
    assert not wrong
