"""Jobs for MatRaptor's outer products: random operands and their placement in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.sim.device.driver import JobStatus
from tilewright.sim.matraptor.cycles.traffic import bytes_read
from tilewright.sim.matraptor.result.outer import by_columns, outer_product
from tilewright.sim.matraptor.result.rows import SparseProduct, least_capacity
from tilewright.sim.sparse.c2sr import C2sr, from_csr, to_csr
from tilewright.verif.channels.lane_rows import walk
from tilewright.verif.kit.job_checks import Mismatch
from tilewright.verif.kit.sampling import draw_until
from tilewright.verif.matraptor.cases import (
    SparseCase,
    place_arrays,
    random_columns,
    random_matrix,
)
from tilewright.verif.matraptor.jobs import (
    SparseRtl,
    check_result,
    fits,
    load_case,
    reference_product,
    run_case,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class InRows(SparseCase):
    """A job of the first mode on an accelerator with both. ``columns``: what is left in COLUMNS,
    which does not count."""

    columns: int

    @property
    def registers(self) -> dict[str, int]:
        return super().registers | {"MODE": 0, "COLUMNS": self.columns}


@dataclass(frozen=True, kw_only=True, eq=False)
class OfOuterProducts(SparseCase):
    """A job as it looks from its result: ``a`` is A itself, ``stored`` what is in memory."""

    stored: C2sr

    def product(self) -> SparseProduct:
        rows = self.a.shape[0]
        return outer_product(self.config, self.stored, self.b, rows, capacity=self.capacity)


@dataclass(frozen=True, kw_only=True, eq=False)
class OuterCase(SparseCase):
    """A job of the second mode: ``a`` is A as it is stored, by columns; ``left``: A itself;
    ``column_range``: what is left in the registers, which does not count."""

    left: C2sr

    @property
    def seen(self) -> OfOuterProducts:
        """The same from its result."""
        return OfOuterProducts(
            config=self.config, a=self.left, b=self.b, capacity=self.capacity, base=self.base,
            stored=self.a,
        )  # fmt: skip

    @property
    def registers(self) -> dict[str, int]:
        left_behind = replace(self.seen, column_range=self.column_range)
        return left_behind.registers | {"MODE": 1, "COLUMNS": self.b.shape[1]}

    @property
    def rows_of_b(self) -> npt.NDArray[np.int64]:
        found: npt.NDArray[np.int64] = np.flatnonzero(self.a.lengths) // self.config.lanes
        return found

    def product(self) -> SparseProduct:
        return self.seen.product()

    def result_bytes(self, memory_bytes: int, c: C2sr | None) -> npt.NDArray[np.bool_]:
        return self.seen.result_bytes(memory_bytes, c)


def outer_case(
    rng: np.random.Generator,
    config: MatRaptorConfig,
    memory_bytes: int,
    a: C2sr,
    b: C2sr,
    *,
    capacity: int | None = None,
    gap: int = 4,
) -> OuterCase:
    """Returns a case whose arrays are apart in memory, in any order; the capacity is by default the
    required one, or some blocks more. Raises ValueError if the memory is too small."""
    stored = by_columns(config, a)
    if capacity is None:
        lengths = np.diff(reference_product(a, b, config.semiring).starts)
        capacity = least_capacity(config, lengths)
        capacity += int(rng.integers(0, 3)) * config.layout.block_entries
    room = a.shape[0], capacity * config.channel_lanes
    base = place_arrays(rng, memory_bytes, stored, b, room, gap=gap)
    return OuterCase(config=config, a=stored, b=b, capacity=capacity, base=base, left=a)


def random_outer(
    rng: np.random.Generator,
    config: MatRaptorConfig,
    memory_bytes: int,
    *,
    most: int = 24,
    density: float | None = None,
) -> OuterCase:
    """Draws a job that completes without error, of any shape up to ``most`` rows and columns."""

    def shape() -> tuple[int, int, int] | None:
        rows, inner, columns = (
            int(rng.choice([1, int(rng.integers(1, most + 1)), most])) for _ in range(3)
        )
        return (rows, inner, columns) if fits(config, rows, columns) else None

    rows, inner, columns = draw_until(shape)
    share = rng.choice([0.0, 0.05, 0.15, 0.4, 1.0], 2) if density is None else [density] * 2
    any_bits = bool(rng.integers(2))
    a = random_matrix(rng, config, (rows, inner), share[0], any_bits=any_bits)
    b = random_matrix(rng, config, (inner, columns), share[1], any_bits=any_bits)
    case = outer_case(rng, config, memory_bytes, a, b)
    return replace(case, column_range=random_columns(rng, config, columns))


def in_rows(rng: np.random.Generator, case: SparseCase) -> InRows:
    """A job of the first mode, for an accelerator with both."""
    columns = int(rng.choice([0, 1, (1 << 32) - 1]))
    return InRows(
        config=case.config, a=case.a, b=case.b, capacity=case.capacity, base=case.base,
        column_range=case.column_range, columns=columns,
    )  # fmt: skip


def in_walk_order(config: MatRaptorConfig, a: C2sr, b: C2sr) -> tuple[C2sr, C2sr]:
    """Reorders columns of A and rows of B as a lane processes them."""
    inner, lanes = b.shape[0], config.lanes
    order = [place.i // lanes for place in walk(config.layout, config.lane_map, 0, inner * lanes)]
    left, right = to_csr(a), to_csr(b)
    return from_csr(left[:, order], config.layout), from_csr(right[order], config.layout)


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


PARALLEL = [(1, 1), (2, 2), (4, 2), (2, 4), (3, 3), (6, 2), (1, 8), (2, 6), (16, 1), (8, 8)]
MEMORY_BYTES = 1 << 18


def config(**given: Any) -> MatRaptorConfig:
    return MatRaptorConfig(**{"outer_product": True, "lanes": 2, "channels": 2, **given})


def operands(
    rng: np.random.Generator, cfg: MatRaptorConfig, shape: tuple[int, int, int], density: float,
    **how: Any,
) -> tuple[C2sr, C2sr]:  # fmt: skip
    rows, inner, columns = shape
    return (
        random_matrix(rng, cfg, (rows, inner), density, **how),
        random_matrix(rng, cfg, (inner, columns), density, **how),
    )


def product(cfg: MatRaptorConfig, a: C2sr, b: C2sr) -> C2sr:
    found = outer_product(cfg, by_columns(cfg, a), b, a.shape[0])
    assert found.c is not None
    return found.c


def slow_bytes(case: OuterCase) -> dict[str, int]:
    """Lane by lane, row by row."""
    cfg, t, b = case.config, case.a, case.b
    size, beat = cfg.layout.entry_bytes, cfg.beat_bytes
    found = dict.fromkeys(
        ("bytes_a_pairs", "bytes_a_entries", "bytes_b_pairs", "bytes_b_entries"), 0
    )
    # A lane without rows of C has nothing to do.
    for lane in range(min(cfg.lanes, case.left.shape[0])):
        pairs, held = set(), (-1, -1)
        for place in walk(cfg.layout, cfg.lane_map, lane, t.shape[0]):
            pairs.add((place.slot, place.index // cfg.layout.block_pairs))
            length, pointer = int(t.lengths[place.i]), int(t.pointers[place.i])
            if not length:
                continue
            for entry in range(pointer, pointer + length):
                block = place.slot, entry // cfg.layout.block_entries
                found["bytes_a_entries"] += (block != held) * cfg.interleave
                held = block
            k = place.i // cfg.lanes
            begin, end = int(b.pointers[k]) * size, int(b.pointers[k] + b.lengths[k]) * size
            found["bytes_b_pairs"] += beat
            found["bytes_b_entries"] += len({byte // beat for byte in range(begin, end)}) * beat
        found["bytes_a_pairs"] += len(pairs) * cfg.interleave
    return found | {"bytes_read": sum(found.values())}
