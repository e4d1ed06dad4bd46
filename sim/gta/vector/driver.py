"""Vectors of any length on GTA."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ....hw.spec.formats import FORMATS
from ....hw.spec.gta import is_float
from ....hw.spec.host.words import not_one_of
from ....hw.spec.jobs.gta_vector import OCTET, functions_of, operand_memories
from ...numbers.given import words_of
from ...numbers.values import Patterns
from ..command_driver import CommandDriver
from ..golden.reduction import REDUCTIONS
from .commands import VectorCommands
from .octets import octets_of, octets_of_rows
from .rules import most_chain

__all__ = ["FUNCTIONS", "VectorDriver"]

FUNCTIONS = ("dot", "slide", "sum")
"""Not of ``VectorDriver.vector``: they have methods of their own."""

_LEAST_CHAIN = 16
"""Of a sum of integers, whose terms are too few to be all lanes' work."""


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
