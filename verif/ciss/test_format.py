"""CISS: every byte of a stream against the rules written out, and there and back exactly."""

from __future__ import annotations

import random
import tracemalloc
from collections import Counter
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from tilewright.hw.spec.ciss import VALUES, CissLayout
from tilewright.sim.sparse.ciss import Ciss, assign, from_tensor, to_tensor
from tilewright.sim.sparse.ciss_stream import slot_type
from tilewright.sim.sparse.tensor import Tensor, canonical, from_csr, to_csr
from tilewright.verif.ciss.cases import Case, layout, random_case, tensor
from tilewright.verif.ciss.csf import from_csf, to_csf
from tilewright.verif.ciss.oracle import Refused, add_up, decode, pattern, stream, tensor_of
from tilewright.verif.kit.sampling import by_size

pytestmark = pytest.mark.quick


def seen(found: Tensor) -> dict[tuple[int, ...], str]:
    """Returns values by position, each once; NaN and the sign of a zero are distinguished."""
    pairs = zip(map(tuple, found.indices.tolist()), found.values.tolist(), strict=True)
    places = {place: repr(value) for place, value in pairs}
    assert len(places) == found.nnz
    return places


def seeds(first: int, count: int) -> list[range]:
    """Seeds in lots of fifty, each a test."""
    return [range(at, min(at + 50, first + count)) for at in range(first, first + count, 50)]


@pytest.mark.parametrize("lot", seeds(5200, by_size(50, 400, 5000)), ids=str)
def test_streams_are_those_of_the_rules(lot: range) -> None:
    """Orders 2 to 6, every mode as mode 0, all parameters, numbers of every kind."""
    for seed in lot:
        check_stream(seed)


def test_cases_of_every_kind_are_drawn() -> None:
    """The random tensors have every order, mode, format, width and marker among them."""
    drawn = [random_case(seed) for seed in range(5200, 5600)]
    assert {(x.layout.order, x.mode) for x in drawn} == {
        (order, mode) for order in range(2, 7) for mode in range(order)
    }
    assert {x.layout.value for x in drawn} == set(VALUES)
    assert {x.layout.rows for x in drawn} == set(range(1, 17))
    assert {(x.layout.index_bits, x.layout.marker) for x in drawn} == {
        (width, marker) for width in (16, 32) for marker in ("zero", "bit")
    }


def check_stream(seed: int) -> None:
    case = random_case(seed)
    where, shape = case.layout, case.shape
    ciss = from_tensor(case.tensor, where, case.mode)
    memory, dropped = stream(case.entries, order=where.order, **case.oracle)
    assert ciss.slots.tobytes() == memory, seed
    assert ciss.dropped == dropped, seed
    assert ciss.entries * where.entry_bytes == len(memory)

    patterns = tensor_of(memory, shape, **case.oracle)
    values = {place: repr(decode(bits, where.value)) for place, bits in patterns.items()}
    back = to_tensor(ciss)
    assert seen(back) == values, seed
    assert ciss.nnz == back.nnz == len(values)
    assert back.shape == shape
    assert from_tensor(back, where, case.mode).slots.tobytes() == memory, seed

    for mode in range(where.order):
        assert seen(from_csf(to_csf(back, mode))) == values, seed


@pytest.mark.parametrize("lot", seeds(15300, by_size(10, 50, 300)), ids=str)
def test_slices_may_be_in_any_row(lot: range) -> None:
    """A foreign stream with slices, and headers of empty slices, in random rows is the same
    tensor."""
    for seed in lot:
        check_dealt(seed)


def check_dealt(seed: int) -> None:
    case, rng = random_case(seed), random.Random(seed)
    where, shape = case.layout, (40, *case.shape[1:])
    case = Case(where, 0, shape, case.entries)
    found = to_tensor(from_tensor(case.tensor, where))
    stored = zip(map(tuple, found.indices.tolist()), found.values.tolist(), strict=True)
    slices: dict[int, list[int]] = {n: [where.header(n)] for n in range(40) if rng.random() < 0.9}
    for place, value in stored:
        slot = pattern(value, where.value)
        for number, index in enumerate(place[1:]):
            slot |= index << (where.format.bits + number * where.index_bits)
        slices.setdefault(place[0], [where.header(place[0])]).append(slot)
    queues: list[list[int]] = [[] for _ in range(where.rows)]
    for number in rng.sample(sorted(slices), len(slices)):
        rng.choice(queues).extend(slices[number])
    entries = max(map(len, queues)) + rng.randint(1, 3)
    memory = b"".join(
        (queue[n] if n < len(queue) else where.no_op).to_bytes(where.slot_bytes, "little")
        for n, queue in product(range(entries), queues)
    )
    slots = np.frombuffer(memory, slot_type(where)).reshape(entries, where.rows)
    back = to_tensor(Ciss(layout=where, shape=shape, mode=0, slots=slots))
    assert seen(back) == seen(found), seed
    assert np.array_equal(back.indices, found.indices), seed


