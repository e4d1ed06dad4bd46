"""Checks the parts of designs with sparse operands, and the mappings that have no hardware."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.cli import main
from tilewright.hw.spec.jobs.t2s import job_spec
from tilewright.hw.spec.registers.job_spec import Rule
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.sparse_parts import SparsePlan, TokenLayout
from tilewright.hw.t2s.language import MappingError
from tilewright.hw.t2s.lowering.design import lowered
from tilewright.hw.t2s.sparse.fed_element import ELEMENT_TOKENS, FEEDER_TOKENS
from tilewright.verif.kit.sampling import by_size

from ..designs import FOLDER, SPARSE
from .random_mappings import FORMS, KERNELS, DrawnSparse, random_sparse_mapping


def _plan(name: str, **settings: Any) -> SparsePlan:
    plan = T2sConfig(design=f"sparse/{name}", **{"largest": 0, **settings}).plan.sparse
    assert plan
    return plan


@pytest.mark.parametrize("name", SPARSE)
def test_parts_fit(name: str) -> None:
    """Tokens of loaders, feeders and elements, words of these and of the unloader."""
    design = T2sConfig(design=name).plan
    plan = design.sparse
    assert plan
    element = plan.element
    assert design.element == element.element
    dense = (design.feeders, design.movers, design.routes, design.copies, design.links)
    assert dense == ((),) * 5
    for one in plan.entries:
        assert one.layout.merged(len(plan.entries), lacking=element.union) == element.layout
        assert one.elements == plan.rows.element_extent
    assert [one.tensor for one in plan.gathers] == [one.name for one in element.dense]
    assert [one.tensor for one in plan.gathers] == [one.tensor for one in design.loaders]
    for feeder, loader in zip(plan.gathers, design.loaders, strict=True):
        assert feeder.word_bits == loader.word_bits
        assert feeder.layout == element.layout
        block = [one.name for one in feeder.fill]
        assert [one.name for one in loader.run][-len(block) :] == block
    assert plan.collect.word_bits == design.unloader.word_bits == element.element.result_bits
    assert plan.rows.slot_extent == element.layout.slots


def test_one_element() -> None:
    plan = _plan("spmv")
    assert plan.element.layout == plan.entries[0].layout
    assert plan.order == ("kk", "iii")
    assert (plan.rows.slots, plan.rows.elements) == ("iii", "")
    (feeder,) = plan.gathers
    assert (feeder.level, feeder.double, feeder.coordinates) == ("k", True, ("k",))
    assert (feeder.read, feeder.extents) == ((), (128,))
    assert (plan.collect.elements, plan.collect.words) == ("", 1)
    assert plan.element.halves == 2


def test_rows_on_elements() -> None:
    rows = _plan("spmm").rows
    assert (rows.slot_step, rows.slot_extent) == (4, 64)
    assert (rows.element_step, rows.element_extent) == (1, 4)
    assert rows.tile == 256


def test_words_of_entries() -> None:
    """Each operand from the level that chooses its words; a vector an operation."""
    plan = _plan("spmttkrp")
    assert plan.element.layout.levels == ("i", "k", "l")
    b, c = plan.gathers
    assert (b.level, b.coordinates, b.fill_place, b.read_place) == (
        "k",
        ("k",),
        ("kk", "jj"),
        ("jj",),
    )
    assert (c.level, c.coordinates, c.fill_place, c.read_place) == (
        "l",
        ("l",),
        ("ll", "jj"),
        ("jj",),
    )
    assert [one.name for one in plan.entries[0].again] == ["j"]
    assert (plan.element.element.vector, plan.element.ring_words) == (8, 4)


def test_two_tensors() -> None:
    """A product of both, or a lane of each."""
    both, either = _plan("hadamard"), _plan("union")
    assert (both.merge, either.merge) == ("intersection", "union")
    assert both.element.element.inner == either.element.element.inner == ("A", "B", "X")
    assert (both.element.element.lanes, either.element.element.lanes) == (1, 2)
    assert [one.elements for one in (*both.entries, *either.entries)] == [1] * 4


def test_tokens() -> None:
    layout: TokenLayout = _plan("spmm", format="int8").element.layout
    assert [one.bits for one in layout.fields] == [8, 5, 6, 2, 1]
    assert layout.bytes == 3


def test_registers() -> None:
    config = T2sConfig(design="sparse/union")
    offsets = {one.name: one.offset for one in job_spec(config).job}
    bases = {name: at for name, at in offsets.items() if name.endswith(("_BASE", "_STEPS"))}
    assert bases == {
        "A_BASE": 0x100, "A_STEPS": 0x108, "B_BASE": 0x200, "B_STEPS": 0x208,
        "X_BASE": 0x300, "Y_BASE": 0x400,
    }  # fmt: skip
    rules = [one.rule for one in job_spec(config).checks if one.register == "A_STEPS"]
    assert rules == [Rule.NON_ZERO]
    (steps,) = (one for one in job_spec(config).job if one.name == "A_STEPS")
    assert [one.width for one in steps.fields] == [32]


_LINE = re.compile(r"random_mappings\.py:\d+: [^\n]+$")

TEXT = """from tilewright.hw.t2s.language import compute, indices, tensor
i, j, k, l, ii, iii, jj, jjj, kk, kkk, ll = indices("i j k l ii iii jj jjj kk kkk ll")
A, S = tensor("A", "fp32", i, k, sparse="ciss"), tensor("S", "fp32", i, k, sparse="csr")
B, X = tensor("B", "fp32", k, j), tensor("X", "fp32", k)
"""
SPMM = "C = compute('C', 'fp32', i, j, sum_over=k)[A[i, k] * B[k, j]]\n"
SPMV = "C = compute('C', 'fp32', i, sum_over=k)[A[i, k] * X[k]]\n"
BOTH = "C = compute('C', 'fp32', i, sum_over=k)[A[i, k] * S[i, k] * X[k]]\n"
EITHER = "C = compute('C', 'fp32', i, j, sum_over=k)[A[i, k] * B[k, j] + S[i, k] * B[k, j]]\n"


REFUSED = {
    "rows alone": (
        SPMM + "C.tile(j, (jj, 2)).tile(k, (kk, 2)).order(j, i, k, kk, jj).unroll(jj)",
        "6: C has no hardware yet: loop `jj` is unrolled: only one of rows is, of index `i`",
    ),
    "one of them": (
        SPMV + "C.tile(i, (ii, 2), (iii, 2)).tile(k, (kk, 2))\nC.order(i, k, ii, iii, kk)\n"
        "C.unroll(ii, iii)",
        "8: C has no hardware yet: loops `ii` and `iii` are unrolled, at most one",
    ),
    "slots": (
        SPMV + "C.tile(i, (ii, 2), (iii, 2)).tile(k, (kk, 2)).order(i, k, ii, iii, kk)",
        "5: C has no hardware yet: index `i` has loops `ii` and `iii` in an element, at most one",
    ),
    "coordinates": (
        SPMV + "C.tile(k, (kk, 2), (kkk, 2)).order(i, k, kk, kkk)",
        "5: C has no hardware yet: index `k` has loops `kk` and `kkk` in an element, at most one",
    ),
    "no tile": (SPMV, "5: C has no hardware yet: loop `k`, which chooses entries, is not tiled"),
    "order": (
        SPMM + "C.tile(k, (kk, 2))\nC.order(i, j, k, kk)",
        "7: C has no hardware yet: loop `j` must stand before `i`",
    ),
    "ring": (
        SPMM + "C.tile(k, (kk, 2)).tile(j, (jj, 2))\nC.order(j, i, k, jj, kk)",
        "7: C has no hardware yet: loop `kk` must stand before `jj`",
    ),
    "level": (
        SPMM + "C.tile(k, (kk, 2)).tile(i, (iii, 2)).order(j, i, k, iii, kk)\n"
        "feed, load = C.producers(B, 'feeder', 'loader')\nfeed.buffer(iii)",
        "8: B_feeder has no hardware yet: its buffer must be at one of loops i, k, not `iii`",
    ),
    "backwards": (
        SPMV + "C.tile(k, (kk, 2)).tile(i, (ii, 2)).order(i, k, ii, kk).unroll(ii)\n"
        "feed, load = C.producers(X, 'feeder', 'loader')\nfeed.unroll(ii).forward(ii=-1)",
        "8: X_feeder has no hardware yet: words must go to higher numbers of `ii`",
    ),
    "loader of many": (
        SPMV + "C.tile(k, (kk, 2)).tile(i, (ii, 2)).order(i, k, ii, kk).unroll(ii)\n"
        "_, load = C.producers(X, 'feeder', 'loader')\nload.unroll(ii)",
        "8: X_loader has no hardware yet: loop `ii` is unrolled",
    ),
    "merged for many": (
        BOTH + "C.tile(k, (kk, 2)).tile(i, (ii, 2)).order(i, k, ii, kk)\nC.unroll(ii)",
        "7: C has no hardware yet: loop `ii` is unrolled: A and S are merged for one element",
    ),
    "lanes of a sum": (
        EITHER + "C.tile(k, (kk, 2)).tile(j, (jj, 2)).order(j, i, k, kk, jj)\nC.vectorise(jj)",
        "7: C has no hardware yet: loop `jj` is vectorised: A and S are lanes",
    ),
    "three": (
        "T = tensor('T', 'fp32', i, k, sparse='csr')\n"
        "C = compute('C', 'fp32', i, sum_over=k)[A[i, k] * S[i, k] * T[i, k]]",
        "6: C has no hardware yet: A, S, T are sparse: two at most",
    ),
    "twice": (
        "T = tensor('T', 'fp32', i, k, sparse='csr')\nC = compute('C', 'fp32', i)[T[i, i]]",
        "6: C has no hardware yet: index `i` stands in T more than once",
    ),
    "columns": (
        "T = tensor('T', 'fp32', k, i, sparse='csr')\n"
        "C = compute('C', 'fp32', i, sum_over=k)[T[k, i] * X[k]]",
        "6: C has no hardware yet: index `k`, of rows of T, is summed over",
    ),
    "not summed": (
        "C = compute('C', 'fp32', i, k)[A[i, k] * X[k]]",
        "5: C has no hardware yet: index `k` of A, which is not that of rows, is not summed over",
    ),
    "other sums": (
        "C = compute('C', 'fp32', i, sum_over=(k, j))[A[i, k] * B[k, j]]",
        "5: C has no hardware yet: index `j`, which is summed over, is none of A",
    ),
    "other indices": (
        "T = tensor('T', 'fp32', i, l, sparse='csr')\n"
        "C = compute('C', 'fp32', i, sum_over=(k, l))[A[i, k] * T[i, l]]",
        "6: C has no hardware yet: A and T have other indices",
    ),
    "affine": (
        "T = tensor('T', 'fp32', i, l, sparse='csr')\n"
        "C = compute('C', 'fp32', i, sum_over=k)[T[i, k + 1] * X[k]]",
        "6: C has no hardware yet: `k + 1` is not an index alone, in T, which is sparse",
    ),
    "of rows": (
        "T = tensor('T', 'fp32', i, k)\nC = compute('C', 'fp32', i, sum_over=k)[A[i, k] * T[i, k]]",
        "6: C has no hardware yet: index `i`, of rows, chooses words of T",
    ),
    "not by entries": (
        "T = tensor('T', 'fp32', j)\nC = compute('C', 'fp32', i, j, sum_over=k)[A[i, k] * T[j]]",
        "6: C has no hardware yet: no index of entries chooses words of T",
    ),
    "four": (
        "Z = tensor('Z', 'fp32', k)\n"
        "C = compute('C', 'fp32', i, j, sum_over=k)[A[i, k] * B[k, j] * X[k] * Z[k]]\n"
        "C.tile(k, (kk, 2)).order(j, i, k, kk)",
        "6: C has no hardware yet: a product of 4 tensors",
    ),
    "queues": (
        SPMV + "C.tile(k, (kk, 2)).order(i, k, kk)\n"
        "feed, load = C.producers(X, 'feeder', 'loader')\nfeed.fifo(4)",
        "8: X_feeder.fifo: it has no hardware yet where a tensor is sparse: queues are of fixed "
        "depths",
    ),
    "stalls": (
        SPMV + "C.tile(k, (kk, 2)).order(i, k, kk)\nC.accumulate(stall='refused')",
        "7: C.accumulate: an entry has 1 operation, and a sum can be taken again after 5 cycles: "
        "an entry of the same row waits",
    ),
}
"""Lines of a mapping, and their error after the name of the file."""


@pytest.mark.parametrize("name", REFUSED)
def test_refused(tmp_path: Path, name: str) -> None:
    lines, message = REFUSED[name]
    file = tmp_path / "mine.py"
    file.write_text(TEXT + lines)
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        T2sConfig(design=str(file))
    assert str(caught.value) == f"mine.py:{message}"


def test_too_many_managers() -> None:
    with pytest.raises(ValueError, match=r"^`managers` must be at most 3 for Y, not 4$"):
        T2sConfig(design="sparse/spmv", managers=4)


def test_random_mappings() -> None:
    """A mapping has hardware, or an error gives the reason and the place."""
    config = T2sConfig(design="sparse/spmv")
    said: list[str] = []
    for kernel in KERNELS:
        for seed in range(by_size(20, 40, 300)):
            try:
                mapping = random_sparse_mapping(kernel, np.random.default_rng([seed, 3]))
                said.append("" if lowered(mapping, config).sparse else "no entries")
            except MappingError as refused:
                said.append(str(refused))
    assert 5 < said.count("") < len(said)
    assert {one for one in said if not _LINE.match(one)} == {""}


@pytest.mark.parametrize("kernel", FORMS)
def test_forms_have_hardware(kernel: str) -> None:
    """Every mapping drawn from the directives of the hardware has hardware."""
    for seed in range(10):
        assert DrawnSparse(kernel=kernel, seed=seed, format="int8").plan.sparse


@pytest.mark.parametrize("name", SPARSE)
def test_shown(name: str, tmp_path: Path) -> None:
    """Queues of hardware, a rate, and a drawing."""
    found = tmp_path / "found.json"
    drawing = tmp_path / "found.svg"
    file = FOLDER / f"{name}.py"
    assert main(["t2s", "show", str(file), "--json", str(found), "--svg", str(drawing)]) == 0
    assert drawing.read_text().startswith("<svg")
    plan = T2sConfig(design=str(file)).plan.sparse
    assert plan
    queues = json.loads(found.read_text())["hardware"]["queues"]
    tokens = {one: told for one, told in queues.items() if one.endswith("_tokens")}
    bits = [plan.element.layout.bits]
    elements = {"queues": plan.rows.element_extent, "depth": ELEMENT_TOKENS, "bits": bits}
    assert tokens.pop(f"{plan.element.element.name}_tokens") == elements
    assert tokens == {
        f"{one.name}_tokens": {**elements, "depth": FEEDER_TOKENS} for one in plan.gathers
    }
