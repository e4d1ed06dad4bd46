"""The semiring matrix unit in all kinds of configurations: one build each, results and timing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tilewright.hw.spec.formats import FORMATS, FloatFormat
from tilewright.hw.spec.semirings import SEMIRINGS, TIMES
from tilewright.hw.spec.simd2 import Simd2Config
from tilewright.sim.rtl.streams import Pauses
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.matrix_units.matrix_stimuli import operations
from tilewright.verif.matrix_units.simd2.semiring_rtl import SemiringRtl, emitted


def unit(element: str, **parameters: Any) -> Simd2Config:
    return Simd2Config(**{"tile": 2, "format": element, **parameters})


SHAPES = {
    "tile_3": unit("bf16", tile=3),
    "tile_5": unit("fp8e4m3", tile=5),
    "tile_7": unit("fp8e5m2", tile=7, ops=("minmax", "maxmin")),
    # One operation only: float dot products of this size take long to compile.
    "tile_8_fp8": unit("fp8e4m3", tile=8, ops=("mma",)),
    "tile_8_int8": unit("int8", tile=8, ops=("mma", "minplus", "maxmul", "orand")),
}
PIPELINES = {
    **{f"fp8_pipeline_{n}": unit("fp8e5m2", pipeline=n) for n in (1, 2, 3, 5, 6, 7, 8, 9)},
    **{f"int8_pipeline_{n}": unit("int8", pipeline=n) for n in (1, 2, 3, 5, 6, 7, 8, 9)},
    "fp16_pipeline_1": unit("fp16", pipeline=1),
    "fp64_pipeline_1": unit("fp64", pipeline=1),
    "fp32_pipeline_9": unit("fp32", pipeline=9),
    "fp32_sums_pipeline_9": unit("fp32", tile=2, pipeline=9, ops=("mma", "addnorm")),
}
SEPARATE = {
    "separate_fp16": unit("fp16", shared=False),
    "separate_bf16_pipeline_1": unit("bf16", shared=False, pipeline=1, ops=("mma", "addnorm")),
    "separate_fp8": unit("fp8e4m3", shared=False, pipeline=9),
    "separate_int16": unit("int16", shared=False, pipeline=3),
}
WINDOWS = {
    "window_least": unit("fp16", alignment_bits=26),
    "window_57": unit("fp16", alignment_bits=57, pipeline=2),
    "window_160": unit("fp32", alignment_bits=160, ops=("mma", "addnorm", "maxplus")),
    "window_fp8": unit("fp8e5m2", accumulator="fp16", alignment_bits=15, tile=3),
    "window_fp64": unit("fp64", alignment_bits=111, ops=("mma", "addnorm"), pipeline=5),
}
ACCUMULATORS = {
    f"{element}_in_{accumulator}": unit(element, accumulator=accumulator, pipeline=1 + place % 9)
    for place, (element, accumulator) in enumerate(
        (element, accumulator)
        for element in ("fp8e4m3", "fp8e5m2", "fp16", "bf16", "fp32", "int8", "int16", "int32")
        for accumulator in ("fp16", "bf16", "fp32", "fp64", "int32", "int64")
        if FORMATS[accumulator].contains(FORMATS[element])
        and unit(element).result.name != accumulator
    )
}
STEPS = {
    "two_steps": unit("fp32", multiplier_bits=12),
    "two_steps_fp32": unit("fp32", multiplier_bits=12, accumulator="fp32", pipeline=1, tile=3),
    "two_steps_products": unit("fp32", multiplier_bits=12, ops=("minmul", "maxmul"), pipeline=9),
    "two_steps_mma": unit("fp32", multiplier_bits=12, ops=("mma", "minplus"), pipeline=2),
    "two_steps_squares": unit("fp32", multiplier_bits=12, ops=("addnorm",), pipeline=3),
    "two_steps_none": unit("fp32", multiplier_bits=12, ops=("maxplus", "orand")),
    "whole_products": unit("fp16", multiplier_bits=11, ops=("mma", "minmul")),
}
SPARSE = {
    "sparse_fp16": unit("fp16", sparsity="2:4"),
    "sparse_fp8_tile_4": unit(
        "fp8e5m2", sparsity="2:4", tile=4, pipeline=2, ops=("mma", "minplus", "maxmul")
    ),
    "sparse_int8_tile_6": unit(
        "int8", sparsity="2:4", tile=6, pipeline=1, ops=("mma", "maxplus", "addnorm")
    ),
    "sparse_separate": unit("fp8e4m3", sparsity="2:4", shared=False, pipeline=3),
    "sparse_two_steps": unit("fp32", sparsity="2:4", multiplier_bits=12, pipeline=5),
}
ALONE = {
    f"{name}_alone_{element}": unit(element, ops=(name,), pipeline=1 + place % 9)
    for element in ("fp16", "int8")
    for place, name in enumerate(SEMIRINGS)
}
SUBSETS = {
    "no_products": unit("fp16", ops=("minplus", "maxplus", "minmax", "maxmin", "orand")),
    "minima": unit("bf16", ops=("minplus", "minmul", "minmax"), pipeline=1),
    "maxima": unit("fp8e4m3", ops=("maxplus", "maxmul", "maxmin"), pipeline=6),
    "selections": unit("fp64", ops=("minmax", "maxmin"), pipeline=2),
    "sums": unit("fp16", ops=("mma", "addnorm"), pipeline=3),
    "products": unit("bf16", ops=("mma", "minmul", "maxmul"), pipeline=5),
    "sums_of_integers": unit("int16", ops=("mma", "minplus", "addnorm"), pipeline=2),
    "selected_integers": unit("int32", ops=("minmax", "maxmin", "orand")),
}
CONFIGS = {
    **SHAPES, **PIPELINES, **SEPARATE, **WINDOWS, **ACCUMULATORS, **STEPS, **SPARSE, **ALONE,
    **SUBSETS,
}  # fmt: skip

SAMPLE = ("separate_fp8",)
"""Cases of the default test."""


@pytest.mark.parametrize("name", slow_but([], CONFIGS, SAMPLE))
def test_every_configuration_gives_the_models_bits_and_the_sidecars_timing(name: str) -> None:
    config = CONFIGS[name]
    simulated = SemiringRtl(config, emitted(config))
    assert simulated.sidecar["opcodes"] == {op: SEMIRINGS[op].opcode for op in config.ops}
    # Windows over 60 bits take the model's slow path.
    count = 10_000 if config.window_bits <= 60 and config.tile < 7 else 2_000
    simulated.check(operations(config, count, 871), Pauses(seed=872, gap=0.2, stall=0.3))
    simulated.check(operations(config, count, 873))
    simulated.check_timing(operations(config, 1000, 874, illegal=0.1))


# The semiring unit's parameters: what is refused, and what is worked out from them.

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"tile": 1}, "`tile` must be an integer in 2..16, not 1"),
    ({"tile": 17}, "`tile` must be an integer in 2..16, not 17"),
    ({"format": "int8", "accumulator": "fp32"},
     "`accumulator` must be one of int32, int64 for int8, not 'fp32'"),
    ({"format": "bf16", "accumulator": "fp16"},
     "`accumulator` must be one of bf16, fp32, fp64 for bf16, not 'fp16'"),
    ({"format": "fp64", "accumulator": "fp32"},
     "`accumulator` must be one of fp64 for fp64, not 'fp32'"),
    ({"alignment_bits": 25},
     "`alignment_bits` must be 0 or at least 26 for fp16 with fp32, not 25"),
    ({"format": "fp32", "alignment_bits": 54},
     "`alignment_bits` must be 0 or at least 56 for fp32 with fp64, not 54"),
    ({"multiplier_bits": 12}, "`multiplier_bits` must be one of 0, 11 for fp16, not 12"),
    ({"format": "fp32", "multiplier_bits": 11},
     "`multiplier_bits` must be one of 0, 12, 24 for fp32, not 11"),
    ({"format": "int16", "multiplier_bits": 12},
     "`multiplier_bits` must be one of 0 for int16, not 12"),
    ({"format": "fp32", "multiplier_bits": 12, "shared": False},
     "`shared` must be true with multiplier_bits 12, not False"),
    ({"tile": 3, "sparsity": "2:4"}, "`tile` must be even with sparsity 2:4, not 3"),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "message"), REFUSED)
def test_what_cannot_be_built_is_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r"^`") as caught:
        Simd2Config(**parameters)
    assert str(caught.value) == message


def test_an_unknown_semiring_is_named() -> None:
    with pytest.raises(ValueError, match="plusmin") as caught:
        Simd2Config(ops=("mma", "plusmin"))
    assert all(name in str(caught.value) for name in ("`ops`", *SEMIRINGS))


@pytest.mark.parametrize("element", ["fp8e4m3", "fp8e5m2", "fp16", "bf16", "fp32", "fp64", "int8"])
def test_the_window_keeps_the_bound_of_the_numerics_page(element: str) -> None:
    config = Simd2Config(format=element)
    if not isinstance(config.element, FloatFormat) or not isinstance(config.result, FloatFormat):
        assert config.window_bits == 0
        return
    assert config.window_bits >= config.least_alignment_bits > config.result.significand_bits
    assert config.window_bits >= 56
    assert config.resolved()["alignment_bits"] == config.window_bits


@pytest.mark.parametrize(
    ("plus", "times", "message"),
    [
        ("mul", "add", "`plus` must be one of add, min, max, or, not 'mul'"),
        ("add", "or", f"`times` must be one of {', '.join(TIMES)}, not 'or'"),
        ("min", "and", "`plus` must be or with times and, not 'min'"),
        ("max", "square_difference", "`plus` must be add with times square_difference, not 'max'"),
        ("or", "mul", "`times` must be and with plus or, not 'mul'"),
    ],
)
def test_a_row_of_operators_that_do_not_fit_is_refused(plus: str, times: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"^`") as caught:
        replace(SEMIRINGS["mma"], name="new", opcode=9, plus=plus, times=times)
    assert str(caught.value) == message


def test_semirings_have_a_code_and_padding_of_their_own() -> None:
    """Each row's padding is a pair whose product is the identity."""
    codes = [row.opcode for row in SEMIRINGS.values()]
    assert codes == list(range(9))
    unit = Simd2Config(format="fp8e4m3")
    assert [name for name, row in unit.operations.items() if row.padding is not None] == [
        "mma", "orand", "addnorm"
    ]  # fmt: skip
    described = Simd2Config(format="int8").operations
    assert described["maxmul"].padding == (0x80, 0x7F)
    assert described["maxmul"].addend == 0x80000000
    assert described["minplus"].padding == (0x7F, 0x7F)
    assert described["minplus"].addend == 0x7FFFFFFF
    assert FORMATS["fp32"].constant("-inf") == 0xFF800000
