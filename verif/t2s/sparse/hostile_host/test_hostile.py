"""Random mappings with sparse operands and an independent host: the model and the Verilog are
compared with exact rational sums, in every byte of memory. Other jobs have images that no host
makes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.jobs.t2s import job_spec, memory_parts
from tilewright.hw.spec.t2s.config import T2S, T2sConfig
from tilewright.sim.device.driver import JobRegisters
from tilewright.sim.rtl.accelerator import AcceleratorTimeout, AxiBehaviour, NativeAccelerator
from tilewright.sim.t2s.images import image_of, laid_out, placement
from tilewright.sim.t2s.job import Job, job_at
from tilewright.sim.t2s.model import T2sModel
from tilewright.sim.t2s.sizes import shape_of
from tilewright.verif.kit.job_checks import QuietAtEnd, soft_reset_after
from tilewright.verif.kit.reports import any_behaviour
from tilewright.verif.kit.sampling import by_size

from .host import Host, vector_bytes
from .mapping_files import DrawnFile, drawn_file


@dataclass(frozen=True, kw_only=True)
class HostileJob:
    """A job, memory before and after it, and the bytes of the result's image."""

    config: T2sConfig
    job: Job
    before: npt.NDArray[np.uint8]
    behind: npt.NDArray[np.uint8]
    written: slice


