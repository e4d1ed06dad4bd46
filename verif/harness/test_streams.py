"""The native simulation harness: stream rules, pauses, time-outs, waves, cache."""

from __future__ import annotations

import os
import re
import resource
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tilewright.hw.emit.unit import Emitted
from tilewright.sim.rtl import build as native_build
from tilewright.sim.rtl import glue
from tilewright.sim.rtl.accelerator import AxiBehaviour, AxiRuleError, NativeAccelerator
from tilewright.sim.rtl.accelerator_glue import ACCELERATOR
from tilewright.sim.rtl.streams import (
    BuildError,
    NativeSimulation,
    Pauses,
    Rows,
    SimulationTimeout,
    StreamRuleError,
    ToolMissing,
    pack,
    unpack,
)
from tilewright.sim.rtl.toolchain import find_compiler
from tilewright.sim.rtl.waves import WaveError
from tilewright.verif.harness.adder import DEPTH, build, check, stimuli
from tilewright.verif.harness.mover import READ, WRITE, Rule, move, read, start
from tilewright.verif.kit.data import empty_cache


@pytest.fixture(scope="module")
def simulation() -> NativeSimulation:
    return NativeSimulation(build())


def test_full_throughput_and_latency(simulation: NativeSimulation) -> None:
    fields = stimuli(1000, 1)
    simulation.reset()
    result = simulation.run(pack(fields, simulation.stream("i")))
    check(fields, unpack(result.payloads, simulation.stream("o")))
    assert result.cycles == 1000 + DEPTH == simulation.cycle
    assert set(result.output_cycles - result.input_cycles) == {DEPTH}
    assert (result.first_input_cycle, result.last_output_cycle) == (0, 999 + DEPTH)


@pytest.mark.parametrize(("gap", "stall"), [(0.4, 0.0), (0.0, 0.4), (0.5, 0.5), (0.05, 0.9)])
def test_pauses_lose_and_repeat_nothing(
    simulation: NativeSimulation, gap: float, stall: float
) -> None:
    fields, pauses = stimuli(2000, 2), Pauses(seed=7, gap=gap, stall=stall)
    payloads = pack(fields, simulation.stream("i"))
    runs = []
    for _ in range(2):
        simulation.reset()
        runs.append(simulation.run(payloads, pauses=pauses))
        check(fields, unpack(runs[-1].payloads, simulation.stream("o")))
    np.testing.assert_array_equal(runs[0].output_cycles, runs[1].output_cycles)
    busiest = 2000 / (1 - max(gap, stall))
    assert 0.9 * busiest < runs[0].cycles < 2.5 * busiest
    assert (np.diff(runs[0].output_cycles.astype(np.int64)) >= 1).all()


def test_state_persists_until_reset(simulation: NativeSimulation) -> None:
    fields = stimuli(10, 3)
    payloads = pack(fields, simulation.stream("i"))
    simulation.reset()
    first = simulation.run(payloads, outputs=8)
    rest = simulation.run(payloads[:0], outputs=2)
    check(fields, unpack(np.concatenate([first.payloads, rest.payloads]), simulation.stream("o")))
    simulation.run(payloads, outputs=8)
    simulation.reset()
    with pytest.raises(
        SimulationTimeout, match=r"^no transfer for 50 cycles; transfers: i 0 of 0, o 0 of 2$"
    ):
        simulation.run(payloads[:0], outputs=2, time_out=50)


