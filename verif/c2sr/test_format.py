"""C2SR: against SciPy's CSR, and in memory against a formula for every byte, written here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tilewright.hw.spec.c2sr import VALUES
from tilewright.sim.sparse.c2sr import C2sr, CsrPatterns, from_csr, from_patterns, to_csr
from tilewright.sim.sparse.csr_image import csr_image, from_csr_image
from tilewright.sim.sparse.image import entries_bytes, from_image, image, pairs_bytes
from tilewright.verif.c2sr.rows import (
    BITS,
    Memory,
    check_image,
    check_rows,
    layout,
    patterns_of,
    rounded,
    some_matrix,
    with_gaps,
)
from tilewright.verif.kit.pages import examples, page
from tilewright.verif.kit.sampling import cases

PAGE = page("c2sr.md")


@pytest.mark.parametrize("channels", range(1, 17))
def test_small_shapes(channels: int) -> None:
    """Every shape up to 5 x 4, and one longer than the channels; every format and width."""
    rng = np.random.default_rng(4100 + channels)
    kinds = [(v, w) for v in VALUES for w in (16, 32)]
    for index, (rows, cols) in enumerate([*np.ndindex(6, 5), (40, 3), (35, 1), (1, 40)]):
        value, width = kinds[index % len(kinds)]
        for interleave in (64, 128, 2048):
            where = layout(channels, interleave, value, width)
            matrix = some_matrix(rng, rows, cols, rng.choice([0.0, 0.3, 1.0]))
            c2sr = from_csr(matrix, where)
            check_rows(c2sr, matrix)
            check_image(c2sr)
            check_image(with_gaps(rng, c2sr))
            back = to_csr(c2sr)
            assert back.shape == matrix.shape
            assert back.nnz == matrix.nnz
            assert np.array_equal(back.toarray(), matrix.toarray())


@pytest.mark.parametrize("value", VALUES)
def test_rows_without_entries_and_stored_zeros(value: str) -> None:
    """Rows 1 and 5 of channel 1 of 4, row 8, and the last row are empty; channel 3 is."""
    places = [(0, 2), (0, 4), (2, 0), (4, 1), (6, 4), (9, 0)]
    rows, cols = np.array(places).T
    matrix = sp.csr_array((np.array([1.0, 0.0, -0.0, 4.0, 5.0, 0.0]), (rows, cols)), shape=(12, 5))
    c2sr = from_csr(matrix, layout(4, value=value))
    assert c2sr.lengths.tolist() == [2, 0, 1, 0, 1, 0, 1, 0, 0, 1, 0, 0]
    assert c2sr.pointers.tolist() == [0, 0, 0, 0, 2, 0, 1, 0, 3, 0, 2, 0]
    assert [len(columns) for columns in c2sr.columns] == [3, 1, 2, 0]
    check_rows(c2sr, matrix)
    check_image(c2sr)
    assert to_csr(c2sr).nnz == 6


def test_shapes_without_rows_columns_or_entries() -> None:
    for shape in ((0, 0), (0, 3), (3, 0), (7, 7)):
        c2sr = from_csr(sp.csr_array(shape), layout(4))
        assert c2sr.nnz == c2sr.channel_entries == 0
        check_image(c2sr)
        assert to_csr(c2sr).shape == shape


entries = st.integers(-(2**31), 2**31 - 1) | st.floats(width=64, allow_nan=False)


@st.composite
def triples(draw: Any) -> tuple[tuple[int, int], list[tuple[int, int, float]]]:
    rows, cols = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    entry = st.tuples(st.integers(0, rows - 1), st.integers(0, cols - 1), entries)
    return (rows, cols), draw(st.lists(entry, max_size=30))


def raw_csr(shape: tuple[int, int], found: list[Any], dtype: Any) -> Any:
    """Returns CSR with entries in the given order: unsorted, and several at one position."""
    found = sorted(found, key=lambda entry: entry[0])
    starts = np.searchsorted([entry[0] for entry in found], np.arange(shape[0] + 1))
    data = np.array([entry[2] for entry in found]).astype(dtype)
    columns = np.array([entry[1] for entry in found], np.int32)
    return sp.csr_array((data, columns, starts), shape=shape)


@settings(max_examples=cases(1000), deadline=None)
@given(triples(), st.integers(1, 16), st.sampled_from(["fp16", "bf16", "fp32", "fp64"]))
def test_unsorted_and_duplicate_entries_are_scipys(
    case: tuple[tuple[int, int], list[tuple[int, int, float]]], channels: int, value: str
) -> None:
    matrix = raw_csr(*case, np.float64)
    before = matrix.data.copy(), matrix.indices.copy(), matrix.indptr.copy()
    with np.errstate(invalid="ignore"):
        c2sr = from_csr(matrix, layout(channels, value=value))
    for kept, now in zip(before, (matrix.data, matrix.indices, matrix.indptr), strict=True):
        assert np.array_equal(kept, now)
    expected = matrix.copy()
    expected.sum_duplicates()
    nan = np.isnan(expected.data)
    expected.data[nan] = np.nan  # of either sign; the format has one
    check_rows(c2sr, expected)
    back = to_csr(c2sr)
    wanted = rounded(expected.data, value).astype(back.dtype)
    assert np.array_equal(back.data, wanted, equal_nan=True)
    assert np.array_equal(back.indices, expected.indices)
    assert np.array_equal(back.indptr, expected.indptr)


@settings(max_examples=cases(500), deadline=None)
@given(triples(), st.integers(1, 16))
def test_integers_are_taken_modulo(
    case: tuple[tuple[int, int], list[tuple[int, int, float]]], channels: int
) -> None:
    shape, found = case
    whole = [(r, c, int(x) % 2**34 if np.isfinite(x) else 3) for r, c, x in found]
    matrix = raw_csr(shape, whole, np.int64)
    expected = matrix.copy()
    expected.sum_duplicates()
    check_rows(from_csr(matrix, layout(channels, value="int32")), expected)


def test_integers_of_floats_round_to_even() -> None:
    data = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 2.0**32 + 3])
    matrix = sp.csr_array((data, np.arange(6), [0, 6]), shape=(1, 6))
    found = from_csr(matrix, layout(1, value="int32")).values[0]
    assert found.tolist() == [0, 2, 2, 0, 2**32 - 2, 3]


def test_truth_values() -> None:
    """Adds truth values as SciPy does: the sum of two true values is true."""
    matrix = raw_csr((1, 2), [(0, 1, 1), (0, 0, 1), (0, 1, 1)], np.bool_)
    assert to_csr(from_csr(matrix, layout())).toarray().tolist() == [[1.0, 1.0]]


def test_stale_flags_do_not_deceive() -> None:
    """Ignores SciPy's flag of sorted columns, which is stale if the columns were moved."""
    matrix = sp.csr_array(np.array([[1.0, 2.0, 3.0]]))
    assert matrix.has_canonical_format
    matrix.indices[:] = [2, 0, 1]
    assert to_csr(from_csr(matrix, layout())).toarray().tolist() == [[2.0, 3.0, 1.0]]


