"""A unit's RTL under Verilator, driven at native speed: arrays in, arrays out.

The Verilog is compiled once (and cached) into a shared library together with a driver that speaks
valid/ready in C++. Nothing about the unit is known but its sidecar.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .build import BuildError, build_library
from .glue import dense_words, field_array, pack, row_words, unpack, width_of
from .toolchain import ToolMissing
from .waves import check_waves, wave_format

Words = NDArray[np.uint32]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """A field's values: transfer ``i`` uses row ``index[i]`` of ``table``, row ``i`` without index.

    Parameters
    ----------
    table: (rows, words) uint32, C-contiguous, each row the field's bits from bit 0 on
    index: (count,) int64 or None
    """

    table: Words
    index: Indices | None = None


@dataclass(frozen=True, kw_only=True)
class Pauses:
    """Random gaps before inputs and stalls of outputs, replayable by seed.

    Parameters
    ----------
    seed: of the generator; the same seed gives the same cycles
    gap, stall: chance in each cycle that an input waits, that an output is not ready, 0..1
    """

    seed: int = 0
    gap: float = 0.0
    stall: float = 0.0

    def __post_init__(self) -> None:
        for name in ("gap", "stall"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ValueError(
                    f"`{name}` must be at least 0 and below 1, not {getattr(self, name)}"
                )


@dataclass(frozen=True)
class RunResult:
    """The results of a run.

    Parameters
    ----------
    payloads: (outputs, words) uint32, row by row what left the output stream
    cycles: clock cycles of this run
    input_cycles, output_cycles: cycle of every transfer, on a counter that starts at reset
    """

    payloads: Words
    cycles: int
    input_cycles: NDArray[np.uint64]
    output_cycles: NDArray[np.uint64]

    @property
    def first_input_cycle(self) -> int:
        return int(self.input_cycles[0])

    @property
    def last_output_cycle(self) -> int:
        return int(self.output_cycles[-1])


class _Field(ctypes.Structure):
    _fields_ = [
        ("table", ctypes.c_void_p),
        ("index", ctypes.c_void_p),
        ("row_words", ctypes.c_uint64),
        ("offset", ctypes.c_uint32),
        ("width", ctypes.c_uint32),
    ]


class Port(ctypes.Structure):
    """A stream's part of a run, as the C++ side has it."""

    _fields_ = [
        ("count", ctypes.c_uint64),
        ("fields", ctypes.POINTER(_Field)),
        ("field_count", ctypes.c_uint64),
        ("after", ctypes.c_void_p),
        ("cycles", ctypes.c_void_p),
        ("pause", ctypes.c_uint64),
        ("done", ctypes.c_uint64),
    ]


class RunOptions(ctypes.Structure):
    """The options of a run; it advances ``cycle``; ``stream`` is the one that broke a rule."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("seed", "time_out", "cycle", "stream")]


@dataclass
class Transfers:
    """One stream's part of a run; holds the arrays that the C++ side points into."""

    count: int
    rows: list[tuple[Rows, int, int]]
    after: Indices | None = None
    cycles: NDArray[np.uint64] | None = None
    pause: float = 0.0
    _kept: list[Any] = field(default_factory=list)

    def port(self) -> Port:
        fields = (_Field * len(self.rows))()
        for slot, (rows, offset, width) in zip(fields, self.rows, strict=True):
            _check_rows(rows, self.count, width)
            index = None if rows.index is None else rows.index.ctypes.data
            slot.table, slot.index = rows.table.ctypes.data, index
            slot.row_words, slot.offset, slot.width = rows.table.shape[1], offset, width
        self._kept.append(fields)
        after = None if self.after is None else self.after.ctypes.data
        cycles = None if self.cycles is None else self.cycles.ctypes.data
        pause = int(self.pause * 2**32)
        return Port(self.count, fields, len(self.rows), after, cycles, pause, 0)


