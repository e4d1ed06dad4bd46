"""The cocotb test of the registers of ``AxiParts``: cocotbext-axi's master against a model."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, with_timeout
from tilewright.hw.spec.registers.register_map import Field, Register
from tilewright.verif.axi.parts_top import REGISTERS
from tilewright.verif.bench.axi_vip import lite_master
from tilewright.verif.bench.cocotb_build import settings_directory
from tilewright.verif.bench.streams import PERIOD_NS

OKAY, SLVERR = 0, 2
TIME_OUT = 200_000


class Model:
    """Model of the registers: the values and responses that are expected.

    Members
    -------
    values: of every field, by member
    pulses: by member, what "wo" fields must have shown, zeros left out
    """

    def __init__(self) -> None:
        self.values: dict[str, int] = {}
        self.pulses: dict[str, list[int]] = {}
        for register in REGISTERS:
            for field in register.fields:
                self.values[register.member(field)] = field.reset
                if register.access_of(field) == "wo":
                    self.pulses[register.member(field)] = []

    def _at(self, address: int) -> tuple[Register, int] | None:
        """The register at an address, and the address's bits' place in it."""
        for register in REGISTERS:
            if register.offset <= address < register.offset + register.bits // 8:
                return register, 8 * (address - register.offset)
        return None

    def read(self, address: int) -> tuple[int, int]:
        """The word at an aligned address, and the response."""
        found = self._at(address)
        if found is None:
            return 0, SLVERR
        register, shift = found
        value = sum(
            self.values[register.member(field)] << field.low
            for field in register.fields
            if register.access_of(field) != "wo"
        )
        return value >> shift & 0xFFFFFFFF, OKAY

    def write(self, address: int, data: bytes) -> int:
        """Write bytes of one word; the response."""
        found = self._at(address)
        if found is None:
            return SLVERR
        register, shift = found
        mask = ((1 << 8 * len(data)) - 1) << shift
        word = int.from_bytes(data, "little") << shift
        base = 32 * (shift // 32)
        reached = 0xFFFFFFFF << base
        writable = False
        for field in register.fields:
            if field.mask & reached and register.access_of(field) != "ro":
                writable = True
                self._write_field(register, field, word, mask)
        return OKAY if writable else SLVERR

    def _write_field(self, register: Register, field: Field, word: int, mask: int) -> None:
        name, access = register.member(field), register.access_of(field)
        limit = (1 << field.width) - 1
        bits, chosen = word >> field.low & limit, mask >> field.low & limit
        if access == "rw":
            self.values[name] = (self.values[name] & ~chosen) | (bits & chosen)
        elif access == "w1c":
            self.values[name] &= ~(bits & chosen)
        elif bits & chosen:
            self.pulses[name].append(bits & chosen)


class Watch:
    """Looks at the port in every cycle: order of AW and W, stable responses, pulses.

    Members
    -------
    leads: what came first in some write, "aw" or "w", or "both" together
    waited: most cycles that a response to a write waited for BREADY
    beside: cycles in which a read's address was taken while a write was under way
    """

    def __init__(self, dut: Any, model: Model) -> None:
        self._dut = dut
        self.faults: list[str] = []
        self.leads: set[str] = set()
        self.waited = self.beside = 0
        self.pulses: dict[str, list[int]] = {name: [] for name in model.pulses}

    async def run(self) -> None:
        dut, edge = self._dut, RisingEdge(self._dut.clk)
        channels = {"b": ("bresp",), "r": ("rdata", "rresp")}
        held: dict[str, Any] = dict.fromkeys(channels)
        ahead = answered = written = waits = 0
        while True:
            await edge
            for name, seen in self.pulses.items():
                value = int(getattr(dut, name).value)
                if value:
                    seen.append(value)
            moved = {c: self._moves(c) for c in ("aw", "w")}
            if ahead == 0 and moved["aw"] and moved["w"]:
                self.leads.add("both")
            ahead += moved["aw"] - moved["w"]
            self.leads |= {"aw"} if ahead > 0 else {"w"} if ahead < 0 else set()
            written += moved["aw"]
            self.beside += written > answered and self._moves("ar")
            answered += self._moves("b")
            waits = waits + 1 if dut.s_axil_bvalid.value == 1 and not self._moves("b") else 0
            self.waited = max(self.waited, waits)
            for channel, payload in channels.items():
                now = None
                if getattr(dut, f"s_axil_{channel}valid").value == 1:
                    now = [int(getattr(dut, f"s_axil_{name}").value) for name in payload]
                if held[channel] is not None and held[channel] != now:
                    self.faults.append(f"{channel} changed before ready")
                held[channel] = None if self._moves(channel) else now

    def _moves(self, channel: str) -> bool:
        valid, ready = (
            getattr(self._dut, f"s_axil_{channel}{end}").value for end in ("valid", "ready")
        )
        return bool(valid == 1 and ready == 1)


class Check:
    """Accesses through the master, compared with the model."""

    def __init__(self, dut: Any, master: Any, model: Model) -> None:
        self._dut, self._master, self._model = dut, master, model
        self.faults: list[str] = []
        self.responses: set[int] = set()

    async def write(self, address: int, data: bytes) -> None:
        got = int((await self._master.write(address, data)).resp)
        want = self._model.write(address, data)
        self.responses.add(got)
        if got != want:
            self.faults.append(f"write to {address:#x} answers {got}, expected {want}")
        await RisingEdge(self._dut.clk)
        for name, value in self._model.values.items():
            if hasattr(self._dut, name) and name not in self._model.pulses:
                shown = int(getattr(self._dut, name).value)
                if shown != value:
                    self.faults.append(f"{name} is {shown:#x}, expected {value:#x}")

    async def read(self, address: int) -> None:
        answer = await self._master.read(address, 4)
        got = int.from_bytes(answer.data, "little"), int(answer.resp)
        want = self._model.read(address)
        self.responses.add(got[1])
        if got != want:
            self.faults.append(f"read of {address:#x} gives {got}, expected {want}")


async def _hardware(dut: Any, model: Model, generator: random.Random) -> None:
    """Change what the hardware reports; set and clear bits that software clears, too."""
    edge = RisingEdge(dut.clk)
    for register in REGISTERS:
        for field in register.fields:
            name, access = register.member(field), register.access_of(field)
            if access == "ro" and not field.constant:
                model.values[name] = generator.getrandbits(field.width)
                getattr(dut, name).value = model.values[name]
            elif access == "w1c":
                bits, gone = (generator.getrandbits(field.width) for _ in range(2))
                getattr(dut, f"{name}_set").value = bits
                getattr(dut, f"{name}_clear").value = gone
                model.values[name] = (model.values[name] & ~gone) | bits
    await edge
    for register in REGISTERS:
        for field in register.fields:
            if register.access_of(field) == "w1c":
                for kind in ("set", "clear"):
                    getattr(dut, f"{register.member(field)}_{kind}").value = 0
    await edge


async def _random_accesses(dut: Any, check: Check, model: Model, settings: dict[str, Any]) -> None:
    generator = random.Random(settings["seed"])
    for register in REGISTERS:
        for index in range(register.words):
            await check.read(register.offset + 4 * index)
    for _ in range(settings["accesses"]):
        place = generator.randrange(0, 1 << len(dut.s_axil_awaddr))
        if generator.random() < 0.9:
            register = generator.choice([*REGISTERS, *4 * [REGISTERS["CTRL"]]])
            place = register.offset + generator.randrange(register.bits // 8)
        choice = generator.random()
        if choice < 0.2:
            await _hardware(dut, model, generator)
        elif choice < 0.6:
            await check.read(place & ~3)
        else:
            length = generator.randint(1, 4 - place % 4)
            await check.write(place, generator.randbytes(length))


async def _both_at_once(check: Check, generator: random.Random) -> None:
    """Reads and writes at the same time, of different registers."""
    base, identity = REGISTERS["BASE"].offset, REGISTERS["ID"].offset

    async def reads() -> None:
        for _ in range(20):
            await check.read(identity)

    reading = cocotb.start_soon(reads())
    for _ in range(20):
        await check.write(base + generator.randrange(4), generator.randbytes(1))
    await reading
    await check.read(base)


async def _setting_wins(dut: Any, master: Any, model: Model, faults: list[str]) -> None:
    """Bits that are being set cannot be cleared, the others of the same write can, and so can those
    that the hardware clears meanwhile."""
    edge = RisingEdge(dut.clk)
    dut.status_flags_set.value = 0b11111
    await edge
    dut.status_flags_set.value = 0b00101
    dut.status_flags_clear.value = 0b10001
    clearing = (0x3C2).to_bytes(4, "little")
    write = cocotb.start_soon(master.write(REGISTERS["STATUS"].offset, clearing))
    while not write.done():
        await edge
        if int(dut.status_flags.value) & 0b00101 != 0b00101:
            faults.append("setting does not win over clearing")
    await edge
    if int(dut.status_flags.value) != 0b00101:
        faults.append("clearing does not work beside setting")
    dut.status_flags_set.value = 0
    dut.status_flags_clear.value = 0
    model.values |= {"status_done": 0, "status_flags": 0b00101}


def _long_pauses(generator: random.Random) -> Iterator[bool]:
    """Cycles in which BREADY is low: few at a time, or many."""
    while True:
        yield from [False] * generator.randint(1, 12)
        yield from [True] * generator.choice([1, 2, 40])


@cocotb.test()
async def run_accesses(dut: Any) -> None:
    """Random accesses, pauses on all channels; writes what went wrong and what was covered."""
    directory = settings_directory()
    settings = json.loads((directory / "settings.json").read_text())
    cocotb.start_soon(Clock(dut.clk, PERIOD_NS, unit="ns").start())
    kinds = [f"status_{name}_{kind}" for name in ("done", "flags") for kind in ("set", "clear")]
    for name in ("status_busy", *kinds, "span_count", "cycles"):
        getattr(dut, name).value = 0
    master = lite_master(dut, reset=dut.rst, seed=str(settings["seed"]), stall=settings["stall"])
    pauses = _long_pauses(random.Random(settings["seed"]))
    master.write_if.b_channel.set_pause_generator(pauses)
    dut.rst.value = 1
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    model = Model()
    watch = Watch(dut, model)
    task = cocotb.start_soon(watch.run())
    check = Check(dut, master, model)
    for accesses in (
        _random_accesses(dut, check, model, settings),
        _both_at_once(check, random.Random(settings["seed"])),
    ):
        await with_timeout(accesses, TIME_OUT * PERIOD_NS, "ns")
    faults = check.faults + watch.faults
    await _setting_wins(dut, master, model, faults)
    await check.read(REGISTERS["STATUS"].offset)
    task.cancel()
    if watch.pulses != model.pulses:
        faults.append(f"pulses {watch.pulses}, expected {model.pulses}")
    result = {
        "faults": faults[:20],
        "leads": sorted(watch.leads),
        "waited": watch.waited,
        "beside": watch.beside,
        "responses": sorted(check.responses),
        "pulses": {name: len(seen) for name, seen in watch.pulses.items()},
    }
    (directory / "result.json").write_text(json.dumps(result))