def test_rows_get_slices_by_their_slots() -> None:
    """Assigns slices to three rows by their slots: 3 + 1, no slice, 2 + 1, 1 + 1. The fourth enters
    the third row; the fifth, at a tie of rows 0 and 2, enters row 0."""
    at, entries = assign(np.array([3, 2, 1, 2, 1, 1]), 3)
    assert [divmod(n, 3) for n in at.tolist()] == [(0, 0), (0, 1), (0, 2), (2, 2), (3, 1), (4, 0)]
    assert entries == 7
    assert assign(np.zeros(0, np.int64), 5)[1] == 1


@pytest.mark.parametrize(("rows", "count"), [(1, 50), (7, 300), (16, 2000)])
def test_assignment_of_many_slices(rows: int, count: int) -> None:
    """Assigns more slices than fit at once, with lengths that leave one row far behind the
    others."""
    rng = np.random.default_rng(5400 + rows)
    lengths = rng.zipf(1.5, count).clip(1, 10_000)
    load, expected = [0] * rows, []
    for length in lengths.tolist():
        row = load.index(min(load))
        expected.append(load[row] * rows + row)
        load[row] += length + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tilewright.sim.sparse.ciss._PIECE", 64)
        at, entries = assign(lengths, rows)
    assert at.tolist() == expected
    assert entries == max(load) + 1


@pytest.mark.parametrize("value", ["fp16", "fp32", "fp64", "int32"])
def test_matrices_are_scipys(value: str) -> None:
    """Order 2, both modes: unsorted and duplicate entries added as SciPy adds them."""
    rng = np.random.default_rng(5500)
    for shape in ((17, 9), (1, 30), (30, 1), (0, 4), (5, 0)):
        count = 60 if 0 not in shape else 0
        r, c = (rng.integers(0, max(size, 1), count) for size in shape)
        data = rng.integers(-50, 50, count)
        coo = sp.coo_array((data if value == "int32" else data / 8, (r, c)), shape=shape)
        expected = coo.tocsr()
        expected.sum_duplicates()
        expected.eliminate_zeros()
        for mode, matrix in product((0, 1), (coo, coo.tocsc(), coo.tocsr())):
            back = to_csr(to_tensor(from_tensor(from_csr(matrix), layout(3, 2, value), mode)))
            assert back.shape == shape
            assert np.array_equal(back.indptr, expected.indptr)
            assert np.array_equal(back.indices, expected.indices)
            assert np.array_equal(back.data, expected.data)


def test_kinds_of_matrices() -> None:
    """Integers and truth values are whole numbers; narrow floats are float64."""
    for kind, wanted in ((np.bool_, np.int64), (np.uint8, np.int64), (np.float32, np.float64)):
        found = from_csr(sp.csr_array(np.eye(2, dtype=kind)))
        assert found.values.dtype == wanted
        assert found.values.tolist() == [1, 1]


def test_sums_are_in_order_and_whole() -> None:
    """Sums are made in float64 and in order. Whole numbers beyond 2^53 are summed exactly, modulo
    2^64, if the format is of integers too, and dropped where the format makes them 0."""
    here = [((0, 0), x) for x in (2.0**53, 1.0, -(2.0**53), 1.0)]
    assert canonical(tensor((1, 1), here)).values.tolist() == [1.0]
    assert canonical(tensor((1, 1), here[::-1])).values.tolist() == [2.0]
    assert add_up(here, "fp64") == {(0, 0): 1.0}
    rng = random.Random(5650)
    many = [
        ((rng.randrange(3), rng.randrange(4)), rng.uniform(-1, 1) * 10 ** rng.randrange(17))
        for _ in range(2000)
    ]
    found = canonical(tensor((3, 4), many))
    assert seen(found) == {place: repr(value) for place, value in add_up(many, "fp64").items()}
    whole = tensor((1, 2), [((0, 0), 2**53), ((0, 0), 1), ((0, 1), 2**32)])
    assert from_tensor(whole, layout(1, 2, "int32")).slots["value"].tolist() == [[0], [1], [0]]
    assert from_tensor(whole, layout(1, 2, "int32")).dropped == 1
    assert to_tensor(from_tensor(whole, layout(1, 2, "fp64"))).values.tolist() == [2.0**53, 2.0**32]


@pytest.mark.parametrize("order", range(2, 7))
def test_products_with_vectors_are_einsums(order: int) -> None:
    """Slices of the stream times a vector of every other mode, against the dense tensor's."""
    rng = np.random.default_rng(5600 + order)
    shape = (6, 5, 4, 3, 3, 2)[:order]
    dense = np.where(rng.random(shape) < 0.3, rng.integers(-9, 10, shape), 0).astype(np.float64)
    places = np.argwhere(np.ones(shape, np.bool_))
    found = Tensor(shape=shape, indices=places, values=dense.reshape(-1))
    for mode in range(order):
        ciss = from_tensor(found, layout(3, order), mode)
        assert ciss.dropped == np.count_nonzero(dense == 0)
        others = [n for n in range(order) if n != mode]
        vectors = [rng.integers(-4, 5, shape[n]).astype(np.float64) for n in others]
        letters = "abcdef"[:order]
        terms = ",".join([letters, *(letters[n] for n in others)])
        wanted = np.einsum(f"{terms}->{letters[mode]}", dense, *vectors)
        result = np.zeros(shape[mode])
        for row in range(3):
            current = -1
            for slot in ciss.slots[:, row]:
                bits, index = int(slot["value"]), slot["index"].tolist()
                if not bits:
                    current = index[0]
                    continue
                scale = np.prod([v[n] for v, n in zip(vectors, index, strict=True)])
                result[current] += decode(bits, "fp32") * scale
        assert np.array_equal(result, wanted)


