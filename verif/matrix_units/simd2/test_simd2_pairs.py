"""Every pair of 8-bit values and of special values through the RTL of all semirings."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from tilewright.hw.spec.config import Config
from tilewright.hw.spec.semirings import SEMIRINGS, Semiring
from tilewright.hw.spec.simd2 import Simd2Config
from tilewright.sim.numbers.values import decode, encode
from tilewright.sim.rtl.streams import Pauses, pack
from tilewright.sim.units.simd2 import mixed_operations
from tilewright.verif.bench.stream_job import StreamBuild, elapsed
from tilewright.verif.kit.sampling import cases, slow_but
from tilewright.verif.matrix_units.matrix_stimuli import (
    CLASSES,
    INT_CLASSES,
    Operations,
    classes,
    illegal_opcodes,
    matrix_coverage,
    missing,
    operations,
)
from tilewright.verif.matrix_units.semiring_stimuli import FLOAT_KINDS, INT_KINDS, addend_values
from tilewright.verif.matrix_units.simd2.semiring_rtl import (
    SemiringRtl,
    alone,
    emitted,
    every_pair,
    fault,
    mixed,
    packed,
    rtl,
    special_pairs,
)
from tilewright.verif.matrix_units.simulate import expected_cycles, matrix_job, run
from tilewright.verif.oracles import graphs

NARROW = ("fp8e4m3", "fp8e5m2", "int8")
WIDE = ("fp16", "bf16", "fp32", "fp64", "int16", "int32")


def unit(element: str) -> Simd2Config:
    return Simd2Config(tile=2, format=element)


@pytest.mark.parametrize("element", slow_but([], NARROW, ["int8"]))
def test_every_pair_alone_in_a_result(element: str) -> None:
    config, rng = unit(element), np.random.default_rng(821)
    layout = partial(alone, config, pairs=every_pair(config.element), rng=rng)
    sent = mixed(config, layout, rng)
    assert len(sent.op) == 9 * 2**15
    rtl(config).check(sent)


@pytest.mark.parametrize("element", slow_but([], NARROW, []))
def test_every_pair_in_every_lane(element: str) -> None:
    """Lanes full, addends of every kind, gaps and stalls."""
    config, rng = unit(element), np.random.default_rng(822)
    addends = addend_values(config, 50_000, rng)
    for name in config.ops:
        sent = packed(config, name, every_pair(config.element), addends, rng)
        assert len(sent.op) == 2**16
        rtl(config).check(sent, Pauses(seed=823, gap=0.1, stall=0.1))


@pytest.mark.parametrize("element", slow_but([], WIDE, ["int16"]))
def test_every_pair_of_special_values(element: str) -> None:
    """Sends special values alone, with special addends, and in all lanes at once."""
    config, rng = unit(element), np.random.default_rng(824)
    pairs = special_pairs(config.element)
    addends = addend_values(config, 10_000, rng)
    sent = mixed(config, partial(alone, config, pairs=pairs, rng=rng), rng)
    rtl(config).check(sent)
    specials = special_pairs(config.result)[0]
    rtl(config).check(sent._replace(c=rng.choice(specials, sent.c.shape)))
    full = partial(packed, config, pairs=pairs, addends=addends, rng=rng)
    rtl(config).check(mixed(config, full, rng))


# The semiring matrix unit in RTL: every semiring back to back and stalled, latency and interval,
# illegal opcodes, and the report of ``simulate``.

MAIN = Simd2Config(tile=2, format="fp8e5m2")
FEW = Simd2Config(tile=2, format="fp8e5m2", ops=("minplus", "orand"), pipeline=2)
INTEGERS = Simd2Config(tile=2, format="int8")
RESULTS = {
    "mma": ("zero", "normal", "infinite", "nan"),
    "addnorm": ("zero", "normal", "infinite", "nan"),
    "orand": ("zero", "normal"),
}
"""Classes that results have. No product of fp8 values is a subnormal fp32."""

STEPS = Simd2Config(tile=2, format="fp32", multiplier_bits=12)


@cache
def cocotb_build(config: Simd2Config, simulator: str = "verilator") -> StreamBuild:
    return StreamBuild(emitted(config), simulator=simulator)


@pytest.mark.parametrize("kind", FLOAT_KINDS)
def test_every_kind_of_operands_gives_the_models_bits(kind: str) -> None:
    """Mixed semirings and illegal opcodes, with gaps and stalls."""
    sent = operations(MAIN, cases(50_000), 841, kinds=(kind,))
    rtl(MAIN).check(sent, Pauses(seed=842, gap=0.2, stall=0.2))


def test_results_depend_on_no_earlier_operation() -> None:
    """The same operations in another order, without pauses, give the same results."""
    sent = operations(MAIN, cases(50_000), 843)
    order = np.random.default_rng(844).permutation(len(sent.op))
    first, _, _ = rtl(MAIN).run(sent)
    second, _, _ = rtl(MAIN).run(sent.ordered(order))
    assert np.array_equal(first[order], second)


@pytest.mark.parametrize(("gap", "stall"), [(0.0, 0.0), (0.0, 0.8), (0.8, 0.0), (0.5, 0.5)])
def test_any_pattern_of_pauses_gives_the_same_results(gap: float, stall: float) -> None:
    sent = operations(MAIN, cases(20_000), 845)
    rtl(MAIN).check(sent, Pauses(seed=846, gap=gap, stall=stall))


def test_every_semiring_after_every_other_has_interval_one_and_one_latency() -> None:
    unit = rtl(MAIN)
    assert set(unit.sidecar["latency"].values()) == {MAIN.latency["mma"]}
    assert set(unit.sidecar["initiation_interval"].values()) == {1}
    assert unit.sidecar["opcodes"] == {name: row.opcode for name, row in SEMIRINGS.items()}
    sent = operations(MAIN, 2000, 847, illegal=0.1)
    followed = set(zip(sent.op[:-1].tolist(), sent.op[1:].tolist(), strict=True))
    assert followed >= {(x, y) for x in range(10) for y in range(10)}
    unit.check(sent)
    unit.check_timing(sent)


def test_a_reset_drops_the_operations_in_flight() -> None:
    unit = rtl(MAIN)
    sent = operations(MAIN, 200, 865)
    unit.leave_in_flight(sent, results=len(sent.op) - 3)
    unit.check_timing(operations(MAIN, 200, 866))
    unit.check(operations(MAIN, 200, 867))


@pytest.mark.parametrize("pipeline", slow_but([], [1, 4], [4]))
def test_products_in_two_steps_between_others_lose_no_cycle(pipeline: int) -> None:
    """multiplier_bits 12: the multiplying semirings take two cycles, the others one."""
    config = Simd2Config(tile=2, format="fp32", multiplier_bits=12, pipeline=pipeline)
    unit = rtl(config)
    promised = unit.sidecar["initiation_interval"]
    assert promised == {name: 1 + row.multiplies for name, row in SEMIRINGS.items()}
    unit.check_timing(operations(config, 3000, 848, illegal=0.1))
    unit.check(operations(config, 3000, 849), Pauses(seed=850, gap=0.4, stall=0.4))


@pytest.mark.parametrize("config", slow_but([MAIN], [MAIN, FEW, INTEGERS]))
def test_every_illegal_opcode_is_answered_and_harmless(config: Simd2Config) -> None:
    sent = operations(config, 2000, 851, illegal=0.5)
    assert set(illegal_opcodes(config)) == set(range(16)) - set(config.opcodes.values())
    assert set(illegal_opcodes(config)) <= set(sent.op.tolist())
    rtl(config).check_timing(sent)
    rtl(config).check(sent)
    rtl(config).check(sent, Pauses(seed=852, gap=0.5, stall=0.5))


def test_special_values_meet_stalls_in_every_semiring() -> None:
    """Coverage of the native runs: classes of operands and results, results that waited."""
    sent = operations(MAIN, 4000, 863)
    timing = rtl(MAIN).check(sent, Pauses(seed=864, gap=0.3, stall=0.4))
    d, _ = mixed_operations(MAIN, **sent.fields)
    spent = timing.output_cycles.astype(np.int64) - timing.input_cycles.astype(np.int64)
    delay = spent - MAIN.latency["mma"]
    coverage = matrix_coverage(MAIN, sent, d, np.zeros(len(d), np.int64), delay)
    required = [
        (mode, f"operand {label}{stalled}")
        for mode in MAIN.opcodes for label in CLASSES for stalled in ("", ", stalled")
    ]  # fmt: skip
    required += [
        (mode, f"result {label}") for mode in MAIN.opcodes for label in RESULTS.get(mode, CLASSES)
    ]
    assert not missing(coverage, required)
    assert (delay >= 0).all()


@pytest.mark.long
def test_simulation_report_holds_what_the_sidecar_promises() -> None:
    """cocotb: stream rules, operations back to back at interval 1, each semiring's latency, and
    coverage of semirings by kinds, special values, stalls and one another."""
    report = run("simd2", MAIN, seed=853, count=8000)
    assert report.passed, report.complaints
    assert report.cycles == report.cycles_promised
    modes = (*MAIN.opcodes, "illegal")
    required = [(mode, f"kind {kind}") for mode in modes for kind in FLOAT_KINDS]
    required += [(mode, f"after {before}") for mode in modes for before in modes]
    required += [(mode, what) for mode in modes for what in ("input waited", "result stalled")]
    for mode in MAIN.opcodes:
        required += [(mode, f"operand {label}") for label in CLASSES]
        required += [(mode, f"result {label}") for label in RESULTS.get(mode, CLASSES)]
    assert not missing(report.coverage, required)
    assert {(t.latency, t.interval) for t in report.timings} == {(MAIN.latency["mma"], 1)}


@pytest.mark.long
def test_simulation_report_of_integers_and_of_two_steps() -> None:
    report = run("simd2", INTEGERS, seed=854, count=2000)
    assert report.passed, report.complaints
    required = [(mode, f"kind {kind}") for mode in INTEGERS.opcodes for kind in INT_KINDS]
    required += [(mode, f"operand {x}") for mode in INTEGERS.opcodes for x in INT_CLASSES]
    assert not missing(report.coverage, required)
    report = run("simd2", STEPS, seed=855, count=1000)
    assert report.passed, report.complaints
    assert report.cycles == report.cycles_promised
    assert {t.mode for t in report.timings if t.interval == 2} == {
        "mma", "minmul", "maxmul", "addnorm"
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("gap", "stall"), [(0.0, 0.7), (0.7, 0.0), (0.5, 0.5)])
def test_stream_rules_under_heavy_pauses(gap: float, stall: float) -> None:
    sent = operations(MAIN, cases(2000), 856)
    job = matrix_job(cocotb_build(MAIN), emitted(MAIN), MAIN, sent,
                     seed=857, gap=gap, stall=stall)  # fmt: skip
    assert job.passed, job.complaint()


@pytest.mark.slow
def test_a_wrong_result_fails_the_bench() -> None:
    """The bench can fail: another seed's accumulators do not fit the expected results."""
    build, sidecar = cocotb_build(MAIN), emitted(MAIN).sidecar
    streams = {stream["name"]: stream for stream in sidecar["streams"]}
    sent, other = operations(MAIN, 20, 858), operations(MAIN, 20, 859)
    d, error = mixed_operations(MAIN, **sent._replace(c=other.c).fields)
    expected = {"o": pack({"d": d, "error": error.astype(np.uint8)}, streams["o"])}
    job = build.run({"i": pack(sent.fields, streams["i"])}, expected)
    assert not job.passed
    assert "results differ, first `o`" in job.complaint()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is not installed")
