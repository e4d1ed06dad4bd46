"""Runs of a cocotb test module on a generated top: settings in, results out."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tilewright.verif.bench.cocotb_build import CocotbBuild

SETTINGS = "TILEWRIGHT_BENCH"
"""The environment variable that leads a test module to its settings."""


def settings_directory() -> Path:
    """Inside the simulator: where ``settings.json`` is and ``result.json`` is to be."""
    return Path(os.environ[SETTINGS])


class SettingsBuild(CocotbBuild):
    """A top, and runs of test modules on it."""

    def run(self, module: str, settings: Mapping[str, Any], *, seed: int = 0) -> Any:
        """Run the cocotb tests of a module.

        The module finds ``settings`` as JSON in ``settings_directory()/settings.json`` and leaves
        what it found in ``result.json`` beside it, which is returned. Raises BuildError with the
        end of the log if it left nothing.
        """
        with tempfile.TemporaryDirectory(prefix="tilewright-") as scratch:
            directory = Path(scratch)
            (directory / "settings.json").write_text(json.dumps({**settings, "seed": seed}))
            self.launch(module, directory, environment={SETTINGS: str(directory)}, seed=seed)
            result = self.result(directory)
            if result is None:
                raise self.said(directory, "ended without a result")
            return result
