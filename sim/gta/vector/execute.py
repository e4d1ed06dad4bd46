"""What an EXECUTE in SIMD leaves in the memories of the lanes."""

from __future__ import annotations

from collections.abc import Mapping

from ....hw.spec.gta import FORMATS_OF_GTA, LEFT_WORD_BYTES, element_bytes
from ....hw.spec.jobs.gta_vector import (
    OCTET,
    VECTOR_FUNCTIONS,
    operand_memories,
    vector_result_bytes,
)
from ..lane_memories import LaneMemories
from ..regions import Region
from .functions import octet_results
from .octets import from_planes, to_planes

__all__ = ["execute_vectors"]


def execute_vectors(memories: LaneMemories, region: Region, fields: Mapping[str, int]) -> None:
    """Do an EXECUTE that holds: every lane of the region by itself, every bank by itself."""
    format = FORMATS_OF_GTA[fields["format"]]
    function = tuple(VECTOR_FUNCTIONS)[fields["function"]]
    size, width = element_bytes(format), vector_result_bytes(function, format)
    lanes = list(region.lanes)

    def octets(memory: str, count: int, each: int) -> tuple[int, int]:
        begin = fields[f"{memory}_base"] * LEFT_WORD_BYTES
        return begin, begin + count * OCTET * each

    operands = []
    for memory in operand_memories(function, format):
        begin, end = octets(memory, fields["time"] * fields["chain"], size)
        operands.append(from_planes(memories.memory(memory)[lanes, :, begin:end], size))
    begin, end = octets("result", fields["time"], width)
    start = None
    if fields["use_c"] and function in ("dot", "sum"):
        start = from_planes(memories.result[lanes, :, begin:end], width).reshape(-1, OCTET)
    found = octet_results(
        function,
        format,
        [operand.reshape(-1, OCTET) for operand in operands],
        chain=fields["chain"],
        amount=fields["amount"],
        start=start,
    )
    shape = len(lanes), memories.result.shape[1], fields["time"], OCTET
    memories.result[lanes, :, begin:end] = to_planes(found.reshape(shape), width)
