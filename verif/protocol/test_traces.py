"""The checkers of AXI alone: each rule is flagged where it is broken, and nowhere else.

All traces run in Verilator, in one build; those with unknown values in Icarus only.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tilewright.hw.emit.unit import Emitted
from tilewright.sim.rtl.axi.checkers import checker_verilog, rules_of
from tilewright.sim.rtl.streams import NativeSimulation
from tilewright.sim.rtl.toolchain import ToolMissing, find_icarus
from tilewright.verif.protocol.traces import BROKEN, LEGAL, LIMITS, SHORT, Cycle, Trace, X

_PROTOCOLS = {"axi4": "axi4", "short": "axi4", "axi4-lite": "axi4-lite"}
"""The checkers of the bench."""

_LITE = {"ADDR_BITS": "32", "DATA_BITS": "32"}
_PARAMETERS = {"axi4": LIMITS, "short": LIMITS | SHORT, "axi4-lite": _LITE}
_PIN = re.compile(r"^  input  wire (?:\[(.+):0\] )?(\w+),$", re.MULTILINE)

Words = list[list[tuple[str, ...]]]
"""Rules that the checker flags, for each trace and cycle."""


@cache
def pins(checker: str) -> dict[str, int]:
    """The pins of a checker that a trace has, with their widths."""
    found = {}
    for high, name in _PIN.findall(checker_verilog(_PROTOCOLS[checker])):
        for parameter, value in _PARAMETERS[checker].items():
            high = re.sub(rf"\b{parameter}\b", value, high)
        if name not in ("port", "clk", "rst"):
            found[name] = eval(high.replace("/", "//")) + 1 if high else 1
    return found


def _layout() -> dict[tuple[str, str], tuple[int, int]]:
    """The lowest bit and the width of each pin in a payload, whose bit 0 is the reset."""
    found, low = {}, 1
    for protocol in ("axi4", "axi4-lite"):
        for name, width in pins(protocol).items():
            found[protocol, name] = (low, width)
            low += width
    return found


LAYOUT = _layout()
WIDTH = max(low + width for low, width in LAYOUT.values())
RULES = {checker: len(rules_of(protocol)) for checker, protocol in _PROTOCOLS.items()}


def _bits(trace: Trace, cycle: Cycle) -> str:
    """A payload in binary, its highest bit first; pins of 0 in the other protocol."""
    bits = ["0"] * WIDTH
    for name, value in cycle.items():
        low, width = (0, 1) if name == "rst" else LAYOUT[_PROTOCOLS[trace.checker], name]
        digits = "x" * width if value == X else f"{value:0{width}b}"
        assert len(digits) == width, name
        bits[low : low + width] = digits[::-1]
    return "".join(reversed(bits))


def _cycles(traces: Iterable[Trace]) -> list[str]:
    """Returns the payloads of all traces, each after a reset and an idle cycle, and a reset at the
    end."""
    reset, idle = "0" * (WIDTH - 1) + "1", "0" * WIDTH
    found = []
    for trace in traces:
        found += [reset, reset, idle, *(_bits(trace, cycle) for cycle in trace.cycles)]
    return [*found, reset, reset]


def _flags(traces: Iterable[Trace], words: list[int]) -> Words:
    """Converts the flags of every cycle to the broken rules of each trace, cycle by cycle."""
    lows = dict(zip(RULES, np.cumsum([0, *RULES.values()]).tolist(), strict=False))
    found, at = [], 0
    for trace in traces:
        at += 3
        rules = rules_of(_PROTOCOLS[trace.checker])
        low = lows[trace.checker]
        found.append(
            [
                tuple(rule.name for n, rule in enumerate(rules) if word >> (low + n) & 1)
                for word in words[at : at + len(trace.cycles)]
            ]
        )
        at += len(trace.cycles)
    return found


def _instances(payload: str, reset: str) -> str:
    """The checkers, all on the pins of a payload."""
    lines, low = [], 0
    for checker, protocol in _PROTOCOLS.items():
        module = {"axi4": "axi4_checker", "axi4-lite": "axi4_lite_checker"}[protocol]
        parameters = ", ".join(f".{name}({value})" for name, value in _PARAMETERS[checker].items())
        wired = "".join(
            f", .{name}({payload}[{LAYOUT[protocol, name][0]} +: {LAYOUT[protocol, name][1]}])"
            for name in pins(checker)
        )
        name = checker.replace("-", "_")
        lines.append(
            f"  {module} #({parameters}) {name} (.port(8'd0), .clk(clk), .rst({reset}), "
            f".broken(broken[{low} +: {RULES[checker]}]){wired});\n"
        )
        low += RULES[checker]
    return f"  wire [{low - 1}:0] broken;\n" + "".join(lines)


def _checkers() -> str:
    return checker_verilog("axi4") + checker_verilog("axi4-lite")


def in_verilator(traces: list[Trace], checkers: str) -> Words:
    """Runs all traces in one Verilator build and returns the flags of the checkers."""
    rows = [int(bits, 2) for bits in _cycles(traces)]
    count = sum(RULES.values())
    ports = (
        f"  input clk, rst, i__valid, o__ready, input [{WIDTH - 1}:0] i__payload,\n"
        f"  output i__ready, o__valid, output [{count - 1}:0] o__payload\n"
    )
    top = (
        f"module traced (\n{ports});\n"
        "  assign i__ready = o__ready;\n  assign o__valid = i__valid;\n"
        "  assign o__payload = broken;\n"
        f"{_instances('i__payload', 'rst | ~i__valid | i__payload[0]')}endmodule\n"
    )
    streams = [
        {"name": name, "direction": direction, "width": width, "fields": []}
        | {part: f"{name}__{part}" for part in ("valid", "ready", "payload")}
        for name, direction, width in (("i", "in", WIDTH), ("o", "out", count))
    ]
    sidecar = {
        "unit": "traced", "module": "traced", "clock": "clk", "streams": streams,
        "reset": {"name": "rst", "active": "high"},
    }  # fmt: skip
    simulation = NativeSimulation(Emitted(checkers + top, sidecar))
    size = -(-WIDTH // 32) * 4
    packed = b"".join(row.to_bytes(size, "little") for row in rows)
    result = simulation.run(np.frombuffer(packed, np.uint32).reshape(len(rows), -1)).payloads
    # A cycle's flags come at its end.
    words = [int.from_bytes(row.tobytes(), "little") for row in result[1:]]
    return _flags(traces, words)


def in_icarus(traces: list[Trace], checkers: str, directory: Path) -> Words:
    """Runs all traces in Icarus, with four states, and returns the flags. Skips the test without
    Icarus."""
    try:
        program = find_icarus()
    except ToolMissing as missing:
        pytest.skip(str(missing))
    rows = _cycles(traces)
    (directory / "rows").write_text("\n".join(rows))
    bench = (
        "module bench;\n  reg clk = 0;\n  integer n;\n"
        f"  reg [{WIDTH - 1}:0] row, rows [0:{len(rows) - 1}];\n{_instances('row', 'row[0]')}"
        '  initial begin\n    $readmemb("rows", rows);\n'
        f"    for (n = 0; n < {len(rows)}; n = n + 1) begin\n"
        '      row = rows[n];\n      #1 clk = 1;\n      #1 $display("%b", broken);\n'
        "      clk = 0;\n    end\n  end\nendmodule\n"
    )
    (directory / "bench.sv").write_text(f"`define AXI_FOUR_STATES\n{checkers}{bench}")
    command = [str(program), "-g2012", "-s", "bench", "-o", "bench.vvp", "bench.sv"]
    subprocess.run(command, cwd=directory, check=True, timeout=60)
    command = [str(shutil.which("vvp")), "-n", "bench.vvp"]
    done = subprocess.run(command, cwd=directory, check=True, timeout=60, stdout=subprocess.PIPE)
    words = [int(line.replace(b"x", b"0"), 2) for line in done.stdout.split()]
    assert len(words) == len(rows)
    return _flags(traces, words)


def wrong(traces: Iterable[Trace], flags: Words) -> list[str]:
    """Returns the traces where a checker flags too few or too many rules."""
    found = []
    for trace, flagged in zip(traces, flags, strict=True):
        expected = [()] * (len(flagged) - 1) + [(trace.rule,) if trace.rule else ()]
        if flagged != expected:
            found.append(f"{trace.checker} {trace.rule}: {flagged[-4:]}, {trace.cycles[-4:]}")
    return found


TRACES = [*BROKEN, *LEGAL.values()]
TWO_STATES = [trace for trace in TRACES if not trace.unknown]


def test_every_rule_has_a_trace() -> None:
    for protocol in ("axi4", "axi4-lite"):
        traced = {t.rule for t in BROKEN if _PROTOCOLS[t.checker] == protocol}
        assert traced == {rule.name for rule in rules_of(protocol)}


def test_traces_in_verilator() -> None:
    assert not wrong(TWO_STATES, in_verilator(TWO_STATES, _checkers()))


def test_traces_in_icarus(tmp_path: Path) -> None:
    assert not wrong(TRACES, in_icarus(TRACES, _checkers(), tmp_path))
