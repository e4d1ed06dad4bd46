"""The hardware's arithmetic in the interpreter and for whole arrays: one beside the other, and both
beside the definition."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.spec.formats import FORMATS, FloatFormat, Format
from tilewright.hw.spec.t2s.arithmetic import LaneSum
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.design import Design
from tilewright.hw.spec.t2s.program import Program, TensorDeclaration
from tilewright.hw.t2s.compiler.passes import compiled
from tilewright.hw.t2s.language import Computation, MappingError
from tilewright.hw.t2s.lowering.completion import complete
from tilewright.hw.t2s.lowering.elements import element_part
from tilewright.sim.numbers.values import decode
from tilewright.sim.t2s.definition_result import definition_result
from tilewright.sim.t2s.element_sums import ElementSums
from tilewright.sim.t2s.hardware_result import ordered_sums
from tilewright.sim.t2s.interpreter import interpret
from tilewright.sim.t2s.sizes import shape_of
from tilewright.verif.kit.commands import refusal
from tilewright.verif.kit.sampling import by_size, slow_but
from tilewright.verif.oracles import stimuli
from tilewright.verif.t2s.designs import IN_HARDWARE, bounds_of
from tilewright.verif.t2s.hardware.elements import after, part_of, random_words
from tilewright.verif.t2s.hardware_numbers import HardwareNumbers, hardware_result
from tilewright.verif.t2s.random_mappings import KERNELS, random_mapping

Patterns = npt.NDArray[np.uint64]


def _operands(
    program: Program,
    arithmetic: LaneSum,
    bounds: dict[str, int],
    rng: np.random.Generator,
    kind: str = "moderate",
) -> dict[str, Patterns]:
    found = {}
    for one in program.tensors:
        if one.image or one.name == program.result:
            continue
        shape = shape_of(one.dimensions, bounds)
        fmt: Format = arithmetic.result if one.name == program.start else arithmetic.element
        if isinstance(fmt, FloatFormat):
            ordinary = stimuli.values(rng, kind, shape, fmt)
            special = stimuli.values(rng, "special", shape, fmt)
            found[one.name] = np.where(rng.random(shape) < 0.01, special, ordinary)
        else:
            found[one.name] = rng.integers(0, 1 << fmt.bits, shape, dtype=np.uint64)
    return found


def _interpreted(
    program: Program, arithmetic: LaneSum, bounds: dict[str, int], operands: dict[str, Patterns]
) -> npt.NDArray[Any]:
    numbers = HardwareNumbers(arithmetic)
    objects = {name: one.astype(object) for name, one in operands.items()}
    if program.start:
        objects[program.start] = numbers.started(operands[program.start])
    return interpret(program, bounds, objects, arithmetic=numbers)


@cache
def _plan(name: str) -> Design:
    return T2sConfig(design=name, largest=3).plan


def _design(
    name: str, format: str, rng: np.random.Generator, kind: str = "moderate"
) -> tuple[Design, dict[str, int], dict[str, Patterns]]:
    """A design that ships, small, with bounds and operands."""
    plan = _plan(name)
    accumulator = "int32" if format == "int8" else "fp32"
    arithmetic = replace(plan.element.arithmetic, format=format, accumulator=accumulator)
    design = replace(plan, element=replace(plan.element, arithmetic=arithmetic))
    bounds = bounds_of(IN_HARDWARE[name])
    return design, bounds, _operands(design.program, arithmetic, bounds, rng, kind)


@pytest.mark.parametrize("format", slow_but(["fp16", "int8"], ["fp16", "int8", "fp32", "bf16"]))
@pytest.mark.parametrize("name", slow_but(["gemm", "mttkrp", "apsp"], IN_HARDWARE))
def test_designs_run_as_whole_arrays(name: str, format: str) -> None:
    for kind in ("moderate", "log_uniform"):
        rng = np.random.default_rng(len(name))
        design, bounds, operands = _design(name, format, rng, kind)
        wanted = hardware_result(design, bounds, operands)
        found = _interpreted(design.program, design.element.arithmetic, bounds, operands)
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize("kernel", slow_but(["gemm", "ttmc"], KERNELS))
def test_random_mappings_run_as_whole_arrays(kernel: str) -> None:
    """The mappings drawn have elements; half of them have functions and initial values."""
    found, factored, started, applied, vectors = 0, 0, 0, 0, 0
    for seed in range(by_size(40, 80, 600)):
        rng = np.random.default_rng([seed, *map(ord, kernel)])
        try:
            words = np.random.default_rng(seed) if seed % 2 else None
            computation = random_mapping(kernel, rng, words)
            program = compiled(complete(computation))
            lanes, vector = _lanes(computation)
            arithmetic = LaneSum(
                ops=(computation.semiring,), format="fp32", accumulator="fp32", lanes=lanes
            )
            part = element_part(program, arithmetic, vector)
        except (MappingError, ValueError):
            continue
        bounds = {name: int(rng.integers(1, 5)) for name in program.indices}
        operands = _operands(program, arithmetic, bounds, rng)
        wanted = ordered_sums(program, part, bounds, operands)
        same = _interpreted(program, arithmetic, bounds, operands) == wanted
        assert same.all(), (kernel, seed)
        found, factored = found + 1, factored + bool(part.outer)
        started += bool(program.start)
        vectors += part.vector > 1
        applied += any(one.functions for one in program.tensors)
    assert found >= by_size(3, 6, 40)
    assert factored or len(KERNELS[kernel][1]) < 3
    assert started
    assert applied
    assert vectors or len(KERNELS[kernel][1]) > 2


def _lanes(computation: Computation) -> tuple[int, int]:
    """Lanes that are summed over, and sums side by side, of the elements of a mapping."""
    if not computation.vectorised:
        return 1, 1
    loop = computation.loop(computation.vectorised[0])
    return (loop.extent or 1, 1) if loop.reduces else (1, loop.extent or 1)


@pytest.mark.parametrize("name", slow_but(["gemm", "mttkrp", "conv2d"], IN_HARDWARE))
def test_integers_are_those_of_the_definition(name: str) -> None:
    design, bounds, operands = _design(name, "int8", np.random.default_rng(3))
    signed = {
        key: decode(one, design.word_format(key)).astype(object) for key, one in operands.items()
    }
    wanted = definition_result(design.program, bounds, signed)
    found = hardware_result(design, bounds, operands)
    assert found.astype(np.uint32).view(np.int32).tolist() == wanted.tolist()


@pytest.mark.parametrize("format", ["fp16", "fp32"])
@pytest.mark.parametrize("name", slow_but(["gemm"], ["gemm", "ttmc", "conv2d", "apsp"]))
def test_floats_are_those_of_the_definition(name: str, format: str) -> None:
    """Results are equal to rounding, for fp32 sums of about 100 positive numbers."""
    rng = np.random.default_rng(4)
    design, bounds, operands = _design(name, format, rng)
    kind: Any = np.float16 if format == "fp16" else np.float32
    numbers = {key: rng.uniform(0.5, 2, one.shape).astype(kind) for key, one in operands.items()}
    operands = {key: one.view(f"u{one.itemsize}") for key, one in numbers.items()}
    exact = {key: one.astype(np.float64) for key, one in numbers.items()}
    wanted = definition_result(design.program, bounds, exact).astype(np.float64)
    found = hardware_result(design, bounds, operands).astype(np.uint32).view(np.float32)
    np.testing.assert_allclose(found, wanted, rtol=4e-6)


SHAPES: dict[str, dict[str, Any]] = {
    "words": {"inner": ["A"]},
    "products": {"inner": ["A", "C"]},
    "three": {"inner": ["A", "B", "C"]},
    "factored": {"inner": ["A", "C"], "outer": ["B"]},
    "factored twice": {"inner": ["A", "C"], "outer": ["B", "D"]},
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("format", "accumulator", "semiring"),
    [("fp16", "fp32", "mma"), ("int8", "int32", "mma"), ("fp32", "fp32", "minplus")],
)
def test_operations_are_those_that_elements_are_held_to(
    format: str, accumulator: str, semiring: str, shape: str
) -> None:
    arithmetic = LaneSum(ops=(semiring,), format=format, accumulator=accumulator, lanes=3)
    part = part_of(arithmetic, 1, **SHAPES[shape])
    rng, count = np.random.default_rng(8), 200
    here = {
        one.name: random_words(rng, arithmetic.element, (count, one.lanes)) for one in part.operands
    }
    sums = ElementSums(arithmetic)
    nothing = np.full(count, sums.identity, np.uint64)
    total = random_words(rng, arithmetic.result, (count, 1))[:, 0]
    inner = [here[name].T for name in part.inner]
    if part.outer:
        found = sums.outer(
            [here[name][:, 0] for name in part.outer], sums.inner(inner, nothing), total
        )
    else:
        found = sums.inner(inner, total)
    assert found.tolist() == after(part, total, here).tolist()


def _fp32(*numbers: float) -> Patterns:
    return np.array(numbers, np.float32).view(np.uint32).astype(np.uint64)


@pytest.mark.parametrize(("lanes", "wanted"), [(1, 1.0), (2, 1 + 2**-22), (4, 1 + 2**-22)])
def test_lanes_are_rounded_once(lanes: int, wanted: float) -> None:
    """Four products of half a last place, after a sum of 1: alone each is a tie, and lost."""
    numbers = HardwareNumbers(LaneSum(ops=("mma",), format="fp32", accumulator="fp32", lanes=lanes))
    half, one = (int(x) for x in _fp32(2**-24, 1))
    total = numbers.fold(numbers.identity, (numbers.times(one, one),))
    for _ in range(4 // lanes):
        total = numbers.fold(total, (numbers.times(half, one),) * lanes)
    found = numbers.finished(np.array([total], object))
    assert found.tolist() == _fp32(wanted).tolist()


def test_what_is_factored_out_is_multiplied_first_and_rounded() -> None:
    numbers = HardwareNumbers(LaneSum(ops=("mma",), format="fp16", accumulator="fp32", lanes=2))
    rng = np.random.default_rng(5)
    b, d, x, y = rng.uniform(1, 2, 4).astype(np.float16)
    b2, d2, x2, y2 = (int(one.view(np.uint16)) for one in (b, d, x, y))
    inner = numbers.fold(numbers.identity, (numbers.times(x2, y2), numbers.times(y2, y2)))
    total = numbers.plus(numbers.identity, numbers.times(numbers.times(b2, d2), inner))
    single, double = np.float32, np.float64
    sum_of_two = single(double(x) * double(y) + double(y) * double(y))
    wanted = single(single(b) * single(d)) * sum_of_two
    assert numbers.finished(np.array([total], object)).tolist() == _fp32(float(wanted)).tolist()


def test_refusal() -> None:
    numbers = HardwareNumbers(LaneSum(ops=("mma",), format="fp16", accumulator="fp32", lanes=1))
    product = numbers.times(numbers.times(numbers.times(1, 2), 3), 4)
    total = numbers.plus(numbers.identity, product)
    assert refusal(lambda: numbers.finished(np.array([total], object))) == (
        "a product in each lane must be of 1 to 3, not 4"
    )


def test_pads_are_patterns() -> None:
    numbers = HardwareNumbers(LaneSum(ops=("minplus",), format="fp16", accumulator="fp32", lanes=1))
    padded = TensorDeclaration("A", (), "+inf")
    assert numbers.pad(padded) == FORMATS["fp16"].constant("+inf") == 0x7C00
    assert numbers.pad(replace(padded, pad="-inf", functions=("negate",))) == 0xFC00
