"""Predicts by counts alone when commands are accepted, start their folds and are complete."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tilewright.hw.spec.gta import COLS, ROWS, GtaConfig, limbs

from .float_products import FloatProduct
from .products import Product
from .vector_command import VectorCommand

Command: TypeAlias = Product | FloatProduct | VectorCommand


@dataclass
class GroupCycles:
    """The commands of one group, one after the other.

    Members
    -------
    delay: log2 of the most limbs of the configuration
    last: the command taken last; taken: the cycle
    begun, interval: its last fold, and the cycles until another one may begin; of vectors all of it
    stays: sums stay in the elements
    done: the cycles in which commands were complete, as far as that is known
    """

    delay: int
    last: Command | None = None
    taken: int = 0
    begun: int = 0
    interval: int = 0
    stays: bool = False

    def __post_init__(self) -> None:
        self.done: list[int] = []

    def earliest(self, product: Command, arrival: int) -> int:
        """Returns the cycle in which a command that is available from a cycle on is accepted."""
        if self.last is None:
            return arrival
        if isinstance(self.last, VectorCommand):
            if isinstance(product, VectorCommand) and product.kind == self.last.kind:
                return max(arrival, self.taken + COLS, self.begun)
            return max(arrival, self.begun + self.interval + self.last.quiet)
        if isinstance(product, VectorCommand):
            return self._all_quiet(arrival)
        alike = (product.mode, product.name, product.size)
        free = self.begun + self.interval
        # If floats have products more often, chains of different lengths would meet.
        steady = not isinstance(product, FloatProduct) or product.interval >= ROWS
        if alike != (self.last.mode, self.last.name, self.last.size) or not steady:
            return self._all_quiet(arrival)
        if self.stays and arrival > free:
            return max(arrival, free + self.last.region.height - 2)
        return max(arrival, free - 2)

    def _all_quiet(self, arrival: int) -> int:
        """Returns the cycle from which the array is certainly quiet after its folds, or the arrival
        if later."""
        assert self.last is not None
        height, free = self.last.region.height, self.begun + self.interval
        return max(arrival, free + height * (2 + self.stays) + 20)

    def take(self, product: Command, taken: int) -> None:
        """A command that was taken in a cycle."""
        self._close(taken)
        self.taken = taken
        if isinstance(product, VectorCommand):
            reads = product.use_c and isinstance(self.last, VectorCommand)
            self.begun = max(taken + 2, self.begun + max(self.interval, COLS * reads))
            self.interval = product.cycles
            self.last = product
            self.done.append(self.begun + product.latency)
            return
        region, folds = product.region, product.row_folds * product.col_folds
        first = max(taken + 2, self.begun + self.interval)
        self._leave(first)
        if product.overlap:
            self.interval = max(product.cycles, region.height)
        else:
            rows = region.height * (1 + product.weights)
            self.interval = rows + region.width + product.cycles - 2
        self.begun = first + (folds - 1) * self.interval
        self.last = product
        self.stays = not product.weights and not isinstance(product, FloatProduct)
        if isinstance(product, FloatProduct):
            self.done.append(self.begun + product.latency)
        elif product.weights:
            self.done.append(
                self.begun + 2 * region.height + product.cycles + self._columns(product) + 7
            )

    def finish(self) -> list[int]:
        """Ends the list of commands and returns the cycle in which each was complete."""
        self._close(self.begun + self.interval)
        return self.done

    def _close(self, taken: int) -> None:
        """An empty fold, if no other one takes the sums that stay."""
        free = self.begun + self.interval
        if self.stays and self.last is not None and taken >= free:
            self._leave(free)
            self.begun, self.interval = free, self.last.region.height

    def _leave(self, begun: int) -> None:
        """Sums that stayed leave when a fold begins."""
        if self.stays and self.last is not None:
            self.done.append(begun + 2 * self.last.region.height + self._columns(self.last) + 8)
            self.stays = False

    def _columns(self, product: Command) -> int:
        return product.region.width + self.delay


def check_cycles(
    products: Sequence[Command],
    times: tuple[list[int], list[tuple[int, int]]],
    config: GtaConfig,
    *,
    pauses: bool = False,
) -> None:
    """Commands are taken, and complete, exactly when they should; with ``pauses``, not earlier."""
    taken, ends = times
    delay = max(map(limbs, config.integers), default=1).bit_length() - 1
    groups: dict[int, GroupCycles] = defaultdict(lambda: GroupCycles(delay))
    arrival = taken[0]
    for product, cycle in zip(products, taken, strict=True):
        group = groups[product.region.group]
        earliest = group.earliest(product, arrival)
        assert cycle >= earliest if pauses else cycle == earliest
        group.take(product, cycle)
        arrival = cycle + 1
    found: dict[int, list[int]] = defaultdict(list)
    for number, cycle in ends:
        found[number].append(cycle)
    assert found == {number: group.finish() for number, group in groups.items()}
