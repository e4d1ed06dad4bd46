"""Limits of the tile engines, written by hand: what their parameters and the registers of their
jobs may hold."""

from dataclasses import replace

from tilewright.verif.conformance.limits import (
    SEMIRINGS,
    Edge,
    Limits,
    Setting,
    bases,
    flag,
    one_of,
    settings_of,
    subset,
)

_ENGINE = settings_of("""
    data_bits   | 64 128 512   | 32 96 1024 0   | a power of two in 64..512
    addr_bits   | 32 33 64     | 31 65          | an integer in 32..64
    managers    | 1 2 3        | 0 4            | an integer in 1..3
    outstanding | 1 2 32       | 0 33           | an integer in 1..32
    block_rows  | 0 1 64       | -1 3 128       | a power of two in 0..64
    block_cols  | 0 4 64       | -1 3 128       | a power of two in 0..64
    block_depth | 0 4 64       | -1 3 128       | a power of two in 0..64
""")

_SIMD2 = settings_of("""
    tile            | 2 4 16      | 0 1 3 32      | a power of two in 2..16
    alignment_bits  | 0 26 160    | -1 161        | an integer in 0..160
    pipeline        | 1 2 9       | 0 10          | an integer in 1..9
""")

_M3XU = settings_of("""
    rows           | 2 4 64      | 0 1 3 128     | a power of two in 2..64
    cols           | 2 4 64      | 0 1 3 128     | a power of two in 2..64
    pipeline       | 1 2 7       | 0 8           | an integer in 1..7
""")

_FORMATS = (
    "fp8e4m3", "fp8e5m2", "fp16", "bf16", "fp32", "fp64", "int8", "int16", "int32",
)  # fmt: skip

_SUMS = ("auto", "fp16", "bf16", "fp32", "fp64", "int32", "int64")

_BASES = {"A_BASE": 0xA0, "B_BASE": 0xA8, "D_BASE": 0xB8}
_STRIDES = {"A_STRIDE": 0xC0, "B_STRIDE": 0xC4, "D_STRIDE": 0xCC}
_WITH_C = {"FLAGS": 2}
_ANY = (0, 1, 4, 0xFFFF_FFFF)

SIMD2 = Limits(
    settings=(
        *_ENGINE,
        *_SIMD2,
        one_of("format", *_FORMATS),
        *(
            one_of("accumulator", *_SUMS, accepted=accepted, format=format)
            for format, accepted in (
                ("fp16", ("auto", "fp16", "fp32", "fp64")),
                ("bf16", ("bf16",)),
                ("int8", ("int32", "int64")),
            )
        ),
        Setting(
            name="multiplier_bits",
            accepted=(0, 53),
            refused=(-1, 54),
            must="an integer in 0..53",
            given={"format": "fp64"},
        ),
        subset("ops", *SEMIRINGS),
        flag("shared"),
    ),
    job={"M": 1, "N": 1, "K": 1},
    edges=(
        Edge(registers={"OP": 0x80}, accepted=(0, 1), refused={2: 1, 1 << 31: 1}),
        Edge(
            registers={"M": 0x88, "N": 0x8C, "K": 0x90}, accepted=(1, 65535),
            refused={0: 2, 65536: 3, 1 << 31: 3},
        ),
        bases(_BASES, step=8, misaligned=4, too_far=6),
        bases({"C_BASE": 0xB0}, step=8, misaligned=4, too_far=6, given=_WITH_C),
        Edge(registers=_STRIDES, accepted=(0, 8, 0xFFFF_FFF8), refused={1: 5, 4: 5, 12: 5}),
        Edge(
            registers={"C_STRIDE": 0xC8}, accepted=(0, 8, 0xFFFF_FFF8), refused={1: 5, 4: 5},
            given=_WITH_C,
        ),
        Edge(registers={"C_BASE": 0xB0}, accepted=(*_ANY, 1 << 40), refused={}),
        Edge(registers={"C_STRIDE": 0xC8}, accepted=_ANY, refused={}),
    ),
    reads=("A_BASE", "B_BASE", "C_BASE"),
)  # fmt: skip

M3XU = replace(
    SIMD2,
    settings=(
        *_ENGINE,
        *_M3XU,
        Setting(
            name="depth",
            accepted=(2, 4, 64),
            refused=(0, 1, 3, 128),
            must="a power of two in 2..64",
            given={"modes": ("fp16",)},
        ),
        Setting(
            name="alignment_bits",
            accepted=(26, 27, 120),
            refused=(25, 121),
            must="an integer in 26..120",
            given={"modes": ("fp16",)},
        ),
        subset("modes", "fp16", "bf16", "tf32", "fp32", "fp32c"),
        one_of("data_assignment", "combinational", "pipelined"),
    ),
    edges=(
        Edge(registers={"OP": 0x80}, accepted=(0, 3), refused={1: 1, 2: 1, 4: 1, 1 << 31: 1}),
        *SIMD2.edges[1:],
    ),
)