def _check_rows(rows: Rows, count: int, width: int) -> None:
    table, index = rows.table, rows.index
    fits = table.ndim == 2 and table.dtype == np.uint32 and table.flags.c_contiguous
    if not fits or table.shape[1] < row_words(width):
        raise ValueError(
            f"a table must be contiguous uint32 of shape (rows, >= {row_words(width)}), "
            f"not {table.dtype} of {table.shape}"
        )
    if index is None:
        if len(table) < count:
            raise ValueError(f"a table needs {count} rows, not {len(table)}")
        return
    if index.dtype != np.int64 or index.shape != (count,) or not index.flags.c_contiguous:
        raise ValueError(f"an index must be int64 of shape ({count},), not {index.shape}")
    if count and (index.min() < 0 or index.max() >= len(table)):
        raise ValueError(f"an index must lie in 0..{len(table) - 1}")


def located(stream: Mapping[str, Any], rows: Mapping[str, Rows]) -> list[tuple[Rows, int, int]]:
    """Rows by the field's name, with its offset and width; ValueError if a stream has no such
    field."""
    known = {f["name"]: f for f in stream["fields"]}
    if set(rows) - set(known):
        raise ValueError(
            f"stream `{stream['name']}` has the fields {', '.join(known)}, not {', '.join(rows)}"
        )
    return [(value, known[n]["offset"], width_of(known[n])) for n, value in rows.items()]


__all__ = [
    "BuildError",
    "NativeSimulation",
    "Pauses",
    "Rows",
    "RunResult",
    "SimulationTimeout",
    "StreamRuleError",
    "ToolMissing",
    "dense_words",
    "field_array",
    "pack",
    "unpack",
]

_WAVES_LOST = 4
_NO_PAUSES = Pauses()


class HasVerilog(Protocol):
    """The interface of the result of `tilewright.hw.emit.unit`: the text and the sidecar."""

    @property
    def verilog(self) -> str: ...
    @property
    def sidecar(self) -> dict[str, Any]: ...


class SimulationTimeout(RuntimeError):
    """No stream moved for the allowed number of cycles."""


class StreamRuleError(RuntimeError):
    """An output took back its valid or changed its payload before the transfer."""


