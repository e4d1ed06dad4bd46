"""A command of vectors, the placement of its operands and results, and its results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.gta.layouts import Operation
from tilewright.hw.spec.gta import (
    BANKS,
    FORMATS_OF_GTA,
    GtaConfig,
    element_bytes,
    is_float,
    limbs,
)
from tilewright.hw.spec.jobs.gta_vector import (
    OCTET,
    VECTOR_FUNCTIONS,
    octet_cycles,
    operand_memories,
    vector_result_bytes,
)
from tilewright.sim.gta.vector.functions import octet_results
from tilewright.sim.gta.vector.octets import from_planes, to_planes
from tilewright.sim.numbers.values import Patterns

from .products import Memories, Region

Bytes = npt.NDArray[np.uint8]

MEMORIES = ("left", "top", "result")

PRODUCTS = ("mul", "fma", "dot", "add", "sub", "sum")
"""Functions that the lane's adders compute on floats; others work by planes."""


@dataclass(kw_only=True)
class VectorCommand:
    """A function of octets in every bank of a region's lanes.

    Parameters
    ----------
    operands: by memory, patterns (lanes, banks, octets, 8); of results' memory also what sums begin
      with
    bases: first words in the memories, left, top and result
    time: octets of results in a bank
    """

    config: GtaConfig
    region: Region
    function: str
    name: str
    time: int
    chain: int = 1
    amount: int = 0
    starts: bool = False
    bases: tuple[int, int, int] = (0, 0, 0)
    operands: dict[str, Patterns] = field(default_factory=dict)

    @property
    def use_c(self) -> bool:
        """Results depend on what the memory of results has."""
        return self.starts or "result" in operand_memories(self.function, self.name)

    @property
    def kind(self) -> tuple[str, str, int]:
        """Commands alike follow each other at once."""
        return self.function, self.name, self.amount

    @property
    def cycles(self) -> int:
        return self.time * octet_cycles(self.config, self.function, self.name, self.chain)

    @property
    def adds_floats(self) -> bool:
        """Results are sums of products of floats, or products."""
        return is_float(self.name) and self.function in PRODUCTS

    @property
    def latency(self) -> int:
        """Cycles from the first step until the last results are in memory."""
        behind = self.region.width + 6
        if not self.adds_floats:
            return self.cycles + behind
        length = limbs(self.name)
        steps = length if self.function in ("add", "sub", "sum") else length**2
        products = self.time * self.chain
        begins = self.cycles // products * (products - 1)
        return begins + steps + behind + self.config.adder_stages + (self.name == "fp64")

    @property
    def quiet(self) -> int:
        """Cycles from the end of the last step until all is quiet."""
        return 14 + self.adds_floats * (self.config.adder_stages + 1)

    @property
    def width(self) -> int:
        return vector_result_bytes(self.function, self.name)

    @property
    def words(self) -> tuple[int, int, int]:
        """Words of a bank of left, top and result, of 16, 16 and 32 bytes."""
        edge = -(-self.time * self.chain * OCTET * element_bytes(self.name) // 16)
        used = operand_memories(self.function, self.name)
        left, top = (edge * (memory in used) for memory in MEMORIES[:2])
        return left, top, -(-self.time * OCTET * self.width // 32)

    def command(self) -> dict[str, int]:
        """Fields of the command."""
        return {
            "operation": Operation.SIMD.value,
            "format": FORMATS_OF_GTA.index(self.name),
            "group": self.region.group,
            "time": self.time,
            "use_c": int(self.starts),
            "function": list(VECTOR_FUNCTIONS).index(self.function),
            "amount": self.amount,
            "chain": self.chain,
            "left_base": self.bases[0],
            "top_base": self.bases[1],
            "result_base": self.bases[2],
        }

    def load(self, memories: Memories) -> None:
        """Stores the operands where the command reads them."""
        for memory, words in self.operands.items():
            result = memory == "result"
            size = self.width if result else element_bytes(self.name)
            planes = to_planes(words, size)
            begin = self.bases[MEMORIES.index(memory)] * (32 if result else 16)
            to = getattr(memories, memory)
            to[self.region.lanes, :, begin : begin + planes.shape[-1]] = planes

    def _place(self) -> Any:
        begin = 32 * self.bases[2]
        return self.region.lanes, slice(None), slice(begin, begin + self.time * OCTET * self.width)

    def found(self, result: Bytes) -> Bytes:
        """Returns the memory's content at the results' place."""
        return result[self._place()]

    def computed(self, old: Bytes | None) -> Bytes:
        """The results, where there was something before."""
        before = None if old is None else from_planes(old, self.width).reshape(-1, OCTET)
        operands: list[npt.ArrayLike] = []
        for memory in operand_memories(self.function, self.name):
            words = before if memory == "result" else self.operands[memory].reshape(-1, OCTET)
            assert words is not None
            operands.append(words)
        found = octet_results(
            self.function,
            self.name,
            operands,
            chain=self.chain,
            amount=self.amount,
            start=before if self.starts else None,
        )
        shape = len(self.region.lanes), BANKS, self.time, OCTET
        return to_planes(found.reshape(shape), self.width)

    def store(self, result: Bytes, values: Bytes) -> None:
        """Stores the results at their place."""
        result[self._place()] = values

    def spare(self, result: Bytes) -> None:
        """Does nothing: the command leaves no unused bytes."""
