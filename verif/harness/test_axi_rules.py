"""The rules of AXI that the native harness checks: each, broken, is named."""

from __future__ import annotations

import re

import pytest
from tilewright.sim.rtl.accelerator import AxiBehaviour, AxiRuleError, NativeAccelerator
from tilewright.verif.harness.mover import Rule
from tilewright.verif.harness.moves import READ, WRITE, move, read, start

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
