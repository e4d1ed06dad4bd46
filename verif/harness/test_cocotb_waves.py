"""Waves of a simulation for cocotb that find no room."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.m3xu import M3xuConfig
from tilewright.sim.rtl.build import BuildError
from tilewright.sim.rtl.payload import row_words
from tilewright.verif.bench.stream_job import StreamBuild

COUNT = 3000


class FullBuild(StreamBuild):
    """A build whose waves go into a device that takes nothing."""

    def launch(
        self, module: str, work: Path, *, environment: Mapping[str, str], **more: Any
    ) -> None:
        (work / "waves.vcd").symlink_to("/dev/full")
        super().launch(module, work, environment=environment, **more)


@pytest.mark.long
def test_waves_that_find_no_room(tmp_path: Path) -> None:
    """The simulation ends; Verilator's own way is to wait for ever for a lock that it holds."""
    made = emit("m3xu", M3xuConfig(rows=1, cols=1, depth=4, modes=("fp16",)))
    words = {s["name"]: row_words(s["width"]) for s in made.sidecar["streams"]}
    inputs, expected = (np.zeros((COUNT, words[name]), np.uint32) for name in ("i", "o"))
    build = FullBuild(made, waves=True)
    said = "^the simulation ended with an error: No space left on device, among temporary files in "
    with pytest.raises(BuildError, match=said):
        build.run({"i": inputs}, {"o": expected}, waves=tmp_path / "waves.vcd")
    assert list(tmp_path.iterdir()) == []
