"""The semiring matrix unit's RTL at native speed, beside its golden model."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.formats import FloatFormat, Format
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.hw.spec.simd2 import Simd2Config
from tilewright.sim.rtl.streams import NativeSimulation, Pauses, RunResult, pack, unpack
from tilewright.sim.units.simd2 import mixed_operations
from tilewright.verif.oracles import stimuli
from tilewright.verif.oracles.semirings import check_sums, exact_result

from ..matrix_stimuli import Operations
from ..semiring_stimuli import integer_values

Words = npt.NDArray[np.uint64]
Pairs = tuple[Words, Words]
Generator = np.random.Generator


def every_pair(fmt: Format) -> Pairs:
    """Every ordered pair of patterns of a narrow format."""
    return _crossed(np.arange(1 << fmt.bits, dtype=np.uint64))


def special_pairs(fmt: Format) -> Pairs:
    """Every ordered pair of special values: of floats, or ends of the range and powers of two."""
    if isinstance(fmt, FloatFormat):
        return stimuli.special_pairs(fmt)
    drawn = integer_values(np.random.default_rng(0), "extremes", (40 * fmt.bits,), fmt)
    return _crossed(np.unique(drawn))


def alone(config: Simd2Config, name: str, pairs: Pairs, rng: Generator) -> Operations:
    """Every pair in the first lane of a result, the others at padding, the identity as addend.

    Where the format has no padding the pair stands in every lane. Results that do not lie on a
    tile's diagonal pair the operands of different pairs.
    """
    tile, row = config.tile, SEMIRINGS[name]
    order = rng.permutation(len(pairs[0]))
    count = -(-len(order) // tile)
    x, y = (np.resize(column[order], (count, tile)) for column in pairs)
    a = np.repeat(x[:, :, np.newaxis], tile, axis=2)
    b = np.repeat(y[:, np.newaxis, :], tile, axis=1)
    padding, identity = row.padding_in(config.element), row.identity_in(config.result)
    assert identity is not None
    if padding is not None:
        a[:, :, 1:], b[:, 1:, :] = padding
    return _labelled(name, a, b, np.full(a.shape, identity, np.uint64), "alone")


def packed(
    config: Simd2Config, name: str, pairs: Pairs, addends: Words, rng: Generator
) -> Operations:
    """Every pair in every lane of the results on a tile's diagonal: all pairs in a random order,
    which moves on by one lane from round to round; addends picked at random."""
    tile = config.tile
    places = tile * tile
    count = -(-len(pairs[0]) // places)
    order = np.resize(rng.permutation(len(pairs[0])), count * places)
    turned = np.concatenate([np.roll(order, turn) for turn in range(places)])
    a, b = (column[turned].reshape(-1, tile, tile) for column in pairs)
    return _labelled(name, a, b.swapaxes(1, 2), rng.choice(addends, a.shape), "packed")


def mixed(config: Simd2Config, layout: Callable[[str], Operations], rng: Generator) -> Operations:
    """The operations that ``layout`` gives for each of the unit's semirings, in random order."""
    parts = [layout(name) for name in config.ops]
    op, a, b, c = (
        np.concatenate([part.fields[field] for part in parts]) for field in ("op", "a", "b", "c")
    )
    kind = [label for part in parts for label in part.kind]
    return Operations(op, a, b, c, kind).ordered(rng.permutation(len(op)))


def _crossed(patterns: Words) -> Pairs:
    left, right = np.meshgrid(patterns, patterns, indexing="ij")
    return left.ravel(), right.ravel()


def _labelled(name: str, a: Words, b: Words, c: Words, kind: str) -> Operations:
    op = np.full(len(a), SEMIRINGS[name].opcode, np.uint64)
    return Operations(op, a, b, c, [kind] * len(a))


Array = npt.NDArray[Any]


class Operands(NamedTuple):
    """Operands of every result: its row of a, its column of b, (results, tile), and its addend."""

    a: Array
    b: Array
    c: Array


