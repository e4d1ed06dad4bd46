"""Vectors of any length on GTA."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ....hw.spec.formats import FORMATS
from ....hw.spec.gta import (
    BANKS,
    FORMATS_OF_GTA,
    LEFT_WORD_BYTES,
    GtaConfig,
    element_bytes,
    is_float,
)
from ....hw.spec.host.words import not_one_of
from ....hw.spec.jobs.gta import beat_bytes
from ....hw.spec.jobs.gta_commands import MEMORIES, OPERATIONS, lane_words
from ....hw.spec.jobs.gta_vector import (
    OCTET,
    VECTOR_FUNCTIONS,
    functions_of,
    operand_memories,
    vector_result_bytes,
)
from ...numbers.container_words import words_of
from ...numbers.values import Patterns
from ..command_driver import CommandDriver
from ..golden.vector import REDUCTIONS
from ..tiles.program import CommandList
from ..tiles.segment_sums import Slot, Slots, StreamImage
from .octets import from_planes, octets_of, octets_of_rows, to_planes
from .tiling import PLANE_BYTES, most_chain


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


FUNCTIONS = ("dot", "slide", "sum")
"""Not of ``VectorDriver.vector``: they have methods of their own."""

_LEAST_CHAIN = 16
"""Least chain of a sum of integers whose terms are too few to occupy all lanes."""


class VectorDriver(CommandDriver):
    """Vector operations, bit for bit what ``sim/gta/golden`` says.

    All raise TypeError for words that are no integers, ValueError for words too wide, what the
    device has not, and if its memory is too small; JobError if it reports an error.
    """

    def vector(self, function: str, format: str, *operands: npt.ArrayLike) -> Patterns:
        """A function of elements, see ``golden/vector.py``, or "select", see ``golden/moves.py``.

        Parameters
        ----------
        operands: patterns of the format, of at least one element; they broadcast

        Returns
        -------
        Patterns of the format, uint64; of comparisons 0 and 1.
        """
        self._check_format(format)
        allowed = [name for name in functions_of(format) if name not in FUNCTIONS]
        if function not in allowed:
            raise ValueError(not_one_of(f"`function` on {format}", allowed, function))
        count = len(operand_memories(function, format))
        if len(operands) != count:
            raise TypeError(f"`{function}` takes {count} operands, not {len(operands)}")
        bits = FORMATS[format].bits
        words = np.broadcast_arrays(*(words_of(operand, bits) for operand in operands))
        shape = words[0].shape
        if not words[0].size:
            raise ValueError(f"operands must be of at least one element, not of shape {shape}")
        found = self._octets(function, format, [octets_of(each.ravel()) for each in words])
        return found.ravel()[: words[0].size].reshape(shape)

    def slide_up(self, format: str, a: npt.ArrayLike, places: int, fill: int = 0) -> Patterns:
        """Element i of a vector moves to place ``i + places``; the first places get ``fill``."""
        words, filled = self._slid(format, a, places, fill)
        moved = min(places, len(words))
        before = np.full(-(-moved // OCTET) * OCTET, filled, np.uint64)
        return self._slide(format, np.concatenate([before, words]), len(before) - moved, len(words))

    def slide_down(self, format: str, a: npt.ArrayLike, places: int, fill: int = 0) -> Patterns:
        """Element ``i + places`` of a vector moves to place i; the last places get ``fill``."""
        words, filled = self._slid(format, a, places, fill)
        moved = min(places, len(words))
        behind = np.full(moved, filled, np.uint64)
        return self._slide(format, np.concatenate([words, behind]), moved, len(words))

    def _slid(self, format: str, a: npt.ArrayLike, places: int, fill: int) -> tuple[Patterns, int]:
        self._check_format(format)
        words = words_of(a, FORMATS[format].bits)
        if words.ndim != 1 or not len(words):
            raise ValueError(f"`a` must be a vector, from 1 element, not of shape {words.shape}")
        if isinstance(places, bool) or not isinstance(places, int):
            raise TypeError(f"`places` must be an integer, not {places!r}")
        if places < 0:
            raise ValueError(f"`places` must be at least 0, not {places}")
        return words, int(words_of(fill, FORMATS[format].bits))

    def _slide(self, format: str, words: Patterns, first: int, count: int) -> Patterns:
        """``count`` elements from one on: whole octets by their addresses, the rest by the lanes,
        of two octets behind each other."""
        octets = octets_of(words[first // OCTET * OCTET :])
        octets = np.concatenate([octets, np.zeros((1, OCTET), np.uint64)])
        most = -(-count // OCTET)
        operands = [octets[:most], octets[1 : most + 1]]
        found = self._octets("slide", format, operands, amount=first % OCTET)
        return found.ravel()[:count]

    def reduce(
        self,
        operation: str,
        format: str,
        a: npt.ArrayLike,
        start: npt.ArrayLike | None = None,
    ) -> Patterns:
        """The "sum", "min" or "max" of the elements along the last axis, and of the start, see
        ``golden/reduction.py``.

        Sums of floats are chains: those of each row of ``a`` are one element's work, one after the
        other. Others are the work of all.

        Parameters
        ----------
        a: patterns of the format, (..., n), n from 1
        start: patterns (...); None: 0 of sums, the largest value of min, the smallest of max
        """
        self._check_format(format)
        if operation not in REDUCTIONS:
            known = ", ".join(REDUCTIONS)
            raise ValueError(f"`operation` must be one of {known}, not {operation!r}")
        fmt = FORMATS[format]
        words = words_of(a, fmt.bits)
        if not words.size or not words.ndim:
            raise ValueError(f"`a` must be of at least one element, not of shape {words.shape}")
        shape = words.shape[:-1]
        if start is None:
            identity = fmt.constant(REDUCTIONS[operation])
            assert identity is not None
            first = np.full(shape, identity, np.uint64)
        else:
            first = words_of(start, fmt.bits)
        if first.shape != shape:
            raise ValueError(f"`start` must have shape {shape}, not {first.shape}")
        rows, counts = words.reshape(-1, words.shape[-1]), Counter[str]()
        if operation == "sum" and is_float(format):
            given = None if start is None else octets_of(first.ravel())
            found = self._octets(
                "sum", format, [octets_of_rows(rows)], chain=rows.shape[1], start=given
            )
            return found.ravel()[: len(rows)].reshape(shape)
        terms = np.concatenate([first.reshape(-1, 1), rows], axis=1)
        while terms.shape[1] > 1:
            terms = self._fewer(operation, format, terms)
            counts.update(self.counts)
        self.counts = dict(counts)
        return terms.reshape(shape)

    def _fewer(self, operation: str, format: str, terms: Patterns) -> Patterns:
        """Rows of fewer terms: sums of some of them if an element holds them, else of two."""
        rows, count = terms.shape
        most = most_chain(self.config, format) if operation == "sum" else 0
        if most > 1:
            places = OCTET * OCTET * self.config.lanes
            chain = min(count, most, max(_LEAST_CHAIN, -(-rows * count // places)))
            groups = -(-count // chain)
            padded = np.zeros((rows, groups * chain), np.uint64)
            padded[:, :count] = terms
            x = octets_of_rows(padded.reshape(-1, chain))
            found = self._octets("dot", format, [x, np.ones_like(x)], chain=chain)
            kept = found.ravel()[: rows * groups] & np.uint64((1 << FORMATS[format].bits) - 1)
            return kept.reshape(rows, groups)
        half = count // 2
        function = "add" if operation == "sum" else operation
        made = self.vector(function, format, terms[:, :half], terms[:, half : 2 * half])
        return np.concatenate([made, terms[:, 2 * half :]], axis=1)

    def _octets(
        self,
        function: str,
        format: str,
        operands: Sequence[Patterns],
        *,
        chain: int = 1,
        amount: int = 0,
        start: Patterns | None = None,
    ) -> Patterns:
        """A function of octets, (octets * chain, 8), as ``octet_results`` has it."""
        made = VectorCommands(
            self.config,
            function,
            format,
            len(operands[0]) // chain,
            chain=chain,
            amount=amount,
            start=start is not None,
        )
        named = dict(zip(operand_memories(function, format), operands, strict=True))
        if start is not None:
            named["start"] = start
        contents = {name: made.operand(name, words) for name, words in named.items()}
        return made.results(self._run_commands(made, contents))
