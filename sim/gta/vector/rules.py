"""What is wrong with an EXECUTE in SIMD: in software, as the hardware finds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....hw.spec.gta import (
    FORMATS_OF_GTA,
    LEFT_WORD_BYTES,
    GtaConfig,
    element_bytes,
    is_float,
    limbs,
)
from ....hw.spec.jobs.gta_commands import lane_words
from ....hw.spec.jobs.gta_vector import (
    OCTET,
    VECTOR_FUNCTIONS,
    functions_of,
    operand_memories,
    vector_result_bytes,
)
from ..regions import region_of

__all__ = ["most_chain", "vector_faults"]


def most_chain(config: GtaConfig, format: str) -> int:
    """Octets of a chain of products of integers whose sums of limbs fit an element."""
    return config.most_products // limbs(format)


def vector_faults(
    config: GtaConfig, masks: Sequence[int], layout: int, fields: Mapping[str, int]
) -> list[str]:
    """Of an EXECUTE in SIMD, in the order in which they are reported."""
    if fields["result_base"] % 2:
        return ["command"]
    usable = (*config.integers, *config.floats)
    format = FORMATS_OF_GTA[fields["format"]] if fields["format"] < len(FORMATS_OF_GTA) else ""
    functions, number = tuple(VECTOR_FUNCTIONS), fields["function"]
    if format not in usable or number >= len(functions):
        return ["command_format"]
    function, chain = functions[number], fields["chain"]
    if function not in functions_of(format):
        return ["command_format"]
    if region_of(masks, layout, fields["group"]) is None:
        return ["command_lanes"]
    chains = function in ("dot", "sum")
    if not (fields["time"] and chain) or (chain > 1 and not chains) or fields["amount"] >= OCTET:
        return ["command_size"]
    found = []
    if not _fits(config, fields, function, format):
        found.append("command_memory")
    if function == "dot" and not is_float(format) and chain > most_chain(config, format):
        found.append("command_sum")
    return found


def _fits(config: GtaConfig, fields: Mapping[str, int], function: str, format: str) -> bool:
    """Whether operands and results lie within the banks."""
    time, size = fields["time"], element_bytes(format)
    ends = {"result": time * OCTET * vector_result_bytes(function, format)}
    # Operands in the memory of results lie where these do.
    for memory in operand_memories(function, format):
        ends.setdefault(memory, time * fields["chain"] * OCTET * size)
    return all(
        fields[f"{memory}_base"] + -(-end // LEFT_WORD_BYTES) <= lane_words(config, memory)
        for memory, end in ends.items()
    )
