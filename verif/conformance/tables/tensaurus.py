"""Tensaurus' limits, written by hand: what its parameters and the registers of its jobs may
hold."""

from tilewright.verif.conformance.limits import (
    MEMORY,
    SEMIRINGS,
    Edge,
    Limits,
    bases,
    one_of,
    settings_of,
)

_SETTINGS = settings_of("""
    rows       | 1 2 16         | 0 17                 | an integer in 1..16
    cols       | 1 2 16         | 0 17                 | an integer in 1..16
    vlen       | 1 3 16         | 0 17                 | an integer in 1..16
    order      | 2 3 4          | 1 5                  | an integer in 2..4
    index_bits | 16 32          | 0 8 24 48            | a multiple of 16 in 16..32
    spm_bytes  | 1024 1048576   | 32 96 2097152 0      | a power of two in 64..1048576
    banks      | 1 2 32         | 0 3 64               | a power of two in 1..32
    out_bytes  | 256 4194304    | 32 96 8388608 0      | a power of two in 64..4194304
    tlen       | 1 3 16         | 0 17                 | an integer in 1..16
    olen       | 1 3 16         | 0 17                 | an integer in 1..16
    row_queue  | 2 3 256        | 1 257                | an integer in 2..256
    window     | 4 8 64         | 2 12 128 0           | a power of two in 4..64
    channels   | 1 3 16         | 0 17                 | an integer in 1..16
    adder_stages      | 1 2 3   | 0 4 | an integer in 1..3
    multiplier_stages | 1 2 3 4 | 0 5 | an integer in 1..4
""")

_MTTKRP, _TTMC, _MM, _MV = ({"KERNEL": n, "ORDER": order} for n, order in enumerate((3, 3, 2, 2)))
_TTMC_4 = {**_TTMC, "ORDER": 4}
_KERNEL, _ORDER, _VECTORS = {"KERNEL": 0x100}, {"ORDER": 0x104}, {"VECTORS": 0x10C}
_FIRST, _SECOND = {"SCALARS_1": 0x110}, {"SCALARS_2": 0x114}
_REGIONS = {"REGION_1": 0x118, "REGION_2": 0x11C, "REGION_3": 0x120}

LIMITS = Limits(
    settings=(
        *_SETTINGS,
        one_of("value", "fp16", "bf16", "fp32", "fp64", "int8", "int32"),
        one_of("semiring", *SEMIRINGS, marker="bit"),
        one_of("marker", "zero", "bit"),
        *MEMORY,
    ),
    config={"order": 4, "tlen": 4, "olen": 8},
    job={**_MTTKRP, "VECTORS": 1, "SCALARS_1": 1, "SCALARS_2": 1, "TILES": 1},
    edges=(
        Edge(registers=_KERNEL, accepted=(0, 1), refused={4: 4, 1 << 31: 4}),
        Edge(registers=_KERNEL, accepted=(2, 3), refused={4: 4}, given={"ORDER": 2}),
        Edge(
            registers=_KERNEL, accepted=(2,), refused={3: 4, 4: 4},
            given={"ORDER": 2, "DIRECT": 1},
        ),
        Edge(registers=_KERNEL, accepted=(0, 1), refused={5: 4}, given={"DIRECT": 1}),
        *(
            Edge(registers=_ORDER, accepted=(3, 4), refused={0: 4, 2: 4, 5: 4}, given=kernel)
            for kernel in (_MTTKRP, _TTMC)
        ),
        *(
            Edge(registers=_ORDER, accepted=(2,), refused={0: 4, 1: 4, 3: 4}, given=kernel)
            for kernel in (_MM, _MV)
        ),
        # Units of a row: of MTTKRP as many as `tlen`, of MM as `olen`.
        *(
            Edge(registers=_VECTORS, accepted=(1, 4), refused={0: 1, 5: 2, 255: 2}, given=kernel)
            for kernel in (_MTTKRP, _TTMC)
        ),
        Edge(registers=_VECTORS, accepted=(1, 8), refused={0: 1, 9: 2, 255: 2}, given=_MM),
        Edge(registers=_VECTORS, accepted=(1,), refused={0: 1, 2: 2}, given=_MV),
        Edge(
            registers=_VECTORS, accepted=(1, 2), refused={0: 1, 3: 2, 4: 2},
            given={**_TTMC_4, "SCALARS_2": 2},
        ),
        *(
            Edge(registers={**_FIRST, **_SECOND}, accepted=(1,), refused={0: 1, 2: 4, 255: 4},
                 given=kernel)
            for kernel in (_MTTKRP, {**_MTTKRP, "ORDER": 4}, _MM, _MV)
        ),
        # TTMc limits products of registers: to `tlen` and `olen`.
        Edge(registers=_FIRST, accepted=(1, 8), refused={0: 1, 9: 2, 255: 2}, given=_TTMC),
        Edge(
            registers=_FIRST, accepted=(1, 2), refused={0: 1, 3: 2}, given={**_TTMC, "VECTORS": 4}
        ),
        Edge(
            registers=_FIRST, accepted=(1, 2), refused={0: 1, 3: 2},
            given={**_TTMC_4, "SCALARS_2": 4},
        ),
        Edge(registers=_SECOND, accepted=(1,), refused={0: 1, 2: 4}, given=_TTMC),
        Edge(registers=_SECOND, accepted=(1, 4), refused={0: 1}, given=_TTMC_4),
        Edge(registers={"TILES": 0x124}, accepted=(1, (1 << 32) - 1), refused={0: 1}),
        Edge(registers=_REGIONS, accepted=(0, 63), refused={64: 2, 1 << 31: 2}),
        bases({"LIST": 0x128}, step=64, misaligned=3, too_far=5),
    ),
    reads=("LIST",),
)  # fmt: skip