def hostile_job(
    rng: np.random.Generator,
    config: T2sConfig,
    drawn: DrawnFile,
    memory_bytes: int,
    most: int = 2,
    density: float | None = None,
) -> HostileJob:
    """A job somewhere in a memory full of random bytes."""
    host = Host(
        rng, drawn, most, float(rng.choice([0, 0.05, 0.3, 1])) if density is None else density
    )
    design, beat = config.plan, config.beat_bytes
    content, steps = {}, {}
    for name in drawn.sparse:
        content[name], steps[name] = host.image(name)
    for name in drawn.dense:
        shape = shape_of(design.program.tensor(name).dimensions, host.bounds)
        words = np.array([host.word() for _ in range(int(np.prod(shape)))], np.uint64)
        host.words[name] = words.reshape(shape)
        content[name] = laid_out(design, name, host.bounds, host.words[name], beat)
    sizes = {name: -(-len(one) // beat) * beat for name, one in content.items()}
    for part in memory_parts(config):
        sizes[part.tensor] = placement(design, part.tensor, host.bounds, beat).size
    before = rng.integers(0, 256, memory_bytes, dtype=np.uint8)
    places, address = {}, 0
    free = (memory_bytes - sum(sizes.values())) // beat // (len(sizes) + 1)
    assert free > 0
    for name in rng.permutation(list(sizes)):
        address += int(rng.integers(free + 1)) * beat
        places[str(name)] = address
        address += sizes[str(name)]
    for name, image in content.items():
        before[places[name] : places[name] + len(image)] = np.frombuffer(image, np.uint8)
    behind = before.copy()
    result = image_of(design, "C", host.bounds)
    rows = result.rows(host.result())
    size = result.part.run_beats(beat) * beat
    for number, run in enumerate(rows.reshape(-1, rows.shape[-1])):
        first = places["C"] + number * size
        behind[first : first + len(run)] = run
    job = job_at(config, host.bounds, places, steps)
    written = slice(places["C"], places["C"] + sizes["C"])
    return HostileJob(config=config, job=job, before=before, behind=behind, written=written)


KINDS = ("fewer", "more", "random", "zeros", "bits", "no end")
"""Fewer vectors than the image has, more of them; random bytes in place of it, or zeros; some bits
inverted; without the last end."""


def spoilt(rng: np.random.Generator, drawn: DrawnFile, job: HostileJob, kind: str) -> HostileJob:
    """The same job with an image that is none."""
    name = str(rng.choice(drawn.sparse))
    base, steps, size = job.job.base[name], job.job.steps[name], vector_bytes(drawn)
    before, told = job.before.copy(), steps
    image = before[base : base + steps * size]
    match kind:
        case "fewer":
            told = max(1, steps - int(rng.integers(1, 5)))
        case "more":
            told = steps + int(rng.integers(1, 6))
        case "random":
            image[:] = rng.integers(0, 256, len(image))
        case "zeros":
            image[:] = 0
        case "bits":
            for _ in range(3):
                image[rng.integers(len(image))] ^= 1 << int(rng.integers(8))
        case "no end":
            image[-size:] = 0
    registers = replace(job.job, steps={**job.job.steps, name: told})
    return replace(job, job=registers, before=before)


pytestmark = pytest.mark.long

_MEMORY = 1 << 17
_CYCLES = 20_000
"""Jobs that end take a tenth of that."""

_SEMIRINGS = ["mma", "mma", "minplus", "maxplus", "minmax", "maxmin", "orand"]


def _drawn(rng: np.random.Generator, file: Path, fmt: str = "") -> tuple[DrawnFile, T2sConfig]:
    """A mapping and a configuration of it."""
    drawn = drawn_file(
        rng,
        kind=str(rng.choice(["one", "one", "intersection", "union"])),
        semiring=str(rng.choice(_SEMIRINGS)),
        format=fmt or str(rng.choice(["int8", "int16", "fp16", "bf16", "fp32"])),
    )
    file.write_text(drawn.text)
    images = len(drawn.sparse) + len(drawn.dense) + 1
    config = T2sConfig(
        design=str(file),
        trip_bits=6,
        data_bits=int(rng.choice([64, 128, 256, 512])),
        managers=int(rng.integers(1, min(3, images) + 1)),
        outstanding=int(rng.choice([1, 2, 8])),
    )
    return drawn, config


def _run(device: Any, registers: JobRegisters, job: HostileJob) -> Any:
    """Runs a job that ends without error; returns the memory after it."""
    device.write_memory(0, job.before.tobytes())
    status = registers.submit(job.job.registers(job.config))
    assert status.error == "none", status
    return np.frombuffer(device.read_memory(0, _MEMORY), np.uint8)


def _check(device: Any, registers: JobRegisters, job: HostileJob) -> None:
    found = _run(device, registers, job)
    wrong = np.flatnonzero(found != job.behind)
    assert not len(wrong), f"{len(wrong)} bytes are wrong, the first at {wrong[0]:#x}"


def _device(config: T2sConfig) -> NativeAccelerator[T2sConfig]:
    return NativeAccelerator(emit(T2S, config), config, memory_bytes=_MEMORY, time_out=_CYCLES)


@pytest.mark.parametrize("seed", range(by_size(4, 24, 300)))
def test_model(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    drawn, config = _drawn(rng, tmp_path / "mine.py")
    device = T2sModel(config, _MEMORY)
    registers = JobRegisters(device, job_spec(config))
    for _ in range(4):
        _check(device, registers, hostile_job(rng, config, drawn, _MEMORY))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1030))
def test_verilog(seed: int, tmp_path: Path) -> None:
    """Jobs one after the other from memories of any kind, some of them after a soft reset."""
    rng = np.random.default_rng(seed)
    drawn, config = _drawn(rng, tmp_path / "mine.py")
    with _device(config) as device:
        registers = JobRegisters(QuietAtEnd(device), job_spec(config))
        for number in range(9):
            job = hostile_job(rng, config, drawn, _MEMORY, most=2 + number % 2)
            device.behave(any_behaviour(rng) if number % 3 else AxiBehaviour())
            if number % 3 == 2:
                device.write_memory(0, job.before.tobytes())
                registers.write_all(job.job.registers(config))
                soft_reset_after(device, registers, int(rng.integers(600)))
            _check(device, registers, job)


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(1, marks=pytest.mark.slow),
        *(pytest.param(seed, marks=pytest.mark.long) for seed in (3, 4, 5, 7, 8)),
    ],
)
def test_images_that_are_none(seed: int, tmp_path: Path) -> None:
    """The job writes only the result's image. A soft reset stops a job that does not end, and
    nothing of it affects the next job. With seeds 1 and 7, tokens or words of the result once
    remained."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(["one", "one", "intersection", "union"]))
    drawn = drawn_file(rng, kind=kind)
    file = tmp_path / "mine.py"
    file.write_text(drawn.text)
    config = T2sConfig(design=str(file), trip_bits=6, data_bits=64, outstanding=2)
    ended = set()
    with _device(config) as device:
        registers = JobRegisters(QuietAtEnd(device), job_spec(config))
        for number in range(60):
            job = hostile_job(rng, config, drawn, _MEMORY, density=float(rng.choice([0.1, 0.5])))
            device.behave(any_behaviour(rng, latency=(1, 10)) if number % 2 else AxiBehaviour())
            bad = spoilt(rng, drawn, job, str(rng.choice(KINDS)))
            ended.add(_ends(device, registers, bad))
            device.behave(AxiBehaviour())
            _check(device, registers, hostile_job(rng, config, drawn, _MEMORY))
    assert ended == {True, False}


def _ends(device: Any, registers: JobRegisters, bad: HostileJob) -> bool:
    """Returns whether the job ends; a soft reset stops a job that does not."""
    try:
        found = _run(device, registers, bad)
        ends = True
    except AcceleratorTimeout:
        found = np.frombuffer(device.read_memory(0, _MEMORY), np.uint8)
        ends = False
        _reset(device, registers)
    changed = np.flatnonzero(found != bad.before)
    assert np.all((changed >= bad.written.start) & (changed < bad.written.stop))
    return ends


def _reset(device: Any, registers: JobRegisters) -> None:
    status, control = registers.register("STATUS"), registers.register("CTRL")
    registers.write("CTRL", control.put(soft_reset=1, irq_enable=1))
    for _ in range(100):
        if not status.get(registers.read("STATUS"), "busy"):
            return
        device.run(20)
    raise AssertionError("busy long after a soft reset")