def test_icarus_gives_the_same_results() -> None:
    sent = operations(FEW, 60, 860)
    job = matrix_job(cocotb_build(FEW, "icarus"), emitted(FEW), FEW, sent,
                     seed=861, gap=0.3, stall=0.3)  # fmt: skip
    assert job.passed, job.complaint()
    legal = operations(FEW, 60, 862, illegal=0)
    free = matrix_job(cocotb_build(FEW, "icarus"), emitted(FEW), FEW, legal)
    assert elapsed(free) == expected_cycles(emitted(FEW).sidecar, legal.op)


def test_only_matrix_units_are_simulated_on_operations() -> None:
    message = "^only matrix units are simulated on random operations$"
    with pytest.raises(ValueError, match=message):
        run("other", Config())


def test_classes_of_values_are_told_apart() -> None:
    fmt = MAIN.element
    patterns = {"zero": 0x80, "subnormal": 3, "normal": 0x7B, "infinite": 0xFC, "nan": 0x7D}
    for label, pattern in patterns.items():
        assert classes(np.array([pattern], np.uint64), fmt) == {label}
    assert classes(np.array([0x80, 5], np.uint64), INTEGERS.element) == {
        "negative", "lowest", "positive"
    }  # fmt: skip


# Whole tiles of the RTL against SuiteSparse:GraphBLAS, and a tenth semiring.

