"""The native simulation harness: stream rules, pauses, time-outs, payload layout, cache."""

from __future__ import annotations

import itertools
import os
import random
import resource
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth import Module, Signal
from amaranth.hdl import Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.emit.unit import Emitted, emit_component
from tilewright.sim.rtl import build as native_build
from tilewright.sim.rtl import glue
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
from tilewright.sim.rtl.waves import WaveError
from tilewright.verif.kit.caches import empty_cache

LAYOUT = data.StructLayout({
    "op": 3,
    "a": data.ArrayLayout(16, 5),
    "wide": 70,
    "c": data.ArrayLayout(12, 6),
})  # fmt: skip
RESULT = data.StructLayout({"error": 1, "sum": 40, "a": data.ArrayLayout(16, 5), "c": 72})
DEPTH = 3


class Adder(wiring.Component):
    """Test unit: ``sum = a[0] + a[1] + op``, the rest passed on, ``DEPTH`` registers.

    ``fault`` makes it break the stream rules: "drop" (valid goes away), "change" (payload
    changes), "hang" (no result ever).
    """

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        super().__init__({"i": In(stream.Signature(LAYOUT)), "o": Out(stream.Signature(RESULT))})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        valid = Signal(DEPTH)
        stage = [Signal(RESULT, name=f"stage_{n}") for n in range(DEPTH)]
        ready = Signal()
        m.d.comb += [
            ready.eq(~valid[-1] | self.o.ready),
            self.i.ready.eq(ready),
            self.o.valid.eq(valid[-1]),
            self.o.payload.eq(stage[-1]),
        ]
        i = self.i.payload
        with m.If(ready):
            m.d.sync += valid.eq((valid << 1) | self.i.valid)
            m.d.sync += [
                stage[0].sum.eq(i.a[0] + i.a[1] + i.op),
                stage[0].error.eq(i.wide[69]),
                stage[0].a.eq(i.a),
                stage[0].c.eq(Value.cast(i.c)),
            ]
            for before, after in itertools.pairwise(stage):
                m.d.sync += after.eq(before)
        if self.fault == "drop":
            with m.If(~ready):
                m.d.sync += valid[-1].eq(0)
        elif self.fault == "change":
            m.d.sync += stage[-1].sum.eq(stage[-1].sum + 1)
        elif self.fault == "hang":
            m.d.comb += self.o.valid.eq(0)
        return m


def build(fault: str = "") -> Emitted:
    """The test unit's Verilog and sidecar."""
    return emit_component(Adder(fault), name="adder")


def stimuli(count: int, seed: int) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(seed)
    wide = draw.integers(0, 1 << 32, (count, 3), dtype=np.uint32)
    wide[:, 2] &= 0x3F
    return {
        "op": draw.integers(0, 8, count, dtype=np.uint8),
        "a": draw.integers(0, 1 << 16, (count, 5), dtype=np.uint16),
        "wide": wide,
        "c": draw.integers(0, 1 << 12, (count, 6), dtype=np.uint16),
    }


def check(fields: dict[str, np.ndarray], results: dict[str, np.ndarray]) -> None:
    total = fields["a"][:, 0].astype(np.uint64) + fields["a"][:, 1] + fields["op"]
    np.testing.assert_array_equal(results["sum"], total)
    np.testing.assert_array_equal(results["a"], fields["a"])
    np.testing.assert_array_equal(results["error"], fields["wide"][:, 2] >> 5)


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


