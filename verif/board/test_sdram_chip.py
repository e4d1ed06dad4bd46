"""The model of an SDRAM chip: each of its rules is broken by commands, and kept a cycle later."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.board.sdram_controller import SdramPins
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.sdram import SdramGeometry
from tilewright.sim.rtl.glue import pack, unpack
from tilewright.sim.rtl.sdram_chip import PARTS, RULES, TIMES, with_chip
from tilewright.sim.rtl.streams import NativeSimulation

PART, MHZ, PHASE = PARTS["AS4C16M16SA-7"], 100, 270
SAMPLE = 3
"""Cycles from a read to its word, of a CAS latency of two at this clock."""

Row = dict[str, int]
"""The levels of the pins in a cycle."""


class Player(wiring.Component):
    """Puts the levels of a stream on the pins, one set a cycle, and returns those of the data."""

    def __init__(self) -> None:
        pins = SdramPins(SdramGeometry())
        self._outputs = {
            name: member.shape for name, member in pins.members.items() if name != "dq_i"
        }
        levels = data.StructLayout(self._outputs)
        super().__init__(
            {
                "i": In(stream.Signature(levels)),
                "o": Out(stream.Signature(16)),
                "pins": Out(pins),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        valid = Signal()
        word = Signal(16)
        m.d.comb += [self.i.ready.eq(1), self.o.valid.eq(valid), self.o.payload.eq(word)]
        m.d.sync += [valid.eq(self.i.valid), word.eq(self.pins.dq_i)]
        with m.If(self.i.valid):
            outputs = [getattr(self.pins, name) for name in self._outputs]
            m.d.sync += Cat(outputs).eq(self.i.payload)
        return m


@pytest.fixture(scope="module")
def rtl() -> NativeSimulation:
    emitted = emit_component(Player(), name="player")
    return NativeSimulation(with_chip(emitted, PART, mhz=MHZ, phase=PHASE, pins="pins"))


# Commands


def command(code: int, *, ba: int = 0, a: int = 0, dqm: int = 0, word: int | None = None) -> Row:
    levels = {"ras_n": code >> 2, "cas_n": code >> 1 & 1, "we_n": code & 1}
    driven = {"dq_o": word or 0, "dq_oe": int(word is not None)}
    return {"cke": 1, "cs_n": 0, **levels, "ba": ba, "a": a, "dqm": dqm, **driven}


def wait(cycles: int) -> list[Row]:
    return [command(0b111)] * cycles


def activate(ba: int = 0, row: int = 0) -> Row:
    return command(0b011, ba=ba, a=row)


def read(ba: int = 0, column: int = 0) -> Row:
    return command(0b101, ba=ba, a=column)


def write(word: int | None, ba: int = 0, column: int = 0, dqm: int = 0) -> Row:
    return command(0b100, ba=ba, a=column, dqm=dqm, word=word)


def precharge(ba: int = 0) -> Row:
    return command(0b010, ba=ba)


ALL = command(0b010, a=1 << 10)
REFRESH = command(0b001)
MODE = command(0b000, a=2 << 4)


def masked(rows: Sequence[Row]) -> list[Row]:
    """Until the mode is set, DQM must be high."""
    return [row | {"dqm": 3} for row in rows]


def begin(refreshes: int = 2, mode: Row = MODE) -> list[Row]:
    """Initialises the chip."""
    each = [REFRESH, *wait(6)]
    return [*masked([ALL, *wait(2), *each * refreshes, mode]), *wait(1)]


def run(rtl: NativeSimulation, rows: list[Row], **times: int) -> tuple[str, list[int]]:
    """Gives commands from power-up on; returns the first rule that was broken, and the words at
    the data pins: that of a read comes ``SAMPLE`` rows later."""
    values = {**PART.at(MHZ, PHASE), "t_power_up": 0, **times}
    fields = {
        "index": np.arange(1, len(TIMES) + 1),
        "value": np.array([values[name] for name in TIMES]),
    }
    rtl.run_streams(
        {"sdram_ask": pack(fields, rtl.stream("sdram_ask"))}, {"sdram_report": len(TIMES)}
    )
    rtl.reset()
    rows = rows + wait(4)
    sent = {name: np.array([row[name] for row in rows], np.uint64) for name in rows[0]}
    found, _ = rtl.run_streams({"i": pack(sent, rtl.stream("i"))}, {"o": len(rows)})
    asked = {"sdram_ask": pack({"index": [0], "value": [0]}, rtl.stream("sdram_ask"))}
    report, _ = rtl.run_streams(asked, {"sdram_report": 1})
    rule = int(unpack(report["sdram_report"], rtl.stream("sdram_report"))["rule"][0])
    return RULES[rule].name if rule else "", found["o"][:, 0].tolist()


def test_words(rtl: NativeSimulation) -> None:
    """Strobes of writes act at once, of reads two cycles later; else the pins have a pattern."""
    rows = [
        *begin(), activate(1, 5), *wait(2), write(0x1234, 1, 7), write(0xABCD, 1, 8),
        write(0xFF00, 1, 8, dqm=1), read(1, 7), read(1, 8), read(1, 7) | {"dqm": 2}, *wait(6),
    ]  # fmt: skip
    rule, words = run(rtl, rows)
    assert rule == ""
    at = len(rows) - 9 + SAMPLE
    assert words[at : at + 2] == [0x1234, 0xFFCD]
    assert words[at + 2] & 0xFF == 0x34
    assert words[at + 2] >> 8 == 0x5A
    assert words[at - 1] != 0x1234
    # With the clock inverted the controller would sample too late.
    rule, words = run(rtl, rows, phase=5000)
    assert rule == ""
    assert 0x1234 not in words[at - 2 :]


# Rules, broken by a gap that is one cycle too short.

OPENED = [*begin(), activate(), *wait(4)]

GAPS: list[tuple[str, int, list[Row], list[Row], dict[str, int]]] = [
    ("POWER_UP", 10, masked(wait(1)), begin(), {"t_power_up": 117_500}),
    ("RCD", 3, [*begin(), activate()], [read()], {}),
    ("RCD", 3, [*begin(), activate()], [write(1)], {}),
    ("RP", 3, [*OPENED, precharge()], [activate()], {}),
    ("RP", 3, [*OPENED, precharge(2), ALL], [REFRESH], {}),
    ("RP", 3, [*OPENED, ALL], [MODE], {}),
    ("RC", 10, [*begin(), activate(), *wait(5), precharge()], [activate()], {"t_rc": 157_000}),
    ("RC", 10, [*begin(), activate(), *wait(5), ALL], [REFRESH], {"t_rc": 157_000}),
    ("RAS", 5, [*begin(), activate()], [precharge()], {}),
    ("RAS", 5, [*begin(), activate()], [ALL], {}),
    ("RFC", 7, [*begin(), REFRESH], [activate()], {}),
    ("RFC", 7, [*begin(), REFRESH], [REFRESH], {}),
    ("RRD", 2, [*begin(), activate()], [activate(1)], {}),
    ("RRD", 3, [*begin(), activate()], [activate(1)], {"c_rrd": 3}),
    ("WR", 2, [*OPENED, write(1)], [precharge()], {}),
    ("WR", 4, [*OPENED, write(1)], [ALL], {"t_wr": 35_000}),
    ("MRD", 2, [*begin()[:-1]], [activate()], {}),
    ("CONTENTION", 4, [*OPENED, read()], [write(1)], {}),
]


def spaced(before: list[Row], gap: int, after: list[Row]) -> list[Row]:
    idle = wait(gap - 1)
    return [
        *before,
        *(masked(idle) if before[-1]["dqm"] == 3 and len(before) == 1 else idle),
        *after,
    ]


@pytest.mark.parametrize("number", range(len(GAPS)))
def test_a_gap(rtl: NativeSimulation, number: int) -> None:
    rule, least, before, after, times = GAPS[number]
    assert run(rtl, spaced(before, least, after), **times)[0] == ""
    assert run(rtl, spaced(before, least - 1, after), **times)[0] == rule


WRONG: list[tuple[str, list[Row], dict[str, int]]] = [
    ("MASK", [ALL], {}),
    ("MASK", [*masked([ALL]), *wait(1)], {}),
    ("NOT_CLOSED", masked([REFRESH]), {}),
    ("NOT_CLOSED", masked([precharge(), *wait(3), REFRESH]), {}),
    ("FEW_REFRESHES", [*begin(1), activate()], {}),
    ("FEW_REFRESHES", [*begin(7), activate()], {"first_refreshes": 8}),
    ("NO_MODE", masked([ALL, *wait(3), activate()]), {}),
    ("MODE", begin(mode=MODE | {"a": 0x21}), {}),
    ("MODE", begin(mode=MODE | {"a": 0x28}), {}),
    ("MODE", begin(mode=MODE | {"a": 0x10}), {}),
    ("MODE", begin(mode=MODE | {"ba": 1}), {}),
    ("CLOCK", begin(), {"t_ck2": 10_001}),
    ("CLOCK", begin(mode=MODE | {"a": 0x30}), {"t_ck3": 10_001}),
    ("UNKNOWN", [*OPENED, command(0b110)], {}),
    ("UNKNOWN", [*OPENED, read(column=1 << 10)], {}),
    ("UNKNOWN", [*OPENED, wait(1)[0] | {"cke": 0}], {}),
    ("OPEN", [*OPENED, activate()], {}),
    ("CLOSED", [*OPENED, read(1)], {}),
    ("CLOSED", [*OPENED, precharge(), *wait(2), write(1)], {}),
    ("NOT_ALL_CLOSED", [*OPENED, REFRESH], {}),
    ("NOT_ALL_CLOSED", [*OPENED, MODE], {}),
    ("RAS_MOST", [*OPENED, *wait(96), precharge()], {"t_ras_most": 1_000_000}),
    ("LATE", [*begin(), *wait(1600)], {}),
    ("WINDOW", [*begin(), *[*wait(50), REFRESH] * 16], {"t_window": 8_000_000, "refreshes": 16}),
    ("CONTENTION", [*OPENED, read(), *wait(1), write(1)], {}),
    ("NOT_DRIVEN", [*OPENED, write(None)], {}),
    ("SETUP", begin(), {"phase": 2000}),
    ("SETUP", begin(), {"phase": 9000}),
    ("ADDRESS", [*OPENED, read(column=512)], {}),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_wrong_command(rtl: NativeSimulation, number: int) -> None:
    rule, rows, times = WRONG[number]
    assert run(rtl, rows, **times)[0] == rule


def test_what_is_nearly_wrong(rtl: NativeSimulation) -> None:
    """Refreshes in time, a row open for the longest time, and the first words of a clock."""
    rows = [*begin(), *[*wait(48), REFRESH] * 40]
    assert run(rtl, rows, t_window=8_000_000, refreshes=16)[0] == ""
    rows = [*OPENED, *wait(95), precharge()]
    assert run(rtl, rows, t_ras_most=1_000_000)[0] == ""
    assert run(rtl, begin(8), first_refreshes=8)[0] == ""


def test_every_rule_is_broken() -> None:
    rules = [rule for rule, *_ in GAPS]
    rules += [rule for rule, *_ in WRONG]
    assert set(rules) == {rule.name for rule in RULES.values()}
