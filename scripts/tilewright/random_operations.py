"""Random operations of a matrix unit, and the record of its registers while it computes them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .hw.emit.unit import Emitted
from .hw.spec.formats import FloatFormat, Format
from .hw.spec.host.activity import activity
from .hw.spec.host.words import not_one_of
from .hw.spec.matrix_unit import MatrixUnitConfig, Operation
from .sim.numbers.floats import to_container
from .sim.numbers.values import encode
from .sim.rtl.streams import NativeSimulation, pack
from .sim.units.any_unit import cut_into_lanes

__all__ = ["OperationRun", "random_operations", "record_operations", "with_traces_of"]

Words = NDArray[np.uint64]
RESET = 4
"""Cycles of the reset, which a record has first."""


@dataclass(frozen=True)
class OperationRun:
    """A recorded run of operations.

    Members
    -------
    first: cycle of the record from which on the unit is busy in all stages
    per_cycle: operations that begin in a cycle
    """

    first: int
    per_cycle: float


def _numbers(rng: np.random.Generator, shape: tuple[int, ...], fmt: Format) -> Words:
    """Container words of random numbers: floats of a standard normal distribution, integers of an
    even one over their range, or over that of 8 bits."""
    if isinstance(fmt, FloatFormat):
        return to_container(encode(rng.standard_normal(shape), fmt), fmt)
    least, most = max(fmt.lowest, -128), min(fmt.highest, 127)
    return encode(rng.integers(least, most + 1, shape), fmt).astype(np.uint64)


def _elements(
    rng: np.random.Generator, shape: tuple[int, ...], fmt: Format, operation: Operation
) -> Words:
    words = _numbers(rng, shape, fmt)
    if operation.complex:
        words |= _numbers(rng, shape, fmt) << np.uint64(fmt.container_bits)
    return words


def random_operations(
    config: MatrixUnitConfig, mode: str, count: int, seed: int
) -> dict[str, Words]:
    """The fields of ``count`` operations of a mode, by name.

    Raises ValueError for a mode that the unit was not built with, and for a sparse unit.
    """
    if mode not in config.operations:
        raise ValueError(not_one_of("`mode`", list(config.operations), mode))
    if getattr(config, "b_depth", config.depth) != config.depth:
        raise ValueError("random operations are of units without sparsity")
    rng, operation = np.random.default_rng(seed), config.operations[mode]
    lane = config.lane_bits
    per = max(1, operation.operand_bits // lane)
    deep = config.depth // per
    a = _elements(rng, (count, config.rows, deep), operation.element, operation)
    b = _elements(rng, (count, config.cols, deep), operation.element, operation)
    c = _elements(rng, (count, config.rows, config.cols), operation.result, operation)
    right = cut_into_lanes(b, lane, per)
    return {
        "op": np.full(count, operation.opcode, np.uint64),
        "a": cut_into_lanes(a, lane, per),
        "b": np.ascontiguousarray(right.transpose(0, 2, 1)),
        "c": c,
    }


def record_operations(
    emitted: Emitted,
    config: MatrixUnitConfig,
    mode: str,
    cycles: int,
    seed: int,
    signals: Mapping[str, Collection[str]],
    path: Path,
) -> OperationRun:
    """Run random operations back to back, and write a record of so many busy cycles.

    ``signals``: those that the record has, by module. Raises ValueError as ``random_operations``,
    ToolMissing and BuildError as ``NativeSimulation``.
    """
    interval, latency = config.initiation_interval[mode], config.latency[mode]
    count = -(-(cycles + latency + 1) // interval) + 1
    fields = random_operations(config, mode, count, seed)
    (stream,) = (one for one in emitted.sidecar["streams"] if one["direction"] == "in")
    top: str = emitted.sidecar["module"]
    text = with_traces_of(emitted.verilog, signals, top)
    traced: Any = replace(emitted, verilog=text)
    simulation = NativeSimulation(traced, waves=path, wave_depth=99)
    with activity("recording operations"):
        simulation.reset()
        simulation.run(pack(fields, stream))
        simulation.close()
    return OperationRun(RESET + latency, 1 / interval)


_MODULE = re.compile(r"^module (\w+)", re.MULTILINE)
_NAME = re.compile(r"\w+")
_DECLARES = re.compile(r"  (?:logic|localparam|\w+_t|typedef)\b|    \w")
"""Start of a line of declarations, or of one that goes on with them."""
_OFF, _ON = "/*verilator tracing_off*/\n", "/*verilator tracing_on*/\n"


def with_traces_of(verilog: str, signals: Mapping[str, Collection[str]], top: str) -> str:
    """The Verilog with traces of these signals, by module, and of the ports of the top module.

    Others on the line where one of them is declared are traced as well. ``verilog``: as the
    emitter writes it, declarations first in a module, each beginning a line.
    """
    starts = [match.start() for match in _MODULE.finditer(verilog)]
    parts = [verilog[: starts[0]]]
    for start, end in zip(starts, [*starts[1:], len(verilog)], strict=True):
        text = verilog[start:end]
        name = verilog[start + len("module ") :].split(maxsplit=1)[0]
        parts.append(_traced(text, signals.get(name, ()), name == top))
    return "".join(parts)


def _traced(module: str, signals: Collection[str], ports: bool) -> str:
    lines = module.splitlines(keepends=True)
    header = next(n for n, line in enumerate(lines) if line.startswith(");"))
    behind = header + 1
    while behind < len(lines) and _DECLARES.match(lines[behind]):
        behind += 1
    found = []
    for number, line in enumerate(lines):
        port = 0 < number < header
        declares = port or header < number < behind
        names = _NAME.findall(line.partition("//")[0]) if declares else []
        if not declares or (port and ports) or not set(names).isdisjoint(signals):
            found.append(line)
        else:
            found.append(f"{_OFF}{line}{_ON}")
    return "".join(found)
