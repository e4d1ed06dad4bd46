"""Images of sparse tensors: every entry once, where it belongs, and rows apart."""

from __future__ import annotations

from collections import Counter
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tilewright.hw.spec.t2s.sparse_parts import RowLoops
from tilewright.sim.t2s.sparse.dealing import dealt, row_digits
from tilewright.sim.t2s.sparse.decoding import decoded
from tilewright.sim.t2s.sparse.entries import Entries
from tilewright.sim.t2s.sparse.image import SparseImage
from tilewright.sim.t2s.sparse.interleaving import interleaved
from tilewright.sim.t2s.sparse.token_bytes import put_field
from tilewright.verif.kit.commands import refused
from tilewright.verif.kit.sampling import by_size, cases, rng_of

from .plans import Made, made, random_entries

Ints = npt.NDArray[np.int64]


def drawn(rng: np.random.Generator, style: str) -> tuple[Made, dict[str, int], Entries]:
    """A tensor of two or three modes in a plan of any kind."""
    names = "kl"[: rng.integers(1, 3)]
    plan = made(
        {"A": "i" + "".join(rng.permutation(list(names)))},
        {},
        "i",
        arithmetic={"format": "fp32"},
        style=style,
        slots=int(rng.integers(1, 5)),
        elements=int(rng.integers(1, 5)),
        slots_first=bool(rng.integers(2)),
        extents={name: int(rng.integers(1, 9)) for name in names},
        ring=int(rng.integers(1, 4)),
    )
    bounds = {"i": int(rng.integers(1, 40)), "k": int(rng.integers(1, 20)), "l": 5}
    shape = tuple(bounds[letter] for letter in plan.sparse["A"])
    return plan, bounds, random_entries(rng, shape, int(rng.choice([0, 1, 20, 200])))


