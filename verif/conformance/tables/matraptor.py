"""MatRaptor's limits, written by hand: what its parameters and the registers of its jobs may
hold."""

from tilewright.verif.conformance.limits import (
    MEMORY,
    SEMIRINGS,
    Edge,
    Limits,
    bases,
    flag,
    one_of,
    settings_of,
)

_SETTINGS = settings_of("""
    lanes       | 1 2 16      | 0 17        | an integer in 1..16
    channels    | 1 2 16      | 0 17        | an integer in 1..16
    queues      | 3 4 16      | 2 17        | an integer in 3..16
    queue_depth | 4 5 65536   | 3 65537     | an integer in 4..65536
    index_bits  | 16 32       | 0 8 24 48   | a multiple of 16 in 16..32
    adder_stages      | 1 2 3 4 | 0 5       | an integer in 1..4
    multiplier_stages | 1 2 3 4 | 0 5       | an integer in 1..4
    queue_sets  | 2 3 4       | 1 5         | an integer in 2..4
    row_queue   | 0 2 32      | -2 1 3 34   | a multiple of 2 in 0..32
    beat_queue  | 0 2 32      | -2 1 3 34   | a multiple of 2 in 0..32
    a_outstanding | 0 2 256 | -1 257 | an integer in 0..256
    cache_bytes | 0 4096 4194304 | -1 4194305 | an integer in 0..4194304
""")

_BASES = {
    "A_PAIRS": 0x120, "A_ENTRIES": 0x128, "B_PAIRS": 0x130, "B_ENTRIES": 0x138, "C_PAIRS": 0x140,
    "C_ENTRIES": 0x148,
}  # fmt: skip
_ROWS = {"ROWS": 0x100, "B_ROWS": 0x104}

LIMITS = Limits(
    settings=(
        *_SETTINGS,
        one_of("value", "fp16", "bf16", "fp32", "fp64", "int32"),
        one_of("semiring", *SEMIRINGS),
        flag("outer_product"),
        flag("csr"),
        *MEMORY,
    ),
    job={"ROWS": 1, "B_ROWS": 1, "CAPACITY": 8},
    edges=(
        Edge(registers=_ROWS, accepted=(1, (1 << 32) - 1), refused={0: 1}),
        Edge(registers={"CAPACITY": 0x108}, accepted=(8, 0xFFFF_FFF8), refused={0: 1, 4: 4, 9: 4}),
        bases(_BASES, step=64, misaligned=3, too_far=5),
    ),
    reads=("A_PAIRS", "A_ENTRIES", "B_PAIRS", "B_ENTRIES"),
)
