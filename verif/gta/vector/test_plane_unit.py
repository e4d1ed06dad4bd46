"""The plane unit alone: octets of all functions and formats in any order, against golden models."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.spec.gta import GtaConfig, is_float
from tilewright.hw.spec.jobs.gta_vector import functions_of
from tilewright.sim.rtl.streams import NativeSimulation, pack, unpack
from tilewright.verif.kit.sampling import cases, slow_but

from .plane_steps import BYTE_FUNCTIONS, plane_steps
from .plane_stream import PlaneStream

pytestmark = pytest.mark.long

ALL = "int8 int16 int32 int64 bf16 fp16 fp32 fp64"
SETS = [ALL, "int8 int16 int32 int64", "bf16", "fp16", "fp32 fp64", "int64 fp16", "fp64"]


@cache
def unit(formats: str) -> NativeSimulation:
    names = tuple(formats.split())
    adders = 8 if any(is_float(name) for name in names) else 0
    config = GtaConfig(formats=names, float_adders=adders)
    return NativeSimulation(emit_component(PlaneStream(config), name="plane_unit"))


def run(formats: str, jobs: list[tuple[str, str]], count: int, seed: int) -> None:
    """Octets of each function and format, one after the other in any order; idle cycles here and
    there, in which there is noise."""
    rng = np.random.default_rng(seed)
    found = [plane_steps(*job, count, seed + n) for n, job in enumerate(jobs)]
    octets = [(n, o) for n, steps in enumerate(found) for o in range(len(steps.told))]
    order = [octets[k] for k in rng.permutation(len(octets))]
    names = list(found[0].fields)
    fields = {name: np.concatenate([found[n].fields[name][o] for n, o in order]) for name in names}
    wanted = np.concatenate([found[n].wanted[o] for n, o in order])
    told = np.concatenate([found[n].told[o] for n, o in order])
    job_of = np.concatenate([np.full(len(found[n].told[o]), n) for n, o in order])
    idle = np.flatnonzero(rng.random(len(told)) < 0.1)
    ends = {"plane": 16, "first": 2, "last": 2, "second": 2, "valid": 1, "x": 256, "y": 256}
    for name, each in fields.items():
        between = each[idle]
        if name in ends:
            between = rng.integers(0, ends[name], between.shape, np.uint8)
        fields[name] = np.insert(each, idle, between, axis=0)
    wanted, told, job_of = (np.insert(each, idle, 0, axis=0) for each in (wanted, told, job_of))
    simulation = unit(formats)
    simulation.reset()
    result = simulation.run(pack(fields, simulation.stream("i")))
    got = unpack(result.payloads, simulation.stream("o"))["o"]
    wrong = np.flatnonzero((got != wanted).any(axis=1) & told)
    assert not len(wrong), (
        f"{jobs[job_of[wrong[0]]]}, seed {seed}, step {wrong[0]}: "
        f"{got[wrong[0]]}, not {wanted[wrong[0]]}; {len(wrong)} of {told.sum()} planes differ"
    )
    assert (result.output_cycles - result.input_cycles == 1).all()


def jobs_of(formats: str, *, floats: tuple[str, ...] = BYTE_FUNCTIONS) -> list[tuple[str, str]]:
    """What the plane unit does: other functions on floats have adders of their own."""
    return [
        (function, name)
        for name in formats.split()
        for function in functions_of(name)
        if not is_float(name) or function in floats
    ]


@pytest.mark.parametrize("formats", slow_but(["int64 fp16"], SETS, [ALL, "int64 fp16", "bf16"]))
def test_all_functions(formats: str) -> None:
    """Special values with each other, alike and unlike numbers, masks of a single bit."""
    jobs = jobs_of(formats)
    assert {function for function, _ in jobs} >= set(BYTE_FUNCTIONS)
    run(formats, jobs, cases(4000), seed=1)
