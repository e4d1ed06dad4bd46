"""C2SR: what cannot be a matrix, or an image of one, and when two are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from tilewright.sim.sparse.c2sr import C2sr, from_csr
from tilewright.sim.sparse.csr_image import from_csr_image
from tilewright.sim.sparse.image import from_image, image
from tilewright.verif.c2sr.rows import layout

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
