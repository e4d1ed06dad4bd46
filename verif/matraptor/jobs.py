"""Runs jobs on any device with MatRaptor's RTL: what they must leave, and how those that fail must
end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from tilewright.hw.spec.c2sr import PAIR_BYTES
from tilewright.hw.spec.formats import IntFormat
from tilewright.hw.spec.jobs.matraptor import job_spec
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.sim.device.driver import JobRegisters, JobStatus
from tilewright.sim.matraptor.result.outer import _check_stored, _ordered, sum_lines
from tilewright.sim.matraptor.result.rows import (
    Ints,
    SparseProduct,
    _check_operands,
    place_rows,
    products_per_row,
    terms_of,
)
from tilewright.sim.numbers import semirings
from tilewright.sim.sparse.c2sr import C2sr, CsrPatterns, from_patterns, starts_of, to_csr
from tilewright.sim.sparse.image import from_image, image
from tilewright.verif.channels.lane_rows import walk
from tilewright.verif.kit.job_checks import JobRtl, Mismatch, QuietAtEnd
from tilewright.verif.matraptor.cases import SparseCase, csr_first


def result_pointers(config: MatRaptorConfig, lengths: Ints, capacity: int) -> Ints:
    """Returns the position in its channel at which the hardware writes each row of C.

    Lanes that share a channel have a region of ``capacity`` entries each, one after the other.

    Raises
    ------
    ValueError if a row does not fit its region, or ``capacity`` is not a multiple of a block's
    entries.
    """
    pointers, region = place_rows(config, lengths, capacity)
    if len(region):
        raise ValueError(f"row {region[0]} must fit its lane's region of {capacity} entries")
    return pointers


def reference_product(a: C2sr, b: C2sr, semiring: str) -> CsrPatterns:
    """The product as it is defined: of every entry the terms ``a_ik (x) b_kj`` in the order of k,
    added one after the other, each sum rounded once. Structure is the hardware's; so are values,
    unless (+) rounds.

    Raises ValueError if the matrices do not fit each other.
    """
    _check_operands(a, b)
    row, fmt = SEMIRINGS[semiring], a.layout.format
    left, right = a.patterns(), b.patterns()
    per_row = products_per_row(left, right)
    which_a, which_b = terms_of(left, right, 0, a.shape[0])
    found = semirings.product(row, left.values[which_a], right.values[which_b], fmt, fmt)
    places = np.repeat(np.arange(a.shape[0]), per_row) * b.shape[1] + right.columns[which_b]
    # Stable, and products of a row come in the order of k.
    order = np.argsort(places, kind="stable")
    places, found = places[order], found[order]
    first = np.flatnonzero(np.diff(places, prepend=-1))
    terms = np.diff(first, append=len(places))
    total = found[first]
    for n in range(1, int(terms.max(initial=1))):
        more = terms > n
        total[more] = semirings.combine(row, total[more], found[first[more] + n], fmt)
    rows, columns = np.divmod(places[first], max(1, b.shape[1]))
    lengths = np.bincount(rows, minlength=a.shape[0]).astype(np.int64)
    return CsrPatterns(starts_of(lengths), columns, total)


def by_rows(config: MatRaptorConfig, t: C2sr, rows: int) -> C2sr:
    """A, which has ``rows`` rows, of T.

    Raises ValueError if T is not of such a matrix.
    """
    _check_stored(config, t, rows)
    ordered = _ordered(config, t, rows, np.arange(t.shape[0] // config.lanes))
    return from_patterns(ordered, (rows, t.shape[0] // config.lanes), config.layout)


def fits(config: MatRaptorConfig, rows: int, columns: int) -> bool:
    """Returns whether the chip's queues can sum a result of this shape."""
    lines = sum_lines(config, rows, columns)
    return columns <= config.queue_depth and int(lines.max()) <= config.queue_depth


Bytes = npt.NDArray[np.uint8]
SparseRtl = JobRtl[MatRaptorConfig]
"""Device that runs the jobs."""


def load_case(rng: np.random.Generator, device: SparseRtl, case: SparseCase) -> Bytes:
    """Put the operands into a memory full of random bytes; returns its content."""
    memory = rng.integers(0, 256, device.memory_bytes, dtype=np.uint8)
    for name in "ab":
        for block in case.blocks(name):
            memory[block.address : block.address + len(block.data)] = block.data
    device.write_memory(0, memory.tobytes())
    return memory


def run_case(
    device: SparseRtl, case: SparseCase, overrides: Mapping[str, int] | None = None
) -> JobStatus:
    """Write the job registers, some with other values, run, and take the counters. Raises Mismatch
    if the bus is not quiet at the end."""
    registers = JobRegisters(QuietAtEnd(device), job_spec(case.config))
    return registers.submit(case.registers | dict(overrides or {}))


def _content(device: SparseRtl) -> Bytes:
    return np.frombuffer(device.read_memory(0, device.memory_bytes), np.uint8)


