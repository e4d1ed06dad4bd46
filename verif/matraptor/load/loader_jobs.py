"""Matrices for MatRaptor's loaders: what is in memory, and what the loaders must make of it.

The tokens come from SciPy's rows; nothing here looks into the memory image.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from tilewright.hw.matraptor.layouts import job_layout, left_layout, product_layout
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.sparse.c2sr import C2sr, CsrPatterns, from_patterns
from tilewright.sim.sparse.image import image

_DTYPES = {"fp16": np.float16, "fp32": np.float32, "fp64": np.float64, "int32": np.int32}


def random_matrix(
    rng: np.random.Generator, rows: int, cols: int, *, mean: float, empty: float = 0.2
) -> csr_array:
    """Rows of about ``mean`` entries, few of them much longer, a share of them ``empty``."""
    lengths = np.minimum(rng.geometric(1 / max(mean, 1.0), rows), cols)
    lengths[rng.random(rows) < 0.03] = min(cols, int(8 * mean))
    lengths[rng.random(rows) < empty] = 0
    columns = [np.sort(rng.choice(cols, n, replace=False)) for n in lengths]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    data = rng.integers(-60, 60, starts[-1])
    indices = np.concatenate([*columns, np.zeros(0, int)]).astype(np.int32)
    return csr_array((data, indices, starts), shape=(rows, cols))


def _pack(layout: Any, **fields: int) -> int:
    return sum(value << layout[name].offset for name, value in fields.items())


def ends_mask(layout: Any) -> int:
    """The fields of a token that count if it is not present."""
    names = ("present", "row_last", "lane_last", "row")
    return sum((1 << layout[name].width) - 1 << layout[name].offset for name in names)


@dataclass(frozen=True, kw_only=True)
class LoaderJob:
    """A job of the loaders.

    Parameters
    ----------
    config: of the accelerator
    a, b: operands, of small integers
    a_pointers: where A's rows are in their channels; packed if not given
    b_rows: rows that the job says B has
    far: of A and of B, by how many blocks the entries of all channels are further from their base
    lower: by how many stripes all bases are lower than where they are otherwise
    more_rows: how many more rows the job says A has, of which nothing is in memory
    longer: how many more entries the pairs say that a row of A, and of B, have
    columns: range of columns, first and last, outside which entries of B are skipped; None: the
        job has no range
    """

    config: MatRaptorConfig
    a: csr_array
    b: csr_array
    a_pointers: Any = None
    b_rows: int | None = None
    far: tuple[int, int] = (0, 0)
    lower: int = 0
    more_rows: int = 0
    longer: tuple[dict[int, int], dict[int, int]] = field(default_factory=lambda: ({}, {}))
    columns: tuple[int, int] | None = None

    def describe(self) -> dict[str, Any]:
        """All that the bench needs, as JSON."""
        config = self.config
        stripe = config.layout.stripe_bytes
        top = 1 << config.addr_bits
        bases = {
            name: ((top - (n + 1) * (top // 16)) // stripe - self.lower) * stripe
            for n, name in enumerate(("a_pairs", "a_entries", "b_pairs", "b_entries"))
        }
        a, b = self._stored(self.a, self.a_pointers), self._stored(self.b, None)
        rows, b_rows = self.a.shape[0] + self.more_rows, self.b_rows or self.b.shape[0]
        first, last = self.columns or (0, 0)
        job = {"rows": rows, "b_rows": b_rows, "first_column": first, "end_column": last + 1}
        job["ranged"] = self.columns is not None
        return {
            "job": _pack(job_layout(config), **bases, **job),
            "image": [
                [address, content.hex()]
                for name, matrix, far, longer in zip(
                    "ab", (a, b), self.far, self.longer, strict=True
                )
                for address, content in self._image(name, bases, matrix, far, longer)
            ],
            "lanes": [self._lane(lane, a) for lane in range(config.lanes)],
        }

    def _image(
        self, name: str, bases: dict[str, int], matrix: C2sr, far: int, longer: dict[int, int]
    ) -> list[tuple[int, bytes]]:
        """The pairs and the entries of a matrix in memory."""
        layout = self.config.layout
        pairs_base, entries_base = bases[f"{name}_pairs"], bases[f"{name}_entries"]
        pairs, entries = image(matrix, pairs_base=pairs_base, entries_base=entries_base)
        words = np.frombuffer(pairs.data.tobytes(), np.uint32).copy()
        words[1::2] += np.uint32(far * layout.block_entries)
        for row, count in longer.items():
            index, channel = divmod(row, layout.channels)
            words[layout.flat(0, channel, 8 * index) // 4] += np.uint32(count)
        moved = entries.address + far * layout.stripe_bytes
        return [(pairs.address, words.tobytes()), (moved, entries.data.tobytes())]

    def _stored(self, matrix: csr_array, pointers: Any) -> C2sr:
        columns = matrix.indices.astype(np.int64)
        rows = CsrPatterns(matrix.indptr.astype(np.int64), columns, self._patterns(matrix))
        return from_patterns(rows, matrix.shape, self.config.layout, pointers=pointers)

    def _patterns(self, matrix: csr_array) -> Any:
        bits = self.config.format.bits
        values = matrix.data.astype(_DTYPES[self.config.value])
        return values.view(f"u{bits // 8}").astype(np.uint64)

    def rows_of(self, lane: int) -> list[int]:
        """A lane's rows: by blocks of pairs, in them by channels, in them in order."""
        config = self.config
        block = config.interleave // 8

        def key(row: int) -> tuple[int, int, int]:
            place, channel = divmod(row, config.channels)
            return place // block, channel, place

        return sorted(range(lane, self.a.shape[0], config.lanes), key=key)

    def _row(self, row: int) -> int:
        config = self.config
        place, channel = divmod(row, config.channels)
        return place | channel // config.lanes << config.index_bits

    def _lane(self, lane: int, a: C2sr) -> dict[str, Any]:
        rows = self.rows_of(lane)
        left = [token for row in rows for token in self._left(row, last=row == rows[-1])]
        limit = self.b_rows or self.b.shape[0]
        bad = [n for n, (_, _, k, _, _) in enumerate(left) if k is not None and k >= limit]
        good = left[: bad[0]] if bad else left
        layout = left_layout(self.config)
        wrong = left[bad[0]][0] if bad else None
        return {
            "rows": len(rows),
            "left": [
                _pack(layout, value=v, column=k or 0, present=k is not None, row_last=e,
                      lane_last=e and row == rows[-1], row=self._row(row))
                for row, v, k, e, _ in left
            ],
            "product": [t for token in good for t in self._products(*token)],
            "wrong_row": None if wrong is None else self._row(wrong),
            "beats": [*self._beats_of_a(rows, a), *self._beats_of_b(good)],
        }  # fmt: skip

    def _left(self, row: int, *, last: bool) -> Iterator[tuple[int, int, int | None, bool, bool]]:
        """Row, value, column, whether the row ends, whether the lane ends."""
        mine = slice(self.a.indptr[row], self.a.indptr[row + 1])
        values = self._patterns(self.a)[mine].tolist()
        columns = self.a.indices[mine].tolist()
        for n, (value, column) in enumerate(zip(values, columns, strict=True)):
            ends = n == len(values) - 1
            yield row, value, column, ends, ends and last
        if not values:
            yield row, 0, None, True, last

    def _products(self, row: int, a: int, k: int | None, ends: bool, last: bool) -> Iterator[int]:
        layout, place = product_layout(self.config), self._row(row)
        mine = slice(0, 0) if k is None else slice(self.b.indptr[k], self.b.indptr[k + 1])
        columns, values = self.b.indices[mine], self._patterns(self.b)[mine]
        if self.columns is not None:
            kept = (columns >= self.columns[0]) & (columns <= self.columns[1])
            columns, values = columns[kept], values[kept]
        values = values.tolist()
        for n, column in enumerate(columns.tolist()):
            final = n == len(values) - 1
            yield _pack(layout, a=a, b=values[n], column=column, b_last=final, present=1,
                        row_last=final and ends, lane_last=final and last, row=place)  # fmt: skip
        if not values and ends:
            yield _pack(layout, row_last=1, lane_last=last, row=place)

    def _beats_of_a(self, rows: list[int], a: C2sr) -> tuple[int, int]:
        """Counts the blocks read. For pairs they are the blocks that hold a row of the lane; for
        entries, the blocks of its rows, where a block that the next row continues counts once."""
        config = self.config
        block = config.interleave // 8
        pairs = {(row % config.channels, row // config.channels // block) for row in rows}
        entries, at = 0, (-1, -1, 0)
        for row in rows:
            if a.lengths[row]:
                begin, channel = int(a.pointers[row]), row % config.channels
                end = begin + int(a.lengths[row])
                size = config.layout.block_entries
                first, final = begin // size, (end - 1) // size
                again = at[:2] == (channel, first) and begin >= at[2]
                entries += final - first + 1 - again
                at = (channel, final, end)
        return len(pairs) * config.burst_beats, entries * config.burst_beats

    def _beats_of_b(self, left: list[Any]) -> tuple[int, int]:
        """A beat for each pair, and those that the entries of each row are in."""
        config = self.config
        b = self._stored(self.b, None)
        pairs = entries = 0
        for _, _, k, _, _ in left:
            if k is not None:
                pairs += 1
                begin, end = int(b.pointers[k]), int(b.pointers[k] + b.lengths[k])
                size = config.beat_entries
                entries += -(-end // size) - begin // size if end > begin else 0
        return pairs, entries
