"""Limits of the matrix units and of GTA's separate units, written by hand: what their parameters
may be."""

from dataclasses import replace

from tilewright.verif.conformance.limits import (
    SEMIRINGS,
    Limits,
    Setting,
    flag,
    one_of,
    settings_of,
    subset,
)

_SIZES = settings_of("""
    rows     | 1 2 64 | 0 65 | an integer in 1..64
    cols     | 1 2 64 | 0 65 | an integer in 1..64
    pipeline | 1 2 7  | 0 8  | an integer in 1..7
""")
_FP16 = {"modes": ("fp16",)}
_MODES = subset("modes", "fp16", "bf16", "tf32", "fp32", "fp32c")
_ASSIGNMENT = one_of("data_assignment", "combinational", "pipelined")


def _number(name: str, accepted: tuple[int, ...], refused: tuple[int, ...], must: str) -> Setting:
    return Setting(name=name, accepted=accepted, refused=refused, must=must)


_DEPTH = _number("depth", (1, 2, 64), (0, 65), "an integer in 1..64")
_ALIGNMENT = _number("alignment_bits", (26, 27, 120), (25, 121), "an integer in 26..120")

M3XU = Limits(
    settings=(
        *_SIZES,
        replace(_DEPTH, given=_FP16),
        replace(_ALIGNMENT, given=_FP16),
        _MODES,
        _ASSIGNMENT,
    )
)

# It always has tf32, which takes lanes in pairs.
BASELINE = Limits(settings=(*_SIZES, replace(_DEPTH, accepted=(2, 4, 64)), _ALIGNMENT))

WIDE = Limits(
    settings=(
        *_SIZES,
        _DEPTH,
        _number("alignment_bits", (56, 57, 120), (55, 121), "an integer in 56..120"),
    )
)

SEQUENCER = Limits(
    settings=(
        _number("rows", (1, 2, 16), (0, 3, 32), "a power of two in 1..16"),
        _number("cols", (1, 2, 8), (0, 3, 16), "a power of two in 1..8"),
        replace(_number("depth", (1, 2, 8), (0, 3, 16), "a power of two in 1..8"), given=_FP16),
        _SIZES[2],
        replace(_ALIGNMENT, given=_FP16),
        _MODES,
        _ASSIGNMENT,
    )
)

_FORMATS = (
    "fp8e4m3", "fp8e5m2", "fp16", "bf16", "fp32", "fp64", "int8", "int16", "int32",
)  # fmt: skip
_SUMS = ("auto", "fp16", "bf16", "fp32", "fp64", "int32", "int64")

SIMD2 = Limits(
    settings=(
        _number("tile", (2, 3, 16), (0, 1, 17), "an integer in 2..16"),
        one_of("format", *_FORMATS),
        *(
            one_of("accumulator", *_SUMS, accepted=accepted, format=format)
            for format, accepted in (
                ("fp16", ("auto", "fp16", "fp32", "fp64")),
                ("bf16", ("bf16",)),
                ("int8", ("int32", "int64")),
            )
        ),
        subset("ops", *SEMIRINGS),
        _number("alignment_bits", (0, 26, 160), (-1, 161), "an integer in 0..160"),
        flag("shared"),
        _number("pipeline", (1, 2, 9), (0, 10), "an integer in 1..9"),
        replace(
            _number("multiplier_bits", (0, 53), (-1, 54), "an integer in 0..53"),
            given={"format": "fp64"},
        ),
        one_of("sparsity", "none", "2:4"),
    )
)

GTA_SEPARATE = Limits(
    settings=(
        subset("formats", "int8", "int16", "int32", "int64", "bf16", "fp16", "fp32", "fp64"),
        _number("pipeline", (1, 2, 3), (0, 4), "an integer in 1..3"),
    )
)
