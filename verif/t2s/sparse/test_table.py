"""Tables of sparse operands: inputs, refusals, checked results and figures."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tilewright.errors import UserError
from tilewright.hw.spec.formats import FloatFormat
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.sim.t2s.driver import Driver
from tilewright.sim.t2s.interpreter import interpret
from tilewright.sim.t2s.model import T2sModel
from tilewright.sim.t2s.sizes import shape_of
from tilewright.sim.t2s.sparse.entries import Entries
from tilewright.sim.tensaurus.model import TensaurusModel
from tilewright.tables.t2s import sparse, sparse_sides
from tilewright.tables.t2s.merge import t2s_merge
from tilewright.tables.t2s.sparse import AREAS, DENSITIES, KERNELS, cases_of, t2s_sparse
from tilewright.tables.t2s.sparse_sides import Kernel, Sides, dense_of, drawn, skewed
from tilewright.verif.kit.sampling import by_size
from tilewright.verif.oracles import stimuli
from tilewright.verif.t2s.designs import SPARSE, bounds_of
from tilewright.verif.t2s.hardware_numbers import HardwareNumbers

pytestmark = pytest.mark.long

SMALL = Kernel(
    kernel="mv", shape=(20, 24), columns=1,
    mapped={"design": "sparse/spmv_ciss", "sizes": "II=2,III=4,KK=8", "largest": 0,
            "format": "fp32", "data_bits": 64, "outstanding": 2},
    tensaurus={"rows": 2, "cols": 1, "vlen": 1, "order": 2, "channels": 1, "data_bits": 64,
               "index_bits": 16, "spm_bytes": 256, "banks": 2, "out_bytes": 256, "row_queue": 4,
               "window": 4, "outstanding": 2},
)  # fmt: skip


def test_inputs() -> None:
    """Tensors have the requested number of entries, each at its own place; their rows are alike or
    skewed."""
    for make in (drawn, skewed):
        tensor = make((64, 8, 8), 0.05)
        assert np.count_nonzero(dense_of(tensor)) == tensor.nnz
        assert abs(tensor.nnz - 0.05 * 64**2) <= 64
        assert np.array_equal(tensor.values, np.rint(tensor.values))
        again = make((64, 8, 8), 0.05)
        assert np.array_equal(tensor.indices, again.indices)
    lengths = [
        np.sort(np.bincount(make((256, 256), 0.05).indices[:, 0], minlength=256))
        for make in (drawn, skewed)
    ]
    assert lengths[0][-1] < 30
    assert lengths[1][-1] > 100
    assert lengths[1][0] < lengths[0][0] + 3


def test_all_are_measured() -> None:
    """Each kernel has its rows, each density; both sides have as many lanes."""
    labels = [case.label for case in cases_of(KERNELS)]
    assert len(set(labels)) == len(labels) == len(KERNELS) * len(DENSITIES) + 4
    for name, kernel in KERNELS.items():
        plan = T2sConfig(**kernel.mapped).plan
        hand = TensaurusConfig(**kernel.tensaurus)
        assert plan.sparse is not None
        lanes = plan.sparse.rows.element_extent * plan.element.lanes
        half = 2 if name == "spmttkrp of 4 lanes" else 1
        assert hand.rows * hand.unit_values == lanes * half
    assert set(AREAS) < set(KERNELS)


def test_buffers_are_as_large() -> None:
    """The buffers of spmv and of spmm have the sizes in the table."""
    for name, sums, words in (("spmv", 1024, 2048), ("spmm", 32768, 16384)):
        sparse_plan = T2sConfig(**KERNELS[name].mapped).plan.sparse
        assert sparse_plan is not None
        elements = sparse_plan.rows.element_extent
        element, (gather,) = sparse_plan.element, sparse_plan.gathers
        assert elements * element.places * element.element.result_bits // 8 == sums
        assert elements * np.prod(gather.extents) * gather.word_bits // 8 == words
        hand = TensaurusConfig(**KERNELS[name].tensaurus)
        assert (hand.out_bytes, hand.cols * hand.spm_bytes) == (sums, words)


def test_refusals() -> None:
    with pytest.raises(UserError, match=re.escape("cmos or liberty:FILE, not ecp5")):
        t2s_sparse("ecp5")
    with pytest.raises(
        UserError, match=re.escape("--only must be part of one of cycles, spmv, 1%")
    ):
        t2s_sparse("cmos", only="spmx")
    with pytest.raises(UserError, match="no --target, not 'ice40'"):
        t2s_merge("ice40")


def test_results_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A result that is not SciPy's is an error; here the models compute it."""
    models = {"t2s": T2sModel, "tensaurus": TensaurusModel}
    monkeypatch.setattr(
        Sides, "_device", lambda self, unit, config: models[unit.name](config, 1 << 20)
    )
    tensor = drawn(SMALL.shape, 0.2)
    right = sparse_sides.product(tensor, SMALL.operands())
    assert np.array_equal(right, dense_of(tensor) @ SMALL.operands()[0])
    wrong = right.copy()
    wrong[-1] += 1
    with Sides(lambda said: None) as sides:
        # Models count no cycles, which comes behind the check.
        with pytest.raises(ZeroDivisionError):
            sides.mapped(SMALL, SMALL.mapped, tensor)
        monkeypatch.setattr(sparse_sides, "product", lambda *given: wrong)
        with pytest.raises(UserError, match="the result of t2s is not that of SciPy and NumPy"):
            sides.mapped(SMALL, SMALL.mapped, tensor)
        with pytest.raises(UserError, match="the result of tensaurus is not that of SciPy"):
            sides.tensaurus(SMALL, tensor)