class NativeSimulation:
    """One instance of a unit; its state lives on from run to run until `reset`.

    Parameters
    ----------
    emitted: the unit's Verilog and sidecar
    waves: VCD or, by its suffix, FST file to write (a slower build of its own); read it after
        `close`
    wave_depth: levels of modules in it, 1 for the top module alone

    Raises `ToolMissing` or `BuildError` when the library cannot be built; and `WaveError`, also
    later, when the waves cannot be written: the simulation has ended, and their file is removed.
    """

    def __init__(
        self, emitted: HasVerilog, *, waves: Path | None = None, wave_depth: int = 2
    ) -> None:
        self._sidecar = emitted.sidecar
        self._inputs = [s for s in emitted.sidecar["streams"] if s["direction"] == "in"]
        self._outputs = [s for s in emitted.sidecar["streams"] if s["direction"] == "out"]
        path = build_library(
            emitted.verilog, emitted.sidecar, waves=wave_format(waves), wave_depth=wave_depth
        )
        self._library = ctypes.CDLL(str(path))
        self._library.native_create.restype = ctypes.c_void_p
        self._handle = ctypes.c_void_p(self._library.native_create())
        self._finish = weakref.finalize(self, self._library.native_destroy, self._handle)
        self._cycle = 0
        self._waves = waves
        if waves is not None and self._library.native_trace(self._handle, os.fsencode(waves)):
            self.close()

    @property
    def sidecar(self) -> dict[str, Any]:
        """The description the simulation is driven by."""
        return self._sidecar

    @property
    def cycle(self) -> int:
        """Clock cycles since the last reset."""
        return self._cycle

    def stream(self, name: str) -> dict[str, Any]:
        """A stream's entry in the sidecar; KeyError for an unknown name."""
        entries: dict[str, dict[str, Any]] = {s["name"]: s for s in self._sidecar["streams"]}
        return entries[name]

    def reset(self) -> None:
        """Apply the reset and start counting cycles from 0."""
        self._library.native_reset(self._handle)
        self._cycle = 0

    def close(self) -> None:
        """End the simulation and complete the wave file; the object is of no use afterwards."""
        check_waves(self._waves, self._finish())

    def run(
        self,
        payloads: Words,
        *,
        outputs: int | None = None,
        pauses: Pauses = _NO_PAUSES,
        time_out: int = 10_000,
    ) -> RunResult:
        """Send payloads through a unit with one input and one output stream.

        ``outputs`` results are taken (default: one for each payload); any others stay in the
        unit. Raises `SimulationTimeout` after ``time_out`` cycles without a transfer and
        `StreamRuleError` if an output breaks the stream rules.
        """
        (i,), (o,) = self._inputs, self._outputs
        count = len(payloads) if outputs is None else outputs
        results = np.zeros((count, row_words(o["width"])), np.uint32)
        times = np.zeros(len(payloads), np.uint64), np.zeros(count, np.uint64)
        whole = Rows(np.ascontiguousarray(payloads, np.uint32))
        source = Transfers(len(payloads), [(whole, 0, i["width"])], cycles=times[0])
        sink = Transfers(count, [(Rows(results), 0, o["width"])], cycles=times[1])
        cycles = self._drive([source], [sink], pauses, time_out)
        return RunResult(results, cycles, *times)

    def run_fields(
        self,
        inputs: Mapping[str, Rows],
        outputs: Mapping[str, Rows],
        count: int,
        *,
        after: Indices | None = None,
        pauses: Pauses = _NO_PAUSES,
        time_out: int = 10_000,
    ) -> int:
        """Send ``count`` operations whose fields are gathered from tables; returns the cycles.

        Results are written into the outputs' tables as they leave. An input table may be an
        output's: operation ``i`` waits until more than ``after[i]`` results have left (-1: none
        needed), so that it can read what an earlier one wrote. Raises as `run`.
        """
        (i,), (o,) = self._inputs, self._outputs
        if after is not None and (after.dtype != np.int64 or after.shape != (count,)):
            raise ValueError(f"`after` must be int64 of shape ({count},), not {after.shape}")
        source = Transfers(count, located(i, inputs), after=after)
        return self._drive([source], [Transfers(count, located(o, outputs))], pauses, time_out)

    def run_streams(
        self,
        payloads: Mapping[str, Words],
        counts: Mapping[str, int],
        *,
        pauses: Pauses = _NO_PAUSES,
        time_out: int = 10_000,
    ) -> tuple[dict[str, Words], int]:
        """Any number of streams: payloads by input, results by output, and the cycles taken.

        A stream that is not named moves nothing. Raises as `run`.
        """
        sources, sinks, results = [], [], {}
        for s in self._inputs:
            rows = np.zeros((0, row_words(s["width"])), np.uint32)
            rows = np.ascontiguousarray(payloads.get(s["name"], rows), np.uint32)
            sources.append(Transfers(len(rows), [(Rows(rows), 0, s["width"])]))
        for s in self._outputs:
            count = counts.get(s["name"], 0)
            rows = results[s["name"]] = np.zeros((count, row_words(s["width"])), np.uint32)
            sinks.append(Transfers(count, [(Rows(rows), 0, s["width"])]))
        return results, self._drive(sources, sinks, pauses, time_out)

    def _drive(
        self, sources: list[Transfers], sinks: list[Transfers], pauses: Pauses, time_out: int
    ) -> int:
        for source in sources:
            source.pause = pauses.gap
        for sink in sinks:
            sink.pause = pauses.stall
        ins = (Port * len(sources))(*(s.port() for s in sources))
        outs = (Port * len(sinks))(*(s.port() for s in sinks))
        options = RunOptions(pauses.seed, time_out, self._cycle, 0)
        run = self._library.native_run
        status = run(self._handle, ins, outs, ctypes.byref(options))
        cycles = int(options.cycle) - self._cycle
        self._cycle = int(options.cycle)
        if status == 1:
            moved = ", ".join(
                f"{s['name']} {port.done} of {port.count}"
                for s, port in zip([*self._inputs, *self._outputs], [*ins, *outs], strict=True)
            )
            raise SimulationTimeout(f"no transfer for {time_out} cycles; transfers: {moved}")
        if status == _WAVES_LOST:
            self.close()
        elif status:
            what = {2: "took back its valid", 3: "changed its payload"}[status]
            name = self._outputs[options.stream]["name"]
            raise StreamRuleError(
                f"stream `{name}` {what} before the transfer, in cycle {self._cycle - 1}"
            )
        return cycles
