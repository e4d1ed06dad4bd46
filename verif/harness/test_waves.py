"""Waves as FST: what GTKWave's reader finds in them is what VCD says."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from tilewright.sim.rtl.streams import NativeSimulation, Pauses, pack
from tilewright.sim.rtl.waves import WaveError, check_waves, complete_waves
from tilewright.verif.harness.adder import build, stimuli
from tilewright.verif.kit.waves import read_fst, read_vcd

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