def check_product(case: SparseCase, c: C2sr) -> None:
    """The structure is SciPy's, and so are values but for rounding; of other semirings than mma,
    what the definition says. Raises Mismatch."""
    config, kept = case.config, case.kept
    got = c.patterns()
    wanted = reference_product(case.a, kept, config.semiring)
    same = (got.starts, wanted.starts), (got.columns, wanted.columns)
    if not all(np.array_equal(x, y) for x, y in same):
        raise Mismatch("the structure of C is wrong")
    if config.operators.plus != "add" and not np.array_equal(got.values, wanted.values):
        raise Mismatch("values of C are not what the definition says")
    a, b, found = to_csr(case.a), to_csr(kept), to_csr(c)
    finite = all(np.isfinite(x.data).all() for x in (a, b))
    if config.semiring != "mma" or not finite:
        return
    wide = np.int64 if isinstance(config.format, IntFormat) else np.float64
    pattern = [sp.csr_array((np.ones(x.nnz, np.int64), x.indices, x.indptr), x.shape)
               for x in (a, b)]  # fmt: skip
    structure = (pattern[0] @ pattern[1]).sorted_indices()
    same = (structure.indptr, found.indptr), (structure.indices, found.indices)
    if not all(np.array_equal(x, y) for x, y in same):
        raise Mismatch("the structure of C is not SciPy's")
    exact = (a.astype(wide) @ b.astype(wide)).toarray()
    if wide is np.int64:
        if not np.array_equal(exact.astype(np.int32), found.toarray()):
            raise Mismatch("C is not SciPy's")
        return
    size = (abs(a).astype(np.float64) @ abs(b).astype(np.float64)).toarray()
    if not size.max(initial=0) < 1e4:
        return
    # The last place of one, and the least number.
    place, least = {"fp16": (10, 24), "bf16": (7, 133), "fp32": (23, 149), "fp64": (52, 1074)}[
        config.value
    ]
    most = a.shape[1] * (size * 2.0**-place + 2.0**-least)
    if not (abs(found.toarray() - exact) <= most).all():
        raise Mismatch("C is not SciPy's up to rounding")


def check_case(rng: np.random.Generator, device: SparseRtl, case: SparseCase) -> JobStatus:
    """Run a job that must end well: all of memory must be as the model says, C as SciPy says, and
    the counters as counted here. Raises Mismatch."""
    memory, before = load_case(rng, device, case), device.moved
    status = run_case(device, case)
    if status.error != "none":
        raise Mismatch(f"{status.error}, detail {status.detail:#x}")
    product = check_result(device, case, memory)
    read, written = np.subtract(device.moved, before).sum(axis=0).tolist()
    seen = {"bytes_read": read, "bytes_written": written}
    _check_counts(case, product, status.counts, seen)
    return status


def check_result(device: SparseRtl, case: SparseCase, memory: Bytes) -> SparseProduct:
    """Checks every byte after a job on a memory that held ``memory`` against the model, and C
    against SciPy; returns the model's product. Raises Mismatch."""
    product = case.product()
    assert product.c is not None
    inside = case.result_bytes(device.memory_bytes, product.c)
    expected, left = memory.copy(), np.zeros(device.memory_bytes, np.uint8)
    bases = {"pairs_base": case.base["c_pairs"], "entries_base": case.base["c_entries"]}
    for block in image(product.c, **bases):
        left[block.address : block.address + len(block.data)] = block.data
    expected[inside] = left[inside]
    wrong = np.flatnonzero(_content(device) != expected)
    if len(wrong):
        outside = int((~inside[wrong]).sum())
        raise Mismatch(
            f"{len(wrong)} bytes are wrong, {outside} of them not C's, first {wrong[0]:#x}"
        )
    shape = (case.a.shape[0], case.b.shape[1])
    check_product(case, from_image(device.read_memory, case.config.layout, shape, **bases))
    return product


def _beats(config: MatRaptorConfig, matrix: C2sr, size: int | None = None) -> npt.NDArray[np.int64]:
    """Beats of the entries of every row, in words of ``size`` bytes."""
    size = size or config.layout.entry_bytes
    first = matrix.pointers * size // config.beat_bytes
    last = ((matrix.pointers + matrix.lengths) * size - 1) // config.beat_bytes
    beats: npt.NDArray[np.int64] = np.where(matrix.lengths > 0, last - first + 1, 0)
    return beats