TYPES: dict[str, tuple[type[np.generic], type[np.generic]]] = {
    "fp8e5m2": (np.float32, np.float64),
    "fp16": (np.float32, np.float64),
    "bf16": (np.float32, np.float64),
    "fp32": (np.float64, np.float64),
    "fp64": (np.float64, np.float64),
    "int8": (np.int32, np.int64),
    "int16": (np.int32, np.int64),
    "int32": (np.int32, np.int64),
}
"""Type in which GraphBLAS computes, and type that the model encodes from, by format of a and b."""


def row(opcode: int, plus: str, times: str, identity: str) -> Semiring:
    return Semiring(
        name=f"{plus}_{times}", opcode=opcode, plus=plus, times=times, identity=identity,
        padding=(identity, identity),
    )  # fmt: skip


PLUSMIN = replace(row(9, "add", "min", "0"), name="plusmin")
MORE = (
    PLUSMIN,
    row(10, "add", "max", "0"),
    row(11, "min", "min", "+inf"),
    row(15, "max", "max", "-inf"),
)


@pytest.mark.parametrize("element", slow_but(["fp8e5m2", "fp16"], TYPES, ["int8"]))
def test_tiles_of_small_integers_are_graphblas(element: str) -> None:
    """Integers whose differences and sums every format holds; all nine semirings."""
    config = Simd2Config(tile=2, format=element)
    dtype, wide = TYPES[element]
    rng = np.random.default_rng(881)
    shape = (cases(3000), 2, 2)
    a, b, c = (rng.integers(-4, 5, shape).astype(dtype) for _ in range(3))
    op = rng.integers(0, 9, len(a)).astype(np.uint64)
    formats = config.element, config.element, config.result
    words = [encode(x.astype(wide), fmt) for x, fmt in zip((a, b, c), formats, strict=True)]
    got, error, _ = rtl(config).run(Operations(op, words[0], words[1], words[2], []))
    assert not error.any()
    names = {row.opcode: row.name for row in SEMIRINGS.values()}
    assert set(names.values()) == set(graphs.NAMES)
    for index, d in enumerate(decode(got, config.result)):
        name = names[int(op[index])]
        expected = graphs.tile_product(name, a[index], b[index], c[index])
        assert np.array_equal(d, expected), f"{name}: {a[index]}, {b[index]}, {c[index]}"


