"""Jobs as they lie in memory: their registers, their arrays, and how they end when something of
them is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.jobs.tensaurus import job_spec
from tilewright.hw.spec.tensaurus import KERNELS, TensaurusConfig
from tilewright.hw.spec.tensaurus_tiles import TILE_BYTES, TILE_WORDS
from tilewright.sim.device.job_registers import JobRegisters, JobStatus
from tilewright.sim.tensaurus.driver import TensorDriver
from tilewright.sim.tensaurus.images import output_bytes
from tilewright.sim.tensaurus.model import TensaurusModel
from tilewright.sim.tensaurus.result.kernel import Kernel
from tilewright.sim.tensaurus.work import STORES
from tilewright.verif.kit.job_checks import Mismatch, QuietAtEnd
from tilewright.verif.tensaurus.jobs import TensorCase, TensorRtl, run_case

__all__ = ["ARRAYS", "Placed", "check_end", "check_placed", "place"]

ARRAYS = ("list", "tensor", "operand", "output")
"""What a job has in memory."""

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Placed:
    """A job in memory.

    Parameters
    ----------
    config: of the device
    registers: of the job
    memory: before it
    """

    config: TensaurusConfig
    registers: dict[str, int]
    memory: Bytes

    @property
    def kernel(self) -> Kernel:
        values = self.registers
        return Kernel(
            name=KERNELS[values["KERNEL"]],
            order=values["ORDER"],
            vectors=values["VECTORS"],
            scalars=(values["SCALARS_1"], values["SCALARS_2"]),
        )

    @property
    def tiles(self) -> int:
        return self.registers["TILES"]

    def tile(self, number: int) -> dict[str, int]:
        """What the list says of a tile."""
        first = self.registers["LIST"] + number * TILE_BYTES
        word = int.from_bytes(self.memory[first : first + TILE_BYTES].tobytes(), "little")
        return {name: word >> low & ((1 << bits) - 1) for name, (low, bits) in TILE_WORDS.items()}

    def with_tile(self, number: int, **changes: int) -> Placed:
        """The same job, a tile of which is described otherwise."""
        fields = self.tile(number) | changes
        word = sum(value << TILE_WORDS[name][0] for name, value in fields.items())
        return self.with_bytes(
            self.registers["LIST"] + number * TILE_BYTES, word.to_bytes(TILE_BYTES, "little")
        )

    def with_bytes(self, address: int, content: bytes) -> Placed:
        """The same job with something else at an address."""
        memory = self.memory.copy()
        memory[address : address + len(content)] = np.frombuffer(content, np.uint8)
        return Placed(self.config, self.registers, memory)

    def spans(self, array: str) -> list[tuple[int, int]]:
        """Addresses and bytes of what there is of an array of ``ARRAYS``."""
        config, kernel = self.config, self.kernel
        if array == "list":
            return [(self.registers["LIST"], self.tiles * TILE_BYTES)]
        found = []
        for tile in map(self.tile, range(self.tiles)):
            if array == "output":
                store = STORES[self.registers["DIRECT"]]
                size = output_bytes(config, kernel, tile["slices"], store)
                found.append((tile["output"], size))
            elif array == "tensor" and self.registers["DENSE"]:
                cells = int(np.prod([tile[f"size_{mode}"] for mode in range(1, kernel.order)]))
                count = (tile["slices"] - 1) * tile["pitch"] + cells * config.format.bits // 8
                found.append((tile["tensor"], count))
            elif array == "tensor":
                size = config.layout(kernel.order).entry_bytes
                found.append((tile["tensor"], tile["entries"] * size))
            else:
                for mode in range(1, kernel.order):
                    values = tile[f"size_{mode}"] * kernel.row_values(config, mode)
                    if tile["load"] >> mode - 1 & 1:
                        found.append((tile[f"operand_{mode}"], values * config.format.bits // 8))
        return found

    def inside(self, array: str) -> npt.NDArray[np.bool_]:
        """Which bytes of memory are an array's."""
        found = np.zeros(len(self.memory), np.bool_)
        for first, size in self.spans(array):
            found[first : first + size] = True
        return found


class _Noting(TensaurusModel):
    """Keeps what memory and registers were when the job began."""

    began: tuple[Bytes, dict[str, int]] | None = None

    def _job(self) -> tuple[str, int, dict[str, int]]:
        self.began = self.memory.copy(), dict(self._values)
        return super()._job()


def place(rng: np.random.Generator, config: TensaurusConfig, case: TensorCase, size: int) -> Placed:
    """A product as its driver places it, in a memory of ``size`` bytes full of random ones. Raises
    AssertionError if it has no values."""
    model = _Noting(config, size)
    model.write_memory(0, rng.bytes(size))
    run_case(TensorDriver(model), case)
    assert model.began is not None
    memory, values = model.began
    names = [register.name for register in job_spec(config).job]
    return Placed(config, {name: values[name] for name in names}, memory)


def _run(device: Any, placed: Placed, overrides: Mapping[str, int]) -> JobStatus:
    device.write_memory(0, placed.memory.tobytes())
    registers = JobRegisters(device, job_spec(placed.config))
    return registers.submit(placed.registers | dict(overrides))


def _content(device: TensorRtl) -> Bytes:
    return np.frombuffer(device.read_memory(0, device.memory_bytes), np.uint8)


def check_placed(device: TensorRtl, placed: Placed) -> JobStatus:
    """Run a job that must end well, and leave what the model leaves. Raises Mismatch."""
    model = TensaurusModel(placed.config, device.memory_bytes)
    expected = _run(model, placed, {})
    found = _run(QuietAtEnd(device), placed, {})
    if (found.error, expected.error) != ("none", "none"):
        raise Mismatch(f"{found.error}, detail {found.detail:#x}; the model: {expected.error}")
    if not np.array_equal(_content(device), model.memory):
        raise Mismatch("memory is not the model's")
    return found


def check_end(
    device: TensorRtl,
    placed: Placed,
    *,
    error: str | None = None,
    where: npt.NDArray[np.bool_] | None = None,
    overrides: Mapping[str, int] | None = None,
) -> JobStatus:
    """Run a job that must not end well; outside of its outputs memory must stay as it was.

    Parameters
    ----------
    error: how it must end, at an address of ``where``; None: as the model does, with its detail
    overrides: registers with other values

    Raises
    ------
    Mismatch
    """
    found = _run(QuietAtEnd(device), placed, overrides or {})
    if error is None:
        model = TensaurusModel(placed.config, device.memory_bytes)
        expected = _run(model, placed, overrides or {})
        if expected.error == "none":
            raise ValueError("the model finds nothing wrong")
        if (found.error, found.detail) != (expected.error, expected.detail):
            raise Mismatch(
                f"{found.error}, detail {found.detail:#x}, expected {expected.error}, "
                f"{expected.detail:#x}"
            )
    else:
        there = where is None or bool(where[found.detail : found.detail + 1].any())
        if found.error != error or not there:
            raise Mismatch(f"{found.error}, detail {found.detail:#x}, expected {error}")
    _check_outside(device, placed)
    return found


def _check_outside(device: TensorRtl, placed: Placed) -> None:
    changed = np.flatnonzero((_content(device) != placed.memory) & ~placed.inside("output"))
    if len(changed):
        raise Mismatch(f"{len(changed)} bytes outside of the outputs, first {changed[0]:#x}")
