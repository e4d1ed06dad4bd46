"""Runs jobs of outer products on any device with MatRaptor's RTL: what they must leave."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from tilewright.sim.device.job_registers import JobStatus
from tilewright.sim.matraptor.cycles.traffic import bytes_read
from tilewright.sim.matraptor.result.rows import SparseProduct
from tilewright.verif.kit.job_checks import Mismatch
from tilewright.verif.matraptor.jobs import (
    SparseRtl,
    check_result,
    load_case,
    reference_product,
    run_case,
)
from tilewright.verif.matraptor.outer.outer_cases import OuterCase, in_walk_order


def check_outer(
    rng: np.random.Generator,
    device: SparseRtl,
    case: OuterCase,
    *,
    spoiled: Mapping[int, bytes] | None = None,
) -> JobStatus:
    """Run a job that must end well: all of memory must be as the model says, values as they are
    defined, summed in the order of the walk, and the counters as counted here. Raises Mismatch.

    ``spoiled``: bytes to put into the memory beforehand, by address.
    """
    memory, before = load_case(rng, device, case), device.moved
    for address, content in (spoiled or {}).items():
        device.write_memory(address, content)
        memory[address : address + len(content)] = np.frombuffer(content, np.uint8)
    status = run_case(device, case)
    if status.error != "none":
        raise Mismatch(f"{status.error}, detail {status.detail:#x}")
    product = check_result(device, case.seen, memory)
    assert product.c is not None
    config = case.config
    wanted = reference_product(*in_walk_order(config, case.left, case.b), config.semiring)
    if not all(map(np.array_equal, product.c.patterns(), wanted)):
        raise Mismatch("C is not what the definition says")
    _check_counts(device, case, product, status.counts, before)
    return status


def _check_counts(
    device: SparseRtl,
    case: OuterCase,
    product: SparseProduct,
    counts: dict[str, int],
    before: list[tuple[int, int]],
) -> None:
    config, statistics = case.config, product.statistics
    pairs = 8 * case.left.shape[0]
    entries = statistics.results * config.layout.entry_bytes
    wanted = {
        "operations": statistics.products,
        "results": statistics.results,
        "merge_steps": 0,
        "lane_busy_max": int(statistics.lane_products.max()),
        "lane_busy_min": int(statistics.lane_products.min()),
        "bytes_c_pairs": pairs,
        "bytes_c_entries": entries,
        "bytes_written": pairs + entries,
        **bytes_read(config, case.a, case.b, case.left.shape[0]),
    }
    wrong = {name: (counts[name], value) for name, value in wanted.items() if counts[name] != value}
    if wrong:
        raise Mismatch(f"counters (found, expected): {wrong}")
    read, written = np.subtract(device.moved, before).sum(axis=0).tolist()
    if (read, written) != (counts["bytes_read"], counts["bytes_written"]):
        raise Mismatch(f"over the bus went {read} and {written} bytes, counters: {counts}")
    busy, span = counts["busy_cycles"], counts["busy_cycles"] + counts["stalls"]
    fits = (
        busy <= counts["operations"] <= busy * config.lanes,
        busy >= counts["lane_busy_max"],
        span < counts["cycles"],
        counts["conflicts"] <= (config.lanes - 1) * counts["cycles"],
    )
    if not all(fits):
        raise Mismatch(f"counters do not fit each other: {counts}")


def rows_about(case: OuterCase, rows_of_b: np.ndarray) -> list[int]:
    """Rows of A as it is stored that have entries and name one of these rows of B."""
    filled = np.flatnonzero(case.a.lengths)
    return filled[np.isin(filled // case.config.lanes, rows_of_b)].tolist()


def spoil_unused(rng: np.random.Generator, case: OuterCase) -> dict[int, bytes]:
    """Random bytes for the entries of B's rows that no lane reads."""
    found: dict[int, bytes] = {}
    for row in np.setdiff1d(np.flatnonzero(case.b.lengths), case.rows_of_b).tolist():
        for address in case.row_addresses("b", case.b, row).tolist():
            found[address] = rng.bytes(1)
    return found