@pytest.mark.long
def test_small_arrays() -> None:
    """The Verilog of both runs."""
    said: list[str] = []
    table = t2s_sparse("cmos", said.append, only="spmv", kernels={"spmv": SMALL})
    assert [row.label for row in table.rows] == [case.label for case in cases_of({"spmv": SMALL})]
    assert said.count("building tensaurus") == 1
    cycles = {row.label: row.ours[0] or 0 for row in table.rows}
    for row in table.rows:
        _, _, ratio, ours, theirs, read, _ = row.ours
        assert 0 < (ratio or 0) < 4, row.label
        assert 0 < (ours or 0) < 100, row.label
        assert 0 < (theirs or 0) < 100, row.label
        assert (read or 0) > 0, row.label
    assert cycles["cycles, spmv, 1%"] < cycles["cycles, spmv, 20%"]


@pytest.mark.long
def test_beside_tensaurus() -> None:
    """A mapped product with as many lanes takes hardly more cycles than Tensaurus if rows are
    alike, whichever buffer Tensaurus has. Balanced rows take less than half the cycles of
    unbalanced ones."""
    rows = t2s_sparse("cmos", only="cycles").rows
    cycles = {row.label: row.ours[0] or 0 for row in rows}
    assert cycles["cycles, spmv, 5% skewed"] < cycles["cycles, spmv, 5% skewed, csr"] / 2
    for row in rows:
        ratio = row.ours[2] or 0
        if "skewed" not in row.label and "4 lanes" not in row.label:
            assert 0.5 < ratio < 1.05, row.label


@pytest.mark.long
def test_area(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse, "AREAS", ("spmv",))
    table = t2s_sparse("cmos", only="area", kernels={"spmv": SMALL})
    (row,) = table.rows
    assert row.label == "area, spmv"
    ours, theirs, ratio, *others = row.ours
    assert 0 < (ours or 0) < (theirs or 0)
    assert ratio == (ours or 0) / (theirs or 0)
    assert set(others) == {None}


@pytest.mark.long
def test_merging() -> None:
    """Places of either, a cycle each, and what it takes to begin and to end."""
    for row in t2s_merge("cmos", size=128).rows:
        entries, visited, cycles, each, apart, ratio = (one or 0 for one in row.ours)
        assert each == cycles / entries
        assert ratio == cycles / apart < 1, row.label
        if row.label.startswith("union"):
            assert visited < cycles < visited + 700, row.label
        else:
            assert visited < entries / 2, row.label


# The text of a design in the hardware's arithmetic equals its model's results from images, bit for
# bit.


@pytest.mark.parametrize("format", ["fp32", "fp16"])
@pytest.mark.parametrize("name", SPARSE)
def test_designs(name: str, format: str) -> None:
    """Floats whose sums depend on their order, infinities and NaN among them."""
    config = T2sConfig(design=name, largest=3, format=format, data_bits=64)
    design, bounds = config.plan, bounds_of(SPARSE[name])
    arithmetic = design.element.arithmetic
    fmt = arithmetic.element
    assert isinstance(fmt, FloatFormat)
    for seed in range(by_size(1, 3, 20)):
        rng = np.random.default_rng(seed)
        words: dict[str, Any] = {}
        entries: dict[str, Any] = {}
        for one in design.program.tensors:
            if one.image or one.name == design.program.result:
                continue
            shape = shape_of(one.dimensions, bounds)
            special = stimuli.values(rng, "special", shape, fmt)
            ordinary = stimuli.values(rng, "moderate", shape, fmt)
            drawn = np.where(rng.random(shape) < 0.03, special, ordinary).astype(np.uint64)
            words[one.name], entries[one.name] = drawn.astype(object), drawn
            if one.sparse:
                there = rng.random(shape) < 0.4
                words[one.name][~there] = None
                places = np.argwhere(there).astype(np.int64)
                entries[one.name] = Entries(shape=shape, places=places, words=drawn[there])
        wanted = Driver(T2sModel(config)).run_words(**entries)
        found = interpret(design.program, bounds, words, arithmetic=HardwareNumbers(arithmetic))
        assert np.array_equal(found, wanted), (name, format, seed)
