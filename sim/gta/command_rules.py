"""What is wrong with a command: in software, as the hardware finds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...hw.spec.gta import (
    BANKS,
    FORMATS_OF_GTA,
    LEFT_WORD_BYTES,
    ROWS,
    GtaConfig,
    element_bytes,
    is_float,
    limbs,
)
from ...hw.spec.jobs.gta import beat_bytes
from ...hw.spec.jobs.gta_commands import (
    DEALS,
    MEMORIES,
    NARROWINGS,
    OPERATIONS,
    command_fields,
    lane_words,
    most_folds,
    widths_of_results,
)
from .regions import region_of
from .vector.rules import vector_faults

__all__ = ["first_fault"]


def first_fault(
    config: GtaConfig,
    masks: Sequence[int],
    layout: int,
    content: bytes,
    before: Mapping[str, int],
) -> str | None:
    """The error of a command in memory; None if it holds.

    Parameters
    ----------
    masks, layout: of the job
    before: how many of each kind are before it in the list
    """
    try:
        kind, fields = command_fields(content)
    except ValueError:
        return "command"
    if kind == "execute":
        found = _execute_faults(config, masks, layout, fields)
    else:
        found = _row_faults(config, kind, fields)
    late = any(fields[f"{name}s"] > count for name, count in before.items())
    if "command" not in found and late:
        return "command_order"
    return found[0] if found else None


def _words(count: int) -> int:
    return -(-count // LEFT_WORD_BYTES)


def _row_faults(config: GtaConfig, kind: str, fields: Mapping[str, int]) -> list[str]:
    """Of a LOAD or a STORE, in the order in which they are reported."""
    if fields["deal"] >= len(DEALS):
        return ["command"]
    deal, store = DEALS[fields["deal"]], kind == "store"
    if store:
        narrow = fields["narrow"] != 0
        part = narrow and (deal.element < 8 or fields["row_bytes"] % deal.element)
        meaningless = fields["narrow"] >= len(NARROWINGS) or deal.element == 1 or part
    else:
        meaningless = fields["memory"] >= len(MEMORIES)
    if meaningless:
        return ["command"]
    lanes, found = fields["lanes"], []
    last = fields["first"] + (lanes - 1) * fields["step"]
    if not lanes or max(lanes, fields["first"] + 1) > config.lanes or last >= config.lanes:
        return ["command_lanes"]
    if not fields["rows"] or not fields["row_bytes"]:
        return ["command_size"]
    again = (fields["rows"] * deal.banks - 1) // (BANKS * lanes)
    memory = "result" if store else MEMORIES[fields["memory"]]
    own = -(-fields["row_bytes"] // (LEFT_WORD_BYTES * deal.banks))
    if fields["word"] + again * fields["words"] + own > lane_words(config, memory):
        found.append("command_memory")
    if fields["base"] % beat_bytes(config) or fields["stride"] % beat_bytes(config):
        found.append("command_base")
    if fields["base"] >> config.addr_bits:
        found.append("command_range")
    return found


def _execute_faults(
    config: GtaConfig, masks: Sequence[int], layout: int, fields: Mapping[str, int]
) -> list[str]:
    """Of an EXECUTE."""
    if fields["operation"] >= len(OPERATIONS):
        return ["command"]
    if OPERATIONS[fields["operation"]] == "simd":
        return vector_faults(config, masks, layout, fields)
    if fields["result_base"] % 2 or fields["result_stride"] % 2:
        return ["command"]
    ws = OPERATIONS[fields["operation"]] == "ws"
    usable = (*config.integers, *config.floats)
    name = FORMATS_OF_GTA[fields["format"]] if fields["format"] < len(FORMATS_OF_GTA) else ""
    if name not in usable or (is_float(name) and ws):
        return ["command_format"]
    width = 4 << fields["result_size"]
    if width not in widths_of_results(name):
        return ["command_format"]
    region = region_of(masks, layout, fields["group"])
    if region is None:
        return ["command_lanes"]
    rows, last = region.array[0], fields["rows_last"]
    count = 1 if is_float(name) else limbs(name)
    if (
        not all(fields[size] for size in ("row_folds", "col_folds", "time", "rows_last"))
        or last > rows
        or (not ws and last % count)
    ):
        return ["command_size"]
    found = []
    if not _fits(config, fields, name, rows, width):
        found.append("command_memory")
    if not is_float(name) and (rows if ws else fields["time"]) > config.most_products:
        found.append("command_sum")
    return found


def _fits(config: GtaConfig, fields: Mapping[str, int], name: str, rows: int, width: int) -> bool:
    """Whether operands and results lie within the banks."""
    edge, results = lane_words(config, "left"), lane_words(config, "result")
    sides = {"left": edge, "top": edge, "result": results}
    folds, time = most_folds(config), fields["time"]
    if any(
        fields[f"{side}_{what}"] >= most
        for side, most in sides.items()
        for what in ("base", "stride")
    ):
        return False
    if max(fields["row_folds"], fields["col_folds"]) > folds or time > config.edge_bytes:
        return False
    ws = OPERATIONS[fields["operation"]] == "ws"
    count = 1 if is_float(name) else limbs(name)
    used = fields["row_folds"] * (ROWS if is_float(name) else rows)
    stream = time * element_bytes(name) if ws or is_float(name) else time
    elements = time if ws else used // count
    ends = {
        "left": (fields["row_folds"], stream),
        "top": (fields["col_folds"], used if ws else stream),
        "result": (fields["col_folds"], -(-elements // count) * width),
    }
    if fields["col_folds"] > 1 and fields["result_stride"] < _words(ends["result"][1]):
        return False
    return all(
        fields[f"{side}_base"] + (number - 1) * fields[f"{side}_stride"] + _words(size)
        <= sides[side]
        for side, (number, size) in ends.items()
    )
