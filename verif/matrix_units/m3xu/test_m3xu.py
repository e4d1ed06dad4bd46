"""The matrix units in RTL: results, stream rules, latency and interval, under gaps and stalls."""

from __future__ import annotations

import shutil
from functools import cache

import numpy as np
import pytest
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.m3xu import BaselineConfig, GridUnitConfig, M3xuConfig, WideConfig
from tilewright.hw.spec.sequencer import INSTRUCTIONS, SequencerConfig
from tilewright.sim.rtl.streams import NativeSimulation, Pauses, pack, unpack
from tilewright.sim.units.m3xu import matrix_unit, mixed_operations
from tilewright.sim.units.m3xu_sequencer import execute
from tilewright.verif.bench.stream_job import StreamBuild, elapsed
from tilewright.verif.kit.sampling import cases, slow_but
from tilewright.verif.matrix_units.m3xu.simulate_sequencer import ILLEGAL, Program, fragments
from tilewright.verif.matrix_units.matrix_stimuli import (
    CLASSES,
    TILE_KINDS,
    Operations,
    illegal_opcodes,
    missing,
    operations,
)
from tilewright.verif.matrix_units.simulate import expected_cycles, matrix_job, run

MAIN = M3xuConfig(rows=2, cols=3)

NATIVE: dict[str, tuple[str, GridUnitConfig]] = {
    "m3xu": ("m3xu", MAIN),
    "baseline": ("m3xu_baseline", BaselineConfig(rows=2, cols=1)),
    "wide": ("m3xu_wide", WideConfig(rows=1, cols=2)),
    "pipelined": (
        "m3xu", M3xuConfig(rows=1, cols=2, data_assignment="pipelined", pipeline=6, depth=4)
    ),
    "shallow": ("m3xu", M3xuConfig(rows=2, cols=1, modes=("bf16", "fp32"), pipeline=1, depth=6)),
    "one_step": (
        "m3xu", M3xuConfig(rows=1, cols=2, modes=("fp16",), alignment_bits=30, pipeline=2, depth=3)
    ),
}  # fmt: skip
UNITS = slow_but(["m3xu"], NATIVE, ["baseline", "pipelined"])


@cache
def emitted(name: str) -> Emitted:
    unit, config = NATIVE[name]
    return emit(unit, config)


@cache
def simulation(name: str) -> NativeSimulation:
    return NativeSimulation(emitted(name))


@cache
def cocotb_build(name: str, simulator: str) -> StreamBuild:
    return StreamBuild(emitted(name), simulator=simulator)


def compare(name: str, sent: Operations, pauses: Pauses) -> None:
    """Run operations natively; fail with the first one whose result is not the model's."""
    _, config = NATIVE[name]
    unit = simulation(name)
    given = {"op": sent.op, "a": sent.a, "b": sent.b, "c": sent.c}
    payloads = unit.run(pack(given, unit.stream("i")), pauses=pauses).payloads
    got = unpack(payloads, unit.stream("o"))
    d, error = mixed_operations(config, sent.op, sent.a, sent.b, sent.c)
    wrong = (got["d"] != d).any(axis=(1, 2)) | (got["error"].astype(bool) != error)
    first = int(np.flatnonzero(wrong)[0]) if wrong.any() else -1
    assert not wrong.any(), (
        f"{int(wrong.sum())} of {len(d)} operations differ; first {first}, opcode "
        f"{int(sent.op[first])}, {sent.kind[first]}: {got['d'][first]} {d[first]}"
    )


@pytest.mark.parametrize("kind", TILE_KINDS)
@pytest.mark.parametrize("name", UNITS)
def test_every_mode_and_kind_gives_the_models_bits(name: str, kind: str) -> None:
    """Mixed modes and illegal opcodes, with gaps and stalls."""
    _, config = NATIVE[name]
    sent = operations(config, cases(20_000), 601, kinds=(kind,))
    compare(name, sent, Pauses(seed=602, gap=0.2, stall=0.2))


@pytest.mark.parametrize("name", UNITS)
def test_results_depend_on_no_earlier_operation(name: str) -> None:
    """The same operations in another order, without pauses, give the same results."""
    _, config = NATIVE[name]
    sent = operations(config, cases(10_000), 603)
    order = np.random.default_rng(604).permutation(len(sent.op))
    shuffled = Operations(
        sent.op[order], sent.a[order], sent.b[order], sent.c[order],
        [sent.kind[index] for index in order],
    )  # fmt: skip
    compare(name, shuffled, Pauses())