@pytest.mark.parametrize("element", slow_but([], ["fp32", "fp64"], ["fp32"]))
def test_tiles_of_any_numbers_are_graphblas(element: str) -> None:
    """Semirings whose terms are rounded once there as here, infinities included."""
    config = Simd2Config(tile=2, format=element, accumulator=element)
    dtype: Any = np.float32 if element == "fp32" else np.float64
    rng = np.random.default_rng(882)
    a, b, c = (rng.standard_normal((cases(3000), 2, 2)).astype(dtype) for _ in range(3))
    b[rng.random(b.shape) < 0.1] = np.inf
    names = [name for name in graphs.NAMES if name not in ("mma", "addnorm")]
    chosen = rng.choice(names, len(a))
    op = np.array([SEMIRINGS[name].opcode for name in chosen], np.uint64)
    words = [x.view(f"u{x.itemsize}").astype(np.uint64) for x in (a, b, c)]
    got, _, _ = rtl(config).run(Operations(op, words[0], words[1], words[2], []))
    for index, d in enumerate(decode(got, config.result)):
        expected = graphs.tile_product(chosen[index], a[index], b[index], c[index])
        assert np.array_equal(d, expected), chosen[index]


@pytest.mark.parametrize("element", slow_but([], ["fp8e5m2", "int8"], ["fp8e5m2"]))
@pytest.mark.parametrize("rows", [(PLUSMIN,), MORE])
def test_a_tenth_semiring_needs_a_row_of_the_table_only(
    monkeypatch: pytest.MonkeyPatch, element: str, rows: tuple[Semiring, ...]
) -> None:
    """plusmin, ``c + sum of min(a_k, b_k)``: RTL, sidecar and model follow the table; the results
    stand before exact arithmetic that knows nothing of either. Beside the nine, and with others."""
    nine = tuple(SEMIRINGS)
    for new in rows:
        monkeypatch.setitem(SEMIRINGS, new.name, new)
    names = tuple(new.name for new in rows)
    config = Simd2Config(tile=2, format=element, ops=names if len(rows) > 1 else (*nine, *names))
    simulated = SemiringRtl(config, emitted(config))
    for new in rows:
        assert simulated.sidecar["opcodes"][new.name] == new.opcode
        sent = operations(config, cases(5000), 883, modes=(new.name,), illegal=0)
        d, error, _ = simulated.run(sent, Pauses(seed=884, gap=0.2, stall=0.2))
        assert not error.any()
        complaint = fault(config, new.name, sent, d)
        assert not complaint, complaint
    simulated.check_timing(operations(config, 1000, 885))
