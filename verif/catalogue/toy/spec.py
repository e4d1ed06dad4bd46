"""The toy's configuration, its jobs, and its row of the catalogue. A system's: ``hw/spec``,
jobs in ``hw/spec/jobs``."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.hw.spec.config import Config, IntRange, parameter
from tilewright.hw.spec.formats import FORMATS
from tilewright.hw.spec.registers.job_spec import Error, JobSpec, Rule, checks_of
from tilewright.hw.spec.registers.register_map import constants, number
from tilewright.hw.spec.sidecar.operation import Compute, Operand, OperationEntry, Size
from tilewright.hw.spec.sidecar.placement import (
    MatrixPlacement,
    Placement,
    RegisterPlacement,
)
from tilewright.hw.spec.sidecar.traffic import Traffic, one_id_each
from tilewright.hw.spec.unit import Unit

BEATS_BITS = 16
"""Width of a job's number of beats."""

BURST_BEATS = 64
"""Beats of the longest burst."""

ID_BITS = 1


@dataclass(frozen=True, kw_only=True)
class ToyAdderConfig(Config):
    """``target[n] = source[n] + constant``, on arrays of 32-bit integers in memory."""

    data_bits: int = parameter(
        64, allowed=IntRange(64, 512, power_of_two=True), doc="width of the memory channel, in bits"
    )
    addr_bits: int = parameter(40, allowed=IntRange(32, 64), doc="width of an address, in bits")
    outstanding: int = parameter(8, allowed=IntRange(1, 32), doc="bursts that may be under way")

    @property
    def beat_bytes(self) -> int:
        """Bytes of a beat."""
        return self.data_bits // 8


def job_spec(config: ToyAdderConfig) -> JobSpec:
    """The jobs of a toy adder."""
    bases = ("SOURCE", "TARGET")
    return JobSpec(
        accelerator="toy adder",
        letters=b"TWTA",
        version=0x0001_0001,
        constants=(
            constants(
                "CONFIG0", 0x08, "memory", ("beat_bytes", 8, config.beat_bytes, "bytes of a beat")
            ),
        ),
        detail="wrong register or bus address",
        counters={"cycles": "clock cycles of the job", "beats_added": "beats that were added"},
        errors=(
            Error("zero_size", 1, "register", "BEATS is 0"),
            Error("size_limit", 2, "register", f"BEATS has more than {BEATS_BITS} bits"),
            Error("misaligned_base", 3, "register", "a base is not a multiple of a beat"),
            Error("address_range", 4, "register", "a base has more than `addr_bits` bits"),
            Error("bus_read", 5, "address", "a response to a read was neither OKAY nor EXOKAY"),
            Error("bus_write", 6, "address", "a response to a write was neither OKAY nor EXOKAY"),
        ),
        job=(
            number("SOURCE", 0x100, "rw", 64, "byte address of the array"),
            number("TARGET", 0x108, "rw", 64, "byte address of the sums"),
            number("BEATS", 0x110, "rw", 32, "length of the array, in beats"),
            number("CONSTANT", 0x114, "rw", 32, "what is added to each element"),
        ),
        checks=(
            *checks_of("zero_size", ["BEATS"], Rule.NON_ZERO),
            *checks_of("size_limit", ["BEATS"], Rule.BELOW, 1 << BEATS_BITS),
            *checks_of("misaligned_base", bases, Rule.MULTIPLE_OF, config.beat_bytes),
            *checks_of("address_range", bases, Rule.BELOW, 1 << config.addr_bits),
        ),
        operations=(_operation(config),),
        traffic=(_traffic(config),),
    )


def _operation(config: ToyAdderConfig) -> OperationEntry:
    """Describes for the sidecar the operation of a job and the placement of its operands."""
    source = MatrixPlacement(
        base="SOURCE", align=config.beat_bytes, element_bytes=4, read_bytes=config.beat_bytes
    )
    target = replace(source, base="TARGET", read_bytes=None, may_be=("source",))

    def operand(name: str, direction: str, columns: str, placement: Placement) -> Operand:
        return Operand(
            name=name,
            direction=direction,
            rows="ONE",
            columns=columns,
            format=FORMATS["int32"],
            placement=placement,
        )

    return OperationEntry(
        name="add",
        select=(),
        compute=Compute(kind="other", doc="target[n] = source[n] + constant, modulo 2 ** 32"),
        sizes=(
            Size(name="ONE", doc="rows", value=1),
            Size(name="N", doc="elements", register="BEATS", scale=config.beat_bytes // 4),
        ),
        operands=(
            operand("source", "in", "N", source),
            operand("constant", "in", "ONE", RegisterPlacement(register="CONSTANT")),
            operand("target", "out", "N", target),
        ),
    )


def _traffic(config: ToyAdderConfig) -> Traffic:
    """Describes for the sidecar the manager's traffic on the bus."""
    sizes = {"longest_beats": BURST_BEATS, "outstanding": config.outstanding, "id_bits": ID_BITS}
    reads, writes = (one_id_each("array", [name], **sizes) for name in ("source", "target"))
    return Traffic(reads=reads, writes=writes)


TOY_ADDER = Unit(
    name="toy_adder",
    summary="adds a constant to an array of 32-bit integers in memory, over AXI4",
    source="the worked example of a system",
    config=ToyAdderConfig,
    component="tilewright.verif.catalogue.toy.adder:ToyAdder",
    jobs="tilewright.verif.catalogue.toy.spec:job_spec",
)
