"""Payloads and tables of fields: layout, round trip, what does not fit."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from tilewright.sim.rtl.streams import NativeSimulation, Pauses, Rows, pack, unpack
from tilewright.verif.harness.adder import build, stimuli

pytestmark = pytest.mark.quick


@pytest.fixture(scope="module")
def simulation() -> NativeSimulation:
    return NativeSimulation(build())


def _slow_pack(fields: dict[str, np.ndarray], stream_entry: dict[str, Any]) -> np.ndarray:
    """Bit by bit, in Python integers."""
    rows = []
    for n in range(len(next(iter(fields.values())))):
        value = 0
        for entry in stream_entry["fields"]:
            bits = entry.get("element_bits", entry.get("width"))
            shape = entry.get("shape", [])
            elements = fields[entry["name"]][n].reshape(int(np.prod(shape, dtype=int)), -1)
            for position, element in enumerate(elements):
                size = 32 if bits > 64 else 64
                number = sum(int(word) << (size * k) for k, word in enumerate(element))
                for bit in range(bits):
                    value |= ((number >> bit) & 1) << (entry["offset"] + position * bits + bit)
        words = -(-stream_entry["width"] // 32)
        rows.append([(value >> (32 * k)) & 0xFFFFFFFF for k in range(words)])
    return np.array(rows, np.uint32)


@pytest.mark.parametrize("seed", range(30))
def test_pack_round_trip_on_random_layouts(seed: int) -> None:
    pick, draw = random.Random(seed), np.random.default_rng(seed)
    entry: dict[str, Any] = {"name": "x", "fields": []}
    fields, offset = {}, 0
    for n in range(pick.randint(1, 6)):
        bits = pick.choice([1, 3, 7, 8, 12, 16, 31, 32, 33, 45, 63, 64, 65, 100, 128])
        shape = pick.choice([None, [1], [3], [2, 5], [4, 4]])
        field: dict[str, Any] = {"name": f"f{n}", "offset": offset}
        field |= {"width": bits} if shape is None else {"shape": shape, "element_bits": bits}
        raw = draw.integers(0, 1 << 63, (5, *(shape or []), 4), dtype=np.uint64).astype(np.uint32)
        if bits > 64:
            values = raw[..., : -(-bits // 32)]
            values[..., -1] &= np.uint32((1 << ((bits - 1) % 32 + 1)) - 1)
        else:
            values = (raw[..., 0].astype(np.uint64) << np.uint64(32) | raw[..., 1]) >> np.uint64(
                64 - bits
            )
            values = values.astype(f"u{next(b for b in (8, 16, 32, 64) if b >= bits) // 8}")
        fields[field["name"]] = values
        entry["fields"].append(field)
        offset += bits * int(np.prod(shape or [1])) + pick.choice([0, 0, 5])
    entry["width"] = offset
    rows = pack(fields, entry)
    np.testing.assert_array_equal(rows, _slow_pack(fields, entry))
    for name, values in unpack(rows, entry).items():
        np.testing.assert_array_equal(values, fields[name])
        assert values.dtype == fields[name].dtype


def test_pack_refuses_what_does_not_fit(simulation: NativeSimulation) -> None:
    entry = simulation.stream("i")
    fields: dict[str, Any] = stimuli(4, 9)
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"op": np.full(4, 8)}, ValueError, "field `op` must fit 3 bits, not 0x8"),
        ({"c": np.full((4, 6), 4096)}, ValueError, "field `c` must fit 12 bits, not 0x1000"),
        ({"op": np.full(4, -1)}, ValueError, "field `op` must fit 3 bits"),
        ({"a": np.zeros((4, 4), int)}, ValueError, r"shape \(count, \(5,\)\), not \(4, 4\)"),
        ({"a": np.zeros((3, 5), int)}, ValueError, "fields of stream `i` differ in count"),
        ({"a": np.zeros((4, 5))}, TypeError, "must be integers"),
        ({"z": np.zeros(4, int)}, ValueError, "stream `i` has the fields op, a, wide, c, not"),
    ]
    for change, error, text in cases:
        with pytest.raises(error, match=text):
            pack(fields | change, entry)


def test_rows_are_checked(simulation: NativeSimulation) -> None:
    table = np.zeros((4, 3), np.uint32)
    for rows, text in [
        (Rows(table[:, :2]), "a table must be contiguous uint32"),
        (Rows(table[:3]), "a table needs 4 rows, not 3"),
        (Rows(table, np.array([0, 1, 2, 4])), r"an index must lie in 0\.\.3"),
        (Rows(table, np.array([0, 1, 2])), r"an index must be int64 of shape \(4,\)"),
    ]:
        with pytest.raises(ValueError, match=text):
            simulation.run_fields({"a": rows}, {}, 4)
    with pytest.raises(ValueError, match="stream `i` has the fields op, a, wide, c, not b"):
        simulation.run_fields({"b": Rows(table)}, {}, 4)
    with pytest.raises(ValueError, match="`gap` must be at least 0 and below 1, not 1"):
        Pauses(gap=1)