@pytest.mark.slow
def test_simulation_report_holds_what_the_sidecar_promises() -> None:
    """cocotb: stream rules, 2000 mixed operations back to back in exactly the sum of their
    intervals and one latency, each mode's latency and interval, and full coverage."""
    report = run("m3xu", MAIN, seed=605, count=4000)
    assert report.passed, report.complaints
    assert report.cycles == report.cycles_promised
    modes = (*MAIN.opcodes, "illegal")
    required = [(mode, f"kind {kind}") for mode in modes for kind in TILE_KINDS]
    required += [(mode, f"after {before}") for mode in modes for before in modes]
    required += [(mode, what) for mode in modes for what in ("input waited", "result stalled")]
    # An fp16 product or sum of normal size is no fp32 subnormal.
    required += [
        (mode, f"result {label}")
        for mode in MAIN.opcodes
        for label in CLASSES
        if (mode, label) != ("fp16", "subnormal")
    ]
    assert not missing(report.coverage, required)
    assert [t.interval for t in report.timings] == [1, 1, 1, 2, 4]


@pytest.mark.parametrize("mix", ["alternating", "single_step", "steps_only"])
def test_a_thousand_operations_back_to_back_lose_no_cycle(mix: str) -> None:
    """Unfavourable orders of modes: the time is the sum of intervals and one latency."""
    modes = tuple(MAIN.opcodes)
    patterns = {
        "alternating": ("fp32c", "fp16", "fp32", "bf16", "fp16"),
        "single_step": ("fp16", "bf16", "tf32"),
        "steps_only": ("fp32", "fp32c", "fp32c", "fp32"),
    }
    cycle = patterns[mix]
    sent = operations(MAIN, 1000, 606, illegal=0)
    op = np.array([MAIN.opcodes[cycle[i % len(cycle)]] for i in range(1000)], np.uint64)
    assert set(cycle) <= set(modes)
    free = matrix_job(cocotb_build("m3xu", "verilator"), emitted("m3xu"), MAIN,
                      sent._replace(op=op))  # fmt: skip
    assert free.passed, free.complaint()
    assert elapsed(free) == expected_cycles(emitted("m3xu").sidecar, op)


@pytest.mark.long
@pytest.mark.parametrize(("gap", "stall"), [(0.0, 0.7), (0.7, 0.0), (0.5, 0.5)])
def test_stream_rules_under_heavy_pauses(gap: float, stall: float) -> None:
    sent = operations(MAIN, cases(2000), 607)
    job = matrix_job(cocotb_build("m3xu", "verilator"), emitted("m3xu"), MAIN, sent,
                     seed=608, gap=gap, stall=stall)  # fmt: skip
    assert job.passed, job.complaint()


def test_a_wrong_result_fails_the_bench() -> None:
    """The bench can fail: another seed's accumulators do not fit the expected results."""
    build, sidecar = cocotb_build("m3xu", "verilator"), emitted("m3xu").sidecar
    streams = {stream["name"]: stream for stream in sidecar["streams"]}
    sent, other = operations(MAIN, 20, 609), operations(MAIN, 20, 610)
    d, error = mixed_operations(MAIN, sent.op, sent.a, sent.b, other.c)
    given = {"op": sent.op, "a": sent.a, "b": sent.b, "c": sent.c}
    expected = {"o": pack({"d": d, "error": error.astype(np.uint8)}, streams["o"])}
    job = build.run({"i": pack(given, streams["i"])}, expected)
    assert not job.passed
    assert "results differ, first `o`" in job.complaint()


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is not installed")
def test_icarus_gives_the_same_results() -> None:
    name = "shallow"
    _, config = NATIVE[name]
    sent = operations(config, 60, 611)
    job = matrix_job(cocotb_build(name, "icarus"), emitted(name), config, sent,
                     seed=612, gap=0.3, stall=0.3)  # fmt: skip
    assert job.passed, job.complaint()


