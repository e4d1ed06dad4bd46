"""The prover itself: it finds what is broken in the last cycle that it looks at, no later one, and
only what inputs can bring about."""

from __future__ import annotations

from pathlib import Path

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from tilewright.verif.stream.proof import never_broken

AT = 5


class Counting(wiring.Component):
    """``broken`` is set when ``count`` was so many times set; with ``kept`` it takes no notice.

    Members
    -------
    count: counts a cycle
    broken: the count is reached
    """

    def __init__(self, *, kept: bool = False) -> None:
        self._kept = kept
        super().__init__({"count": In(1), "broken": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        number = Signal(range(AT + 1))
        with m.If(self.count & (number != AT)):
            m.d.sync += number.eq(0 if self._kept else number + 1)
        m.d.comb += self.broken.eq(number == AT)
        return m


@pytest.mark.slow
@pytest.mark.parametrize(("kept", "cycles", "holds"), [
    (False, AT, True),
    (False, AT + 1, False),
    (True, 2 * AT, True),
])  # fmt: skip
def test_what_can_be_broken_is_found(kept: bool, cycles: int, holds: bool, tmp_path: Path) -> None:
    assert never_broken(Counting(kept=kept), tmp_path, cycles=cycles) == holds
