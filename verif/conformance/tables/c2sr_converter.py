"""Limits of the C2SR converter, written by hand: what its parameters and the registers of its jobs
may hold."""

from tilewright.verif.conformance.limits import MEMORY, Edge, Limits, bases, one_of, settings_of

_SETTINGS = settings_of("""
    lanes      | 0       | -1 17      | an integer in 0..16
    channels   | 1 3 16 | 0 17       | an integer in 1..16
    index_bits | 16 32  | 0 8 24 48  | a multiple of 16 in 16..32
""")

_BASES = {
    "CSR_POINTERS": 0x120, "CSR_ENTRIES": 0x128, "C2SR_PAIRS": 0x130, "C2SR_ENTRIES": 0x138,
}  # fmt: skip

LIMITS = Limits(
    settings=(*_SETTINGS, one_of("value", "fp16", "bf16", "fp32", "fp64", "int32"), *MEMORY),
    job={"ROWS": 1, "CAPACITY": 1},
    edges=(
        Edge(registers={"ROWS": 0x104}, accepted=(1, 65536), refused={0: 1, 65537: 2, 1 << 31: 2}),
        Edge(registers={"CAPACITY": 0x108}, accepted=(1, (1 << 32) - 1), refused={0: 1}),
        bases(_BASES, step=64, misaligned=3, too_far=5),
    ),
    reads=tuple(_BASES),
)
