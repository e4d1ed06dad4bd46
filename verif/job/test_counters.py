"""The counters of accelerators as Verilog: random events against their sums."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
from amaranth.hdl import Value
from tilewright.hw.c2sr_converter.converter import ConverterCounters
from tilewright.hw.job import activity
from tilewright.hw.sida.pass_control import EVENTS, STREAMS
from tilewright.hw.sida.pass_control import Counters as SidaCounters
from tilewright.hw.spec.c2sr import PAIR_BYTES
from tilewright.hw.spec.c2sr_converter import POINTER_BYTES
from tilewright.hw.spec.tensaurus import READS
from tilewright.hw.t2s.t2s import Counters as T2sCounters
from tilewright.hw.tensaurus.layouts import ROW_EVENTS
from tilewright.hw.tensaurus.tensaurus import Counters as TensaurusCounters
from tilewright.registry import entries
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.native.parts import NativeParts

pytestmark = pytest.mark.slow

CONFIGS: dict[str, Any] = {
    name: entries()[name].small_config for name in ("sida", "tensaurus", "t2s", "c2sr_converter")
}
RTL = NativeParts(
    "job_counters",
    {
        name: partial(kind, CONFIGS[name])
        for name, kind in (
            ("sida", SidaCounters),
            ("tensaurus", TensaurusCounters),
            ("t2s", T2sCounters),
            ("c2sr_converter", ConverterCounters),
        )
    },
)
BITS = 10
"""Width of the counters here: sums and gaps wrap around, so that every bit of them changes."""
Inputs = dict[str, int]
Steps = tuple[dict[str, int], bool]
"""The amounts that a cycle adds to each counter, and whether the cycle is active."""

CONSTANT = {
    "sida": ("twice", "done", "product"),
    "tensaurus": ("single",),
    "t2s": (),
    "c2sr_converter": ("mode",),
}
"""Inputs that do not change while a job runs."""


def ones(value: int) -> int:
    return value.bit_count()


def _streams(read: int, names: tuple[str, ...], channels: int, beat: int) -> dict[str, int]:
    """Bytes of streams, each with a bit for each channel."""
    width, mask = channels, (1 << channels) - 1
    found = {f"bytes_{name}": ones(read >> n * width & mask) * beat for n, name in enumerate(names)}
    return {**found, "bytes_read": sum(found.values())}


def sida(now: Inputs) -> Steps:
    config = CONFIGS["sida"]
    elements = ones(now["set_elements"])
    steps = {
        "elements": elements,
        "operations": elements * (4 if now["twice"] else 2),
        "conflicts": now["waiting"],
        "bytes_written": now["sent"],
        **{name: now[f"{name}_now"] & now["running"] for name in EVENTS},
        **_streams(now["read"], STREAMS, config.channels, config.geometry.beat_bytes),
    }
    return steps, elements != 0


def tensaurus(now: Inputs) -> Steps:
    config = CONFIGS["tensaurus"]
    steps = {name: ones(now[f"{name}_now"]) * now["running"] for name in ROW_EVENTS}
    values = 1 if now["single"] else config.unit_values
    steps["operations"] = 2 * steps["products"] * values
    steps["bytes_written"], steps["drains"] = now["sent"], now["drained"]
    steps |= _streams(now["read"], READS, config.channels, config.geometry.beat_bytes)
    return steps, now["products_now"] != 0


def t2s(now: Inputs) -> Steps:
    beat = CONFIGS["t2s"].beat_bytes
    written = ones(now["strobe"]) if now["wrote"] else 0
    steps = {"bytes_read": ones(now["beats"]) * beat, "bytes_written": written}
    return {**steps, "operations": now["begins"]}, bool(now["begins"])


def c2sr_converter(now: Inputs) -> Steps:
    config = CONFIGS["c2sr_converter"]
    rows, copied = ones(now["taken_rows"]), ones(now["copied_entries"])
    # One pointer more than rows, at the start.
    index = (rows + now["go"]) * POINTER_BYTES if now["mode"] else rows * PAIR_BYTES
    return {
        "rows_done": rows,
        "entries": copied,
        "bytes_read": ones(now["beats"]) * config.beat_bytes,
        "bytes_written": index + copied * config.layout.entry_bytes,
    }, False


KINDS: dict[str, Callable[[Inputs], Steps]] = {
    "sida": sida,
    "tensaurus": tensaurus,
    "t2s": t2s,
    "c2sr_converter": c2sr_converter,
}


def _limit(name: str, port: str, bits: int) -> int:
    """The largest value of an input."""
    config = CONFIGS[name]
    limits = {"sent": getattr(config, "line_bytes", 0), "waiting": 3 * getattr(config, "pes", 0)}
    return min(limits.get(port, (1 << bits) - 1), (1 << bits) - 1)


@pytest.mark.parametrize("name", KINDS)
def test_events_are_counted(name: str) -> None:
    """They are counted two cycles later at the latest; the next job begins at zero."""
    rng, step = random.Random(f"counters {name}"), KINDS[name]

    with patch.object(activity, "COUNTER_BITS", BITS):
        # The first test builds all.
        part = RTL[name]

    async def bench(sim: Any) -> None:
        members = part.signature.members
        inputs = {port: len(Value.cast(getattr(part, port))) for port, member in members.items()
                  if member.flow.name == "In"}  # fmt: skip
        outputs = [port for port, member in members.items() if member.flow.name == "Out"]

        def put(values: Inputs) -> None:
            for port, value in values.items():
                sim.set(Value.cast(getattr(part, port)), value)

        for number in range(by_size(2, 8, 80)):
            held = {port: rng.getrandbits(inputs[port]) for port in CONSTANT[name]}
            zero = dict.fromkeys(inputs, 0) | held
            put(zero | {"clear": 1})
            await sim.tick()
            sums, gap, begun, largest = Counter[str](), 0, False, 0
            share = (0.1, 0.5, 0.95)[number % 3]
            cycles, silence, is_long = by_size(40, 300, 500), range(0), number == 1
            if is_long:
                # A pause that is longer than what its counter holds.
                cycles, silence = 2 * cycles + (3 << BITS), range(cycles, cycles + (1 << BITS) + 50)

            def check(sums: Counter[str]) -> None:
                found = {port: sim.get(getattr(part, port)) for port in outputs}
                widths = {port: len(Value.cast(getattr(part, port))) for port in outputs}
                assert found == {port: sums[port] % (1 << widths[port]) for port in outputs}

            at_rest = Counter({"passes_done": held.get("done", 0), "ended": held.get("product", 0)})
            for cycle in range(cycles + 4):
                # In a long job now and then nothing happens, so that the counters are complete.
                runs = cycle < cycles and not (is_long and cycle % 64 >= 60)
                now = dict(zero)
                for port, bits in inputs.items():
                    if port in held or port in ("clear", "running") or rng.random() >= share:
                        continue
                    if cycle in silence:
                        continue
                    now[port] = rng.randint(0, _limit(name, port, bits))
                now["running"] = int(runs and rng.random() < 0.9)
                now = now if runs else dict(zero)
                put(now)
                await sim.tick()
                steps, active = step(now)
                sums.update(steps)
                sums["cycles"] += now["running"]
                largest = max(largest, now.get("most", 0))
                if active:
                    sums["busy_cycles"] += 1
                    sums["stalls"] += gap
                    gap, begun = 0, True
                elif begun:
                    gap += 1
                sums["held"] = largest
                if is_long and cycle % 64 == 63:
                    check(sums | at_rest)
            check(sums | at_rest)

    RTL.simulate(name, bench)