def test_every_illegal_opcode_is_answered_and_harmless() -> None:
    sent = operations(MAIN, 400, 613, illegal=0.5)
    assert set(illegal_opcodes(MAIN)) <= set(sent.op.tolist())
    compare("m3xu", sent, Pauses(seed=614, gap=0.5, stall=0.5))


# The warp-level sequencer: every instruction through the RTL against its model.

SMALL = SequencerConfig(rows=4, cols=2, depth=4)
ONE_TILE_ROW = SequencerConfig(
    rows=16, cols=1, depth=2, modes=("bf16", "fp32"), data_assignment="pipelined", pipeline=2
)
CONFIGS = [SMALL, ONE_TILE_ROW]


@cache
def simulation_sequencer(config: SequencerConfig) -> NativeSimulation:
    return NativeSimulation(emit("m3xu_sequencer", config))


@pytest.mark.parametrize("config", slow_but([], CONFIGS, [SMALL]), ids=["small", "pipelined"])
@pytest.mark.parametrize("seed", range(4))
def test_mixed_instructions_with_stalls(config: SequencerConfig, seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    opcodes = rng.choice([*config.opcodes.values(), ILLEGAL], 40).tolist()
    pauses = Pauses() if seed == 0 else Pauses(seed=seed, gap=0.4, stall=0.3 * seed)
    Program(config, opcodes, seed).run(simulation_sequencer(config), pauses)


@pytest.mark.slow
def test_an_illegal_opcode_is_harmless() -> None:
    assert Program(SMALL, [ILLEGAL], 1).run(simulation_sequencer(SMALL)) > 0


@pytest.mark.long
def test_the_opcode_of_a_mode_that_the_unit_lacks_is_harmless() -> None:
    """Sends the opcode alone and repeated."""
    lacking = INSTRUCTIONS["HMMA.1684.F32.TF32"].opcode
    legal = ONE_TILE_ROW.instructions[0].opcode
    program = [legal, lacking, lacking, legal, lacking]
    assert Program(ONE_TILE_ROW, program, 2).run(simulation_sequencer(ONE_TILE_ROW)) > 0


@pytest.mark.parametrize("config", slow_but([SMALL], CONFIGS, []), ids=["small", "pipelined"])
def test_cycles_are_those_of_the_sidecar(config: SequencerConfig) -> None:
    for name, opcode in config.opcodes.items():
        sim = simulation_sequencer(config)
        few, many = (Program(config, [opcode] * n, 3).run(sim) for n in (4, 12))
        assert many - few == 8 * config.initiation_interval[name], name


def test_shapes_are_those_of_the_mnemonics() -> None:
    depths = {name: row.depth for name, row in INSTRUCTIONS.items()}
    assert depths == {
        "HMMA.16816.F32": 16,
        "HMMA.16816.F16": 16,
        "HMMA.16816.F32.BF16": 16,
        "HMMA.1684.F32.TF32": 4,
        "HMMA.16416.F32.FP32": 8,
        "HMMA.16216.F32C.FP32C": 4,
    }


def test_the_model_chains_whole_dot_products() -> None:
    """An fp16 instruction on a unit as deep as the fragment equals its own halves, chained."""
    instruction = INSTRUCTIONS["HMMA.16816.F32"]
    config = SequencerConfig(rows=16, cols=8, depth=8)
    rng = np.random.default_rng(4)
    a, b, c = fragments(config, instruction, rng)
    first = matrix_unit(config.unit, "fp16", a[None, :, :8], b[None, :8], c[None])
    second = matrix_unit(config.unit, "fp16", a[None, :, 8:], b[None, 8:], first)
    np.testing.assert_array_equal(execute(config, instruction, a, b, c), second[0])


def test_fp16_accumulators_round_once_more() -> None:
    """Compares with NumPy: small integers are exact, so D is the fp16 of an exact integer
    matrix."""
    instruction = INSTRUCTIONS["HMMA.16816.F16"]
    rng = np.random.default_rng(5)
    a, b, c = (rng.integers(-50, 50, shape) for shape in ((16, 16), (16, 8), (16, 8)))
    bits = [np.asarray(x, np.float16).view(np.uint16) for x in (a, b, c)]
    want = (a @ b + c).astype(np.float16).view(np.uint16)
    np.testing.assert_array_equal(execute(SMALL, instruction, *bits), want)
