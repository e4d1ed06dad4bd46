"""Queues that are too short: the Verilog waits for ever where counting words through queues says
so, and nowhere else. Two mappings that were found at random, with depths that were taken to be
enough and are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.t2s.config import T2S, T2sConfig
from tilewright.hw.spec.t2s.design import Design
from tilewright.hw.t2s.lowering import design as lowering
from tilewright.hw.t2s.lowering.periods import job
from tilewright.hw.t2s.lowering.queues import Queues, depth_of
from tilewright.hw.t2s.lowering.words_through import Stopped, run
from tilewright.sim.rtl.accelerator import AcceleratorTimeout, AxiBehaviour, NativeAccelerator
from tilewright.verif.kit.behaviours import any_behaviour

from .jobs import Case, check_case, largest_case_bytes, random_case

pytestmark = pytest.mark.long

HEAD = """\
from tilewright.hw.t2s.language import compute, indices, tensor

i, j, k, ii, jj, kk, iii, jjj, kkk = indices("i j k ii jj kk iii jjj kkk")
A, B = tensor("A", "int8", i, k), tensor("B", "int8", k, j)
"""

ONE_MORE = f"""{HEAD}
C = compute("C", "int8", i, j, sum_over=k, semiring="minplus")[A[i, k] * B[k, j]]
C.tile(i, (ii, 2)).tile(j, (jj, 3), (jjj, 2)).tile(k, (kk, 2), (kkk, 2))
C.order(i, j, jj, ii, k, jjj, kkk, kk).unroll(ii, jjj).accumulate(stall="allowed")
load_a, _ = C.producers(A, "loader", "serializer")
feed_b, _ = C.producers(B, "feeder", "loader")
C.forward(load_a, jjj=1)
feed_b.unroll(jjj).scatter(jjj=1)
collect, _, _ = C.consumers("collector", "unloader", "deserializer")
collect.unroll(ii, jjj).gather(jjj=1, vector=True)
"""
"""`B_feeder` needs 3 words, and had 2 (gemm, seed 22)."""

GROWS = f"""{HEAD}
C = compute("C", "int8", i, j, sum_over=k)[A[i, k] * B[k, j]]
C.tile(i, (ii, 1), (iii, 2)).order(i, j, iii, ii, k).unroll(ii, iii).accumulate(stall="allowed")
C.producers(A, "loader")
load_b, _ = C.producers(B, "loader", "serializer")
C.forward(load_b, ii=1, iii=1)
drain, _ = C.consumers("drainer", "unloader")
drain.unroll(ii, iii).gather(iii=-1, vector=True)
"""
"""The first element passes words on that the second one takes when all of k are behind: jobs of
more than some iterations stopped (gemm, seed 57)."""

_CYCLES = 20_000
"""Jobs that end take a tenth of that."""


def config_of(
    text: str, file: Path, patch: pytest.MonkeyPatch, more: Mapping[str, int] | None = None
) -> T2sConfig:
    """Returns a configuration with proved queues, or with ``more`` words in channels than they have
    anyway, whether that is enough or not."""
    file.write_text(text)
    with patch.context() as patched:
        if more is not None:
            patched.setattr(lowering, "with_depths", lambda design, said: _held(design, more))
        return T2sConfig(design=str(file), trip_bits=6, outstanding=2)


def _held(design: Design, more: Mapping[str, int]) -> Design:
    links = (replace(one, depth=depth_of(design, one, more)) for one in design.links)
    return replace(design, links=tuple(links))


def ends(design: Design, trips: Mapping[str, int], more: Mapping[str, int]) -> bool:
    """Returns whether a job ends when words are counted through queues."""
    queues = Queues(design)
    try:
        run(job(design, queues, trips), queues, queues.rooms(more))
    except Stopped:
        return False
    return True


def device_of(config: T2sConfig, size: int) -> NativeAccelerator[T2sConfig]:
    return NativeAccelerator(emit(T2S, config), config, memory_bytes=size, time_out=_CYCLES)


def check_stops(device: NativeAccelerator[T2sConfig], case: Case) -> None:
    with pytest.raises(AcceleratorTimeout):
        check_case(device, case)
    device.reset()


def test_one_word_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    design = config_of(ONE_MORE, tmp_path / "enough.py", monkeypatch).plan
    assert {one.depth for one in design.links if one.channel == "B_feeder"} == {3}
    trips = dict.fromkeys("ijk", 2)
    assert ends(design, trips, {"B_feeder": 1})
    assert not ends(design, trips, {"B_feeder": 0})


@pytest.mark.slow
def test_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs with proved depths end, whatever the memory does."""
    rng = np.random.default_rng(22)
    config = config_of(ONE_MORE, tmp_path / "enough.py", monkeypatch)
    size = max(1 << 14, 2 * largest_case_bytes(config, 4))
    with device_of(config, size) as device:
        for number in range(8):
            device.behave(any_behaviour(rng) if number % 2 else AxiBehaviour())
            check_case(device, random_case(rng, config, size, 4))


@pytest.mark.long
def test_one_word_less_in_verilog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(22)
    config = config_of(ONE_MORE, tmp_path / "short.py", monkeypatch, more={})
    size = max(1 << 14, 2 * largest_case_bytes(config, 2))
    with device_of(config, size) as device:
        for _ in range(3):
            case = random_case(rng, config, size, 2)
            assert not ends(config.plan, case.job.trips, {})
            check_stops(device, case)


@pytest.mark.long
def test_longer_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mapping that is refused: jobs end up to as many iterations as are counted, and no longer
    ones."""
    with pytest.raises(ValueError, match=r": C would stop: B_iii_forward would have to hold more "):
        config_of(GROWS, tmp_path / "refused.py", monkeypatch)
    rng = np.random.default_rng(57)
    more = {"B_iii_forward": 3}
    config = config_of(GROWS, tmp_path / "grows.py", monkeypatch, more=more)
    size = max(1 << 14, 2 * largest_case_bytes(config, 8))
    seen = set()
    with device_of(config, size) as device:
        for _ in range(24):
            case = random_case(rng, config, size, 8)
            well = ends(config.plan, case.job.trips, more)
            seen.add((case.job.trips["k"], well))
            if well:
                check_case(device, case)
            else:
                check_stops(device, case)
    assert {(6, True), (7, False)} <= seen