@pytest.mark.parametrize("style", ["csr", "ciss"])
@pytest.mark.parametrize("seed", range(cases(60)))
def test_every_entry_once(style: str, seed: int) -> None:
    rng = rng_of(seed)
    plan, bounds, given = drawn(rng, style)
    places, (image,) = plan.images(bounds, {"A": given}, apart=int(rng.integers(1, 9)))
    assert len(set(places.tolist())) == bounds["i"]
    rows = -(-bounds["i"] // plan.plan.rows.tile) * plan.plan.rows.tile
    assert places.min() >= 0
    assert places.max() < rows
    found = plan.decoded([image])
    row_of = np.full(rows, -1)
    row_of[places] = np.arange(bounds["i"])
    columns = {"i": row_of[found.rows(plan.plan.rows)]} | {
        one.index: found.numbers(one.index, one.extent)
        for one in plan.plan.entries[0].layout.coordinates
    }
    there = np.stack([columns[letter] for letter in plan.sparse["A"]], axis=1)
    wanted = dict(zip(map(tuple, given.places.tolist()), given.words.tolist(), strict=True))
    assert dict(zip(map(tuple, there.tolist()), found.words[0].tolist(), strict=True)) == wanted
    assert len(found) == len(given)


@pytest.mark.parametrize("style", ["csr", "ciss"])
@pytest.mark.parametrize("seed", range(cases(40)))
def test_entries_of_a_row_ascend(style: str, seed: int) -> None:
    """Tile by tile, each in the order of its coordinates' loops; in "csr" a tile's too."""
    rng = rng_of(seed)
    plan, bounds, given = drawn(rng, style)
    _, images = plan.images(bounds, {"A": given}, apart=6)
    found = plan.decoded(images)
    loops = {
        one.loop: found.coordinates[one.index] for one in plan.plan.entries[0].layout.coordinates
    }
    order = [loops.get(loop, found.slots) for loop in plan.plan.order]
    if style == "csr":
        keys = [found.tiles, found.elements, *order]
    else:
        sums = found.rows(plan.plan.rows)
        keys = [sums, found.tiles, *(one for one in order if one is not found.slots)]
    sorted_keys = np.stack(keys, axis=1)
    if style == "ciss":
        sorted_keys = sorted_keys[np.argsort(keys[0], kind="stable")]
    rows = list(map(tuple, sorted_keys.tolist()))
    assert rows == sorted(rows)
    assert len(set(rows)) == len(rows)


def test_bytes_of_an_image() -> None:
    """A small one by hand: two elements with two rows each, tiles of 4, the second empty."""
    int8 = {"format": "int8", "accumulator": "int32"}
    plan = made({"A": "ik"}, {}, "i", arithmetic=int8, slots=2, elements=2, extents={"k": 4})
    layout = plan.plan.entries[0].layout
    fields = [(one.name, one.low, one.bits) for one in layout.fields]
    assert fields == [
        ("value", 0, 8), ("at_k", 8, 2), ("slot", 10, 1), ("ends", 11, 2), ("present", 13, 1)
    ]  # fmt: skip
    given = Entries(
        shape=(4, 7),
        places=np.array([(3, 1), (0, 3), (0, 0), (2, 2)]),
        words=np.array([0xF0, 0x12, 0x34, 0x56], np.uint64),
    )
    _, (image,) = plan.images({"i": 4, "k": 7}, {"A": given})

    def token(value: int, at: int, slot: int) -> int:
        return 1 << 13 | slot << 10 | at << 8 | value

    tokens = [
        token(0x34, 0, 0), token(0xF0, 1, 1),
        token(0x12, 3, 0), 0,
        token(0x56, 2, 1), 0,
        0b10 << 11, 0b10 << 11,
        0b11 << 11, 0b11 << 11,
    ]  # fmt: skip
    assert image.steps == 5
    assert image.content == np.array(tokens + [0] * 6, "<u2").tobytes()


@pytest.mark.parametrize("style", ["csr", "ciss"])
def test_large(style: str) -> None:
    """Many entries take seconds."""
    entries = by_size(50_000, 50_000, 1_000_000)
    rng = rng_of(2)
    bounds = {"i": entries // 10, "k": 1 << 20}
    given = random_entries(rng, (bounds["i"], bounds["k"]), entries)
    plan = made({"A": "ik"}, {}, "i", style=style, slots=64, elements=4, extents={"k": 1 << 18})
    began = process_time()
    _, (image,) = plan.images(bounds, {"A": given}, apart=8)
    assert process_time() - began < 30
    part = plan.plan.entries[0]
    assert image.steps * 4 >= len(given)
    content = np.frombuffer(image.content, np.uint8)[: image.steps * part.vector_bytes]
    assert len(decoded(part, content)) == len(given)


def broken(change: Any) -> tuple[Made, SparseImage]:
    """A small image with tokens changed."""
    plan = made({"A": "ik"}, {}, "i", slots=3, elements=2, extents={"k": 5})
    given = Entries(shape=(6, 10), places=np.array([(0, 1), (5, 7)]), words=np.ones(2, np.uint64))
    _, (image,) = plan.images({"i": 6, "k": 10}, {"A": given})
    part = plan.plan.entries[0]
    content = np.frombuffer(image.content, np.uint8).copy()
    tokens = content[: image.steps * part.vector_bytes].reshape(-1, part.layout.bytes)
    change(part.layout, tokens)
    return plan, SparseImage(content=content.tobytes(), steps=image.steps)


def set_field(name: str, token: int, number: int) -> Any:
    def change(layout: Any, tokens: Any) -> None:
        put_field(layout, tokens, name, np.array([token]), np.array([number], np.uint64))

    return change


def clear(*some: int) -> Any:
    def change(layout: Any, tokens: Any) -> None:
        tokens[list(some)] = 0

    return change


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (clear(2), "image of A must have the same ends for all elements"),
        (set_field("ends", 1, 2), "image of A must have the same ends for all elements"),
        (clear(6, 7), "image of A must end with the end of a tile"),
        (clear(2, 3), None),
        (set_field("slot", 0, 3), "image of A must have slots below 3, not 3"),
        (set_field("at_k", 0, 7), "image of A must have places of k below 5, not 7"),
    ],
    ids=["one end", "an end beside", "no end", "one tile", "slot", "place"],
)
def test_what_is_no_image(change: Any, text: str | None) -> None:
    plan, image = broken(change)
    if text is None:
        # Tiles of one iteration of k, where the registers would say two: found out by its job.
        assert plan.decoded([image]).trips == {"i": 1, "k": 1}
        return
    with refused(ValueError, text):
        plan.decoded([image])


def test_levels_go_round_as_often() -> None:
    plan = made({"A": "ik"}, {}, "i", extents={"k": 5})
    given = Entries(shape=(2, 10), places=np.zeros((0, 2), np.int64), words=np.zeros(0, np.uint64))
    _, (image,) = plan.images({"i": 2, "k": 10}, {"A": given})
    part = plan.plan.entries[0]
    whole = np.frombuffer(image.content, np.uint8)[: image.steps * part.vector_bytes]
    assert decoded(part, whole).trips == {"i": 2, "k": 2}
    with refused(ValueError, "image of A must have tiles in loops of i, k"):
        decoded(part, whole[part.vector_bytes :])


# Rows dealt to elements, and an element's entries interleaved.


def steps_of(plan: Made, bounds: dict[str, int], given: Entries) -> int:
    return plan.images(bounds, {"A": given})[1][0].steps


