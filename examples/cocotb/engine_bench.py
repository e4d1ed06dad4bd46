"""A cocotb bench around the generated tile engine. All that it knows of it is in engine.json."""

import itertools
import json
import logging
import random
import struct
import warnings
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam

warnings.filterwarnings("ignore", module="cocotbext")  # names that cocotb 2 has renamed

SIDECAR = json.loads(Path("engine.json").read_text())
REGISTERS = {register["name"]: register for register in SIDECAR["registers"]}
JOBS, (OPERATION,) = SIDECAR["jobs"], SIDECAR["operations"]
OPERANDS = {operand["name"]: operand["placement"] for operand in OPERATION["operands"]}
UNPACKED = {"a": "<e", "b": "<e", "c": "<f", "d": "<f"}

Matrix = list[list[float]]


class Bench:
    """The engine with a memory of cocotbext-axi and a master at its registers."""

    def __init__(self, dut: Any, seed: int, stall: float) -> None:
        logging.getLogger(f"cocotb.{dut._name}").setLevel(logging.WARNING)
        self.dut, self._random, self._stall = dut, random.Random(seed), stall
        (memory,) = (port["prefix"] for port in SIDECAR["axi"] if port["role"] == "manager")
        (lite,) = (port["prefix"] for port in SIDECAR["axi"] if port["role"] == "subordinate")
        self.ram = AxiRam(AxiBus.from_prefix(dut, memory), dut.clk, dut.rst, size=1 << 16)
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, lite), dut.clk, dut.rst)
        write, read = self.ram.write_if, self.ram.read_if
        for channel in (write.aw_channel, write.w_channel, write.b_channel,
                        read.ar_channel, read.r_channel):  # fmt: skip
            channel.set_pause_generator(self._pauses())

    def _pauses(self) -> Any:
        return (self._random.random() < self._stall for _ in itertools.count())

    async def start(self) -> None:
        """Clock and reset."""
        cocotb.start_soon(Clock(self.dut.clk, 10, unit="ns").start())
        self.dut.rst.value = 1
        await ClockCycles(self.dut.clk, 3)
        self.dut.rst.value = 0
        await RisingEdge(self.dut.clk)

    async def write(self, name: str, value: int) -> None:
        """A register by name."""
        register = REGISTERS[name]
        content = value.to_bytes(register["bits"] // 8, "little")
        await self.registers.write(register["offset"], content)

    async def read(self, name: str) -> int:
        register = REGISTERS[name]
        content = await self.registers.read(register["offset"], register["bits"] // 8)
        return int.from_bytes(content.data, "little")

    async def run(self, job: dict[str, int]) -> int:
        """A job to its end; the error's code, 0 if it ended well."""
        for name in JOBS["registers"]:
            await self.write(name, job.get(name, 0))
        control = JOBS["controls"]
        await self.write("CTRL", field(control["start"], 1) | field(control["interrupt_enable"], 1))
        if not self.dut.irq.value:
            await with_timeout(RisingEdge(self.dut.irq), 100, "us")
        status = await self.read("STATUS")
        await self.write("STATUS", field(control["done"], 1) | field(control["error"], 1))
        low = bits(control["error_code"])["low"]
        return status >> low & 0xFF if status & field(control["error"], 1) else 0

    def put(self, name: str, base: int, matrix: Matrix) -> dict[str, int]:
        """Writes a matrix into memory row by row; returns the values of its registers."""
        place = OPERANDS[name]
        stride = stride_of(name, len(matrix[0]))
        for number, row in enumerate(matrix):
            content = b"".join(struct.pack(UNPACKED[name], value) for value in row)
            # The engine reads whole rows of memory: the padding must be known, too.
            self.ram.write(base + number * stride, content.ljust(stride, b"\0"))
        return {place["base"]: base, place["stride"]: stride}

    def get(self, name: str, base: int, rows: int, columns: int) -> Matrix:
        stride, size = stride_of(name, columns), OPERANDS[name]["element_bytes"]
        return [
            [
                struct.unpack(UNPACKED[name], self.ram.read(base + r * stride + c * size, size))[0]
                for c in range(columns)
            ]
            for r in range(rows)
        ]


def bits(setting: dict[str, Any]) -> dict[str, Any]:
    """A field's description."""
    fields = {one["name"]: one for one in REGISTERS[setting["register"]]["fields"]}
    return fields[setting["field"]]


def field(setting: dict[str, Any], value: int) -> int:
    """A value at its place in the register."""
    return value << bits(setting)["low"]


def stride_of(name: str, columns: int) -> int:
    """Bytes from a row to the next one: whole multiples of what it must be aligned to."""
    place = OPERANDS[name]
    return -(-columns * place["element_bytes"] // place["align"]) * place["align"]


def min_plus(a: Matrix, b: Matrix, c: Matrix) -> Matrix:
    """Returns the expected result: the least of c and of all sums over a row and a column."""
    return [
        [min(old, *(x + y for x, y in zip(row, column, strict=True)))
         for old, column in zip(olds, zip(*b, strict=True), strict=True)]
        for row, olds in zip(a, c, strict=True)
    ]  # fmt: skip


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.4])
async def products(dut: Any, stall: float) -> None:
    """Random products of any shape, with C in D's place."""
    bench = Bench(dut, 1, stall)
    await bench.start()
    draw = random.Random(2)

    def matrix(rows: int, columns: int) -> Matrix:
        return [[float(draw.randint(-200, 200)) for _ in range(columns)] for _ in range(rows)]

    (use_c,) = (one["used_when"] for one in OPERATION["operands"] if one["name"] == "c")
    for m, n, k in ((1, 1, 1), (3, 5, 4), (6, 2, 7)):
        a, b, c = matrix(m, k), matrix(k, n), matrix(m, n)
        sizes = {"M": m, "N": n, "K": k}
        job = {
            **{size["register"]: sizes[size["name"]] for size in OPERATION["sizes"]},
            **{one["register"]: field(one, one["value"]) for one in (*OPERATION["select"], use_c)},
            **bench.put("a", 0x1000, a),
            **bench.put("b", 0x2000, b),
            **bench.put("c", 0x3000, c),
        }
        job |= {OPERANDS["d"]["base"]: 0x3000, OPERANDS["d"]["stride"]: stride_of("d", n)}
        assert await bench.run(job) == 0
        assert bench.get("d", 0x3000, m, n) == min_plus(a, b, c)
        assert await bench.read("OPERATIONS") > 0


@cocotb.test()
async def wrong_job(dut: Any) -> None:
    """A job of nothing ends with the error of the first rule that it breaks."""
    bench = Bench(dut, 3, 0.2)
    await bench.start()
    select = {one["register"]: field(one, one["value"]) for one in OPERATION["select"]}
    errors = {error["code"]: error["name"] for error in JOBS["errors"]}
    assert errors[await bench.run(select)] == "zero_size"
    assert await bench.read("ERROR_DETAIL") == REGISTERS["M"]["offset"]
