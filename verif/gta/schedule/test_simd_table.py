"""The table of what lanes do with vectors, on the RTL."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tilewright.errors import UserError
from tilewright.hw.spec.gta import FORMATS_OF_GTA, GtaConfig
from tilewright.hw.spec.jobs.gta_vector import octet_cycles
from tilewright.sim.gta.model import GtaModel
from tilewright.tables.gta import repeated
from tilewright.tables.gta.repeated import RepeatedDriver
from tilewright.tables.gta.simd import COLUMNS, PAPER, SEPARATE, gta_simd
from tilewright.verif.gta.devices import settings
from tilewright.verif.kit.pages import page


def test_separate_units() -> None:
    """Separate units fill a datapath of 64 bits."""
    widths = {name: int(re.sub(r"\D", "", name)) for name in FORMATS_OF_GTA}
    assert {name: 64 // width for name, width in widths.items()} == SEPARATE
    assert tuple(PAPER) == FORMATS_OF_GTA


def test_the_page() -> None:
    """The page's figures follow from the formula, which other tests compare with the RTL."""
    text = page("gta-vectors.md").read_text()
    labels = re.findall(r"^\| (\w+(?:, \d+ adders)?) \| [\d.]+ \| [\d.]+ \| [\d.]+ \|", text, re.M)
    assert len(labels) == 4 + 2 * 4
    for label in labels:
        name, _, adders = label.removesuffix(" adders").partition(", ")
        config = GtaConfig(lanes=1, float_adders=int(adders or 8))
        mul, fma = (64 * octet_cycles(config, function, name) for function in ("mul", "fma"))
        paper = f"{PAPER[name]:g}" if adders != "8" else "-"
        gains = [f"{4096 / cycles / SEPARATE[name]:.2f}" for cycles in (mul, fma)]
        row = (
            f"| {label} | {4096 / mul:.2f} | {4096 / fma:.2f} | {gains[0]} | {paper} | {gains[1]} "
        )
        assert f"\n{row}| {mul:,} | " in text


@pytest.mark.slow
def test_the_narrowest_format() -> None:
    """Multiplications are the paper's to 1 %; what a vector takes by itself is a formula's."""
    told: list[str] = []
    table = gta_simd("cmos", told.append, settings=settings("tiny")[1::2])
    assert told == ["int8"]
    (row,) = table.rows
    assert row.label == "int8"
    assert row.paper[2] == 8
    assert len(row.ours) == len(COLUMNS) == len(row.paper)
    assert row.ours == [64, 64, 8, 8, 32, 32, 32 + 16]


@pytest.mark.long
def test_all_formats() -> None:
    """The bar: multiplications with 64 adders are the paper's to 1 %; cycles are the formula's."""
    rows = {row.label: row for row in gta_simd("cmos").rows}
    assert len(rows) == 4 + 2 * 4
    for name in FORMATS_OF_GTA:
        floats = name not in ("int8", "int16", "int32", "int64")
        row = rows[f"{name}, 64 adders" if floats else name]
        assert row.ours[2] == pytest.approx(PAPER[name], rel=0.01)
        for adders in (8, 64) if floats else (8,):
            found = rows[f"{name}, {adders} adders"] if floats else row
            config = GtaConfig(float_adders=adders)
            expected = [64 * octet_cycles(config, function, name) for function in ("mul", "fma")]
            assert [*found.ours[4:6]] == expected


def test_a_wrong_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device with a wrong result is not measured."""
    driver = RepeatedDriver(GtaModel(GtaConfig(lanes=2), 1 << 16))
    assert driver.cycles("fma", "int16", 2, 3)["operations"] == 3
    right = repeated.octet_results
    monkeypatch.setattr(repeated, "octet_results", lambda *given: right(*given) ^ 1)
    with pytest.raises(RuntimeError, match=r"^mul of fp32 differs from the golden model$"):
        driver.cycles("mul", "fp32", 1, 2)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"target": "ice40"}, "gta-simd is simulated: no --target, not 'ice40'"),
        ({"only": "tf32"}, f"--only must be one of {', '.join(FORMATS_OF_GTA)}, not 'tf32'"),
        ({"settings": ["lanes=3"]}, "gta: `lanes` must be a power of two in 1..64, not 3"),
        (
            {"only": "int16", "settings": ["vector_bytes=16384"]},
            "`vector_bytes` must be enough for 4096 elements of int16, not 16384",
        ),
    ],
)
def test_what_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=f"^{re.escape(said)}$"):
        gta_simd(**{"target": "cmos", **given})
