"""cocotbext-axi on our tops: its memory and its AXI4-Lite master, quiet and with random pauses.

What its memory cannot do (out of order, latencies, errors) ``axi_memory`` does.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam

from .streams import Pauser


def random_pauses(seed: str, share: float) -> Iterator[bool]:
    """A pause generator: cycles in which a channel pauses."""
    pauser = Pauser(seed, share)
    while True:
        yield pauser()


def _quiet(dut: Any, prefix: str) -> None:
    """cocotbext-axi prints every payload otherwise."""
    logging.getLogger(f"cocotb.{dut._name}.{prefix}").setLevel(logging.WARNING)


def axi_ram(
    dut: Any, prefix: str, *, size: int, reset: Any = None, seed: str = "", stall: float = 0.0
) -> AxiRam:
    """An ``AxiRam`` of ``size`` bytes (addresses wrap) at an AXI4 manager, all five channels with
    pauses in a share ``stall`` of the cycles."""
    _quiet(dut, prefix)
    ram = AxiRam(AxiBus.from_prefix(dut, prefix), dut.clk, reset, size=size)
    pause_ram(ram, f"{seed} {prefix}", stall)
    return ram


def pause_ram(ram: AxiRam, seed: str, stall: float) -> None:
    """Have the channels of a memory pause in a share of the cycles from now on."""
    write, read = ram.write_if, ram.read_if
    channels = (write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel)
    _pause(channels, seed, stall)


def lite_master(
    dut: Any, prefix: str = "s_axil", *, reset: Any = None, seed: str = "", stall: float = 0.0
) -> AxiLiteMaster:
    """An ``AxiLiteMaster`` at an AXI4-Lite subordinate, all five channels with pauses."""
    _quiet(dut, prefix)
    master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, prefix), dut.clk, reset)
    write, read = master.write_if, master.read_if
    channels = (write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel)
    _pause(channels, f"{seed} {prefix}", stall)
    return master


def _pause(channels: tuple[Any, ...], seed: str, stall: float) -> None:
    for number, channel in enumerate(channels):
        if stall:
            channel.set_pause_generator(random_pauses(f"{seed} {number}", stall))
        else:
            channel.clear_pause_generator()
            channel.pause = False
