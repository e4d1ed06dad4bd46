"""The data-assignment stage by itself: what the entries of each step are worth, exactly."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.emit.unit import emit, emit_component
from tilewright.hw.m3xu.m3xu import DataAssignment
from tilewright.hw.m3xu.operand_decoder import entry_layout
from tilewright.hw.spec.formats import FLOAT_FORMATS
from tilewright.hw.spec.m3xu import MODES, BaselineConfig, GridUnitConfig, M3xuConfig, WideConfig
from tilewright.sim.rtl.streams import NativeSimulation, Pauses, pack, unpack
from tilewright.sim.units.m3xu import mixed_operations
from tilewright.verif.kit.sampling import cases, slow_but
from tilewright.verif.matrix_units.matrix_stimuli import operations
from tilewright.verif.oracles.softfloat import decode

DEPTH = 4
COMBINATIONAL = M3xuConfig(depth=DEPTH)
PIPELINED = M3xuConfig(depth=DEPTH, data_assignment="pipelined")
CONFIGS = [COMBINATIONAL, PIPELINED]

Fields = dict[str, npt.NDArray[np.uint64]]


class Stage(wiring.Component):
    """A data-assignment stage with streams: one transfer per step, ``load`` with the first.

    The pipelined stage takes the lanes one step earlier, by a transfer of its own.
    """

    def __init__(self, config: M3xuConfig, operand: str) -> None:
        self._stage = DataAssignment(config, operand)
        controls = {
            name: 1
            for name in ("load", "take", "complex", "swap_halves", "swap_words")
            if name in self._stage.signature.members
        }
        layout = {"lanes": 16 * config.depth, "select": len(MODES), **controls}
        self._controls = tuple(controls)
        result = data.StructLayout({"entries": self._stage.entries.shape().size})
        super().__init__(
            {
                "i": In(stream.Signature(data.StructLayout(layout))),
                "o": Out(stream.Signature(result)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.stage = stage = self._stage
        full = Signal()
        m.d.comb += [
            self.i.ready.eq(~full | self.o.ready),
            self.o.valid.eq(full),
            stage.advance.eq(self.i.valid & self.i.ready),
            stage.lanes.eq(self.i.payload.lanes),
            stage.select.eq(self.i.payload.select),
            self.o.payload.entries.eq(stage.entries),
        ]
        for name in self._controls:
            m.d.comb += getattr(stage, name).eq(self.i.payload[name])
        with m.If(self.i.ready):
            m.d.sync += full.eq(self.i.valid)
        return m


@cache
def simulation(config: M3xuConfig, operand: str) -> NativeSimulation:
    name = f"stage_{config.data_assignment}_{operand}"
    return NativeSimulation(emit_component(Stage(config, operand), name=name))


def entries(config: M3xuConfig, operand: str, mode: str, lanes: npt.NDArray[np.uint64]) -> Fields:
    """Fields of the entries, (operations, steps, depth), of operations with these lanes."""
    sim = simulation(config, operand)
    steps = MODES[mode].steps
    pipelined = config.data_assignment == "pipelined"
    slots = steps + pipelined
    words = np.zeros(len(lanes), object)
    for k in range(DEPTH):
        words |= lanes[:, k].astype(object) << 16 * k
    count = len(lanes) * slots
    step = np.tile(np.arange(slots), len(lanes)) - pipelined
    stream_fields = {field["name"] for field in sim.stream("i")["fields"]}
    select = 1 << list(MODES).index(mode)
    given = {
        "lanes": np.array([int(word) for word in np.repeat(words, slots)], np.uint64),
        "select": np.full(count, select),
        "take": step == -1,
        "load": step == 0,
        "complex": np.full(count, mode == "fp32c"),
        "swap_halves": (step == 1) | (step == 3),
        "swap_words": step == 2,
    }
    # Lanes and mode are there for the first transfer only: later steps live on the registers.
    late = step > -int(pipelined)
    for name in ("lanes", "select", "complex"):
        if name != "complex" or not pipelined:
            given[name] = np.where(late, 0, given[name])
    fields = {n: np.asarray(v).astype(np.uint64) for n, v in given.items() if n in stream_fields}
    run = sim.run(pack(fields, sim.stream("i")), pauses=Pauses(seed=1, gap=0.2, stall=0.2))
    rows = unpack(run.payloads, sim.stream("o"))["entries"]
    layout = entry_layout(config.modes, config.significand_bits)
    return _split(rows, layout, len(lanes), slots, pipelined)


def _split(
    rows: npt.NDArray[np.generic], layout: data.StructLayout, count: int, slots: int, skip: int
) -> Fields:
    words = [int(row) if np.ndim(row) == 0 else _join(row) for row in rows]
    fields: Fields = {}
    for name, part in layout:
        values = [
            [
                (word >> k * layout.size + part.offset) & ((1 << part.width) - 1)
                for k in range(DEPTH)
            ]
            for word in words
        ]
        fields[name] = np.array(values, np.uint64).reshape(count, slots, DEPTH)[:, skip:]
    half = 1 << (layout["exponent"].width - 1)
    exponent = fields["exponent"].astype(np.int64)
    fields["exponent"] = (exponent ^ half) - half  # type: ignore[assignment]
    return fields


def _join(words: npt.NDArray[np.generic]) -> int:
    return sum(int(word) << 32 * i for i, word in enumerate(words))


def worth(fields: Fields, operation: int, step: int, k: int) -> Fraction:
    """The value of an entry: ``significand * 2**(exponent - 11)``, with its sign."""
    at = operation, step, k
    magnitude = Fraction(int(fields["significand"][at]), 1 << 11)
    value = magnitude * Fraction(2) ** int(fields["exponent"][at])
    return -value if fields["sign"][at] else value


def operands(mode: str, seed: int, count: int = 300) -> npt.NDArray[np.uint64]:
    """Random lanes of finite values: all exponents, some subnormal, some zero."""
    rng = np.random.default_rng(seed)
    lanes = rng.integers(0, 1 << 16, (count, DEPTH), dtype=np.uint64)
    top = 0x4000 if MODES[mode].element.exponent_bits == 5 else 0x0080
    high = np.ones(DEPTH, bool) if MODES[mode].lanes == 1 else np.arange(DEPTH) % 2 == 1
    lanes[:, high] &= np.uint64(0xFFFF ^ top)  # an exponent bit less: never all ones
    lanes[rng.random(count) < 0.2] &= np.uint64(0x807F if top == 0x0080 else 0x83FF)
    return lanes


def element(mode: str, lanes: npt.NDArray[np.uint64], k: int) -> Fraction:
    """Element ``k`` of a row of lanes (a word of it, for fp32c), by the oracle."""
    fmt = MODES[mode].element
    if fmt.container_bits == 16:
        pattern = int(lanes[k])
    else:
        pattern = (int(lanes[2 * k + 1]) << 16 | int(lanes[2 * k])) >> fmt.padding_bits
    value = decode(pattern, fmt)
    magnitude = Fraction(value.integer) * Fraction(2) ** value.exponent
    return magnitude if value.integer < 0 or not value.negative else -abs(magnitude)


@pytest.mark.parametrize("config", slow_but([COMBINATIONAL], CONFIGS), ids=["direct", "pipelined"])
@pytest.mark.parametrize("mode", ["fp16", "bf16", "tf32"])
def test_narrow_elements_fill_an_entry(config: M3xuConfig, mode: str) -> None:
    lanes = operands(mode, seed=1)
    for operand in "ab":
        fields = entries(config, operand, mode, lanes)
        share = MODES[mode].lanes
        for i, k in np.ndindex(len(lanes), DEPTH // share):
            assert worth(fields, i, 0, share * k) == element(mode, lanes[i], k)
        if share == 2:
            # The other multiplier of the pair contributes -0, whatever the operands' signs.
            assert fields["zero"][:, 0, 1::2].all()
            assert (fields["sign"][:, 0, 1::2] == (operand == "a")).all()


@pytest.mark.parametrize("config", slow_but([COMBINATIONAL], CONFIGS), ids=["direct", "pipelined"])
@pytest.mark.parametrize("mode", ["fp32", "fp32c"])
def test_steps_make_up_exact_products(config: M3xuConfig, mode: str) -> None:
    """The weighted products of each multiplier pair, summed over its steps, equal the elements'
    product."""
    lanes_a, lanes_b = operands(mode, seed=2), operands(mode, seed=3)
    a, b = (entries(config, n, mode, x) for n, x in (("a", lanes_a), ("b", lanes_b)))
    for i, pair in np.ndindex(len(lanes_a), DEPTH // 2):
        for part in range(MODES[mode].steps // 2):
            total = Fraction(0)
            for step, weight in ((2 * part, 0), (2 * part + 1, 12)):
                # In step 1 both products weigh 2**-12 of a high product; a's exponent already
                # holds 24 of the low half's distance, and the cross terms undo half of it.
                high = worth(a, i, step, 2 * pair) * worth(b, i, step, 2 * pair)
                low = worth(a, i, step, 2 * pair + 1) * worth(b, i, step, 2 * pair + 1)
                if weight:
                    high, low = high / (1 << 12), low * (1 << 12)
                total += high + low
            other = pair ^ part
            want = element(mode, lanes_a[i], pair) * element(mode, lanes_b[i], other)
            if mode == "fp32c" and part == 0 and pair % 2:
                want = -want
            assert total == want, (i, pair, part)


def test_classes_reach_both_halves() -> None:
    """Zeros, infinities and NaNs of fp32 mark the entries of both halves, in every step."""
    special = {"zero": 0x80000000, "infinite": 0x7F800000, "nan": 0x7F800001}
    lanes = np.zeros((len(special), DEPTH), np.uint64)
    for i, word in enumerate(special.values()):
        lanes[i] = [word & 0xFFFF, word >> 16, 0, 0x3F80]
    for operand in "ab":
        fields = entries(COMBINATIONAL, operand, "fp32", lanes)
        for i, name in enumerate(special):
            for other in special:
                assert (fields[other][i, :, :2] == (other == name)).all()
                assert not fields[other][i, :, 2:].any()


def test_formats_are_those_of_the_table() -> None:
    assert {mode.element for mode in MODES.values()} <= set(FLOAT_FORMATS.values())


# The dot product unit in a grid of one: every pipeline, several windows and depths.

ONE: dict[str, Any] = {"rows": 1, "cols": 1}

CONFIGS_DOT_PRODUCT: dict[str, tuple[str, GridUnitConfig]] = {
    **{f"m3xu_{n}": ("m3xu", M3xuConfig(**ONE, depth=4, pipeline=n)) for n in range(1, 8)},
    **{
        f"baseline_{n}": ("m3xu_baseline", BaselineConfig(**ONE, depth=2, pipeline=n))
        for n in (1, 3, 6)
    },
    "wide": ("m3xu_wide", WideConfig(**ONE, depth=3, pipeline=5)),
    "fp32_alone": ("m3xu", M3xuConfig(**ONE, depth=2, modes=("fp32",))),
    "bf16_alone": ("m3xu", M3xuConfig(**ONE, depth=1, modes=("bf16",), alignment_bits=26)),
    "odd_depth": ("m3xu", M3xuConfig(**ONE, depth=5, modes=("fp16", "bf16"), alignment_bits=33)),
    "lanes_of_six": (
        "m3xu",
        M3xuConfig(**ONE, depth=6, modes=("tf32", "fp32"), data_assignment="pipelined"),
    ),
    # A normaliser of 64 bits, a power of two, once lost totals of -1 (window 34, 8 products).
    "power_of_two": ("m3xu_baseline", BaselineConfig(**ONE, depth=8, alignment_bits=34)),
    "wide_window": ("m3xu", M3xuConfig(**ONE, depth=8, alignment_bits=98)),
}

SAMPLE = ("baseline_3", "wide", "lanes_of_six", "power_of_two")
"""Cases of the default test, besides the quick test's."""


