"""Tensaurus' RTL at native speed: every kernel, format and semiring, any memory, its errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.emit.unit import emit
from tilewright.hw.spec.jobs.tensaurus import job_spec
from tilewright.hw.spec.jobs.tensaurus_operations import TILE_BYTES, TILE_WORDS
from tilewright.hw.spec.tensaurus import KERNELS, TENSAURUS, TensaurusConfig
from tilewright.registry import entries
from tilewright.sim.device.driver import JobRegisters, JobStatus
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.sparse.tensor import Tensor
from tilewright.sim.tensaurus.driver import TensorDriver
from tilewright.sim.tensaurus.job_tiles import output_bytes
from tilewright.sim.tensaurus.model import TensaurusModel
from tilewright.sim.tensaurus.result.kernel import Kernel
from tilewright.sim.tensaurus.work import STORES, most_slices
from tilewright.verif.kit.job_checks import Mismatch, QuietAtEnd
from tilewright.verif.kit.pages import examples, page
from tilewright.verif.kit.reports import any_behaviour
from tilewright.verif.kit.sampling import by_size, draw_until, rng_of, slow_but
from tilewright.verif.tensaurus.jobs import (
    TensorCase,
    TensorRtl,
    check_case,
    fitting,
    random_case,
    run_case,
)
from tilewright.verif.tensaurus.model.cases import device as small
from tilewright.verif.tensaurus.model.cases import patterns

ARRAYS = ("list", "tensor", "operand", "output")
"""Arrays of a job in memory."""

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
        """Returns the fields of a tile's description in the list."""
        first = self.registers["LIST"] + number * TILE_BYTES
        word = int.from_bytes(self.memory[first : first + TILE_BYTES].tobytes(), "little")
        return {name: word >> low & ((1 << bits) - 1) for name, (low, bits) in TILE_WORDS.items()}

    def with_tile(self, number: int, **changes: int) -> Placed:
        """Returns the same job with another description of a tile."""
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
        """Returns the addresses and sizes of an array of ``ARRAYS``."""
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
        """Returns a mask of the bytes of memory that belong to an array."""
        found = np.zeros(len(self.memory), np.bool_)
        for first, size in self.spans(array):
            found[first : first + size] = True
        return found


class _Noting(TensaurusModel):
    """Keeps the content of memory and registers at the start of the job."""

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
    """Runs a job that must end without error, with the results of the model. Raises Mismatch."""
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


MEMORY_BYTES = 1 << 18
CONFIGS: dict[str, dict[str, Any]] = {
    "registered": {**entries()["tensaurus"].small},
    "small": {},
    "zero": {"marker": "zero", "order": 3, "rows": 3, "cols": 1, "vlen": 3, "outstanding": 4},
    "int8": {"value": "int8", "cols": 2, "vlen": 4, "rows": 4, "channels": 4, "banks": 2,
             "window": 4, "row_queue": 2, "index_bits": 16},
    "fp64": {"value": "fp64", "rows": 1, "cols": 2, "vlen": 1, "tlen": 4, "olen": 8,
             "channels": 1, "interleave": 256},
    "min_plus": {"semiring": "minplus", "value": "int32", "order": 2, "cols": 1, "channels": 3},
    "max_mul": {"semiring": "maxmul", "value": "fp16", "order": 2, "rows": 5, "olen": 3},
    "or_and": {"semiring": "orand", "value": "bf16", "order": 3, "adder_stages": 1},
    "fast": {"adder_stages": 1, "multiplier_stages": 1, "order": 3, "data_bits": 128,
             "tlen": 16, "olen": 16, "cols": 2, "vlen": 1},
    # Units of two lines, and of a line of two blocks.
    "lines": {"value": "int32", "vlen": 8, "channels": 3, "order": 3, "outstanding": 8,
              "out_bytes": 8192},
    "wide": {"value": "bf16", "vlen": 13, "channels": 4, "data_bits": 256, "order": 3},
}  # fmt: skip
Device = NativeAccelerator[TensaurusConfig]


@pytest.fixture(scope="module", params=slow_but([], CONFIGS, ["registered", "lines"]))
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    config = small(**CONFIGS[request.param])
    with NativeAccelerator(
        emit(TENSAURUS, config), config, memory_bytes=MEMORY_BYTES, time_out=1_000_000
    ) as device:
        yield device


def some_job(
    rng: np.random.Generator,
    config: TensaurusConfig,
    dense: bool | None = None,
    store: str | None = None,
) -> Placed:
    """A product of a few tiles; in which store, and whether dense, if it is not said."""

    def draw() -> Placed | None:
        case = random_case(rng, config, dense=dense, store=store)
        placed = place(rng, config, case, MEMORY_BYTES)
        return placed if placed.tiles > 1 else None

    return draw_until(draw)


def test_random_products(device: Device) -> None:
    """Products of every kernel, sparse and dense, run on memories that answer at once and on
    others."""
    rng = rng_of(1)
    seen, stores = set(), set()
    for number in range(by_size(60, 80, 2000)):
        device.behave(any_behaviour(rng) if number % 3 else AxiBehaviour())
        case = random_case(rng, device.config, store=None)
        check_case(rng, device, case)
        seen.add((case.work.kernel, case.work.order, case.work.dense))
        stores.add(case.cut.store)
    assert stores == set(STORES)
    assert len(seen) == 2 * len({(kernel.name, kernel.order) for kernel in fitting(device.config)})