def test_fields_gathered_and_fed_back(simulation: NativeSimulation) -> None:
    """Each operation reads the a that an earlier one wrote, two operations back."""
    count, distance = 400, 2
    table = np.zeros((count + distance, 3), np.uint32)
    table[:distance] = np.random.default_rng(4).integers(0, 1 << 32, (distance, 3), np.uint32)
    table[:, 2] &= 0xFFFF
    sums = np.zeros((count, 2), np.uint32)
    steps = np.arange(count, dtype=np.int64)
    simulation.reset()
    cycles = simulation.run_fields(
        {"a": Rows(table, steps)},
        {"a": Rows(table, steps + distance), "sum": Rows(sums)},
        count,
        after=steps - distance,
        pauses=Pauses(seed=5, gap=0.2, stall=0.2),
    )
    assert cycles > count
    np.testing.assert_array_equal(table[distance:], np.tile(table[:distance], (count // 2, 1)))
    np.testing.assert_array_equal(sums[:, 0], (table[:-2, 0] & 0xFFFF) + (table[:-2, 0] >> 16))


def test_streams_by_name(simulation: NativeSimulation) -> None:
    fields = stimuli(20, 6)
    simulation.reset()
    sent = {"i": pack(fields, simulation.stream("i"))}
    results, cycles = simulation.run_streams(sent, {"o": 20})
    check(fields, unpack(results["o"], simulation.stream("o")))
    assert cycles == 20 + DEPTH


@pytest.mark.parametrize(
    ("fault", "error", "text"),
    [
        ("hang", SimulationTimeout, "no transfer for 100 cycles; transfers: i 50 of 50, o 0 of 50"),
        pytest.param(
            "drop",
            StreamRuleError,
            "stream `o` took back its valid before the transfer",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "change",
            StreamRuleError,
            "stream `o` changed its payload before the transfer",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_faulty_units_are_caught(fault: str, error: type[Exception], text: str) -> None:
    simulation = NativeSimulation(build(fault))
    payloads = pack(stimuli(50, 8), simulation.stream("i"))
    with pytest.raises(error, match=text):
        simulation.run(payloads, pauses=Pauses(seed=1, stall=0.5), time_out=100)


@pytest.mark.slow
def test_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One library for one text, also when two builds run side by side; nothing else is left."""
    empty_cache(tmp_path / "cache", monkeypatch)
    built = build()
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(native_build.build_library, built.verilog, built.sidecar) for _ in range(2)
        ]
        paths = {job.result() for job in jobs}
    (path,) = paths
    with path.open("ab") as library:
        library.write(b"the one that is there")
    assert native_build.build_library(built.verilog, built.sidecar) == path
    assert path.read_bytes().endswith(b"the one that is there")
    other = native_build.build_library(build("change").verilog, built.sidecar)
    assert other != path
    left = {p.name.split("-")[0] for p in (tmp_path / "cache").glob("[!.]*")}
    assert left == {"adder", "header", "runtime", "tools"}


def test_an_unknown_optimisation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_OPTIMISE", "3")
    with pytest.raises(
        BuildError, match=r"^`TILEWRIGHT_OPTIMISE` must be one of 0, 1, 2, not '3'$"
    ):
        NativeSimulation(build())


@pytest.mark.slow
def test_wave_file(tmp_path: Path) -> None:
    waves = tmp_path / "waves.vcd"
    simulation = NativeSimulation(build(), waves=waves)
    fields = stimuli(5, 10)
    result = simulation.run(pack(fields, simulation.stream("i")))
    check(fields, unpack(result.payloads, simulation.stream("o")))
    simulation.close()
    text = waves.read_text()
    assert "$enddefinitions" in text
    assert "i__payload" in text
    assert text.count("\n#") >= 16


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 5_000])
def test_waves_that_find_no_space(count: int, tmp_path: Path) -> None:
    """Noticed at the end of a short run, and in the midst of a long one; neither waits for ever,
    and what was to be written through is still there."""
    waves = tmp_path / "waves.vcd"
    waves.symlink_to("/dev/full")
    simulation = NativeSimulation(build(), waves=waves)

    def run() -> None:
        simulation.run(pack(stimuli(count, 5), simulation.stream("i")))
        simulation.close()

    with pytest.raises(WaveError, match=f"^{waves}: cannot be written: No space left on device$"):
        run()
    assert simulation.cycle < 2_000
    simulation.close()
    assert waves.readlink() == Path("/dev/full")


@pytest.mark.slow
def test_waves_that_outgrow_their_limit(tmp_path: Path) -> None:
    """Removes a file that could be written only in part."""
    waves = tmp_path / "waves.vcd"
    simulation = NativeSimulation(build(), waves=waves)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, before[1]))  # Python ignores SIGXFSZ
    try:
        with pytest.raises(WaveError, match="File too large"):
            simulation.run(pack(stimuli(5_000, 5), simulation.stream("i")))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_waves_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(WaveError, match="Is a directory"):
        NativeSimulation(build(), waves=tmp_path)


def test_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    find_compiler.cache_clear()
    monkeypatch.setenv("CXX", "no-such-compiler")
    try:
        with pytest.raises(ToolMissing, match=r"no C\+\+ compiler `no-such-compiler`"):
            NativeSimulation(build())
    finally:
        find_compiler.cache_clear()


def test_refused_verilog_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = empty_cache(tmp_path / "cache", monkeypatch)
    with pytest.raises(BuildError, match="verilator_bin failed with status"):
        NativeSimulation(Emitted("module adder(; endmodule", build().sidecar))
    assert not [p for p in os.listdir(cache) if p.startswith(("adder", "build"))]


def test_every_file_of_a_harness_is_part_of_it() -> None:
    """Every file is listed: an unlisted one would be missing where the harness is compiled, and a
    change to it would not cause a new build."""
    folder = Path(str(glue.__file__)).with_name("cpp")
    for harness in (glue.STREAMS, ACCELERATOR):
        files = {path.name for path in (harness.source, *harness.headers)}
        assert {"model.h", "random.h"} < files
        assert all((folder / name).is_file() for name in files)
    parts = {path.name for path in (*glue.STREAMS.headers, *ACCELERATOR.headers)}
    assert parts == {path.name for path in folder.glob("*.h")}


# The rules of AXI that the native harness checks: each, broken, is named.

BROKEN: dict[Rule, tuple[int, str]] = {
    Rule.AR_DROPPED: (READ, "`m0_axi`: ar took back its valid"),
    Rule.AR_CHANGED: (READ, "`m0_axi`: ar changed before ready"),
    Rule.AW_DROPPED: (WRITE, "`m0_axi`: aw took back its valid"),
    Rule.AW_CHANGED: (WRITE, "`m0_axi`: aw changed before ready"),
    Rule.W_DROPPED: (WRITE, "`m0_axi`: w took back its valid"),
    Rule.W_CHANGED: (WRITE, "`m0_axi`: w changed before ready"),
    Rule.STROBE_CHANGED: (WRITE, "`m0_axi`: w changed before ready"),
    Rule.FIXED_BURST: (READ, "`m0_axi`: ar 0x0 is not INCR"),
    Rule.NARROW_BEATS: (WRITE, "`m0_axi`: aw 0x0 has not the bus's width"),
    Rule.AW_WAITS_FOR_WREADY: (WRITE, "`m0_axi`: w is valid before the awvalid of its burst"),
    Rule.LAST_EARLY: (WRITE, "`m0_axi`: wlast is 1 before the last beat"),
    Rule.LAST_MISSING: (WRITE, "`m0_axi`: wlast is 0 at the last beat"),
    Rule.REGISTER_DROPPED: (0, "`s_axil`: r took back its valid"),
    Rule.REGISTER_CHANGED: (0, "`s_axil`: r changed before ready"),
    Rule.REPLY_TO_NOTHING: (0, "`s_axil`: b is valid without a request"),
}


def break_rule(device: NativeAccelerator[None], control: int, rule: Rule) -> None:
    # Without anything to move, the mover takes over the rule alone.
    start(device, control or READ, rule=rule, bursts=8 if control else 0)
    for _ in range(100):
        read(device, "SUM")


@pytest.mark.parametrize("rule", BROKEN, ids=lambda rule: rule.name.lower())
def test_a_broken_rule(device: NativeAccelerator[None], rule: Rule) -> None:
    control, text = BROKEN[rule]
    device.behave(AxiBehaviour(seed=1, stall=0.4, register_stall=0.4))
    before = len(device.faults)
    with pytest.raises(AxiRuleError, match=f"^{re.escape(text)}, cycle [0-9]+$") as raised:
        break_rule(device, control, rule)
    assert device.faults[before:] == [str(raised.value)]
    assert int(str(raised.value).split()[-1]) == device.cycles - 1
    device.reset()
    device.behave(AxiBehaviour())
    assert move(device, READ) > 0


@pytest.mark.parametrize(
    ("control", "address", "beats", "text"),
    [
        (READ, 0xFF8, 2, "ar 0xff8 crosses 4 KiB"),
        (WRITE, 0x1808, 256, "aw 0x1808 crosses 4 KiB"),
        (READ, 0x104, 1, "ar 0x104 is not a multiple of a beat"),
        (WRITE, 0x101, 1, "aw 0x101 is not a multiple of a beat"),
    ],
)
def test_a_burst_at_a_bad_address(
    device: NativeAccelerator[None], control: int, address: int, beats: int, text: str
) -> None:
    device.behave(AxiBehaviour())
    with pytest.raises(AxiRuleError, match=f"^`m0_axi`: {re.escape(text)}, cycle"):
        move(device, control, address=address, beats=beats, bursts=1)


def test_the_end_of_a_page_is_no_fault(device: NativeAccelerator[None]) -> None:
    move(device, READ | WRITE, address=0x800, beats=256, bursts=1)
    move(device, READ | WRITE, address=0xFF8, beats=1, bursts=2)
    assert read(device, "ERRORS") == 0


def test_valid_in_reset(device: NativeAccelerator[None]) -> None:
    start(device, READ, rule=Rule.VALID_IN_RESET, bursts=0)
    device.run(10)
    with pytest.raises(AxiRuleError, match=r"^`m0_axi`: ar is valid in reset, cycle 0$"):
        device.reset()
    start(device, READ, bursts=0)
    device.reset()
