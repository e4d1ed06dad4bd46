"""Products of tensors and matrices on Tensaurus, from its page and its sidecar alone."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from bench.device import Device, JobError  # noqa: E402
from bench.show import show  # noqa: E402

Floats = npt.NDArray[np.float32]
Elements = dict[tuple[int, ...], float]
"""A sparse tensor: its nonzero elements by indices i, j, ..., in any order."""

LIST, STREAM, B, C, Y = 0x0000, 0x0200, 0x0400, 0x0600, 0x0800


class Tensaurus:
    """Jobs of a unit for fp32.

    Parameters
    ----------
    device: the unit with its memory
    """

    def __init__(self, device: Device) -> None:
        self.device, self.memory = device, device.memory
        self.operations = {one["name"]: one for one in device.sidecar["operations"]}
        config = device.sidecar["config"]
        assert (config["value"], config["marker"], config["index_bits"]) == ("fp32", "zero", 32)
        self.rows, self.unit = config["rows"], config["cols"] * config["vlen"]

    def put(self, address: int, content: bytes) -> None:
        """Write bytes into memory."""
        self.memory[address : address + len(content)] = np.frombuffer(content, np.uint8)

    def matrix(self, address: int, matrix: Floats) -> None:
        """Write a matrix by rows, each padded to whole units."""
        padded = np.zeros((len(matrix), self.vectors(matrix) * self.unit), "<f4")
        padded[:, : matrix.shape[1]] = matrix
        self.put(address, padded.tobytes())

    def vectors(self, matrix: Floats) -> int:
        """Units of a row."""
        return -(-matrix.shape[1] // self.unit)

    def stream(self, elements: Elements, order: int = 3) -> tuple[bytes, int]:
        """Return the CISS stream of a tensor, and its entries: slots of value, index 0, ..."""
        none = 0xFFFFFFFF
        rows: list[list[tuple[float, tuple[int, ...]]]] = [[] for _ in range(self.rows)]
        for i in sorted({place[0] for place in elements}):
            # The shortest row, so that slices ascend over the whole stream.
            row = min(rows, key=len)
            row.append((0.0, (i, *[0] * (order - 2))))  # the header of slice i
            row.extend((value, place[1:]) for place, value in elements.items() if place[0] == i)
        entries = max(map(len, rows)) + 1  # the last entry is no-ops alone
        fields = [("value", "<f4"), ("index", "<u4", (order - 1,))]
        slots = np.zeros((entries, self.rows), fields)
        slots["index"][..., 0] = none
        for p, row in enumerate(rows):
            for n, slot in enumerate(row):
                slots[n, p] = slot
        return slots.tobytes(), entries

    def tile(self, number: int, operation: str, **values: int) -> None:
        """Write the description of a tile: parts and their bits are in the sidecar."""
        described = self.operations[operation]["list"]
        parts = described["parts"]
        word = sum(value << parts[name]["low"] for name, value in values.items())
        self.put(LIST + number * described["bytes"], word.to_bytes(described["bytes"], "little"))

    def run(self, operation: str, **registers: int) -> int:
        """Write the registers, and run the job. Return its cycles."""
        job = dict.fromkeys(self.device.sidecar["jobs"]["registers"], 0)
        for setting in self.operations[operation]["select"]:
            job[setting["register"]] = setting["value"]
        for name, value in (job | {"TILES": 1, "LIST": LIST} | registers).items():
            self.device.write(name, value)
        return self.device.run()

    def result(self, rows: int, columns: int) -> Floats:
        """Return the output's elements, rows of whole units."""
        stride = -(-columns // self.unit) * self.unit
        words = self.memory[Y : Y + 4 * rows * stride].view("<f4")
        return words.reshape(rows, stride)[:, :columns].copy()


def dense(shape: tuple[int, ...], elements: Elements) -> Floats:
    """Return a tensor as an array."""
    found = np.zeros(shape, np.float32)
    for place, value in elements.items():
        found[place] = value
    return found


def random_elements(draw: np.random.Generator, shape: tuple[int, ...]) -> Elements:
    """Draw a tensor of small integers, a third of which are not 0. Their order is random."""
    places = draw.permutation(np.argwhere(draw.random(shape) < 0.3)).tolist()
    return {tuple(place): float(draw.integers(1, 9)) for place in places}


def random_matrix(draw: np.random.Generator, rows: int, columns: int) -> Floats:
    """Draw a matrix of small integers."""
    return draw.integers(-9, 9, (rows, columns)).astype(np.float32)


def agree(what: str, found: Floats, wanted: Floats, cycles: int) -> bool:
    """Print how a result compares. The numbers are small integers: sums are exact."""
    wrong = int((found != wanted).sum())
    print(f"{what}: {found.size} elements, {wrong} wrong; {cycles} cycles")
    return wrong == 0


def worked_example(unit: Tensaurus) -> bool:
    """Run the job of the page, and show each byte of it."""
    elements: Elements = {(0, 1, 1): 1.0, (2, 0, 1): 2.0, (2, 1, 0): 3.0}
    b = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    c = np.array([[1, 0, 1], [2, 2, 2]], np.float32)
    stream, entries = unit.stream(elements)
    unit.put(STREAM, stream)
    unit.matrix(B, b)
    unit.matrix(C, c)
    unit.tile(
        0, "spmttkrp_3", load=3, last=1, slices=3, entries=entries, tensor=STREAM, output=Y,
        size_1=2, size_2=2, operand_1=B, operand_2=C,
    )  # fmt: skip
    cycles = unit.run("spmttkrp_3", VECTORS=1, REGION_2=2)
    show(unit.memory, LIST, 128, 16, "the list: one tile")
    show(unit.memory, STREAM, len(stream), 12, "the tensor: a slot a line, two slots an entry")
    show(unit.memory, B, 32, 16, "b: a row a line, padded to a unit of four values")
    show(unit.memory, C, 32, 16, "c")
    show(unit.memory, Y, 48, 16, "y, as the unit wrote it: a slice a line")
    print(unit.result(3, 3).astype(int).tolist())
    wanted = np.einsum("ijk,jf,kf->if", dense((3, 2, 2), elements), b, c)
    return agree("MTTKRP", unit.result(3, 3), wanted, cycles)


def two_tiles(unit: Tensaurus, draw: np.random.Generator, direct: int) -> bool:
    """Run an MTTKRP whose mode 1 is cut into two tiles, which are added up in the unit's buffer,
    or in memory (`direct` 1), where the output must be 0 before the job.

    The values of a slice are in any order, which is allowed.
    """
    shape, columns, cut = (7, 10, 6), 5, 5
    elements = random_elements(draw, shape)
    b, c = (random_matrix(draw, n, columns) for n in shape[1:])
    unit.matrix(C, c)
    tensor, rows_of_b = 0x1000, 0x4000
    for number in range(2):
        # Indices of a tile count from its own first one.
        part: Elements = {
            (i, j - number * cut, k): value
            for (i, j, k), value in elements.items()
            if j // cut == number
        }
        stream, entries = unit.stream(part)
        unit.put(tensor + number * 0x1000, stream)
        unit.matrix(rows_of_b + number * 0x1000, b[number * cut :][:cut])
        unit.tile(
            number, "spmttkrp_3",
            load=3 if number == 0 else 1,  # c stays
            last=number, slices=shape[0], entries=entries, tensor=tensor + number * 0x1000,
            output=Y, size_1=cut, size_2=shape[2], operand_1=rows_of_b + number * 0x1000,
            operand_2=C,
        )  # fmt: skip
    vectors = unit.vectors(b)
    unit.memory[Y : Y + 0x400] = 0
    cycles = unit.run("spmttkrp_3", TILES=2, VECTORS=vectors, REGION_2=cut * vectors, DIRECT=direct)
    wanted = np.einsum("ijk,jf,kf->if", dense(shape, elements), b, c)
    stride = unit.operations["spmttkrp_3"]["list"]["align"] // 4 if direct else unit.unit
    # In memory each unit of the output begins with a line.
    words = unit.memory[Y : Y + 4 * shape[0] * vectors * stride].view("<f4")
    units = words.reshape(shape[0], vectors, stride)[..., : unit.unit]
    found = units.reshape(shape[0], -1)[:, :columns]
    where = "memory" if direct else "the buffer"
    return agree(f"MTTKRP in two tiles, sums in {where}", found, wanted, cycles)


def ttmc(unit: Tensaurus, draw: np.random.Generator) -> bool:
    """Run a TTMc: mode 1's operand is one of scalars, three a row."""
    shape = (4, 5, 6)
    elements = random_elements(draw, shape)
    b, c = random_matrix(draw, 5, 3), random_matrix(draw, 6, 4)
    stream, entries = unit.stream(elements)
    unit.put(0x1000, stream)
    unit.put(B, b.tobytes())  # rows of scalars follow each other at once
    unit.matrix(C, c)
    unit.tile(
        0, "spttmc_3", load=3, last=1, slices=4, entries=entries, tensor=0x1000, output=Y,
        size_1=5, size_2=6, operand_1=B, operand_2=C,
    )  # fmt: skip
    cycles = unit.run("spttmc_3", VECTORS=1, SCALARS_1=3)
    wanted = np.einsum("ijk,jf,kg->ifg", dense(shape, elements), b, c)
    return agree("TTMc", unit.result(4 * 3, 4).reshape(4, 3, 4), wanted, cycles)


def vector(unit: Tensaurus, draw: np.random.Generator) -> bool:
    """Multiply a sparse matrix with a vector: slots have one index, results are single values."""
    elements = random_elements(draw, (13, 9))
    b = random_matrix(draw, 9, 1)
    stream, entries = unit.stream(elements, order=2)
    unit.put(0x1000, stream)
    unit.put(B, b.tobytes())
    unit.tile(
        0, "spmv", load=1, last=1, slices=13, entries=entries, tensor=0x1000, output=Y, size_1=9,
        operand_1=B,
    )  # fmt: skip
    cycles = unit.run("spmv")
    found = unit.memory[Y : Y + 4 * 13].view("<f4")
    return agree("SpMV", found, dense((13, 9), elements) @ b[:, 0], cycles)


def product(unit: Tensaurus, draw: np.random.Generator) -> bool:
    """Run a GEMM: the tensor is a dense matrix, whose rows lie `pitch` bytes apart."""
    a, b = random_matrix(draw, 6, 9), random_matrix(draw, 9, 4)
    pitch = unit.operations["gemm"]["list"]["align"]
    unit.memory[STREAM : STREAM + 6 * pitch] = 0
    for i, row in enumerate(a):
        unit.put(STREAM + i * pitch, row.tobytes())
    unit.matrix(B, b)
    unit.tile(
        0, "gemm", load=1, last=1, slices=6, tensor=STREAM, output=Y, pitch=pitch, size_1=9,
        operand_1=B,
    )  # fmt: skip
    cycles = unit.run("gemm", VECTORS=1)
    return agree("GEMM", unit.result(6, 4), a @ b, cycles)


def wrong_order(unit: Tensaurus) -> bool:
    """Run a stream whose slices do not ascend: slice 2 before slice 1."""
    slots = np.zeros((3, unit.rows), [("value", "<f4"), ("index", "<u4", 2)])
    slots["index"][..., 0] = 0xFFFFFFFF
    slots["index"][0, :2, 0] = 2, 1  # two headers in one entry
    slots[1, 0] = slots[1, 1] = (1.0, (0, 0))
    unit.put(STREAM, slots.tobytes())
    unit.tile(
        0, "spmttkrp_3", load=3, last=1, slices=3, entries=3, tensor=STREAM, output=Y,
        size_1=2, size_2=2, operand_1=B, operand_2=C,
    )  # fmt: skip
    try:
        unit.run("spmttkrp_3", VECTORS=1, REGION_2=2)
    except JobError as error:
        print(f"slices out of order: {error}")
        return (error.name, error.detail) == ("slice", 0)
    return False


def main() -> int:
    """Run all jobs. Return 0 if every result agrees with NumPy."""
    with Device(
        HERE / "unit.sv", HERE / "unit.json", memory_bytes=1 << 16, build_dir=HERE / "build",
        stall=20, reorder=True, aw_after_w=True,
    ) as device:  # fmt: skip
        unit = Tensaurus(device)
        draw = np.random.default_rng(1)
        good = [
            worked_example(unit),
            two_tiles(unit, draw, direct=0),
            two_tiles(unit, draw, direct=1),
            ttmc(unit, draw),
            vector(unit, draw),
            product(unit, draw),
            wrong_order(unit),
        ]
    print("PASS" if all(good) else "FAIL")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
