"""SIDA's limits, written by hand: what its parameters and the registers of its jobs may hold."""

from tilewright.verif.conformance.limits import (
    MEMORY,
    SEMIRINGS,
    STAGES,
    Edge,
    Limits,
    bases,
    one_of,
    settings_of,
    subset,
)

_SETTINGS = settings_of("""
    pes           | 4 8 64            | 2 3 12 128 0          | a power of two in 4..64
    subtensor     | 16 32 4096        | 2 24 8192 0           | a power of two in 4..4096
    buffer_words  | 64 128 16777216   | 32 96 33554432 0      | a power of two in 64..16777216
    vector_words  | 64 128 1048576    | 32 96 2097152 0       | a power of two in 64..1048576
    rows_limit    | 0 16384 4194304   | -1 24576 268435456    | a power of two in 0..134217728
    window        | 2 4 64            | 1 3 128 0             | a power of two in 2..64
    program_words | 8 16 1024         | 4 12 2048 0           | a power of two in 8..1024
    channels      | 1 2 16            | 0 17                  | an integer in 1..16
""")

_ALWAYS = {
    "COLUMN_POINTERS": 0x140, "ROW_NUMBERS": 0x148, "COLUMN_VALUES": 0x150, "X": 0x170,
    "SCALARS": 0x178, "PROGRAM_BASE": 0x180,
    **{f"VECTOR_{n}": 0x188 + 8 * n for n in range(16)},
}  # fmt: skip
_BY_ROWS = {"ROW_POINTERS": 0x158, "COLUMN_NUMBERS": 0x160, "ROW_VALUES": 0x168}
_TWICE = {"SECOND_PRODUCT": 1, "TRANSPOSED": 0}
_ANY = (0, 1, 32, 1 << 40, (1 << 64) - 1)

LIMITS = Limits(
    settings=(
        *_SETTINGS,
        one_of("value", "fp32", "fp16", "fp64", "int32"),
        subset("semirings", *SEMIRINGS, "aril-add"),
        *MEMORY,
        *STAGES,
    ),
    job={"ROWS": 1, "PASSES": 1, "WORDS": 1},
    edges=(
        Edge(registers={"ROWS": 0x100}, accepted=(1, 64), refused={0: 1, 65: 2, 1 << 31: 2}),
        Edge(registers={"PASSES": 0x104}, accepted=(1, (1 << 32) - 1), refused={0: 1}),
        Edge(registers={"WORDS": 0x114}, accepted=(1, 32), refused={0: 1, 33: 2}),
        Edge(registers={"ENTRY": 0x118}, accepted=(0, 31), refused={32: 2}),
        Edge(registers={"FIRST": 0x108}, accepted=(0, 1), refused={2: 4, 9: 4, 255: 4}),
        Edge(registers={"SECOND": 0x10C}, accepted=(0, 1, 2, 255), refused={}),
        Edge(
            registers={"SECOND": 0x10C}, accepted=(0, 1), refused={2: 4, 9: 4, 255: 4}, given=_TWICE
        ),
        bases(_ALWAYS, step=64, misaligned=3, too_far=5),
        bases(_BY_ROWS, step=64, misaligned=3, too_far=5, given=_TWICE),
        Edge(registers=_BY_ROWS, accepted=_ANY, refused={}),
        Edge(registers=_BY_ROWS, accepted=_ANY, refused={}, given={**_TWICE, "TRANSPOSED": 1}),
    ),
    reads=(
        "COLUMN_POINTERS", "ROW_NUMBERS", "COLUMN_VALUES", "ROW_POINTERS", "COLUMN_NUMBERS",
        "ROW_VALUES", "X", "SCALARS", "PROGRAM_BASE",
    ),
)  # fmt: skip
