"""Matrix products and a convolution on mapped arrays, from their page and sidecars alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from bench.device import Device, JobError  # noqa: E402
from bench.show import show  # noqa: E402

Numbers = npt.NDArray[np.int64]
Sizes = dict[str, int]


class Image:
    """The layout of an operand in memory.

    Parameters
    ----------
    operand: of the sidecar's operation
    sizes: of the indices, filled up to whole tiles

    Members
    -------
    shape: of the operand, an axis for each index that chooses its words
    offsets: from the base to each element, in bytes
    strides: by register; runs follow each other at once
    bytes: of all runs
    """

    def __init__(self, operand: dict[str, Any], sizes: Sizes) -> None:
        place = operand["placement"]
        modes = [operand["rows"], operand["columns"], *operand.get("more", ())]
        self.shape = tuple(sizes[name] for name in modes)
        index = dict(zip(modes, np.indices(self.shape), strict=True))
        self.offsets: Numbers = np.zeros(self.shape, np.int64)
        self.strides: Sizes = {}
        distance = place["element_bytes"]
        for loop in reversed(place["loops"]):  # the innermost one first
            count = loop.get("count", sizes[loop["size"]] // loop["step"])
            if "stride" in loop:
                distance = -(-distance // place["align"]) * place["align"]
                self.strides[loop["stride"]] = distance
            self.offsets += index[loop["size"]] // loop["step"] % count * distance
            distance *= count
        self.bytes = distance


def tokens(place: dict[str, Any], sizes: Sizes, matrix: Numbers) -> tuple[bytes, int]:
    """Return the image of a sparse matrix, and its vectors: each has a token for each element.

    Parameters
    ----------
    place: its placement, of kind `tokens`, with the rows of the matrix as the outer level
    sizes: of the indices, filled up to whole tiles
    matrix: what is 0 has no entry
    """
    rows, (outer, inner) = place["rows"], place["levels"]
    assert outer["size"] == rows["size"]

    def token(**fields: int) -> bytes:
        word = sum(value << place["parts"][name]["low"] for name, value in fields.items())
        return word.to_bytes(place["token_bytes"], "little")

    vectors: list[list[bytes]] = []
    across = sizes[inner["size"]] // inner["step"]
    for top in range(0, sizes[outer["size"]], outer["step"]):
        for number in range(across):
            left = number * inner["step"]
            tile = matrix[top : top + outer["step"], left : left + inner["step"]]
            streams: list[list[bytes]] = [[] for _ in range(rows["elements"])]
            for row, column in np.argwhere(tile).tolist():  # row by row
                fields = {
                    "present": 1, "value": int(tile[row, column]),
                    "slot": row // rows["slot_step"] % rows["slots"],
                    place["coordinates"][inner["size"]]: column,
                }  # fmt: skip
                streams[row // rows["element_step"] % rows["elements"]].append(token(**fields))
            for n in range(max(map(len, streams))):
                vectors.append([x[n] if n < len(x) else token() for x in streams])
            # The inner level ends with each tile, the outer one with the last tile of a row.
            ends = 2 | (number == across - 1)
            vectors.append([token(ends=ends)] * rows["elements"])
    return b"".join(b"".join(vector) for vector in vectors), len(vectors)


class Array:
    """Jobs of a design for int32.

    Parameters
    ----------
    device: the unit with its memory

    Members
    -------
    bases: where the last job's images are, by operand
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.words = device.memory.view("<i4")
        (self.operation,) = device.sidecar["operations"]
        self.bases: Sizes = {}
        assert all(one["format"] == "int32" for one in self.operation["operands"])

    def run(self, bounds: Sizes, operands: dict[str, Numbers]) -> tuple[Numbers, int]:
        """Put a job into memory, and run it.

        Parameters
        ----------
        bounds: how far indices go
        operands: an axis for each of their indices

        Returns
        -------
        the result, as large as it was filled up to, and the job's cycles
        """
        registers: Sizes = {}
        sizes: Sizes = {}
        for size in self.operation["sizes"]:
            name, scale = size["name"], size.get("scale", 1)
            if "register" in size:
                registers[size["register"]] = -(-bounds[name] // scale)
            sizes[name] = size.get("value", scale * registers.get(size.get("register"), 0))
        self.device.memory[:] = 0
        end = 0
        for operand in self.operation["operands"]:
            name, place = operand["name"], operand["placement"]
            self.bases[name] = registers[place["base"]] = end
            if place["kind"] == "tokens":
                content, registers[place["count"]] = tokens(place, sizes, operands[name])
                self.device.memory[end : end + len(content)] = np.frombuffer(content, np.uint8)
                end += -(-len(content) // 0x100) * 0x100
                continue
            image = Image(operand, sizes)
            registers |= image.strides
            where = (end + image.offsets) // 4
            if operand["direction"] == "in":
                words = np.full(image.shape, int(operand["padding"], 16))
                words[tuple(map(slice, operands[name].shape))] = operands[name]
                self.words[where] = words
            else:
                result = where
            end += -(-image.bytes // 0x100) * 0x100
        for register in self.device.sidecar["jobs"]["registers"]:
            self.device.write(register, registers[register])
        cycles = self.device.run()
        return self.words[result].astype(np.int64), cycles


def agree(what: str, found: Numbers, wanted: Numbers, cycles: int) -> bool:
    """Print how a result compares. What it was filled up to must be 0."""
    filled = np.zeros_like(found)
    filled[tuple(map(slice, wanted.shape))] = wanted
    wrong = int((found != filled).sum())
    print(f"{what}: {wanted.size} elements, {wrong} wrong; {cycles} cycles")
    return wrong == 0


def worked_example(array: Array) -> bool:
    """Run the job of the page, and show each byte of it."""
    a = np.array([[16 * i + k for k in range(4)] for i in range(3)])
    b = np.array([[16 * k + j for j in range(3)] for k in range(4)])
    found, cycles = array.run({"i": 3, "j": 3, "k": 4}, {"A": a, "B": b})
    show(array.device.memory, array.bases["A"], 64, 16, "image of A")
    show(array.device.memory, array.bases["B"], 64, 16, "image of B")
    show(array.device.memory, array.bases["C"], 64, 16, "image of C, as the unit wrote it")
    return agree("matrix product", found, a @ b, cycles)


def larger_product(array: Array, draw: np.random.Generator) -> bool:
    """Multiply matrices that no tile divides."""
    a, b = draw.integers(-99, 99, (9, 13)), draw.integers(-99, 99, (13, 7))
    found, cycles = array.run({"i": 9, "j": 7, "k": 13}, {"A": a, "B": b})
    return agree("9 x 13 times 13 x 7", found, a @ b, cycles)


def no_trips(array: Array) -> bool:
    """Run a job with a trip count of 0."""
    array.device.write("TRIPS_K", 0)
    try:
        array.device.run()
    except JobError as error:
        print(f"no iterations: {error}")
        offset = next(
            one["offset"] for one in array.device.sidecar["registers"] if one["name"] == "TRIPS_K"
        )
        return (error.name, error.detail) == ("zero_size", offset)
    return False


def convolution(array: Array, draw: np.random.Generator) -> bool:
    """Convolve images: operand I has each word as often as windows have it."""
    picture = draw.integers(-9, 9, (3, 9, 8))  # channels, rows, columns
    weights = draw.integers(-9, 9, (2, 3, 3, 2))  # outputs, channels, rows, columns
    rows, columns = weights.shape[2:]
    # windows[c, y, x, r, s] is picture[c, r + y, s + x]; the operand has c, r, y, s, x.
    windows = np.lib.stride_tricks.sliding_window_view(picture, (rows, columns), (1, 2))
    _, height, width, *_ = windows.shape
    bounds = {"o": 2, "y": height, "x": width, "c": 3, "r": rows, "s": columns}
    operands = {"I": windows.transpose(0, 3, 1, 4, 2), "W": weights}
    found, cycles = array.run(bounds, operands)
    wanted = np.einsum("cyxrs,ocrs->oyx", windows, weights)
    return agree("convolution", found, wanted, cycles)


def sparse_example(array: Array) -> bool:
    """Run the job of the page on sparse operands, and show its tokens."""
    a = np.array([[0, 5], [6, 0], [7, 0]])
    b = np.array([[1, 2, 3, 4], [10, 20, 30, 40]])
    found, cycles = array.run({"i": 3, "j": 4, "k": 2}, {"A": a, "B": b})
    base = array.bases["A"]
    show(array.device.memory[base:], 0, 30, 5, "tokens of A: a vector has two")
    return agree("sparse product of the page", found, a @ b, cycles)


def sparse_product(array: Array, draw: np.random.Generator) -> bool:
    """Multiply a sparse matrix of several tiles and a dense one."""
    a = (draw.random((10, 7)) < 0.3) * draw.integers(1, 99, (10, 7))
    b = draw.integers(-99, 99, (7, 5))
    found, cycles = array.run({"i": 10, "j": 5, "k": 7}, {"A": a, "B": b})
    return agree("sparse product", found, a @ b, cycles)


def device(name: str) -> Device:
    """Return a design that was generated."""
    return Device(
        HERE / f"{name}.sv", HERE / f"{name}.json", memory_bytes=1 << 16,
        build_dir=HERE / "build" / name, stall=20, reorder=True, aw_after_w=True,
    )  # fmt: skip


def main() -> int:
    """Run all jobs. Return 0 if every result agrees with NumPy."""
    draw = np.random.default_rng(1)
    with device("gemm") as unit:
        array = Array(unit)
        good = [worked_example(array), larger_product(array, draw), no_trips(array)]
    with device("conv2d") as unit:
        good.append(convolution(Array(unit), draw))
    with device("spmm") as unit:
        array = Array(unit)
        good += [sparse_example(array), sparse_product(array, draw)]
    print("PASS" if all(good) else "FAIL")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
