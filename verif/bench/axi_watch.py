"""Counts transfers on AXI4 managers by their pins alone, in the simulator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge


class BusWatch:
    """Counts from the next cycle on until it is cancelled.

    Parameters
    ----------
    dut: the top, its clock ``clk``
    prefixes: of the managers
    data_bits: of a beat

    Members
    -------
    under_way: bursts whose last response has not been taken
    """

    def __init__(self, dut: Any, prefixes: Iterable[str], data_bits: int) -> None:
        self._clock, self._beat_bytes = dut.clk, data_bits // 8
        self._ports = [
            {
                channel: [getattr(dut, f"{prefix}_{channel}{name}") for name in ("valid", "ready")]
                for channel in ("ar", "aw", "r", "w", "b")
            }
            | {"data": [getattr(dut, f"{prefix}_{name}") for name in ("rlast", "wstrb")]}
            for prefix in prefixes
        ]
        self._bytes = [[0, 0] for _ in self._ports]
        self.under_way = 0
        self._task = cocotb.start_soon(self._run())

    @property
    def moved(self) -> list[tuple[int, int]]:
        """Returns for each manager the bytes of the beats read, and the bytes written with their
        strobe set."""
        return [(read, written) for read, written in self._bytes]

    def cancel(self) -> None:
        self._task.cancel()

    async def _run(self) -> None:
        edge = RisingEdge(self._clock)
        while True:
            await edge
            for port, moved_bytes in zip(self._ports, self._bytes, strict=True):
                moved = [
                    channel
                    for channel in ("ar", "aw", "r", "w", "b")
                    if all(handle.value == 1 for handle in port[channel])
                ]
                last, strobe = port["data"]
                for channel in moved:
                    if channel in ("ar", "aw"):
                        self.under_way += 1
                    elif channel == "w":
                        moved_bytes[1] += int(strobe.value).bit_count()
                    elif channel == "b":
                        self.under_way -= 1
                    else:
                        moved_bytes[0] += self._beat_bytes
                        self.under_way -= int(last.value)
