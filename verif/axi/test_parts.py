"""AXI: readers, writers and registers in one top, under memories of every kind."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from typing import Any

import pytest
from tilewright.hw.axi.burst_reader import BurstReader, BurstSplitter
from tilewright.hw.axi.burst_writer import BurstWriter
from tilewright.hw.axi.interconnect import ReadInterconnect, WriteInterconnect
from tilewright.hw.emit.unit import Emitted, emit_component
from tilewright.verif.axi.parts_top import REGISTERS, AxiParts, Sizes
from tilewright.verif.bench.cocotb_build import SettingsBuild
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.front_ends import complaints, run_yosys
from tilewright.verif.kit.sampling import by_size, slow_but

BENCH = "tilewright.verif.axi.parts_bench"
SMALL = Sizes(outstanding=16)
SIZES = {
    "small": SMALL,
    "narrow": Sizes(members=1, addr_bits=32, data_bits=32, id_bits=1, burst_beats=256,
                    buffer_beats=512, outstanding=2, count_bits=16),
    "wide": Sizes(members=3, addr_bits=64, data_bits=512, id_bits=4, burst_beats=64,
                  buffer_beats=130, outstanding=16),
    "tiny": Sizes(data_bits=64, burst_beats=1, buffer_beats=2, outstanding=1),
    "odd": Sizes(members=3, data_bits=128, burst_beats=8, buffer_beats=19, outstanding=3),
}  # fmt: skip
ROUGH = {
    "latency": [1, 200], "stall": 0.3, "mixed": True, "modes": True, "gap": 0.2, "pause": 0.3,
}  # fmt: skip
SEEDS = by_size(2, 2, 6)
PATTERNS = {
    "aligned": [[0, 400]],
    "unaligned": [[129, 200], [7, 111], [515, 90]],
    "one beat": [[3 * n, 1] for n in range(150)],
    "two beats": [[3 * n + 1, 2] for n in range(150)],
    "mixed": [[5 * n, 1 + n % 3] for n in range(120)],
}
"""Requests as (beats from the start of the region, beats)."""


@cache
def emitted(sizes: Sizes) -> Emitted:
    return emit_component(AxiParts(sizes), name="axi_parts")


@cache
def build(sizes: Sizes) -> SettingsBuild:
    return SettingsBuild(emitted(sizes))


def run(sizes: Sizes, scenarios: list[dict[str, Any]], *, ram: bool = False) -> Any:
    settings = {**asdict(sizes), "ram": ram, "scenarios": scenarios}
    return build(sizes).run(BENCH, settings, seed=1)


def scenarios(sizes: Sizes) -> dict[str, list[dict[str, Any]]]:
    """Returns scenarios, grouped by the test that judges them. All run in one simulation, because
    starting one takes seconds."""
    long = {"longest": 3 * min(sizes.burst_beats, 100)}
    single = [[3 * n, 1] for n in range(40)]
    short = {"lists": {"read": single, "write": single}, "latency": [150, 200], "mixed": True}
    traffic: list[dict[str, Any]] = [{**ROUGH, **long, "seed": seed} for seed in range(SEEDS)]
    traffic += [{**long, "latency": [3, 9], "mixed": True}, {**long, "latency": [3, 9]}, short]
    # Sources and sinks that are far slower than the bus.
    traffic += [{**long, "pause": 0.9}, {**long, "stall": 0.8}, {**long, "gap": 0.8}]
    # READY depends on other signals, and is never low without a reason.
    traffic += [{**long, "modes": True, "seed": seed} for seed in range(SEEDS)]
    pauses: tuple[dict[str, Any], ...] = ({**ROUGH, "latency": [1, 50]}, {"modes": True})
    stops = [{**p, **long, "seed": n, "rounds": 6} for n in range(SEEDS) for p in pauses]
    few = {"requests": 60, "longest": 2}
    errors = [{**p, "seed": n, "errors": 1 + n % 4} for n in range(SEEDS) for p in (*pauses, few)]
    return {
        "traffic": [{"kind": "traffic", **scenario} for scenario in traffic],
        "stop": [{"kind": "stop", **scenario} for scenario in stops],
        "error": [{"kind": "error", **scenario} for scenario in errors],
    }


def rate_scenarios() -> dict[str, dict[str, Any]]:
    """One reader or writer has a memory to itself that answers every cycle; and two share it."""
    found = {}
    for side in ("read", "write"):
        alone = {"readers": [0] * (side == "read"), "writers": [0] * (side == "write")}
        for latency in (1, 4):
            for name, requests in PATTERNS.items():
                scenario = {"kind": "traffic", "lists": {side: requests}, **alone}
                found[f"{side} {name} {latency}"] = {**scenario, "latency": [latency, latency]}
    requests = [[n, 16] for n in range(0, 480, 16)]
    shared = {"kind": "traffic", "lists": {"read": requests}, "writers": []}
    return found | {"shared": {**shared, "latency": [4, 4]}}


@cache
def results(size: str) -> dict[str, list[Any]]:
    """Returns the summaries of all scenarios of a size; none may have found a fault."""
    wanted = scenarios(SIZES[size])
    rates = rate_scenarios() if size == "small" else {}
    groups = wanted | {name: [scenario] for name, scenario in rates.items()}
    found = iter(run(SIZES[size], [scenario for group in groups.values() for scenario in group]))
    return {key: [next(found) for _ in group] for key, group in groups.items()}


def judged(size: str, kind: str) -> list[Any]:
    """The summaries of a kind of scenario; fails if one found a fault."""
    for scenario, result in zip(scenarios(SIZES[size])[kind], results(size)[kind], strict=True):
        assert result["faults"] == [], scenario
    return results(size)[kind]


every_size = pytest.mark.parametrize("size", slow_but(["small"], SIZES, []))


@every_size
def test_every_beat_arrives_whatever_the_memory_does(size: str) -> None:
    found = judged(size, "traffic")
    overtakes = sum(result["overtakes"] for result in found)
    assert (overtakes > 0) == (SIZES[size].members > 1)
    for side in ("read", "write"):
        assert max(result["most"][side] for result in found) == SIZES[size].outstanding


@every_size
def test_stop_in_the_middle_of_anything(size: str) -> None:
    assert len(judged(size, "stop")) == 2 * SEEDS


@every_size
def test_errors_are_reported_and_their_data_never_passed_on(size: str) -> None:
    found = judged(size, "error")
    for side in ("read", "write"):
        assert sum(result["errors"][side] for result in found) >= len(found)


@every_size
def test_every_beat_arrives_from_another_memory(size: str) -> None:
    wanted = [
        {"kind": "traffic", "seed": seed, "stall": stall, "gap": stall / 2, "pause": stall / 2}
        for seed, stall in enumerate([0.0, 0.3, 0.6] * by_size(1, 1, 2))
    ]
    found = run(SIZES[size], wanted, ram=True)
    assert [result["faults"] for result in found] == [[]] * len(wanted)


@pytest.mark.parametrize("latency", [1, 4])
@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("side", ["read", "write"])
def test_a_beat_every_cycle(side: str, name: str, latency: int) -> None:
    """Streams across all boundaries of bursts and requests, aligned or not."""
    beats = sum(count for _, count in PATTERNS[name])
    (found,) = results("small")[f"{side} {name} {latency}"]
    assert found["faults"] == []
    assert found[f"{side}_data"]["0"] == [beats, beats]


def test_a_burst_every_cycle() -> None:
    (read,), (write,) = (results("small")[f"{side} one beat 1"] for side in ("read", "write"))
    assert read["ar"] == [150, 150]
    assert (write["aw"], write["w"]) == ([150, 150], [150, 150])


def test_readers_share_the_bus_fairly() -> None:
    (found,) = results("small")["shared"]
    assert found["faults"] == []
    assert found["r"] == [960, 960]
    for moved, cycles in found["read_data"].values():
        assert moved == 480
        assert cycles > 900


@every_size
def test_registers(size: str) -> None:
    settings = {"accesses": by_size(150, 300, 600), "stall": 0.5}
    result = build(SIZES[size]).run("tilewright.verif.axi.registers_bench", settings, seed=2)
    assert result["faults"] == []
    assert result["leads"] == ["aw", "both", "w"]
    assert result["waited"] > 30
    assert result["beside"] > 0
    assert result["responses"] == [0, 2]
    assert min(result["pulses"].values()) > 0


@every_size
def test_verilator_finds_nothing(size: str, tmp_path: Any) -> None:
    assert complaints("verilator", emitted(SIZES[size]).verilog, "axi_parts", tmp_path) == ""


@pytest.mark.parametrize("size", slow_but([], SIZES, ["small", "odd"]))
def test_yosys_accepts(size: str, tmp_path: Any) -> None:
    (tmp_path / "unit.v").write_text(emitted(SIZES[size]).verilog)
    script = "read_verilog -sv unit.v; hierarchy -check -top axi_parts; proc; check -assert"
    run_yosys(script, tmp_path)


def test_the_sidecar_describes_ports_and_registers() -> None:
    made = emitted(SMALL)
    lite, manager = (
        {name: said for name, said in port.items() if name != "signals"}
        for port in made.sidecar["axi"]
    )
    assert lite == {
        "prefix": "s_axil", "role": "subordinate", "protocol": "axi4-lite",
        "addr_bits": 7, "data_bits": 32, "id_bits": 0,
    }  # fmt: skip
    assert manager == {
        "prefix": "m0_axi", "role": "manager", "protocol": "axi4",
        "addr_bits": 40, "data_bits": 64, "id_bits": 2,
        "burst": "INCR", "beat_bytes": 8, "boundary_bytes": 4096, "cache": 3,
        "responses": "any order between IDs, in order within one",
    }  # fmt: skip
    assert made.sidecar["registers"] == REGISTERS.describe()
    plain = [port["name"] for port in made.sidecar["ports"]]
    assert not [name for name in plain if "_axi" in name]
    assert {"read_stop", "base", "status_done_set"} < set(plain)
    head = made.verilog.partition("\nmodule ")[0]
    assert "// AXI4 manager m0_axi: 64 bits of data, 40 of address, 2 of ID\n" in head
    assert "// AXI4-Lite subordinate s_axil: 32 bits of data, 7 of address\n" in head
    assert "//   0x010 BASE (64 bits)\n" in head


def test_ports_have_the_names_and_widths_of_axi() -> None:
    head = re.search(r"^module axi_parts \(\n(.*?)\n\);", emitted(SMALL).verilog, re.M | re.S)
    assert head
    found = {
        name: (kind, int(high or 0) + 1)
        for kind, high, name in re.findall(
            r"(input|output) +logic (?:\[(\d+):0\] )?(\w+),?$", head[1], re.M
        )
    }
    described = {
        port["name"]: (f"{port['direction']}put", port["width"])
        for bus in emitted(SMALL).sidecar["axi"]
        for port in bus["signals"]
    }
    assert described == {name: said for name, said in found.items() if "_axi" in name}
    request = {"id": 2, "addr": 40, "len": 8, "size": 3, "burst": 2, "lock": 1, "cache": 4}
    request |= {"prot": 3, "qos": 4, "valid": 1}
    forward: dict[str, dict[str, int]] = {
        "m0_axi_aw": request,
        "m0_axi_ar": request,
        "m0_axi_w": {"data": 64, "strb": 8, "last": 1, "valid": 1},
        "s_axil_b": {"resp": 2, "valid": 1},
        "s_axil_r": {"data": 32, "resp": 2, "valid": 1},
    }
    back: dict[str, dict[str, int]] = {
        "m0_axi_b": {"id": 2, "resp": 2, "valid": 1},
        "m0_axi_r": {"id": 2, "data": 64, "resp": 2, "last": 1, "valid": 1},
        "s_axil_aw": {"addr": 7, "prot": 3, "valid": 1},
        "s_axil_ar": {"addr": 7, "prot": 3, "valid": 1},
        "s_axil_w": {"data": 32, "strb": 4, "valid": 1},
    }
    for channels, ahead, behind in ((forward, "output", "input"), (back, "input", "output")):
        for channel, widths in channels.items():
            for name, width in widths.items():
                assert found.pop(channel + name) == (ahead, width)
            assert found.pop(f"{channel}ready") == (behind, 1)
    assert not [name for name in found if "_axi" in name]


@pytest.mark.parametrize(
    ("build_one", "message"),
    [
        (lambda: BurstReader(addr_bits=32, data_bits=64, outstanding=2, count_bits=8,
                             burst_beats=16, buffer_beats=31),
         "`buffer_beats` must be at least 32, not 31"),
        (lambda: BurstWriter(addr_bits=32, data_bits=64, outstanding=2, count_bits=8,
                             burst_beats=16, buffer_beats=31),
         "`buffer_beats` must be at least 32, not 31"),
        (lambda: BurstSplitter(addr_bits=32, data_bits=64, count_bits=8, burst_beats=12),
         "`burst_beats` must be a power of two in 1..256, not 12"),
        (lambda: BurstSplitter(addr_bits=32, data_bits=512, count_bits=8, burst_beats=128),
         "`burst_beats` must be a power of two in 1..64, not 128"),
        (lambda: BurstSplitter(addr_bits=32, data_bits=48, count_bits=8, burst_beats=4),
         "`data_bits` must be a power of two in 8..1024, not 48"),
        (lambda: ReadInterconnect(5, addr_bits=32, data_bits=64, id_bits=2),
         "`id_bits` must be at least 3, not 2"),
        (lambda: ReadInterconnect(5, addr_bits=32, data_bits=64, id_bits=6, slot_bits=4),
         "`id_bits` must be at least 7, not 6"),
        (lambda: WriteInterconnect(1, addr_bits=32, data_bits=64, id_bits=0, outstanding=2),
         "`id_bits` must be at least 1, not 0"),
    ],
)  # fmt: skip
def test_parameters_that_cannot_be(build_one: Callable[[], Any], message: str) -> None:
    assert refusal(build_one) == message