def _slow_pack(fields: dict[str, np.ndarray], stream_entry: dict[str, Any]) -> np.ndarray:
    """Bit by bit, in Python integers."""
    rows = []
    for n in range(len(next(iter(fields.values())))):
        value = 0
        for entry in stream_entry["fields"]:
            bits = entry.get("element_bits", entry.get("width"))
            shape = entry.get("shape", [])
            elements = fields[entry["name"]][n].reshape(int(np.prod(shape, dtype=int)), -1)
            for position, element in enumerate(elements):
                size = 32 if bits > 64 else 64
                number = sum(int(word) << (size * k) for k, word in enumerate(element))
                for bit in range(bits):
                    value |= ((number >> bit) & 1) << (entry["offset"] + position * bits + bit)
        words = -(-stream_entry["width"] // 32)
        rows.append([(value >> (32 * k)) & 0xFFFFFFFF for k in range(words)])
    return np.array(rows, np.uint32)


@pytest.mark.parametrize("seed", range(30))
def test_pack_round_trip_on_random_layouts(seed: int) -> None:
    pick, draw = random.Random(seed), np.random.default_rng(seed)
    entry: dict[str, Any] = {"name": "x", "fields": []}
    fields, offset = {}, 0
    for n in range(pick.randint(1, 6)):
        bits = pick.choice([1, 3, 7, 8, 12, 16, 31, 32, 33, 45, 63, 64, 65, 100, 128])
        shape = pick.choice([None, [1], [3], [2, 5], [4, 4]])
        field: dict[str, Any] = {"name": f"f{n}", "offset": offset}
        field |= {"width": bits} if shape is None else {"shape": shape, "element_bits": bits}
        raw = draw.integers(0, 1 << 63, (5, *(shape or []), 4), dtype=np.uint64).astype(np.uint32)
        if bits > 64:
            values = raw[..., : -(-bits // 32)]
            values[..., -1] &= np.uint32((1 << ((bits - 1) % 32 + 1)) - 1)
        else:
            values = (raw[..., 0].astype(np.uint64) << np.uint64(32) | raw[..., 1]) >> np.uint64(
                64 - bits
            )
            values = values.astype(f"u{next(b for b in (8, 16, 32, 64) if b >= bits) // 8}")
        fields[field["name"]] = values
        entry["fields"].append(field)
        offset += bits * int(np.prod(shape or [1])) + pick.choice([0, 0, 5])
    entry["width"] = offset
    rows = pack(fields, entry)
    np.testing.assert_array_equal(rows, _slow_pack(fields, entry))
    for name, values in unpack(rows, entry).items():
        np.testing.assert_array_equal(values, fields[name])
        assert values.dtype == fields[name].dtype


def test_pack_refuses_what_does_not_fit(simulation: NativeSimulation) -> None:
    entry = simulation.stream("i")
    fields: dict[str, Any] = stimuli(4, 9)
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"op": np.full(4, 8)}, ValueError, "field `op` must fit 3 bits, not 0x8"),
        ({"c": np.full((4, 6), 4096)}, ValueError, "field `c` must fit 12 bits, not 0x1000"),
        ({"op": np.full(4, -1)}, ValueError, "field `op` must fit 3 bits"),
        ({"a": np.zeros((4, 4), int)}, ValueError, r"shape \(count, \(5,\)\), not \(4, 4\)"),
        ({"a": np.zeros((3, 5), int)}, ValueError, "fields of stream `i` differ in count"),
        ({"a": np.zeros((4, 5))}, TypeError, "must be integers"),
        ({"z": np.zeros(4, int)}, ValueError, "stream `i` has the fields op, a, wide, c, not"),
    ]
    for change, error, text in cases:
        with pytest.raises(error, match=text):
            pack(fields | change, entry)


def test_rows_are_checked(simulation: NativeSimulation) -> None:
    table = np.zeros((4, 3), np.uint32)
    for rows, text in [
        (Rows(table[:, :2]), "a table must be contiguous uint32"),
        (Rows(table[:3]), "a table needs 4 rows, not 3"),
        (Rows(table, np.array([0, 1, 2, 4])), r"an index must lie in 0\.\.3"),
        (Rows(table, np.array([0, 1, 2])), r"an index must be int64 of shape \(4,\)"),
    ]:
        with pytest.raises(ValueError, match=text):
            simulation.run_fields({"a": rows}, {}, 4)
    with pytest.raises(ValueError, match="stream `i` has the fields op, a, wide, c, not b"):
        simulation.run_fields({"b": Rows(table)}, {}, 4)
    with pytest.raises(ValueError, match="`gap` must be at least 0 and below 1, not 1"):
        Pauses(gap=1)


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
    stamp = path.stat().st_mtime_ns
    assert native_build.build_library(built.verilog, built.sidecar) == path
    assert path.stat().st_mtime_ns == stamp
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
    """A file of which a part could be written is removed."""
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
    native_build._compiler.cache_clear()
    monkeypatch.setenv("CXX", "no-such-compiler")
    try:
        with pytest.raises(ToolMissing, match=r"no C\+\+ compiler `no-such-compiler`"):
            NativeSimulation(build())
    finally:
        native_build._compiler.cache_clear()


def test_refused_verilog_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = empty_cache(tmp_path / "cache", monkeypatch)
    with pytest.raises(BuildError, match="verilator_bin failed with status"):
        NativeSimulation(Emitted("module adder(; endmodule", build().sidecar))
    assert not [p for p in os.listdir(cache) if p.startswith(("adder", "build"))]


def test_every_file_of_a_harness_is_part_of_it() -> None:
    """What is not would be missing where it is compiled, and could change without a new build."""
    folder = Path(str(glue.__file__)).with_name("cpp")
    for harness in (glue.STREAMS, ACCELERATOR):
        files = {path.name for path in (harness.source, *harness.headers)}
        assert {"model.h", "random.h"} < files
        assert all((folder / name).is_file() for name in files)
    parts = {path.name for path in (*glue.STREAMS.headers, *ACCELERATOR.headers)}
    assert parts == {path.name for path in folder.glob("*.h")}
