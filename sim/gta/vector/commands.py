"""A function of vectors of any length as a list of commands."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ....hw.spec.gta import (
    BANKS,
    FORMATS_OF_GTA,
    LEFT_WORD_BYTES,
    GtaConfig,
    element_bytes,
    is_float,
)
from ....hw.spec.jobs.gta import beat_bytes
from ....hw.spec.jobs.gta_commands import MEMORIES, OPERATIONS, lane_words
from ....hw.spec.jobs.gta_vector import (
    OCTET,
    VECTOR_FUNCTIONS,
    operand_memories,
    vector_result_bytes,
)
from ...numbers.values import Patterns
from ..tiles.command_list import CommandList
from ..tiles.images import StreamImage
from ..tiles.slots import Slot, Slots
from .octets import from_planes, to_planes
from .rules import most_chain
from .tiling import PLANE_BYTES

__all__ = ["VectorCommands"]


class VectorCommands:
    """Octets dealt out to all banks of all lanes, a run of them to each, and what is done there.

    A run is cut into tiles of which two fit the memories, so that loads and stores go on while the
    lanes work; chains that are too long for that are cut, too, each part going on from the sums of
    the last one.

    Parameters
    ----------
    config: of the accelerator
    function, format: one of ``functions_of(format)``
    octets: of the result
    chain: of dot and sum: octets of operands that make one of results
    amount: of slide
    start: of dot and sum: whether they begin with something

    Members
    -------
    images: of operands by the memory that they go to, "start" and the result, "d"

    Raises ValueError for sums of integers that no element holds.
    """

    def __init__(
        self,
        config: GtaConfig,
        function: str,
        format: str,
        octets: int,
        *,
        chain: int = 1,
        amount: int = 0,
        start: bool = False,
    ) -> None:
        self._config, self._function, self._format = config, function, format
        self._octets, self._chain, self._amount, self._start = octets, chain, amount, start
        self._size = element_bytes(format)
        self._width = vector_result_bytes(function, format)
        self._run = -(-octets // (config.lanes * BANKS))
        self._streams = -(-octets // self._run)
        self._tile, self._part, self._slots = self._cut()
        beat = beat_bytes(config)
        self._tiles = -(-self._run // self._tile)
        self._parts = -(-chain // self._part)
        pieces = self._tiles, self._tiles * self._parts
        lengths = self._tile * self._width, self._tile * self._part * self._size
        results, operands = (
            StreamImage(
                streams=self._streams,
                count=count * length,
                piece=length,
                element=PLANE_BYTES,
                beat=beat,
            )
            for count, length in zip(pieces, lengths, strict=True)
        )
        memories = operand_memories(function, format)
        self.images = {
            memory: results if memory == "result" else operands for memory in memories
        } | {"d": results}
        if start:
            self.images["start"] = results

    def _cut(self) -> tuple[int, int, int]:
        """Octets of results of a tile, octets of a part of a chain, and parts of the memories."""
        config, most = self._config, self._chain
        if self._function == "dot" and not is_float(self._format):
            most = min(most, most_chain(config, self._format))
        if not most:
            raise ValueError(
                f"`partial_bits` must be more for sums of products of {self._format}, not "
                f"{config.partial_bits}"
            )
        for slots in (2, 1):
            edge, results = (
                lane_words(config, memory) // slots * LEFT_WORD_BYTES // OCTET
                for memory in ("left", "result")
            )
            part = min(most, edge // self._size)
            tile = min(self._run, results // self._width, edge // self._size // self._chain)
            if part:
                return max(1, tile) if part == self._chain else 1, part, slots
        raise AssertionError("a bank must hold an octet")

    def operand(self, name: str, words: Patterns) -> Patterns:
        """Octets of an operand, or of the start, as its image takes them: planes, by banks.

        ``words``: (octets * chain, 8), of what goes where results do (octets, 8).
        """
        side = name in ("left", "top")
        chain, part, parts = (self._chain, self._part, self._parts) if side else (1, 1, 1)
        tiles, tile, run = self._tiles, self._tile, self._run
        runs = np.zeros((self._streams * run, chain, OCTET), np.uint64)
        runs[: self._octets] = words.reshape(-1, chain, OCTET)
        padded = np.zeros((self._streams, tiles * tile, parts * part, OCTET), np.uint64)
        padded[:, :run, :chain] = runs.reshape(self._streams, run, chain, OCTET)
        pieces = padded.reshape(self._streams, tiles, tile, parts, part, OCTET).swapaxes(2, 3)
        size = self._size if side else self._width
        return to_planes(pieces.reshape(self._streams, -1, OCTET), size).view("<u8")

    def results(self, planes: Patterns) -> Patterns:
        """The octets of what the image of the result has, (octets, 8)."""
        content = np.ascontiguousarray(planes, np.dtype("<u8")).view(np.uint8)
        found = from_planes(content, self._width)[:, : self._run]
        return found.reshape(-1, OCTET)[: self._octets]

    def commands(self, bases: Mapping[str, int], into: CommandList) -> None:
        """Add all commands to a list; ``bases``: addresses of the images, by name."""
        slots = {name: Slots(lane_words(self._config, name), self._slots) for name in MEMORIES}
        for tile in range(self._tiles):
            count = min(self._tile, self._run - tile * self._tile)
            result = slots["result"].take(tile)[0]
            needs = result.used
            for name in ("start", "result"):
                if name in self.images:
                    rows = self._rows(name, tile, count * self._width, result, bases)
                    needs = {"load": self._load("result", rows, result, into)}
            for part in range(self._parts):
                needs = self._execute(tile, part, count, slots, needs, bases, into)
            rows = self._rows("d", tile, count * self._width, result, bases)
            result.used = {"store": into.add("store", rows, behind=needs)}

    def _execute(
        self,
        tile: int,
        part: int,
        count: int,
        slots: Mapping[str, Slots],
        needs: Mapping[str, int],
        bases: Mapping[str, int],
        into: CommandList,
    ) -> dict[str, int]:
        """A tile, or a part of its chains; returns what is complete then: sums go on from there."""
        behind, words = dict(needs), {"result": slots["result"].take(tile)[0]}
        chain = min(self._part, self._chain - part * self._part)
        for name in ("left", "top"):
            if name in self.images:
                words[name] = slot = slots[name].take((tile, part))[0]
                piece, planes = tile * self._parts + part, count * chain * self._size
                rows = self._rows(name, piece, planes, slot, bases)
                behind["load"] = self._load(name, rows, slot, into)
        fields = {
            "operation": OPERATIONS.index("simd"),
            "format": FORMATS_OF_GTA.index(self._format),
            "function": tuple(VECTOR_FUNCTIONS).index(self._function),
            "amount": self._amount,
            "chain": chain,
            "time": count,
            "use_c": int(self._start or part > 0),
            **{f"{name}_base": slot.word for name, slot in words.items()},
        }
        complete = {"execute": into.add("execute", fields, behind=behind)}
        for name in ("left", "top"):
            if name in words:
                words[name].used = complete
        return complete

    def _rows(
        self, name: str, piece: int, planes: int, slot: Slot, bases: Mapping[str, int]
    ) -> dict[str, int]:
        """A piece of all runs, from memory or to it."""
        image = self.images[name]
        return {
            "rows": self._streams,
            "row_bytes": planes * PLANE_BYTES,
            "base": bases[name] + image.offset(0, piece),
            "stride": image.stride,
            "step": int(self._config.lanes > 1),
            "lanes": self._config.lanes,
            "word": slot.word,
        }

    @staticmethod
    def _load(memory: str, rows: Mapping[str, int], slot: Slot, into: CommandList) -> int:
        fields = {**rows, "memory": MEMORIES.index(memory)}
        return into.add("load", fields, behind=slot.used)
