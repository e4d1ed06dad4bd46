"""Cycle model: the reasons to which a lane's cycles go."""

from __future__ import annotations

# The breakdown of a lane's cycles: the names of the reasons, and the rule that assigns each cycle
# to one.
#
# In a cycle in which a lane takes no product the first of these that holds is what it goes to:
#
# * ``drain``: the lane has taken all its products, and merges, sums or writes the last of them;
# * ``start``: it has not taken the first one; by outer products also while its sums are cleared;
# * behind the multiplier two products wait. Then it is what phase I did in the latest cycle in
#   which it took none: ``merge``, it moved an entry of a queue; ``adder``, the head of a queue was
#   still in the adder; ``sets``, all sets of queues were taken, phase II being at work;
#   ``writes``, the same, but phase II had a result that the writer could not take. By outer
#   products it is ``adder``, the sum that a product belongs to was still in the adder;
# * ``row_end``: the multiplier passed on the end of a row without products;
# * ``conflict``: the lane's next read waited because its channel took another lane's;
# * ``b_rows``, ``b_pairs``, ``a``: it waited for entries of a row of B that was asked for; else
#   for the pair of one; else for entries or pairs of A.
#
# ``product``: it took one; ``idle``: it had finished, other lanes had not.

REASONS = {
    "product": "products",
    "start": "before the first product",
    "a": "waiting for A",
    "b_pairs": "pairs of B",
    "b_rows": "rows of B",
    "conflict": "conflicts",
    "merge": "merging",
    "adder": "adder",
    "sets": "all sets of queues taken",
    "writes": "writes",
    "row_end": "ends of rows",
    "drain": "after the last product",
    "idle": "finished early",
}
"""The reasons for a cycle, and the words for each."""
(
    PRODUCT,
    START,
    A_WAIT,
    B_PAIRS,
    B_ROWS,
    CONFLICT,
    MERGE,
    ADDER,
    SETS,
    WRITES,
    ROW_END,
    DRAIN,
    IDLE,
) = range(len(REASONS))