@pytest.mark.parametrize("name", slow_but(["m3xu_4"], CONFIGS_DOT_PRODUCT, SAMPLE))
def test_every_configuration_gives_the_models_bits(name: str) -> None:
    unit, config = CONFIGS_DOT_PRODUCT[name]
    emitted = emit(unit, config)
    sim = NativeSimulation(emitted)
    # Windows over 60 bits take the model's slow path.
    sent = operations(config, cases(20_000 if config.alignment_bits <= 60 else 2_000), 701)
    payload = pack({"op": sent.op, "a": sent.a, "b": sent.b, "c": sent.c}, sim.stream("i"))
    d, error = mixed_operations(config, sent.op, sent.a, sent.b, sent.c)
    for pauses in (Pauses(), Pauses(seed=702, gap=0.3, stall=0.3)):
        run = sim.run(payload, pauses=pauses)
        got = unpack(run.payloads, sim.stream("o"))
        np.testing.assert_array_equal(got["d"].astype(np.uint64), d)
        np.testing.assert_array_equal(got["error"].astype(bool), error)
    sim.reset()
    free = sim.run(payload)
    # An illegal operation takes as long as one of a single step.
    interval = {config.opcodes[mode]: n for mode, n in config.initiation_interval.items()}
    steps = [interval.get(op, 1) for op in sent.op.tolist()]
    single = config.operand_stages + config.pipeline
    start, end = int(free.input_cycles[0]), free.output_cycles
    assert int(end[0]) - start == single + steps[0] - 1
    assert int(end[-1]) - start == single + sum(steps) - 1
