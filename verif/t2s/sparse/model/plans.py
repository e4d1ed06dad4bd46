"""Parts of designs with sparse operands that no mapping has, and results from their images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from tilewright.hw.spec.t2s.arithmetic import LaneSum, pad_pattern
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.loops import variable
from tilewright.hw.spec.t2s.parts import Count, ElementPart, OperandPart
from tilewright.hw.spec.t2s.program import Program, TensorDeclaration
from tilewright.hw.spec.t2s.sparse_parts import (
    CollectPart,
    Coordinate,
    EntriesPart,
    RowLoops,
    SparseElementPart,
    SparsePlan,
    TokenLayout,
)
from tilewright.sim.t2s.driver import Driver
from tilewright.sim.t2s.model import T2sModel
from tilewright.sim.t2s.sparse.decoding import Decoded, decoded
from tilewright.sim.t2s.sparse.entries import Entries
from tilewright.sim.t2s.sparse.image import SparseImage, laid_out_entries, row_places, tile_steps
from tilewright.sim.t2s.sparse.ordered_sums import sums_of_entries
from tilewright.sim.t2s.sparse.running import merged

NAMES = ["spmv", "spmv_ciss", "spmm", "spmttkrp", "hadamard", "union"]


def config_of(name: str, largest: int = 4, **changes: Any) -> T2sConfig:
    return T2sConfig(design=f"sparse/{name}", largest=largest, **changes)


def driver_of(config: T2sConfig, memory_bytes: int = 1 << 22) -> Driver:
    return Driver(T2sModel(config, memory_bytes))


Words = npt.NDArray[np.uint64]
_PADS = {"mma": "0", "orand": "0", "minplus": "+inf", "minmax": "+inf"}
BEAT = 16


@dataclass(frozen=True, kw_only=True)
class Made:
    """A plan, the program that it needs to know, and the letters of tensors' indices."""

    program: Program
    plan: SparsePlan
    sparse: Mapping[str, str]
    dense: Mapping[str, str]

    @property
    def pad(self) -> int:
        """The pattern of a word that is not there."""
        element = self.plan.element.element.arithmetic.element
        return pad_pattern((), _PADS.get(self.program.semiring, "-inf"), element)

    def images(
        self, bounds: Mapping[str, int], tensors: Mapping[str, Entries], apart: int = 1
    ) -> tuple[npt.NDArray[np.int64], list[SparseImage]]:
        """Returns the places of the rows, and the images of all sparse tensors."""
        levels = list(tile_steps(self.plan))
        turned = {
            name: one.transposed(tuple(self.sparse[name].index(level) for level in levels))
            for name, one in tensors.items()
        }
        places = row_places(self.plan, bounds, list(turned.values()))
        found = [
            laid_out_entries(
                self.plan, part, bounds, turned[part.tensor], places, beat_bytes=BEAT, apart=apart
            )
            for part in self.plan.entries
        ]
        return places, found

    def decoded(self, images: list[SparseImage]) -> Decoded:
        """Decodes images into the entries that the elements receive."""
        found = []
        for part, image in zip(self.plan.entries, images, strict=True):
            content = np.frombuffer(image.content, np.uint8)
            found.append(decoded(part, content[: image.steps * part.vector_bytes]))
        return merged(self.plan, tuple(found), self.pad)

    def computed(
        self,
        bounds: Mapping[str, int],
        tensors: Mapping[str, Entries],
        dense: Mapping[str, Words],
        apart: int = 1,
    ) -> Words:
        """The result, by way of images."""
        places, images = self.images(bounds, tensors, apart)
        whole = dict(bounds)
        for name, step in tile_steps(self.plan).items():
            whole[name] = -(-bounds[name] // step) * step
        words = {}
        for name, one in dense.items():
            behind = [
                (0, whole[index] - size)
                for index, size in zip(self.dense[name], one.shape, strict=True)
            ]
            words[name] = np.pad(one, behind)
        found = sums_of_entries(self.program, self.plan, whole, self.decoded(images), words)
        result = [str(index) for index in self.program.tensor("Y").dimensions]
        return np.take(found, places, axis=result.index("i"))


def made(
    sparse: Mapping[str, str],
    dense: Mapping[str, str],
    result: str,
    *,
    arithmetic: Mapping[str, Any] = {},
    style: str = "csr",
    merge: str = "",
    slots: int = 1,
    elements: int = 1,
    slots_first: bool = True,
    extents: Mapping[str, int],
    ring: int = 1,
) -> Made:
    """A plan of tensors whose indices are these letters, ``i`` that of rows.

    Parameters
    ----------
    arithmetic: of the elements, where it is not fp32 with sums and products
    slots_first: whether the loop of an element's rows is outside of that of elements
    extents: of tiles of the other indices of sparse tensors, in the order of their loops
    ring: operations of an entry
    """
    config = LaneSum(
        **{"ops": ("mma",), "format": "fp32", "accumulator": "fp32"}
        | dict(arithmetic)
        | {"lanes": len(sparse) if merge == "union" else 1}
    )
    coordinates = tuple(Coordinate(name, 2 * name, extent) for name, extent in extents.items())
    layout = TokenLayout(config.element, coordinates, slots, ("i", *extents))
    loops = [one.loop for one in coordinates]
    rows = RowLoops(
        index="i",
        slots="iii" if slots > 1 else "",
        elements="ii" if elements > 1 else "",
        slot_step=elements if slots_first else 1,
        element_step=1 if slots_first else slots,
        slot_extent=slots,
        element_extent=elements,
    )
    slot_loops = ["iii"] if slots > 1 else []
    order = [*slot_loops, *loops] if slots_first else [*loops, *slot_loops]
    entries = tuple(
        EntriesPart(f"{name}_loader", name, layout, elements, (), style) for name in sparse
    )
    names = (*sparse, *dense)
    element = ElementPart(
        name="Y",
        operands=tuple(OperandPart(name, 1) for name in names),
        arithmetic=config,
        inner=names,
        outer=(),
        sums=slots * ring,
    )
    union = merge == "union"
    plan = SparsePlan(
        entries=entries,
        merge=merge,
        order=tuple(order),
        rows=rows,
        gathers=(),
        element=SparseElementPart(
            element, layout.merged(len(sparse), lacking=union), (Count("jj", ring),), 2, union=union
        ),
        collect=CollectPart(config.result.container_bits, (), "", ring),
    )
    everything = {**sparse, **dense, "Y": result}
    tensors = tuple(
        TensorDeclaration(name, tuple(variable(letter) for letter in letters), "0")
        for name, letters in everything.items()
    )
    indices = tuple(dict.fromkeys("".join(everything.values())))
    program = Program("Y", indices, config.semiring, config.element.name, "Y", tensors, ())
    return Made(program=program, plan=plan, sparse=sparse, dense=dense)


def random_entries(
    rng: np.random.Generator, shape: tuple[int, ...], count: int, words: Words | None = None
) -> Entries:
    """Entries at random places, each once; a few rows have half of them. Words: any, or these."""
    skewed = np.minimum(rng.geometric(min(1.0, 3 / shape[0]), count) - 1, shape[0] - 1)
    columns = [np.where(rng.random(count) < 0.5, skewed, rng.integers(0, shape[0], count))]
    columns += [rng.integers(0, size, count) for size in shape[1:]]
    places = np.unique(np.stack(columns, axis=1).astype(np.int64), axis=0)
    rng.shuffle(places)
    if words is None:
        found = rng.integers(0, 1 << 32, len(places), np.uint64)
    else:
        found = rng.choice(words, len(places))
    return Entries(shape=shape, places=places, words=found)


@dataclass(frozen=True)
class Kernel:
    """Sparse and dense tensors with their indices, and the result's."""

    sparse: Mapping[str, str]
    dense: Mapping[str, str]
    result: str
    merge: str = ""


KERNELS = {
    "spmv": Kernel({"A": "ik"}, {"x": "k"}, "i"),
    "spmm": Kernel({"A": "ik"}, {"B": "kj"}, "ij"),
    "turned": Kernel({"A": "ki"}, {"B": "jk"}, "ji"),
    "spmttkrp": Kernel({"A": "ikl"}, {"B": "kj", "C": "lj"}, "ij"),
    "spttv": Kernel({"A": "ilk"}, {"x": "kl"}, "i"),
    "spttm": Kernel({"A": "ik"}, {"B": "kjm"}, "mij"),
    "row_sums": Kernel({"A": "ik"}, {}, "i"),
    "hadamard": Kernel({"A": "ik", "B": "ik"}, {"x": "k"}, "i", "intersection"),
    "inner": Kernel({"A": "ik", "B": "ki"}, {}, "i", "intersection"),
    "union": Kernel({"A": "ik", "B": "ik"}, {"x": "k"}, "i", "union"),
    "union_sums": Kernel({"A": "ikl", "B": "ilk"}, {}, "i", "union"),
}


def operands(
    kernel: Kernel,
    bounds: Mapping[str, int],
    rng: np.random.Generator,
    words: Words,
    count: int,
) -> tuple[dict[str, Entries], dict[str, Words]]:
    """Sparse tensors of up to so many entries, and dense ones; words drawn from these."""
    sparse = {
        name: random_entries(rng, tuple(bounds[one] for one in letters), count, words)
        for name, letters in kernel.sparse.items()
    }
    dense = {
        name: rng.choice(words, tuple(bounds[one] for one in letters))
        for name, letters in kernel.dense.items()
    }
    return sparse, dense
