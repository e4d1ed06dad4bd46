"""Runs a cocotb test module on a generated top: settings in, results out."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cocotb_tools.runner import get_runner
from tilewright.hw.emit.unit import Emitted
from tilewright.sim.rtl.streams import BuildError
from tilewright.verif.bench.stream_job import CocotbBuild

__all__ = ["SETTINGS", "BenchBuild", "settings_directory"]

SETTINGS = "TILEWRIGHT_BENCH"
"""The environment variable that leads a test module to its settings."""


def settings_directory() -> Path:
    """Inside the simulator: where ``settings.json`` is and ``result.json`` is to be."""
    return Path(os.environ[SETTINGS])


class BenchBuild:
    """A top compiled for Verilator (from the cache if it is there), and runs of test modules on it.

    Parameters
    ----------
    emitted: the top's Verilog and sidecar
    """

    def __init__(self, emitted: Emitted) -> None:
        self._top = emitted.sidecar["module"]
        self._directory = CocotbBuild(emitted).directory

    def run(self, module: str, settings: Mapping[str, Any], *, seed: int = 0) -> Any:
        """Run the cocotb tests of a module.

        The module finds ``settings`` as JSON in ``settings_directory()/settings.json`` and leaves
        what it found in ``result.json`` beside it, which is returned. Raises BuildError with the
        end of the log if it left nothing.
        """
        logging.getLogger("cocotb_tools.runner").setLevel(logging.ERROR)
        with tempfile.TemporaryDirectory(prefix="tilewright-") as scratch:
            directory = Path(scratch)
            (directory / "settings.json").write_text(json.dumps({**settings, "seed": seed}))
            get_runner("verilator").test(
                test_module=module,
                hdl_toplevel=self._top,
                hdl_toplevel_lang="verilog",
                build_dir=self._directory,
                test_dir=directory,
                seed=seed,
                extra_env={SETTINGS: str(directory), "COCOTB_LOG_LEVEL": "WARNING"},
                results_xml=str(directory / "results.xml"),
                log_file=directory / "run.log",
            )
            result = directory / "result.json"
            if not result.exists():
                said = (directory / "run.log").read_text()[-4000:]
                raise BuildError(f"the simulation ended without a result:\n{said}")
            return json.loads(result.read_text())