def test_wide_indices_sort() -> None:
    """Modes whose product is beyond 64 bits take several keys."""
    rng = np.random.default_rng(5700)
    shape = (2**32 - 1, 2**32, 2**32, 5, 2**31, 2**32)
    where = np.stack([rng.choice([0, 1, size // 2, size - 1], 300) for size in shape], axis=1)
    found = Tensor(shape=shape, indices=where, values=np.arange(1.0, 301.0))
    entries = list(zip(map(tuple, where.tolist()), found.values.tolist(), strict=True))
    memory, _ = stream(entries, rows=4, order=6, fmt="fp64", iw=32, marker="zero", mode=0)
    ciss = from_tensor(found, layout(4, 6, "fp64"))
    assert ciss.slots.tobytes() == memory
    # Once more in that order: nothing is to be sorted.
    assert from_tensor(to_tensor(ciss), layout(4, 6, "fp64")).slots.tobytes() == memory


@pytest.mark.parametrize("lot", seeds(25800, by_size(100, 500, 5000)), ids=str)
def test_broken_streams_name_entry_and_slot(lot: range) -> None:
    """Bytes changed and slots moved: the first wrong slot in the stream's order, word for word."""
    outcomes = Counter(check_broken(seed) for seed in lot)
    assert outcomes["refused"] > len(lot) // 2
    assert outcomes["read"] > 0


def check_broken(seed: int) -> str:
    """Returns whether the stream was refused or read, after checking that against the rules."""
    case, rng = random_case(seed), random.Random(seed)
    where = case.layout
    memory = bytearray(stream(case.entries, order=where.order, **case.oracle)[0])
    size = where.slot_bytes
    for _ in range(rng.randint(0, 2)):
        at = rng.randrange(len(memory))
        memory[at] = rng.choice([0, 1, 2, memory[at] ^ 1, 255, 128])
    for _ in range(rng.randint(0, 1)):
        to, of = (rng.randrange(len(memory) // size) * size for _ in range(2))
        memory[to : to + size] = memory[of : of + size]
    if rng.random() < 0.1:
        del memory[-where.entry_bytes :]
    slots = np.frombuffer(bytes(memory), slot_type(where)).reshape(-1, where.rows)
    ciss = Ciss(layout=where, shape=case.shape, mode=case.mode, slots=slots)
    if not memory:
        with pytest.raises(ValueError, match=r"^a stream must have an entry that ends it$"):
            to_tensor(ciss)
        return "refused"
    said = None
    try:
        patterns = tensor_of(bytes(memory), case.shape, **case.oracle)
    except Refused as error:
        said = str(error)
    if said is None:
        values = {place: repr(decode(bits, where.value)) for place, bits in patterns.items()}
        assert seen(to_tensor(ciss)) == values, seed
        return "read"
    with pytest.raises(ValueError, match=r"^entry \d+, slot \d+: ") as caught:
        to_tensor(ciss)
    assert str(caught.value) == said, seed
    return "refused"


def volume(nnz: int, slices: int) -> Tensor:
    """Non-zeros in no order, a few of one place."""
    rng = np.random.default_rng(5900)
    shape = (slices, 9184, 28818)
    indices = np.stack([rng.integers(0, size, nnz) for size in shape], axis=1)
    return Tensor(shape=shape, indices=indices, values=rng.standard_normal(nnz))


@pytest.mark.slow
@pytest.mark.parametrize("slices_per_million", [12_000, 500_000])
def test_volume(slices_per_million: int) -> None:
    """Many non-zeros, few and very many slices: there and back. What it takes of memory beside the
    tensor, stream included, is less than three times the tensor (``pytest -s`` prints it)."""
    nnz = by_size(10**5, 10**6, 10**7)
    found = volume(nnz, nnz * slices_per_million // 10**6)
    data = found.indices.nbytes + found.values.nbytes
    tracemalloc.start()
    ciss = from_tensor(found, layout(8))
    there = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    back = to_tensor(ciss)
    again = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"{nnz} non-zeros: {there / data:.2f} and {again / data:.2f} of the tensor's bytes")
    assert there < 3 * data
    assert again < 3 * data
    expected = canonical(found)
    assert np.array_equal(back.indices, expected.indices)
    assert np.array_equal(back.values, expected.values.astype(np.float32))
    assert np.array_equal(from_tensor(back, CissLayout()).slots, ciss.slots)