def test_dealing_balances() -> None:
    """Rows of unlike lengths: hardly more steps than entries by elements, and never more than in
    the order of the loops."""
    rng = rng_of(1)
    bounds = {"i": 200, "k": 4000}
    given = random_entries(rng, (200, 4000), 6000)
    sizes: dict[str, Any] = {"slots": 8, "elements": 8, "slots_first": False}
    plans = {
        style: made({"A": "ik"}, {}, "i", style=style, extents={"k": 4096}, **sizes)
        for style in ("csr", "ciss")
    }
    steps = {style: steps_of(plan, bounds, given) for style, plan in plans.items()}
    ideal = len(given) / 8 + 4
    assert ideal <= steps["ciss"] < 1.2 * ideal
    assert steps["csr"] > 1.3 * steps["ciss"]


def test_dealing_looks_at_tiles() -> None:
    """The rows have equally many entries. Those with entries in the same tile of k are assigned to
    different elements."""
    rows = RowLoops("i", "iii", "ii", 2, 1, 2, 2)
    counts = np.array([[4, 0], [0, 4], [4, 0], [0, 4]])
    tile, _, element = row_digits(rows, dealt(rows, counts))
    assert tile.tolist() == [0] * 4
    assert element[0] != element[2]
    assert element[1] != element[3]


@pytest.mark.parametrize("seed", range(cases(40)))
def test_dealing_never_takes_more_steps(seed: int) -> None:
    rng = rng_of(seed)
    slots, elements = rng.integers(1, 6, 2).tolist()
    rows = RowLoops("i", "iii", "ii", elements, 1, slots, elements)
    counts = rng.geometric(0.1, (int(rng.integers(1, 60)), int(rng.integers(1, 5)))) - 1
    places = dealt(rows, counts)
    assert len(set(places.tolist())) == len(counts)

    def steps(places: Ints) -> int:
        loads: Counter[tuple[int, int, int]] = Counter()
        for place, row in zip(places.tolist(), counts.tolist(), strict=True):
            tile, _, element = (int(one) for one in row_digits(rows, np.array(place)))
            for part, count in enumerate(row):
                loads[tile, part, element] += count
        longest: Counter[tuple[int, int]] = Counter()
        for (tile, part, _), count in loads.items():
            longest[tile, part] = max(longest[tile, part], count)
        return longest.total()

    assert steps(places) <= steps(np.arange(len(counts)))


def apart(rows: list[int], places: list[int]) -> int:
    """The least distance of two places of one row."""
    last: dict[int, int] = {}
    least = len(rows) + 1
    for place, row in sorted(zip(places, rows, strict=True)):
        least = min(least, place - last.get(row, -len(rows) - 1))
        last[row] = place
    return least


@pytest.mark.parametrize("seed", range(cases(80)))
def test_rows_are_apart(seed: int) -> None:
    """Rows keep the requested distance if the longest ones leave enough entries to put between."""
    rng = rng_of(seed)
    lengths = rng.integers(1, 12, int(rng.integers(1, 12)))
    slots = np.repeat(np.arange(len(lengths)), lengths)
    nothing = np.zeros(len(slots), np.int64)
    longest = int(lengths.max())
    most = len(lengths)
    if longest > 1:
        # This many frames begin with each of the longest rows; the last frame has nothing else.
        most = (len(slots) - int(np.count_nonzero(lengths == longest))) // (longest - 1)
    for between in range(1, most + 1):
        found = interleaved(nothing, slots, nothing, between)
        assert sorted(found.tolist()) == list(range(len(slots)))
        assert apart(slots.tolist(), found.tolist()) >= between
        # Entries of a row stay in their order.
        assert all((np.diff(found[slots == row]) > 0).all() for row in range(len(lengths)))


def test_rows_are_apart_over_tiles() -> None:
    """A row of one tile does not begin the next one, if there is another."""
    groups = np.array([0, 0, 1, 1])
    slots = np.array([0, 1, 0, 1])
    runs = np.zeros(4, np.int64)
    found = interleaved(groups, slots, runs, 2)
    assert found.tolist() == [0, 1, 0, 1]
    turned = interleaved(np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 0, 1]), np.zeros(5, int), 2)
    # 0 1 0 | 1 0, where rows of tiles that have nothing to do with each other would be 0 1.
    assert turned.tolist() == [0, 2, 1, 1, 0]
    alone = interleaved(
        np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 0, 1]), np.array([0, 0, 0, 1, 1]), 2
    )
    assert alone.tolist() == [0, 2, 1, 0, 1]


def test_one_row_cannot_be_apart() -> None:
    """A single row is laid out without gaps, because elements can wait."""
    slots = np.zeros(5, np.int64)
    assert interleaved(slots, slots, slots, 4).tolist() == [0, 1, 2, 3, 4]
