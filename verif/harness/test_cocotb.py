"""Simulations for cocotb, and their waves, that find no room."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.m3xu import M3xuConfig
from tilewright.sim.rtl.build import BuildError
from tilewright.sim.rtl.payload import row_words
from tilewright.sim.rtl.waves import WaveFormat, wave_format
from tilewright.verif.bench.cocotb_build import SIMULATORS, CocotbBuild
from tilewright.verif.bench.stream_job import StreamBuild
from tilewright.verif.kit.waves import read_fst, read_vcd

COUNT = 3000


class FullBuild(StreamBuild):
    """A build whose waves go into a device that takes nothing."""

    def launch(
        self, module: str, work: Path, *, environment: Mapping[str, str], **more: Any
    ) -> None:
        (work / "waves.vcd").symlink_to("/dev/full")
        super().launch(module, work, environment=environment, **more)


class Unbuilt(CocotbBuild):
    """Of no unit."""

    def _build(self, verilog: str) -> None:
        pass


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the simulator says of it, or does not say."""

    class Runner:
        error = ""

        def test(self, *, log_file: Path, **_: Any) -> None:
            log_file.write_text(f"start\n{self.error}\nend\n")
            if self.error:
                raise RuntimeError("Command failed with return code: 1")

    build = Unbuilt(Emitted("module unit; endmodule", {"module": "unit"}))
    monkeypatch.setattr("tilewright.verif.bench.cocotb_build.get_runner", lambda _: Runner())
    build.launch("module", tmp_path, environment={})
    no_room = f"No space left on device, among temporary files in {tmp_path.parent}"
    for error, said in [
        (f"flush: {no_room.split(',')[0]}", f"^the simulation ended with an error: {no_room}$"),
        ("assertion", r"^the simulation ended with an error:\nstart\nassertion\nend\n$"),
    ]:
        monkeypatch.setattr(Runner, "error", error)
        with pytest.raises(BuildError, match=said):
            build.launch("module", tmp_path, environment={})
    assert build.result(tmp_path) is None
    (tmp_path / "result.json").write_text('{"boards": {')
    with pytest.raises(BuildError, match=r"^the simulation left half a result:"):
        build.result(tmp_path)


@pytest.mark.long
def test_waves_that_find_no_room(tmp_path: Path) -> None:
    """The simulation ends; Verilator's own way is to wait for ever for a lock that it holds."""
    made = emit("m3xu", M3xuConfig(rows=1, cols=1, depth=4, modes=("fp16",)))
    words = {s["name"]: row_words(s["width"]) for s in made.sidecar["streams"]}
    inputs, expected = (np.zeros((COUNT, words[name]), np.uint32) for name in ("i", "o"))
    build = FullBuild(made, waves=WaveFormat("vcd"))
    said = "^the simulation ended with an error: No space left on device, among temporary files in "
    with pytest.raises(BuildError, match=said):
        build.run({"i": inputs}, {"o": expected}, waves=tmp_path / "waves.vcd")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_waves_of_both_formats(simulator: str, tmp_path: Path) -> None:
    """The same changes as FST, by GTKWave's reader, and as VCD."""
    if simulator == "icarus" and shutil.which("iverilog") is None:
        pytest.skip("Icarus is not installed")
    made = emit("m3xu", M3xuConfig(rows=1, cols=1, depth=4, modes=("fp16",)))
    words = {s["name"]: row_words(s["width"]) for s in made.sidecar["streams"]}
    inputs = np.zeros((50, words["i"]), np.uint32)
    inputs[:, 0] = np.random.default_rng(1).integers(0, 1 << 32, 50, np.uint32)
    found = []
    for name, read in (("waves.vcd", read_vcd), ("waves.fst", read_fst)):
        build = StreamBuild(made, simulator=simulator, waves=wave_format(tmp_path / name))
        expected = np.zeros((50, words["o"]), np.uint32)
        build.run({"i": inputs}, {"o": expected}, seed=1, gap=0.3, waves=tmp_path / name)
        found.append(read(tmp_path / name))
    assert found[0] == found[1]
    assert max(map(len, found[0][1].values())) > 50