@pytest.mark.parametrize("form", ["coo", "csc", "lil", "dok", "bsr", "dia"])
def test_other_forms_of_scipy(form: str) -> None:
    matrix = some_matrix(np.random.default_rng(4200), 11, 7, 0.4)
    matrix.eliminate_zeros()
    assert np.array_equal(to_csr(from_csr(matrix.asformat(form), layout(3))).toarray(),
                          matrix.toarray())  # fmt: skip


@pytest.mark.parametrize("value", VALUES)
def test_plain_csr_image(value: str) -> None:
    rng = np.random.default_rng(4300)
    for rows, cols, density in ((13, 9, 0.5), (1, 30, 1), (30, 1, 0.5), (4, 4, 0)):
        matrix = some_matrix(rng, rows, cols, density)
        c2sr = from_csr(matrix, layout(3, value=value))
        blocks = csr_image(with_gaps(rng, c2sr), pointers_base=0x104, entries_base=0x2000)
        words = blocks[0].data.tobytes()
        found = [int.from_bytes(words[n : n + 4], "little") for n in range(0, len(words), 4)]
        assert found == matrix.indptr.tolist()
        size = c2sr.layout.entry_bytes
        raw = blocks[1].data.tobytes()
        assert len(raw) == size * matrix.nnz
        pieces = zip(matrix.indices, patterns_of(matrix.data, value), strict=True)
        for n, (column, pattern) in enumerate(pieces):
            word = int.from_bytes(raw[n * size : (n + 1) * size], "little")
            assert word == int(column) << BITS[value] | pattern
        again = from_csr_image(
            Memory(blocks).read,
            c2sr.layout,
            c2sr.shape,
            pointers_base=0x104,
            entries_base=0x2000,
            room=matrix.nnz,
        )
        assert again.same_as(c2sr)