def test_the_same_sums_in_memory_again_and_again(device: Device) -> None:
    """Tiles have few slices, so that most units are requested while they are in flight."""
    rng = rng_of(13)
    kinds = [kernel for kernel in fitting(device.config) if kernel.name != "mv"]
    for _ in range(by_size(10, 20, 400)):
        device.behave(any_behaviour(rng))
        kernel = kinds[int(rng.integers(len(kinds)))]
        check_case(
            rng, device, random_case(rng, device.config, kernel=kernel, store="memory", most=3)
        )


def shapes(config: TensaurusConfig) -> list[tuple[str, tuple[int, ...], int]]:
    """Returns kernels, shapes and numbers of values, many of them 1."""
    units = min(60, config.spm_units)
    found: list[tuple[str, tuple[int, ...], int]] = [
        ("mm", (40, 1), 3), ("mm", (1, units), units), ("mm", (50, 30), 1), ("mv", (1, 1), 1),
        ("mv", (70, 5), 4),
    ]  # fmt: skip
    if config.semiring == "mma" and config.order > 2:
        found += [("mttkrp", (9, 1, 1), 4), ("ttmc", (1, 7, 1), 7), ("mttkrp", (1, 1, 1), 1),
                  ("ttmc", (30, 5, 4), 2), ("mttkrp", (1, 9, 9), 81)]  # fmt: skip
    return found


def test_slices_that_are_empty_alone_or_everything(device: Device) -> None:
    rng = rng_of(2)
    config = device.config
    done = set()
    device.behave(AxiBehaviour())
    for name, shape, count in shapes(config) * 2:
        kernel = next(k for k in fitting(config) if (k.name, k.order) == (name, len(shape)))
        case = random_case(rng, config, kernel=kernel, dense=False)
        shape = (min(shape[0], most_slices(config, kernel)), *shape[1:])
        places = rng.choice(int(np.prod(shape)), count, replace=False)
        indices = np.stack(np.unravel_index(places, shape), axis=1).astype(np.int64)
        tensor = Tensor(shape=shape, indices=indices, values=rng.standard_normal(count).round(1))
        whole = _with(case, shape, tensor, config, rng)
        if (name, shape, count) in done and name != "mv":
            whole = replace(whole, cut=replace(whole.cut, store="memory"))
        done.add((name, shape, count))
        check_case(rng, device, whole)


def _with(
    case: TensorCase, shape: tuple[int, ...], tensor: Tensor, config: TensaurusConfig,
    rng: np.random.Generator,
) -> TensorCase:  # fmt: skip
    """The kernel of a case on another tensor, in one tile."""
    work = replace(case.work, shape=shape)
    operands = {
        mode: patterns(rng, (shape[mode], work.ranks[mode - 1]), config.format)
        for mode in range(1, len(shape))
    }
    return TensorCase(work, replace(case.cut, steps=shape), tensor, operands)


def wrong_tiles(placed: Placed) -> list[dict[str, int]]:
    """Descriptions that cannot be, each wrong in one thing."""
    tile, most = placed.tile(0), (1 << 32) - 1
    align = placed.config.line_bytes
    found = [
        {"tensor": tile["tensor"] + align // 2},
        {"output": tile["output"] + 1},
        {"slices": 0},
        {"slices": most},
        {"size_1": 0},
        {"size_1": most},
        {"operand_1": tile["operand_1"] + align - 1, "load": tile["load"] | 1},
        {"tensor": 1 << 63},
    ]
    found.append({"pitch": align // 2} if placed.registers["DENSE"] else {"entries": 0})
    return found


def test_tiles_that_are_wrong(device: Device) -> None:
    """The tile is named, nothing but outputs is touched; then a good job."""
    rng = rng_of(4)
    for dense in (False, True):
        placed = some_job(rng, device.config, dense)
        for changes in wrong_tiles(placed):
            device.behave(any_behaviour(rng))
            number = int(rng.integers(placed.tiles))
            assert check_end(device, placed.with_tile(number, **changes)).error == "tile", changes
        last = placed.tiles - 1
        assert check_end(device, placed.with_tile(last, last=0)).detail == last
        assert check_end(device, placed.with_tile(0, load=0)).detail == 0
        check_placed(device, placed)


def test_streams_that_are_wrong(device: Device) -> None:
    """Slots with anything in them: error, entry and tile as the model finds them."""
    rng = rng_of(5)
    found = set()
    for _ in range(by_size(30, 60, 1000)):
        device.behave(any_behaviour(rng))
        placed = some_job(rng, device.config, dense=False)
        layout = device.config.layout(placed.registers["ORDER"])
        number = int(rng.integers(placed.tiles))
        tile = placed.tile(number)
        slot = int(rng.integers(tile["entries"] * layout.rows))
        choices = [
            layout.no_op,
            layout.header(int(rng.integers(tile["slices"] + 2))),
            1 | int(rng.integers(tile["size_1"] + 2)) << layout.format.bits,
            int.from_bytes(rng.bytes(layout.slot_bytes), "little"),
        ]
        content = choices[int(rng.integers(4))].to_bytes(layout.slot_bytes, "little")
        wrong = placed.with_bytes(tile["tensor"] + slot * layout.slot_bytes, content)
        try:
            found.add(check_end(device, wrong).error)
        except ValueError:
            # It is a stream all the same.
            check_placed(device, wrong)
    assert {"index", "slice", "stream"} <= found
    check_placed(device, placed)


# The examples of docs/tensaurus.md work.

PAGE = page("tensaurus.md")


def test_python_examples_run() -> None:
    found = examples(PAGE, "python")
    assert found
    names: dict[str, object] = {}
    for example in found:
        exec(compile(example, str(PAGE), "exec"), names)