def operands_of(config: Simd2Config, sent: Operations) -> Operands:
    """The operands of every result of operations, in the order of ``d.ravel()``."""
    tile = config.tile
    rows, columns, addends = [], [], []
    for row in range(tile):
        for col in range(tile):
            picked = []
            for lane in range(tile):
                if sent.metadata is None:
                    picked.append(sent.b[:, lane, col])
                else:
                    group = sent.b[:, 4 * (lane // 2) : 4 * (lane // 2) + 4, col]
                    place = sent.metadata[:, row, lane]
                    picked.append(np.choose(place.astype(np.int64), list(group.T)))
            rows.append(sent.a[:, row])
            columns.append(np.stack(picked, axis=1))
            addends.append(sent.c[:, row, col])
    mask = np.uint64((1 << config.result.bits) - 1)
    return Operands(
        np.stack(rows, axis=1).reshape(-1, tile),
        np.stack(columns, axis=1).reshape(-1, tile),
        np.stack(addends, axis=1).reshape(-1) & mask,
    )


def fault(config: Simd2Config, name: str, sent: Operations, d: Array) -> str:
    """The first result of operations of one semiring that exact arithmetic refuses; empty if it
    refuses none."""
    row, (a, b, c), found = SEMIRINGS[name], operands_of(config, sent), d.ravel()
    element, result = config.element, config.result
    if row.plus == "add" and isinstance(element, FloatFormat):
        assert isinstance(result, FloatFormat)
        report = check_sums(
            row, a, b, c, found,
            element=element, result=result, alignment_bits=config.window_bits,
        )  # fmt: skip
        assert report.checked == len(found)
        for index, clause in report.violations[:1]:
            return f"{name}, a {_hex(a[index])}, b {_hex(b[index])}, c {int(c[index]):#x}: {clause}"
        return ""
    cases = zip(a.tolist(), b.tolist(), c.tolist(), found.tolist(), strict=True)
    for row_a, row_b, addend, got in cases:
        expected = exact_result(row, row_a, row_b, addend, element, result)
        if got != expected:
            operands = f"a {_hex(row_a)}, b {_hex(row_b)}, c {addend:#x}"
            return f"{name}, {operands}: {got:#x}, expected {expected:#x}"
    return ""


def _hex(patterns: Any) -> str:
    return "[" + ", ".join(f"{int(pattern):#x}" for pattern in patterns) + "]"


_UNPAUSED = Pauses()


class SemiringRtl:
    """One simulated unit.

    Members
    -------
    config, sidecar: of the unit
    """

    def __init__(self, config: Simd2Config, built: Emitted) -> None:
        self.config = config
        self.sidecar: dict[str, Any] = built.sidecar
        self._simulation = NativeSimulation(built)

    def run(self, sent: Operations, pauses: Pauses = _UNPAUSED) -> tuple[Words, Words, RunResult]:
        """Results, error flags and timing of operations."""
        unit = self._simulation
        result = unit.run(pack(sent.fields, unit.stream("i")), pauses=pauses)
        got = unpack(result.payloads, unit.stream("o"))
        return got["d"].astype(np.uint64), got["error"].astype(np.uint64), result

    def check(self, sent: Operations, pauses: Pauses = _UNPAUSED) -> RunResult:
        """Run operations; fail with the first one whose result is not the model's."""
        got, flags, result = self.run(sent, pauses)
        d, error = mixed_operations(self.config, **sent.fields)
        wrong = (got != d).any(axis=(1, 2)) | (flags != error)
        first = int(np.flatnonzero(wrong)[0]) if wrong.any() else -1
        assert not wrong.any(), (
            f"{int(wrong.sum())} of {len(d)} operations differ; first {first}, opcode "
            f"{int(sent.op[first])}, {sent.kind[first]}: a {sent.a[first].tolist()}, "
            f"b {sent.b[first].tolist()}, c {sent.c[first].tolist()}: "
            f"{got[first].tolist()}, expected {d[first].tolist()}"
        )
        return result

    def leave_in_flight(self, sent: Operations, results: int) -> None:
        """Send operations, take no more than so many results."""
        unit = self._simulation
        unit.run(pack(sent.fields, unit.stream("i")), outputs=results)

    def check_timing(self, sent: Operations) -> None:
        """Operations back to back, after a reset, take what the sidecar promises: the latency of
        the first, then an interval each. An illegal one takes as long as one of a single step."""
        self._simulation.reset()
        _, _, result = self.run(sent)
        interval, latency = self.sidecar["initiation_interval"], self.sidecar["latency"]
        steps_of = {code: interval[name] for name, code in self.sidecar["opcodes"].items()}
        (single,) = {latency[name] - interval[name] + 1 for name in interval}
        steps = np.array([steps_of.get(op, 1) for op in sent.op.tolist()])
        left = result.output_cycles.astype(np.int64)
        expected = int(result.input_cycles[0]) + single - 1 + np.cumsum(steps)
        late = np.flatnonzero(left != expected)
        assert not len(late), (
            f"operation {late[0]}: result in cycle {left[late[0]]}, not {expected[late[0]]}"
        )


@cache
def emitted(config: Simd2Config) -> Emitted:
    """A configuration's Verilog and sidecar, written once."""
    return emit("simd2", config)


@cache
def rtl(config: Simd2Config) -> SemiringRtl:
    """A configuration's simulation, built once; its state lives on from test to test."""
    return SemiringRtl(config, emitted(config))
