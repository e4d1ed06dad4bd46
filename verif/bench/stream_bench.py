"""The cocotb test of any unit with streams: runs a job that was written beside it.

A job (see ``tilewright.verif.bench.stream_job``) holds packed payloads for each input, the payloads
expected at each output, and the pauses. The simulator knows neither models nor layouts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import Combine, RisingEdge, with_timeout
from tilewright.verif.bench.streams import (
    PERIOD_NS,
    Pauser,
    Scoreboard,
    StreamDriver,
    StreamMonitor,
    cycle,
)

RESET_CYCLES = 3


def _integers(words: Any) -> list[int]:
    """Rows of 32-bit words as integers, low word first."""
    rows = np.ascontiguousarray(words, dtype="<u4")
    return [int.from_bytes(row.tobytes(), "little") for row in rows]


async def _reset(dut: Any, clock: Any, job: dict[str, Any]) -> list[str]:
    """Resets the unit; afterwards no output may be valid, because it has had no input."""
    reset = getattr(dut, job["reset"]["name"])
    active = int(job["reset"]["active"] == "high")
    reset.value = active
    for _ in range(RESET_CYCLES):
        await RisingEdge(clock)
    reset.value = 1 - active
    faults = []
    for _ in range(RESET_CYCLES):
        await RisingEdge(clock)
        for stream in job["outputs"]:
            if getattr(dut, stream["valid"]).value != 0:
                faults.append(f"`{stream['name']}` is valid after reset, cycle {cycle()}")
    return faults


@cocotb.test()
async def run_job(dut: Any) -> None:
    """Drive all inputs, take all outputs, write what happened, fail if anything is wrong."""
    directory = Path(os.environ["TILEWRIGHT_JOB"])
    job = json.loads((directory / "job.json").read_text())
    payloads = np.load(directory / "payloads.npz")
    clock = getattr(dut, job["clock"])
    drivers, monitors, boards = {}, {}, {}
    tasks: list[Coroutine[Any, Any, None]] = []
    seed = job["seed"]
    for stream in job["inputs"]:
        name = stream["name"]
        pause = Pauser(f"{seed} gap {name}", job["gap"])
        drivers[name] = StreamDriver(dut, clock, stream, pause)
        tasks.append(drivers[name].send(_integers(payloads[name])))
    for stream in job["outputs"]:
        name = stream["name"]
        boards[name] = Scoreboard(_integers(payloads[name]))
        pause = Pauser(f"{seed} stall {name}", job["stall"])
        monitors[name] = StreamMonitor(dut, clock, stream, pause, boards[name].accept)
        tasks.append(monitors[name].receive(len(payloads[name])))
    cocotb.start_soon(Clock(clock, PERIOD_NS, unit="ns").start())
    faults = await _reset(dut, clock, job)
    started = [cocotb.start_soon(task) for task in tasks]
    timed_out = False
    try:
        await with_timeout(Combine(*started), job["time_out"] * PERIOD_NS, "ns")
    except TimeoutError:
        timed_out = True
    result = {
        "timed_out": timed_out,
        "faults": faults + [fault for monitor in monitors.values() for fault in monitor.faults],
        "streams": {
            name: {"transfers": side.transfers, "waited": side.waited}
            for name, side in (drivers | monitors).items()
        },
        "boards": {
            name: {
                "checked": board.checked,
                "wrong": board.wrong,
                "mismatches": [[i, hex(got), hex(want)] for i, got, want in board.mismatches],
            }
            for name, board in boards.items()
        },
    }
    (directory / "result.json").write_text(json.dumps(result))