def test_only_stripes_with_entries_are_read() -> None:
    """Reads two rows far apart in a region of millions with two reads."""
    rows = CsrPatterns(np.array([0, 1, 3]), np.array([5, 0, 9]), np.array([1, 2, 3], np.uint64))
    c2sr = from_patterns(rows, (2, 10), layout(1), pointers=np.array([10**9, 7]))
    pair = b"".join(int(n).to_bytes(4, "little") for n in (1, 10**9, 2, 7))
    words = {10**9: (1, 5), 7: (2, 0), 8: (3, 9)}
    seen = []

    def read(address: int, count: int) -> bytes:
        if address < 1 << 20:
            return pair.ljust(count, b"\0")
        seen.append((address, count))
        places = range((address - (1 << 20)) // 8, (address - (1 << 20) + count) // 8)
        found = [words.get(place, (0, 0)) for place in places]
        return b"".join(x.to_bytes(4, "little") for pair in found for x in pair)

    again = from_image(read, layout(1), (2, 10), pairs_base=0, entries_base=1 << 20)
    assert again.same_as(c2sr)
    assert seen == [((1 << 20), 128), ((1 << 20) + 8 * 10**9, 64)]


def test_region_sizes() -> None:
    where = layout(3, 64, "fp64")
    assert pairs_bytes(where, 0) == 0
    assert pairs_bytes(where, 1) == pairs_bytes(where, 24) == 192
    assert pairs_bytes(where, 25) == 384
    assert entries_bytes(where, 4) == 192
    assert entries_bytes(where, 5) == 384


@pytest.mark.slow
@pytest.mark.parametrize("value", ["fp32", "bf16"])
def test_ten_million_entries(value: str) -> None:
    """Converts there and back, through memory too; rows follow a power law, and a tenth is
    empty."""
    rng = np.random.default_rng(4400)
    rows = cols = 1_000_000
    lengths = np.minimum(rng.zipf(1.7, rows), 5000) * (rng.random(rows) > 0.1)
    lengths = (lengths * (1.1e7 / lengths.sum())).astype(np.int64)
    r = np.repeat(np.arange(rows), lengths)
    c = rng.integers(0, cols, len(r))
    data = rng.standard_normal(len(r)).astype(np.float32)
    matrix = sp.csr_array((data.astype(np.float64), (r, c)), shape=(rows, cols))
    assert matrix.nnz > 9_900_000
    c2sr = from_csr(matrix, layout(8, value=value))
    back = to_csr(c2sr)
    assert np.array_equal(back.indptr, matrix.indptr)
    assert np.array_equal(back.indices, matrix.indices)
    assert np.array_equal(back.data, rounded(matrix.data, value).astype(np.float32))
    base = pairs_bytes(c2sr.layout, rows)
    blocks = image(c2sr, pairs_base=0, entries_base=base)
    read = Memory(blocks).read
    again = from_image(read, c2sr.layout, c2sr.shape, pairs_base=0, entries_base=base)
    assert again.same_as(c2sr)


def test_examples_of_the_page_run() -> None:
    found = examples(PAGE, "python")
    assert found
    names: dict[str, object] = {}
    for example in found:
        exec(compile(example, str(PAGE), "exec"), names)


# C2SR: what cannot be a matrix, or an image of one, and when two are the same.

BAD = {
    "not sparse": (lambda: from_csr(np.eye(2), layout()), TypeError,
        "`matrix` must be a sparse matrix of SciPy, not ndarray"),
    "complex": (lambda: from_csr(sp.csr_array(np.eye(2) * 1j), layout()), TypeError,
        "`matrix` must be of real numbers, not complex128"),
    "rows": (lambda: from_csr(sp.csr_array((65537, 1)), layout(index_bits=16)), ValueError,
        "`rows` must be at most 65536 with 16 bits, not 65537"),
    "columns": (lambda: from_csr(sp.csr_array((1, 65537)), layout(index_bits=16)), ValueError,
        "`cols` must be at most 65536 with 16 bits, not 65537"),
    "not finite": (lambda: from_csr(sp.csr_array([[1.0, np.inf]]), layout(value="int32")),
        ValueError, "int32 does not hold inf"),
    "too large": (lambda: from_csr(sp.csr_array([[2.0**63]]), layout(value="int32")), ValueError,
        "int32 does not hold 9.223372036854776e+18"),
    "pointers": (lambda: C2srs(pointers=np.array([0, 1 << 32])), ValueError,
        "row 1 must end within the channel's first 4294967296 entries, not at 4294967298"),
    "negative": (lambda: C2srs(pointers=np.array([-1, 0])), ValueError,
        "`pointers` must not be negative, not -1"),
    "overlap": (lambda: C2srs(pointers=np.array([1, 0])), ValueError,
        "rows 1 and 0 must not overlap in channel 0"),
    "type": (lambda: C2srs(lengths=np.array([1.0, 2.0])), ValueError,
        "`lengths` must be 2 of int64, not (2,) float64"),
    "channels": (lambda: C2srs(columns=()), ValueError, "`columns` must be of 1 channels, not 0"),
    "entries": (lambda: C2srs(columns=(np.array([1, 2]),)), ValueError,
        "`columns` of channel 0 must be 3, not (2,)"),
    "order": (lambda: C2srs(columns=(np.array([1, 2, 2]),)), ValueError,
        "row 1 must have ascending columns, not 2 after 2"),
    "range": (lambda: C2srs(columns=(np.array([1, 2, 9]),)), ValueError,
        "row 1 must have columns in 0..3, not 9"),
    "bits": (lambda: C2srs(values=(np.array([1, 2, 1 << 32], np.uint64),)), ValueError,
        "`values` must be patterns of 32 bits, not 0x100000000"),
    "pairs base": (lambda: image(C2srs(), pairs_base=8, entries_base=0), ValueError,
        "`pairs_base` must be a multiple of 64, not 0x8"),
    "entries base": (lambda: image(C2srs(), pairs_base=0, entries_base=-64), ValueError,
        "`entries_base` must be a multiple of 64, not -0x40"),
    "image base": (lambda: from_image(bytes_of([]), layout(1), (2, 4), pairs_base=0,
        entries_base=32), ValueError, "`entries_base` must be a multiple of 64, not 0x20"),
    "room": (lambda: from_image(bytes_of([1, 0, 2, 9]), layout(1), (2, 4), pairs_base=0,
        entries_base=64, channel_entries=10), ValueError,
        "row 1 must end within 10 entries, not at 11"),
    "length": (lambda: from_image(bytes_of([5]), layout(1), (2, 4), pairs_base=0,
        entries_base=64), ValueError, "row 0 must have at most 4 entries, not 5"),
    "image order": (lambda: from_image(bytes_of([2, 0]), layout(1), (1, 4), pairs_base=0,
        entries_base=64), ValueError, "row 0 must have ascending columns, not 0 after 0"),
    "short": (lambda: from_image(lambda address, count: b"", layout(1), (2, 4), pairs_base=0,
        entries_base=64), ValueError, "memory gave 0 bytes at 0x0, not 64"),
    "csr first": (lambda: from_csr_image(bytes_of([1, 1, 1]), layout(1), (2, 4), pointers_base=0,
        entries_base=64), ValueError, "row pointers must ascend from 0: row 0 begins at 1"),
    "csr order": (lambda: from_csr_image(bytes_of([0, 2, 1]), layout(1), (2, 4), pointers_base=0,
        entries_base=64), ValueError, "row pointers must ascend from 0: row 1 begins at 2"),
    "csr room": (lambda: from_csr_image(bytes_of([0, 1, 3]), layout(1), (2, 4), pointers_base=0,
        entries_base=64, room=2), ValueError, "row 1 must end within 2 entries, not at 3"),
    "scipy range": (lambda: from_csr(moved([4, 0]), layout()), ValueError,
        "`matrix` must have columns in 0..3, not 4"),
    "scipy negative": (lambda: from_csr(moved([1, -1]), layout()), ValueError,
        "`matrix` must have columns in 0..3, not -1"),
    "scipy pointers": (lambda: from_csr(moved([1, 2], [0, 2, 1]), layout()), ValueError,
        "`matrix` must have row pointers that ascend from 0 to its entries"),
}  # fmt: skip


def C2srs(**changes: Any) -> C2sr:
    """Returns a matrix of two rows and four columns with some part changed."""
    parts: dict[str, Any] = {
        "layout": layout(1),
        "shape": (2, 4),
        "lengths": np.array([1, 2]),
        "pointers": np.array([0, 1]),
        "columns": (np.array([1, 0, 3]),),
        "values": (np.array([1, 2, 3], np.uint64),),
    }
    return C2sr(**{**parts, **changes})


def bytes_of(words: list[int]) -> Any:
    """A memory of these words of 32 bits, then zeros, of 16 KiB."""
    memory = b"".join(word.to_bytes(4, "little") for word in words).ljust(1 << 14, b"\0")
    return lambda address, count: memory[address : address + count]


def moved(indices: list[int], starts: list[int] | None = None) -> Any:
    """Returns a corrupted SciPy matrix."""
    matrix = sp.csr_array((np.ones(2), [1, 2], [0, 1, 2]), shape=(2, 4))
    matrix.indices[:] = indices
    matrix.indptr[:] = starts or [0, 1, 2]
    return matrix


@pytest.mark.parametrize("case", BAD)
def test_refusals(case: str) -> None:
    call, error, message = BAD[case]
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == message


def test_equality_sees_every_part() -> None:
    same = C2srs()
    assert same.same_as(C2srs())
    for changes in (
        {"layout": layout(1, 128)},
        {"shape": (2, 5)},
        {"lengths": np.array([2, 1]), "pointers": np.array([0, 2])},
        {"pointers": np.array([0, 3])},
        {"columns": (np.array([1, 0, 2]),)},
        {"values": (np.array([1, 2, 4], np.uint64),)},
    ):
        changed = {"columns": (np.array([0, 1, 3]),)} if "lengths" in changes else {}
        assert not same.same_as(C2srs(**changed, **changes))
