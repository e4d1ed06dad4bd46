"""Simulates a lane with separate units on random operations."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.formats import FORMATS
from tilewright.hw.spec.gta import FORMATS_OF_GTA
from tilewright.hw.spec.gta_lane.separate import GtaSeparateConfig, elements, sum_format, sum_words
from tilewright.hw.spec.unit import Unit
from tilewright.sim.gta.separate import Words, multiply_add
from tilewright.sim.rtl.streams import pack
from tilewright.sim.rtl.waves import wave_format
from tilewright.verif.bench.stream_job import (
    ILLEGAL,
    TIMED,
    JobResult,
    StreamBuild,
    halves,
    run_operations,
)
from tilewright.verif.gta.separate.stimuli import Operations, operations
from tilewright.verif.kit.reports import Report


def mixed_operations(
    config: GtaSeparateConfig,
    format: npt.ArrayLike,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    c: npt.ArrayLike,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8]]:
    """Results (operations, words) and error flags of operations as they are in the unit's stream.

    Parameters
    ----------
    config: the unit
    format: numbers of formats, (operations,); one that the unit was not built with gives zeros and
        the flag
    a, b: the datapath's bits, (operations,)
    c: words of 32 bits, (operations, words)
    """
    number = np.asarray(format)
    left, right = (np.asarray(x, np.uint64) for x in (a, b))
    addends = np.ascontiguousarray(c, "<u4")
    d = np.zeros_like(addends)
    for name in config.formats:
        here = np.flatnonzero(number == FORMATS_OF_GTA.index(name))
        result = _multiply_adds(name, left[here], right[here], addends[here])
        d[here, : result.shape[1]] = result
    error = ~np.isin(number, list(config.opcodes.values()))
    return d, error.astype(np.uint8)


def _multiply_adds(
    format: str, a: Words, b: Words, c: npt.NDArray[np.uint32]
) -> npt.NDArray[np.uint32]:
    """Returns the words of the results of operations in one format."""
    bits, count = FORMATS[format].bits, elements(format)
    shifts = np.arange(count, dtype=np.uint64) * np.uint64(bits)
    mask = np.uint64((1 << bits) - 1)
    factors = [(x[:, np.newaxis] >> shifts) & mask for x in (a, b)]
    words = sum_words(format)
    word = np.dtype(f"<u{sum_format(format).bits // 8}")
    taken = c.view(word)[:, : count * words].reshape(len(c), count, words)
    sums = multiply_add(format, factors[0], factors[1], np.moveaxis(taken.astype(np.uint64), -1, 0))
    flat = np.moveaxis(sums, 0, -1).reshape(len(c), count * words).astype(word)
    return np.ascontiguousarray(flat).view("<u4")


def run(
    unit: Unit | str,
    config: GtaSeparateConfig,
    *,
    simulator: str = "verilator",
    seed: int = 0,
    count: int = 1000,
    waves: Path | None = None,
) -> Report:
    """Simulate the unit under cocotb and check results, stream rules, latency and interval.

    Parameters
    ----------
    unit, config: the unit, or its name in the catalogue
    simulator: "verilator" or "icarus"
    seed: of operands, gaps and stalls
    count: operations of mixed formats, half of them with gaps and stalls, half back to back
    waves: file for the waves of the run with stalls

    Raises ToolMissing if the simulator or compiler is not installed, BuildError if it fails.
    """
    emitted = emit(unit, config)
    build = StreamBuild(emitted, simulator=simulator, waves=wave_format(waves))
    paused, together = halves(count)
    sent = operations(config, paused, seed, illegal=ILLEGAL)
    legal = operations(config, together, seed + 1, illegal=0) if together else None
    kinds = _formats(config, sent)
    return run_operations(
        unit,
        emitted,
        partial(_job, build, emitted, config),
        mixed=sent,
        legal=legal,
        alone=lambda name: operations(config, TIMED, seed, formats=(name,), illegal=0),
        kinds=kinds,
        promised=together - 1 + config.pipeline if together else 0,
        coverage=lambda _: Counter(zip(kinds, sent.kind, strict=True)),
        simulator=simulator,
        seed=seed,
        waves=waves,
    )


run_icarus = partial(run, simulator="icarus")


def packed(config: GtaSeparateConfig, sent: Operations, sidecar: dict[str, Any]) -> tuple[Any, Any]:
    """The payloads of operations and of what they give."""
    streams = {stream["name"]: stream for stream in sidecar["streams"]}
    d, error = mixed_operations(config, **sent.fields)
    return pack(sent.fields, streams["i"]), pack({"d": d, "error": error}, streams["o"])


def _job(
    build: StreamBuild,
    emitted: Emitted,
    config: GtaSeparateConfig,
    sent: Operations,
    **pauses: Any,
) -> JobResult:
    inputs, expected = packed(config, sent, emitted.sidecar)
    return build.run({"i": inputs}, {"o": expected}, **pauses)


def _formats(config: GtaSeparateConfig, sent: Operations) -> list[str]:
    """The format of each operation."""
    names = {number: name for name, number in config.opcodes.items()}
    return [names.get(int(number), "illegal") for number in np.asarray(sent.format)]