def _blocks_of_a(case: SparseCase) -> tuple[int, int]:
    """Counts the blocks of A's pairs and of its entries that the lanes read; a block counts once
    for successive rows in it. In CSR each is read once."""
    config, a = case.config, case.a
    layout = config.layout
    if "a" in case.csr.lower():
        first, blocks = csr_first(a), 0
        for word in words_of(case, "a"):
            size = config.interleave // word
            blocks += (first + a.nnz - 1) // size - first // size + 1 if a.nnz else 0
        return a.shape[0] * 4 // config.interleave + 1, blocks
    pairs = entries = 0
    for lane in range(config.lanes):
        held, end = (-1, -1), 0
        seen = set()
        for place in walk(config.layout, config.lane_map, lane, a.shape[0]):
            seen.add((place.slot, place.index // layout.block_pairs))
            length, pointer = int(a.lengths[place.i]), int(a.pointers[place.i])
            if length:
                first = pointer // layout.block_entries
                last = (pointer + length - 1) // layout.block_entries
                entries += last - first + ((place.slot, first) != held or pointer < end)
                held, end = (place.slot, last), pointer + length
        pairs += len(seen)
    return pairs, entries


def _beats_of_b(case: SparseCase) -> tuple[int, int]:
    """Counts the beats of B's pairs, or of its pointers in CSR, and of its entries."""
    config, rows = case.config, case.rows_of_b
    if "b" not in case.csr.lower():
        return len(rows), int(_beats(config, case.b)[rows].sum())
    in_two = (rows + 1) * 4 % config.beat_bytes == 0
    flat = replace(case.b, pointers=case.b.patterns().starts[:-1] + csr_first(case.b))
    beats = sum(int(_beats(config, flat, word)[rows].sum()) for word in words_of(case, "b"))
    return len(rows) + int(in_two.sum()), beats


def words_of(case: SparseCase, name: str) -> tuple[int, ...]:
    """Bytes of the words of an operand's entries in CSR, in one array or in two."""
    layout = case.config.layout
    return (4, layout.format.bits // 8) if name.upper() in case.csr else (layout.entry_bytes,)


def _check_counts(
    case: SparseCase, product: SparseProduct, counts: dict[str, int], seen: dict[str, int]
) -> None:
    """The counters, against what the operands need, and what was ``seen`` on the bus."""
    config, statistics = case.config, product.statistics
    pairs, entries = _blocks_of_a(case)
    b_pairs, b_entries = _beats_of_b(case)
    wanted = {
        "operations": statistics.products,
        "results": statistics.results,
        "merge_steps": statistics.merge_steps,
        "lane_busy_max": int(statistics.lane_products.max()),
        "lane_busy_min": int(statistics.lane_products.min()),
        "bytes_a_pairs": pairs * config.interleave,
        "bytes_a_entries": entries * config.interleave,
        "bytes_b_pairs": b_pairs * config.beat_bytes,
        "bytes_b_entries": b_entries * config.beat_bytes,
        "bytes_c_pairs": case.a.shape[0] * PAIR_BYTES,
        "bytes_c_entries": statistics.results * config.layout.entry_bytes,
    }
    parts = {
        name: sum(wanted[part] for part in wanted if part[:7] in prefixes)
        for name, prefixes in (
            ("bytes_read", ("bytes_a", "bytes_b")),
            ("bytes_written", ("bytes_c",)),
        )
    }
    wanted |= parts
    if config.cache_bytes:
        # Of B, blocks that are not in the cache.
        left = wanted["bytes_a_pairs"] + wanted["bytes_a_entries"]
        wanted["bytes_read"] = left + counts["cache_misses"] * config.interleave
    wrong = {name: (counts[name], value) for name, value in wanted.items() if counts[name] != value}
    if wrong:
        raise Mismatch(f"counters (found, expected): {wrong}")
    if any(counts[name] != value for name, value in seen.items()):
        raise Mismatch(f"over the bus went {seen}, counters: {counts}")
    busy, span = counts["busy_cycles"], counts["busy_cycles"] + counts["stalls"]
    fits = (
        busy <= counts["operations"] <= busy * config.lanes,
        busy >= counts["lane_busy_max"],
        span < counts["cycles"],
        counts["conflicts"] <= (config.read_ports - 1) * counts["cycles"],
    )
    if not all(fits):
        raise Mismatch(f"counters do not fit each other: {counts}")


def check_failure(
    rng: np.random.Generator,
    device: SparseRtl,
    case: SparseCase,
    errors: Mapping[str, Any],
    *,
    spoiled: Mapping[int, bytes] | None = None,
    overrides: Mapping[str, int] | None = None,
) -> JobStatus:
    """Run a job that must fail with one of the errors, and a detail that is listed for it; bytes
    that cannot be C's must be as they were. Raises Mismatch.

    Parameters
    ----------
    spoiled: bytes to put into the memory beforehand, by address
    overrides: job registers with other values
    """
    memory = load_case(rng, device, case)
    for address, content in (spoiled or {}).items():
        device.write_memory(address, content)
        memory[address : address + len(content)] = np.frombuffer(content, np.uint8)
    status = run_case(device, case, overrides)
    if status.error not in errors or status.detail not in errors[status.error]:
        allowed = {name: [*details][:8] for name, details in errors.items()}
        raise Mismatch(f"{status.error}, detail {status.detail:#x}, expected one of {allowed}")
    _check_outside(device, case, memory)
    return status


def _check_outside(device: SparseRtl, case: SparseCase, memory: Bytes) -> None:
    inside = case.result_bytes(device.memory_bytes, None)
    wrong = np.flatnonzero((_content(device) != memory) & ~inside)
    if len(wrong):
        raise Mismatch(f"{len(wrong)} bytes outside of C changed, first {wrong[0]:#x}")
