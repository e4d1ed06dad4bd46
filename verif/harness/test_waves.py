"""Waves as FST: what GTKWave's reader finds in them is what VCD says."""

from __future__ import annotations

import re
import resource
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pylibfst
import pytest
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.m3xu import M3xuConfig
from tilewright.sim.rtl.build import BuildError
from tilewright.sim.rtl.glue import row_words
from tilewright.sim.rtl.streams import NativeSimulation, Pauses, pack
from tilewright.sim.rtl.waves import WaveError, WaveFormat, check_waves, complete_waves, wave_format
from tilewright.verif.bench.cocotb_build import SIMULATORS, CocotbBuild
from tilewright.verif.bench.stream_job import StreamBuild
from tilewright.verif.harness.adder import build, stimuli

Waves = dict[str, list[tuple[int, str]]]
"""Changes by the signal's path: time, and the new value, binary without leading zeros."""


def read_vcd(path: Path) -> tuple[int, Waves]:
    """The unit of time, as a power of ten in seconds, and the changes."""
    head, _, body = path.read_text().partition("$enddefinitions $end")
    powers = {"s": 0, "ms": -3, "us": -6, "ns": -9, "ps": -12, "fs": -15}
    scale = re.search(r"\$timescale\s+(1|10|100)\s*([munpf]?s)", head)
    assert scale is not None
    scopes: list[str] = []
    paths: dict[str, list[str]] = {}
    for kind, words in re.findall(r"\$(scope|upscope|var)(.*?)\$end", head, re.DOTALL):
        if kind == "scope":
            scopes.append(words.split()[1])
        elif kind == "upscope":
            scopes.pop()
        else:
            code, name = words.split()[2:4]
            paths.setdefault(code, []).append(".".join([*scopes, name]))
    found: Waves = {name: [] for names in paths.values() for name in names}
    time = 0
    for line in body.split("\n"):
        if line.startswith("#"):
            time = int(line[1:])
        elif line and not line.startswith("$"):
            value, code = line[1:].split() if line[0] == "b" else (line[0], line[1:])
            for name in paths[code]:
                _note(found[name], time, value)
    return len(scale[1]) - 1 + powers[scale[2]], found


def read_fst(path: Path) -> tuple[int, Waves]:
    """Reads an FST file; the result is that of `read_vcd`."""
    lib = pylibfst.lib
    file = lib.fstReaderOpen(str(path).encode())
    assert file != pylibfst.ffi.NULL, f"{path} is no FST file"
    names: dict[int, list[str]] = {}
    _, signals = pylibfst.get_scopes_signals2(file)
    for signal in signals.by_name.values():
        names.setdefault(signal.handle, []).append(signal.name.split(" ")[0])
    found: Waves = {name: [] for group in names.values() for name in group}

    def change(_: object, time: int, handle: int, value: object) -> None:
        for name in names[handle]:
            _note(found[name], time, pylibfst.string(value))

    lib.fstReaderSetFacProcessMaskAll(file)
    assert pylibfst.fstReaderIterBlocks(file, change)
    scale = int(lib.fstReaderGetTimescale(file))
    lib.fstReaderClose(file)
    return scale, found


def _note(changes: list[tuple[int, str]], time: int, value: str) -> None:
    value = re.sub("^([xz])\\1+", r"\1", value.lstrip("0") or "0")  # as VCD leaves them out, too
    if not changes or changes[-1][1] != value:
        changes.append((time, value))


COUNT = 2000


def traced(waves: Path, depth: int = 2) -> Path:
    """Waves of a run with pauses."""
    simulation = NativeSimulation(build(), waves=waves, wave_depth=depth)
    sent = pack(stimuli(COUNT, 7), simulation.stream("i"))
    simulation.run(sent, pauses=Pauses(seed=3, gap=0.3, stall=0.3))
    simulation.close()
    return waves


@pytest.fixture(scope="module")
def fst(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return traced(tmp_path_factory.mktemp("waves") / "waves.FST")


@pytest.mark.slow
def test_the_same_changes(fst: Path, tmp_path: Path) -> None:
    vcd = traced(tmp_path / "waves.vcd")
    (scale, changes), expected = read_fst(fst), read_vcd(vcd)
    assert (scale, changes) == expected
    assert len(changes) > 10
    assert max(map(len, changes.values())) > COUNT
    assert fst.stat().st_size < vcd.stat().st_size / 4


@pytest.mark.slow
def test_what_is_not_whole(fst: Path, tmp_path: Path) -> None:
    """Cut off anywhere, a file is known for it; what is left of it is removed."""
    whole = fst.read_bytes()
    for length in (0, 5, 200, 330, 400, len(whole) // 2, len(whole) - 1):
        cut = tmp_path / "cut.fst"
        cut.write_bytes(whole[:length])
        with pytest.raises(WaveError, match=r"cut.fst: cannot be written: Input/output error$"):
            check_waves(cut, 0)
        assert not cut.exists()
    # Begun, but its header, which is written last, is not there.
    cut.write_bytes(bytes(330) + whole[330:])
    assert complete_waves(cut)
    assert complete_waves(fst) == 0


@pytest.mark.slow
def test_waves_that_outgrow_their_limit(tmp_path: Path) -> None:
    """The writer says nothing; the system is asked."""
    waves = tmp_path / "waves.fst"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    simulation = NativeSimulation(build(), waves=waves)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, before[1]))  # Python ignores SIGXFSZ
    try:
        simulation.run(pack(stimuli(COUNT, 5), simulation.stream("i")))
        with pytest.raises(WaveError, match="File too large"):
            simulation.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_waves_that_cannot_be_opened(tmp_path: Path) -> None:
    folder = tmp_path / "folder.fst"
    folder.mkdir()
    with pytest.raises(WaveError, match="Is a directory"):
        NativeSimulation(build(), waves=folder)


# Simulations for cocotb, and their waves, that find no room.

COUNT_COCOTB = 3000


class FullBuild(StreamBuild):
    """A build whose waves go into a device that takes nothing."""

    def launch(
        self, module: str, work: Path, *, environment: Mapping[str, str], **more: Any
    ) -> None:
        (work / "waves.vcd").symlink_to("/dev/full")
        super().launch(module, work, environment=environment, **more)


class Unbuilt(CocotbBuild):
    """Build without a unit."""

    def _build(self, verilog: str) -> None:
        pass


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports a full disk, whether or not the simulator mentions it."""

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
    inputs, expected = (np.zeros((COUNT_COCOTB, words[name]), np.uint32) for name in ("i", "o"))
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
