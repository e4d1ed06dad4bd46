"""The lane with separate units: model against others' arithmetic, RTL against the model."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.gta.separate.integer_multiply_add import IntegerMultiplyAdd
from tilewright.hw.spec.formats import FORMATS, FloatFormat
from tilewright.hw.spec.gta import FORMATS_OF_GTA
from tilewright.hw.spec.gta_lane.separate import GTA_SEPARATE, GtaSeparateConfig
from tilewright.hw.spec.gta_lane.widths import elements, sum_bits
from tilewright.registry import entries
from tilewright.sim.gta.separate import golden, multiply_add
from tilewright.sim.rtl.streams import NativeSimulation, Pauses
from tilewright.verif.gta.float.exact_sums import accumulated, exactly
from tilewright.verif.gta.separate.operations import mixed_operations
from tilewright.verif.gta.separate.simulate import packed, run
from tilewright.verif.gta.separate.stimuli import KINDS, operands, operations
from tilewright.verif.kit.refusal import refusal
from tilewright.verif.kit.sampling import cases, slow_but

ENTRY = entries()["gta_separate"]

BUILDS: dict[str, dict[str, Any]] = {
    "small": dict(ENTRY.small),
    **{f"stages {stages}": {"pipeline": stages} for stages in (1, 2, 3)},
    **{name: {"formats": (name,), "pipeline": 3} for name in FORMATS_OF_GTA},
}


def signed(word: int, bits: int) -> int:
    """A word in two's complement."""
    return int.from_bytes(word.to_bytes(bits // 8, "little"), "little", signed=True)


@pytest.mark.parametrize("name", FORMATS_OF_GTA)
@pytest.mark.parametrize("kind", KINDS)
def test_the_model_by_arithmetic_of_others(name: str, kind: str) -> None:
    """Python's integers; SoftFloat, and exact fractions for some."""
    fmt = FORMATS[name]
    a, b, c = operands(name, kind, cases(10_000), np.random.default_rng(61))
    found = multiply_add(name, a, b, c)
    if isinstance(fmt, FloatFormat):
        wrong = np.flatnonzero(found[0] != accumulated(a, b, c[0], fmt))
        assert not len(wrong), [hex(x[wrong[0]]) for x in (a, b, c[0])]
        for x, y, z, got in zip(a[:500], b[:500], c[0], found[0], strict=False):
            expected = exactly(int(x), int(y), int(z), fmt)
            assert expected in (None, int(got))
        return
    word = sum_bits(name) // len(c)
    for x, y, z, got in zip(a.tolist(), b.tolist(), c.T.tolist(), found.T.tolist(), strict=True):
        addend = sum(part << (word * place) for place, part in enumerate(z))
        total = (signed(x, fmt.bits) * signed(y, fmt.bits) + addend) % (1 << sum_bits(name))
        assert sum(part << (word * place) for place, part in enumerate(got)) == total


def test_results_by_hand() -> None:
    """Both halves of a product of int64; int8 in the upper bits; rounding to fp32, not to fp16."""
    config = GtaSeparateConfig()
    lowest = 1 << 63
    d = golden(config, "int64", {}, {"a": [[lowest]], "b": [[lowest]], "c": [[5], [0]]})["d"]
    assert d.tolist() == [[5], [1 << 62]]
    d = golden(config, "int8", {}, {"a": [[0x80] * 8], "b": [[0x7F] * 8], "c": [[1] * 8]})["d"]
    assert d.tolist() == [[(1 - 128 * 127) % (1 << 32)] * 8]
    # (1 + 2**-10)**2 has 21 bits.
    d = golden(config, "fp16", {}, {"a": [[0x3C01] * 4], "b": [[0x3C01] * 4], "c": [[0] * 4]})["d"]
    assert d.tolist() == [[0x3F804008] * 4]


@cache
def emitted(build: str) -> tuple[GtaSeparateConfig, Emitted]:
    config = GtaSeparateConfig(**BUILDS[build])
    return config, emit(GTA_SEPARATE, config)


def check(config: GtaSeparateConfig, made: Emitted, count: int, seed: int) -> npt.NDArray[Any]:
    """Operations through gaps and stalls, then back to back; returns the latencies of these."""
    simulation = NativeSimulation(made)
    for pauses in (Pauses(seed=seed, gap=0.2, stall=0.3), Pauses()):
        sent = operations(config, count, seed)
        inputs, expected = packed(config, sent, made.sidecar)
        done = simulation.run(inputs, pauses=pauses)
        wrong = np.flatnonzero((done.payloads != expected).any(axis=1))
        assert not len(wrong), (
            sent.format[wrong[0]],
            sent.kind[wrong[0]],
            *(hex(int(x[wrong[0]])) for x in (sent.a, sent.b)),
            [hex(x) for x in sent.c[wrong[0]].tolist()],
            done.payloads[wrong[0]],
            expected[wrong[0]],
        )
        simulation.reset()
    return done.output_cycles - done.input_cycles


@pytest.mark.parametrize("build", slow_but(["small"], BUILDS, ["stages 2"]))
def test_rtl(build: str) -> None:
    """Formats and kinds of values mixed, and formats that there are not; one operation a cycle."""
    config, made = emitted(build)
    latencies = check(config, made, cases(20_000), seed=62)
    assert (latencies == config.pipeline).all()
    assert made.sidecar["latency"] == dict.fromkeys(config.formats, config.pipeline)


@pytest.mark.long
def test_cocotb() -> None:
    report = run(GTA_SEPARATE, GtaSeparateConfig(**BUILDS["small"]), seed=63, count=200)
    assert report.complaints == []
    assert {what for _, what in report.coverage} == set(KINDS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # Another format's number; an addend that is left out; a format that is not known.
        ("== 3'h3", "== 3'h2"),
        (".c(i__payload[386:131])", ".c(256'h0)"),
        ("{eq_3, eq_2, eq_1}", "{eq_3, eq_2}"),
    ],
)
def test_a_wrong_unit_is_found(old: str, new: str) -> None:
    config, made = emitted("small")
    assert old in made.verilog
    with pytest.raises(AssertionError):
        check(config, Emitted(made.verilog.replace(old, new), made.sidecar), 500, seed=64)


def test_formats_of_no_unit() -> None:
    """Zeros and the flag."""
    config = GtaSeparateConfig(formats=("int16",))
    numbers = [0, 1, 7]
    d, error = mixed_operations(config, numbers, [3] * 3, [5] * 3, np.ones((3, 4), np.uint32))
    assert error.tolist() == [1, 0, 1]
    assert d.tolist() == [[0] * 4, [16, 1, 1, 1], [0] * 4]


def test_widths() -> None:
    """Of the datapath and of results, as the page has them."""
    assert [elements(name) for name in FORMATS_OF_GTA] == [8, 4, 2, 1, 4, 4, 2, 1]
    assert [sum_bits(name) for name in FORMATS_OF_GTA] == [32, 32, 64, 128, 32, 32, 32, 64]
    assert GtaSeparateConfig().result_words == 8
    assert GtaSeparateConfig(formats=("fp64",)).result_words == 2


def test_refusals() -> None:
    formats = ", ".join(FORMATS_OF_GTA)
    said = refusal(lambda: GtaSeparateConfig(formats=("fp8",)))
    assert said == f"`formats` must be a non-empty subset of {formats}, not 'fp8'"
    said = refusal(lambda: GtaSeparateConfig(pipeline=4))
    assert said == "`pipeline` must be an integer in 1..3, not 4"
    said = refusal(lambda: IntegerMultiplyAdd(16, 24))
    assert said == "`sum_bits` must be at least 32, not 24"
    said = refusal(lambda: IntegerMultiplyAdd(16, 32, stages=3))
    assert said == "`stages` must be in 0..2, not 3"
