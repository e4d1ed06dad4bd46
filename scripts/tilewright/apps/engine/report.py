"""What is printed and written about a run on the tile engine."""

from __future__ import annotations

from typing import Any

from ..common.words import counted
from .options import EngineSetting
from .tally import EngineTally

__all__ = ["engine_figures", "engine_rows"]

Rows = list[tuple[str, str]]


def engine_figures(setting: EngineSetting, tally: EngineTally) -> dict[str, Any]:
    """For the JSON report; of time, None where nothing counts cycles.

    Of a product of elements and its sum, two operations count in the figures per second.
    """
    figures: dict[str, Any] = {
        "memory": setting.memory.name,
        "gigahertz": setting.gigahertz,
        "jobs": tally.jobs,
        "bytes_read": tally.bytes_read,
        "bytes_written": tally.bytes_written,
        "bytes_once": None,
        "stalls": None,
        "microseconds": None,
        "gop_s": None,
        "bound_cycles": None,
        "bound_by": None,
        "ratio_to_bound": None,
        "compute_cycles": None,
        "memory_cycles": None,
        "bound_gop_s": None,
        "operations_per_byte": None,
        "memory_bytes": None,
        "memory_gb_s": None,
        "peak_gb_s": None,
        "bandwidth_utilisation": None,
    }
    if not tally.cycles or not tally.bound_cycles:
        return figures
    done = 2 * tally.operations * tally.products
    rate = setting.gigahertz / tally.cycles
    return figures | {
        "bytes_once": tally.bytes_once,
        "stalls": tally.stalls,
        "microseconds": tally.cycles / setting.gigahertz / 1000,
        "gop_s": done * rate,
        "bound_cycles": tally.bound_cycles,
        "bound_by": "memory" if tally.memory_cycles > tally.compute_cycles else "operations",
        "ratio_to_bound": tally.cycles / tally.bound_cycles,
        "compute_cycles": tally.compute_cycles,
        "memory_cycles": tally.memory_cycles,
        "bound_gop_s": done * setting.gigahertz / tally.bound_cycles,
        "operations_per_byte": done / tally.memory_bytes,
        "memory_bytes": tally.memory_bytes,
        "memory_gb_s": tally.memory_bytes * rate,
        "peak_gb_s": tally.peak * setting.gigahertz,
        "bandwidth_utilisation": tally.memory_bytes / (tally.peak * tally.cycles),
    }


def engine_rows(setting: EngineSetting, tally: EngineTally) -> Rows:
    """For the printed report."""
    config, figures = setting.config, engine_figures(setting, tally)
    block = " x ".join(map(str, config.block))
    managers = f"{counted(config.managers, 'manager')} of {config.data_bits} bits"
    timed = figures["microseconds"] is not None
    memory = f", memory {setting.memory.name}" if timed else ""
    rows = [
        ("engine", f"blocks of {block} tiles, {managers}{memory}"),
        ("jobs", f"{tally.jobs:,} of {tally.operations:,} operations in all"),
    ]
    if timed:
        rows += _timed(setting, tally, figures)
    rows.append(("bytes", f"{tally.bytes_read:,} read, {tally.bytes_written:,} written"))
    if timed:
        rows += _bounds(tally, figures)
    return rows


def _timed(setting: EngineSetting, tally: EngineTally, figures: dict[str, Any]) -> Rows:
    return [
        ("cycles", f"{tally.cycles:,}: {figures['microseconds']:,.1f} us at "
                   f"{setting.gigahertz:g} GHz; {tally.stalls:,} without an operation between the "
                   f"first and the last of a job"),
        ("utilisation", f"{tally.utilisation:.2%} ({tally.busy_cycles:,} of {tally.cycles:,} "
                        f"cycles)"),
    ]  # fmt: skip


def _bounds(tally: EngineTally, figures: dict[str, Any]) -> Rows:
    ratio = figures["ratio_to_bound"]
    return [
        ("memory", f"{figures['memory_bytes']:,} bytes moved, {tally.bytes_once:,} were each "
                   f"operand of a job moved once; {figures['memory_gb_s']:.1f} of "
                   f"{figures['peak_gb_s']:.1f} GB/s"),
        ("bound", f"{figures['bound_cycles']:,.0f} cycles, by {figures['bound_by']}: the ratio to "
                  f"it is {ratio:.3f} (operations {tally.compute_cycles:,.0f}, memory "
                  f"{tally.memory_cycles:,.0f})"),
        ("roofline", f"{figures['gop_s']:.2f} of {figures['bound_gop_s']:.2f} GOP/s, the bound's: "
                     f"{1 / ratio:.1%}; {figures['operations_per_byte']:.2f} operations a byte"),
    ]  # fmt: skip
