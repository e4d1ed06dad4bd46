"""A mover on the native harness: the requests to it, and its observations."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from tilewright.hw.emit.unit import Emitted, emit_component
from tilewright.sim.rtl.accelerator import NativeAccelerator
from tilewright.verif.harness.mover import REGISTERS, AxiMover, Rule

MEMORY_BYTES = 1 << 16
READ, WRITE = 1, 2


@cache
def mover(addr_bits: int = 40, data_bits: int = 64, id_bits: int = 4) -> Emitted:
    """The mover with such a bus."""
    component = AxiMover(addr_bits=addr_bits, data_bits=data_bits, id_bits=id_bits)
    return emit_component(component, name="mover")


def write(device: NativeAccelerator[Any], name: str, value: int) -> None:
    """Write a register."""
    register = REGISTERS[name]
    for word in range(register.words):
        device.write_register(register.offset + 4 * word, value >> 32 * word & 0xFFFF_FFFF)


def read(device: NativeAccelerator[Any], name: str) -> int:
    """Returns the value of a register."""
    register = REGISTERS[name]
    words = (device.read_register(register.offset + 4 * n) for n in range(register.words))
    return sum(word << 32 * n for n, word in enumerate(words))


def start(
    device: NativeAccelerator[Any],
    control: int,
    *,
    bursts: int = 8,
    beats: int = 8,
    address: int = 0,
    rule: Rule = Rule.NONE,
) -> None:
    """Have the mover read, write, or both, perhaps with a rule broken."""
    values = {"BURSTS": bursts, "BEATS": beats, "ADDRESS": address, "RULE": rule}
    for name, value in values.items():
        write(device, name, value)
    write(device, "CTRL", control)


def move(device: NativeAccelerator[Any], control: int, **what: Any) -> int:
    """Move beats; returns the cycles from the start to the interrupt."""
    start(device, control, **what)
    begun = device.cycles
    device.wait(100_000)
    taken = device.cycles - begun
    write(device, "STATUS", 1)
    assert not device.irq()
    return taken


def sum_of(device: NativeAccelerator[None], beats: int, address: int = 0) -> int:
    """Returns the expected sum of beats in memory."""
    words = np.frombuffer(device.read_memory(address, beats * 8), np.uint64)
    return int((words & np.uint64(0xFFFF_FFFF)).sum())
