"""The table of Tensaurus' area: its sums, and its shape on the smallest configuration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.cli import main
from tilewright.errors import UserError
from tilewright.hw.spec.tensaurus import TensaurusConfig
from tilewright.sim.sparse.tensor import Tensor
from tilewright.sim.tensaurus.bandwidth import bandwidth
from tilewright.sim.timing.dram import FLAT, HBM
from tilewright.synth.report import AsicReport
from tilewright.synth.tables import measure, tensaurus_area
from tilewright.synth.tables.tensaurus import SMALL
from tilewright.tables.bandwidth import ciss_bandwidth
from tilewright.tables.tensaurus_dense import CASES, FULL, tensaurus_dense
from tilewright.verif.tables.made_up import BIT_AREA, made_up, ours_of

COUNTED = {
    "processing elements": (4 * 100.0, 0),
    "crossbars and their arbiters": (3 * 10.0 + 2 * 3.0, 0),
    "scratchpads": (0.0, 3 * 4096),
    "matrix store unit": (50.0, 8192),
    "tensor load unit": (30.0, 1000),
    "matrix load unit": (20.0, 500),
}
"""Logic and bits of the parts that the paper counts, in the made-up report."""

OTHERS = {
    "rows: decoders, heads, operand windows": (2 * 40.0, 0),
    "list of tiles": (15.0, 0),
    "bus, one reader after the other": (2 * 4.0, 0),
    "registers, control and counters": (5.0 + 6.0 + 7.0, 0),
    "interconnect and control": (16.0, 300),
    "buffers of high fan-out": (12.0, 0),
}

EVERYTHING = {**COUNTED, **OTHERS}


def _report(unit: str, config: Any, target: str, **_: bool) -> AsicReport:
    """A made-up report: the logic of each part has another area."""
    parts: dict[str, tuple[int, float, int]] = {
        "processing_element": (4, 100.0, 0),
        "row": (2, 40.0, 0),
        "scratchpad": (2, 10.0, 4096),
        "scratchpad_2": (1, 10.0, 4096),
        "wave_arbiter": (2, 3.0, 0),
        "matrix_store": (1, 50.0, 8192),
        "tensor_loader": (1, 30.0, 1000),
        "matrix_loader": (1, 20.0, 500),
        "tile_fetcher": (1, 15.0, 0),
        "read_interconnect": (2, 4.0, 0),
        "axi_lite_registers": (1, 5.0, 0),
        "control": (1, 6.0, 0),
        "counters": (1, 7.0, 0),
        "row_head": (2, 25.0, 0),
    }
    area = sum(logic for logic, _ in EVERYTHING.values())
    bits = sum(bits for _, bits in EVERYTHING.values())
    return made_up(
        unit, target, parts, area=area, memory_bits=bits, buffer_area=12.0, config=config.resolved()
    )


@pytest.mark.parametrize("target", ["cmos", "liberty:made up"])
def test_the_figures_of_the_table(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    monkeypatch.setattr(measure, "synthesize", _report)
    monkeypatch.setattr(measure, "target_library", lambda _: "made up")
    table = tensaurus_area(target)
    assert [row.label for row in table.rows[-2:]] == ["whole", "what the paper counts"]
    assert {row.label for row in table.rows[:-2]} == set(EVERYTHING)
    scale, bit = 1.0 if target == "cmos" else 1e-6, BIT_AREA

    def area(parts: dict[str, tuple[float, int]]) -> float:
        return sum(logic + bits * bit for logic, bits in parts.values()) * scale

    for label, (logic, bits) in EVERYTHING.items():
        found = ours_of(table, label)
        assert found[:2] == pytest.approx([logic * scale, bits])
        assert found[3] == pytest.approx(found[0] + found[2])
        assert found[4] == pytest.approx(100 * found[3] / area(EVERYTHING))
        share = 100 * found[3] / area(COUNTED) if label in COUNTED else 0
        assert found[5] == pytest.approx(share)
    assert ours_of(table, "whole")[3:5] == pytest.approx([area(EVERYTHING), 100])
    counted = table.rows[-1]
    assert counted.ours[5] == pytest.approx(100)
    # 288 KiB of scratchpads and 256 KiB of output, where the paper's text says 512.
    assert counted.paper[1] == 544 * 1024 * 8
    assert counted.paper[3] == (None if target == "cmos" else 2.3)


def test_the_paper_s_size_is_the_default_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """The full size is not synthesised as a whole, so it has no buffers of nets that cross
    modules."""
    seen: list[tuple[object, bool]] = []

    def synthesize(unit: str, config: Any, target: str, *, together: bool) -> AsicReport:
        seen.append((config, together))
        found = _report(unit, config, target)
        return found if together else replace(found, buffer_area=0.0, timing_by="")

    monkeypatch.setattr(measure, "synthesize", synthesize)
    labels = {row.label for row in tensaurus_area("cmos", full=True).rows}
    assert set(EVERYTHING) - labels == {"buffers of high fan-out"}
    tensaurus_area("cmos", rows=1)
    whole = TensaurusConfig()
    assert seen == [(whole, False), (TensaurusConfig(**{**SMALL, "rows": 1}), True)]
    scratchpads = (whole.cols + 1) * 2 * whole.spm_bytes
    assert scratchpads + 2 * whole.out_bytes == 544 * 1024


def test_tables_of_one_size(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "simd2-area", "--full"]) == 2
    assert capsys.readouterr().err == (
        "error: simd2-area takes no --full; its options are --target, --csv, --plot, --json, "
        "--period\n"
    )


@pytest.mark.long
def test_a_small_table() -> None:
    table = tensaurus_area("cmos", cols=1, vlen=1, channels=1, rows=1, spm_bytes=512, value="fp16")
    for label in EVERYTHING:
        assert ours_of(table, label)[3] > 0, label
    parts = sum(ours_of(table, label)[3] for label in EVERYTHING)
    assert parts == pytest.approx(ours_of(table, "whole")[3])


# The table of dense tensors on Tensaurus: every kernel keeps the array busy.


@pytest.mark.long
@pytest.mark.parametrize("full", [False, True])
def test_dense_tiles_fill_the_array(full: bool) -> None:
    """Each lane does at least 0.99 operations per cycle from the first product to the last, in a
    small array and in the default one (whose library takes minutes to build)."""
    said: list[str] = []
    table = tensaurus_dense("cmos", said.append, full=full)
    assert said[1:] == [row.label for row in table.rows] == list(FULL if full else CASES)
    for row in table.rows:
        between, whole = row.ours
        assert between is not None
        assert whole is not None
        assert 99 <= between <= 100, row.label
        assert 90 <= whole <= between, row.label


def test_no_target(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "dense.json"
    assert main(["table", "tensaurus-dense", "--target", "ecp5", "--json", str(target)]) == 2
    assert "no --target, not 'ecp5'" in capsys.readouterr().err
    assert not target.exists()


# The bandwidth of CISS and of extended CSR: the bar, and what bounds each.


def _tensor(slices: int, per_slice: int) -> Tensor:
    rng = np.random.default_rng(1)
    count = slices * per_slice
    places = np.column_stack(
        [np.repeat(np.arange(slices), per_slice), np.arange(count), rng.integers(0, 9, count)]
    )
    return Tensor(shape=(slices, count, 9), indices=places, values=np.ones(count))


@pytest.mark.slow
def test_the_table() -> None:
    """The bar: 95 % of the peak at eight elements, 98 % of a port on a perfect memory."""
    table = ciss_bandwidth("cmos")
    rows = {row.label: row for row in table.rows}
    ours = {label: [x or 0.0 for x in row.ours] for label, row in rows.items()}
    assert ours["CISS, GB/s, 64-byte accesses"][3] >= 15.2
    assert min(ours["CISS, of the port, a perfect memory"]) >= 0.98
    assert max(ours["extended CSR, GB/s, 64-byte accesses"]) < 16 * 12 / 64
    assert rows["CISS, GB/s, 64-byte accesses"].paper == [None, None, None, 11.2]
    assert rows["extended CSR, GB/s, 64-byte accesses"].paper == [None, None, None, 1.9]
    assert rows["CISS, of the peak, 64-byte accesses"].paper[3] == pytest.approx(0.7)
    for label, row in ours.items():
        if "of the" in label:
            assert 0 < min(row) <= max(row) <= 1
    with pytest.raises(UserError, match=r"^ciss-bandwidth is computed by a model: no --target"):
        ciss_bandwidth("ecp5")


@pytest.mark.slow
@pytest.mark.parametrize("elements", [1, 3, 8])
def test_what_bounds_each(elements: int) -> None:
    tensor = _tensor(60, 70)
    ciss = bandwidth(tensor, elements, "ciss")
    csr = bandwidth(tensor, elements, "csr")
    assert ciss.peak == csr.peak == 16
    # Headers and no-ops are read, but are no values.
    slots = 60 / elements * 71
    assert ciss.values / ciss.gigabytes == pytest.approx(60 * 70 / (elements * slots), rel=0.1)
    assert csr.values == csr.gigabytes
    assert ciss.fraction > 0.9
    # A value of 12 bytes is an access of 64, or two.
    assert csr.fraction <= 12 / 64


@pytest.mark.slow
def test_an_element_takes_an_entry_a_cycle() -> None:
    """The element is slower than memory, so it bounds the stream."""
    tensor = _tensor(60, 70)
    slow = bandwidth(tensor, 1, "ciss", gigahertz=0.5)
    assert 0.95 * 6 <= slow.gigabytes <= 6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "coo"}, r"^`name` must be one of ciss, csr, not 'coo'$"),
        ({"memory": FLAT}, r"^`memory` must have banks$"),
        ({"tensor": Tensor(shape=(2, 2, 2), indices=np.zeros((0, 3), np.int64),
                           values=np.zeros(0))}, r"^`tensor` must have values$"),
    ],
)  # fmt: skip
def test_what_bandwidth_refuses(changes: dict[str, Any], message: str) -> None:
    given = {"tensor": _tensor(2, 3), "name": "ciss", "memory": HBM, **changes}
    with pytest.raises(ValueError, match=message):
        bandwidth(given["tensor"], 2, given["name"], memory=given["memory"])
