"""Tests the users of MatRaptor's outer-product model: the device model, the driver, the command."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import mmread, mmwrite
from tilewright.apps.common.units import matraptor_products as sparse_session
from tilewright.hw.spec.jobs.matraptor import job_spec, limits
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.hw.spec.semirings import SEMIRINGS
from tilewright.sim.device.driver import JobRegisters, JobStatus
from tilewright.sim.device.model import first_broken
from tilewright.sim.matraptor.driver import SparseDriver
from tilewright.sim.matraptor.model import MatRaptorModel
from tilewright.sim.matraptor.result.outer import tiles_of
from tilewright.sim.matraptor.result.rows import spgemm
from tilewright.sim.sparse.c2sr import from_csr
from tilewright.sim.sparse.image import image
from tilewright.verif.kit.commands import Run
from tilewright.verif.kit.data import data_file, needs_data
from tilewright.verif.kit.job_checks import wrong_values
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.matraptor.jobs import fits
from tilewright.verif.matraptor.outer.outer_cases import (
    MEMORY_BYTES,
    PARALLEL,
    OuterCase,
    config,
    operands,
    outer_case,
    product,
    random_outer,
    slow_bytes,
)

# The device model


def run_on(device: MatRaptorModel, case: OuterCase, **overrides: int) -> JobStatus:
    for name, matrix in (("a", case.a), ("b", case.b)):
        bases = {what: case.base[f"{name}_{what}"] for what in ("pairs", "entries")}
        for block in image(matrix, pairs_base=bases["pairs"], entries_base=bases["entries"]):
            device.write_memory(block.address, block.data.tobytes())
    return JobRegisters(device, job_spec(case.config)).submit(case.registers | overrides)


def dense_case(cfg: MatRaptorConfig, shape: tuple[int, int, int], **how: Any) -> OuterCase:
    a, b = operands(np.random.default_rng(10), cfg, shape, 1.0)
    return outer_case(np.random.default_rng(10), cfg, MEMORY_BYTES, a, b, **how)


def test_device_counts() -> None:
    cfg = config(queues=3, queue_depth=64, data_bits=64)
    rng = np.random.default_rng(11)
    device = MatRaptorModel(cfg, MEMORY_BYTES)
    for _ in range(10):
        case = random_outer(rng, cfg, MEMORY_BYTES)
        status = run_on(device, case)
        found = case.product()
        assert found.c is not None
        counts = {name: value for name, value in status.counts.items() if value}
        written = {"bytes_c_pairs": 8 * case.left.shape[0], "bytes_c_entries": 8 * found.c.nnz}
        expected = {
            "operations": found.statistics.products,
            "results": found.c.nnz,
            "lane_busy_max": int(found.statistics.lane_products.max()),
            "lane_busy_min": int(found.statistics.lane_products.min()),
            **written,
            "bytes_written": sum(written.values()),
            **slow_bytes(case),
        }
        assert counts == {name: value for name, value in expected.items() if value}
        wanted = np.zeros(MEMORY_BYTES, np.uint8)
        bases = case.base["c_pairs"], case.base["c_entries"]
        for block in image(found.c, pairs_base=bases[0], entries_base=bases[1]):
            wanted[block.address : block.address + len(block.data)] = block.data
        inside = case.result_bytes(MEMORY_BYTES, found.c)
        assert np.array_equal(device.memory[inside], wanted[inside])


def test_device_errors() -> None:
    cfg = config(queues=3, queue_depth=64, lanes=3, channels=3, data_bits=64, index_bits=16)
    device, spec = MatRaptorModel(cfg, MEMORY_BYTES), job_spec(cfg)
    case = dense_case(cfg, (7, 5, 9))
    values = wrong_values(spec, case.registers)
    assert {rule.error for rule in values if rule.register == "COLUMNS"} == {
        "zero_size", "size_limit"
    }  # fmt: skip
    assert limits(cfg, outer=True)["B_ROWS"] == 65536 // 3
    for rule, value in values.items():
        status = run_on(device, case, **{rule.register: value})
        assert (status.error, status.detail) == (rule.error, spec.registers[rule.register].offset)
    # By rows, columns do not count, and B may have more rows.
    for wrong in ({"COLUMNS": 0}, {"COLUMNS": 65}, {"B_ROWS": 65536 // 3 + 1}):
        for mode in (0, 1):
            broken = first_broken(spec, case.registers | wrong | {"MODE": mode})
            assert (broken is not None) == mode
    far = MEMORY_BYTES // cfg.layout.stripe_bytes * cfg.layout.stripe_bytes
    for overrides, expected in (
        ({"ROWS": 6}, ("index", 0)),
        # The third lane has nothing to do then.
        ({"ROWS": 2}, ("index", 0)),
        ({"COLUMNS": 8}, ("index", 0)),
        ({"COLUMNS": 64, "ROWS": 13}, ("overflow", 12)),
        ({"B_PAIRS": far}, ("bus_read", MEMORY_BYTES)),
        ({}, ("none", 0)),
    ):
        status = run_on(device, case, **overrides)
        assert (status.error, status.detail) == expected
    small = dense_case(cfg, (7, 5, 9), capacity=cfg.layout.block_entries)
    assert (run_on(device, small).error, small.product().region.tolist()) == ("region", [0, 1, 2])


def test_rows_of_b_that_nobody_needs_may_be_anything() -> None:
    cfg = config(queue_depth=64)
    a = from_csr(sp.csr_array(np.array([[0.0, 1.0], [0.0, 2.0]])), cfg.layout)
    b = from_csr(sp.csr_array(np.array([[0, 0, 0, 1.0], [1.0, 1.0, 0, 0]])), cfg.layout)
    case = outer_case(np.random.default_rng(12), cfg, MEMORY_BYTES, a, b)
    device = MatRaptorModel(cfg, MEMORY_BYTES)
    assert run_on(device, case, COLUMNS=2).error == "none"
    assert run_on(device, case, COLUMNS=1).error == "index"


def test_lanes_without_rows_do_nothing() -> None:
    cfg = config(queue_depth=64)
    a = from_csr(sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])), cfg.layout)
    b = from_csr(sp.csr_array(np.array([[1.0, 2.0], [3.0, 4.0]])), cfg.layout)
    case = outer_case(np.random.default_rng(12), cfg, MEMORY_BYTES, a, b)
    device = MatRaptorModel(cfg, MEMORY_BYTES)
    assert run_on(device, case).counts["operations"] == 4
    status = run_on(device, case, ROWS=1)
    assert (status.error, status.counts["operations"]) == ("none", 2)
    assert status.counts["bytes_a_pairs"] == status.counts["bytes_a_entries"] == cfg.interleave


def test_columns_do_not_count_by_rows() -> None:
    cfg = config(queue_depth=64)
    case = dense_case(cfg, (4, 3, 5))
    device = MatRaptorModel(cfg, MEMORY_BYTES)
    plain = {"MODE": 0, "ROWS": 6, "B_ROWS": 3}
    for columns in (0, 1, (1 << 32) - 1):
        # A as it is stored is a matrix of six rows and two columns.
        assert run_on(device, case, COLUMNS=columns, **plain).error == "none"
        assert run_on(device, case, COLUMNS=columns).error != "none"


# The driver


@pytest.mark.parametrize("parallel", slow_but([(2, 2), (2, 4)], PARALLEL))
def test_the_driver_cuts_what_does_not_fit(parallel: tuple[int, int]) -> None:
    """Tiles fit, cover C, and change no bit."""
    lanes, channels = parallel
    rng = np.random.default_rng(13)
    wide = config(lanes=lanes, channels=channels, value="fp16", queue_depth=4096)
    cut = config(lanes=lanes, channels=channels, value="fp16", queues=3, queue_depth=16)
    driver = SparseDriver(MatRaptorModel(cut, 1 << 20))
    for shape in ((100, 30, 90), (1, 5, 40), (300, 3, 1), (5, 40, 16), (9, 1, 70)):
        a, b = operands(rng, cut, shape, 0.3)
        c = driver.multiply(a, b, mode="outer")
        assert c.patterns()[0].tolist() == product(wide, a, b).patterns()[0].tolist()
        assert all(map(np.array_equal, c.patterns(), product(wide, a, b).patterns()))
        jobs = driver.jobs
        assert {(job.error, job.mode) for job in jobs} == {("none", "outer")}
        assert len(jobs) == driver.tiles(a, b).count
        assert len(jobs) > 1 or fits(cut, shape[0], shape[2])
        area = sum(job.rows * (job.columns[1] - job.columns[0]) for job in jobs)
        assert area == shape[0] * shape[2]
        assert all(fits(cut, job.rows, job.columns[1] - job.columns[0]) for job in jobs)
        assert sum(job.counts["results"] for job in jobs) == c.nnz


def test_one_job_if_it_fits() -> None:
    """A product that fits is one job with the hardware's pointers; one device runs both modes."""
    cfg = config(lanes=4, channels=2)
    rng = np.random.default_rng(14)
    a, b = operands(rng, cfg, (30, 20, 40), 0.4)
    driver = SparseDriver(MatRaptorModel(cfg, 1 << 20))
    for _ in range(2):
        c = driver.multiply(a, b, mode="outer")
        assert len(driver.jobs) == 1
        assert all(map(np.array_equal, c.patterns(), product(cfg, a, b).patterns()))
        assert c.pointers[2::4].min() > 0
        by_row = driver.multiply(a, b)
        assert driver.jobs[0].mode == "rows"
        expected = spgemm(cfg, a, b).c
        assert expected is not None
        assert all(map(np.array_equal, by_row.patterns(), expected.patterns()))


def tile_bytes(shape: tuple[int, int], entries: tuple[int, int], height: int, width: int) -> int:
    """Returns the bytes that two lanes read for 10 columns of A and rows of B, with beats of 8
    bytes."""
    down, across = -(-shape[0] // height), -(-shape[1] // width)
    pairs = down * across * 10 * 2 * 16
    return pairs + across * entries[0] * 8 + down * 2 * entries[1] * 8


def test_tiles_read_little() -> None:
    """A result that does not fit is split into the tiles with the fewest reads, as a search of all
    sizes finds them."""
    cfg = config(lanes=2, queues=3, queue_depth=32, data_bits=64)
    for rows, columns, entries in ((40, 60, (100, 500)), (200, 20, (500, 100)), (7, 100, (1, 99))):
        found = tiles_of(cfg, (rows, columns), 10, entries)
        assert fits(cfg, found.rows, found.columns)
        least = min(
            tile_bytes((rows, columns), entries, height, width)
            for height in range(1, rows + 1)
            for width in range(1, min(columns, 32) + 1)
            if fits(cfg, height, width)
        )
        taken = tile_bytes((rows, columns), entries, found.rows, found.columns)
        assert taken == least


def test_the_driver_refuses() -> None:
    cfg = config(index_bits=16)
    a, b = operands(np.random.default_rng(15), cfg, (3, 4, 5), 0.5)
    without = SparseDriver(MatRaptorModel(MatRaptorConfig(lanes=2, channels=2, index_bits=16)))
    driver = SparseDriver(MatRaptorModel(cfg))
    x, y = (from_csr(sp.csr_array(shape), cfg.layout) for shape in ((2, 40_000), (40_000, 2)))
    for call, message in (
        (lambda: without.multiply(a, b, mode="outer"),
         '`mode` must be "rows": the device has no `outer_product`'),
        (lambda: driver.multiply(a, b, mode="inner"),
         "`mode` must be one of rows, outer, not 'inner'"),
        (lambda: driver.multiply(x, y, mode="outer"),
         "`b` must have at most 32768 rows, not 40000"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r".") as caught:
            call()
        assert str(caught.value) == message
    for rows, inner, columns in ((0, 3, 3), (3, 0, 3), (3, 3, 0)):
        x = from_csr(sp.csr_array((rows, inner)), cfg.layout)
        y = from_csr(sp.csr_array((inner, columns)), cfg.layout)
        c = driver.multiply(x, y, mode="outer")
        assert (c.shape, c.nnz, driver.jobs) == ((rows, columns), 0, [])


# The command


def write(run: Run, name: str, shape: tuple[int, int], density: float, seed: int = 1) -> Any:
    path = run.directory / name
    rng = np.random.default_rng(seed)
    mmwrite(path, sp.random_array(shape, density=density, rng=rng).tocoo())
    return path


@pytest.mark.parametrize("semiring", slow_but(["mma", "minplus"], SEMIRINGS))
def test_spgemm_by_outer_products(run: Run, semiring: str) -> None:
    a, b = write(run, "a.mtx", (60, 50), 0.3), write(run, "b.mtx", (50, 70), 0.3, 2)
    json, output = run.directory / "report.json", run.directory / "c.mtx"
    small = ("--lanes", 2, "--set", "queue_depth=64", "--set", "queues=3")
    for settings_of in ((), small):
        arguments = ("--mode", "outer", "--backend", "model", "--semiring", semiring)
        assert run("spgemm", a, b, *arguments, *settings_of, "--json", json, "-o", output) == 0
        assert "by outer products" in run.out
        found = run.report()
        assert (found["mode"], found["config"]["outer_product"]) == ("outer", True)
        assert found["reference"]["wrong"] == 0
        assert found["reference"]["structure"] is True
        assert (found["jobs"] > 1) == (settings_of == small)
        counters = found["counters"]
        assert counters["results"] == found["c"]["entries"] > 1000
        assert counters["bytes_read"] == sum(
            counters[f"bytes_{x}_{what}"] for x in "ab" for what in ("pairs", "entries")
        )
        if semiring == "mma":
            expected = (mmread(a).tocsr() @ mmread(b).tocsr()).toarray()
            np.testing.assert_allclose(mmread(output).toarray(), expected, rtol=1e-5)


def test_spgemm_refuses(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    a = write(run, "a.mtx", (60, 60), 0.3)
    output = run.directory / "c.mtx"
    outer = ("--mode", "outer", "--backend", "model")
    for arguments, line in (
        (("--mode", "inner"), "mode must be one of rows, outer, not 'inner'"),
        ((*outer, "--set", "outer_product=false"),
         "`outer_product` must be true for mode outer, not false"),
    ):  # fmt: skip
        assert run.refused("spgemm", a, *arguments, "-o", output) == line
    wide = write(run, "wide.mtx", (10, 40_000), 1e-4)
    line = run.refused("spgemm", wide, "--transposed-b", *outer, "--set", "index_bits=16", "-o",
                       output)  # fmt: skip
    assert line == "`b` must have at most 8192 rows, not 40000"
    monkeypatch.setattr(sparse_session, "MOST_TILES", 3)
    line = run.refused("spgemm", a, *outer, "--set", "queue_depth=16", "--lanes", 2, "-o", output)
    assert line == ("C takes 8 tiles that fit the queues, too many for mode outer, which takes at "
                    "most 3; use --mode rows")  # fmt: skip
    assert not output.exists()


@needs_data
@pytest.mark.slow
def test_spgemm_by_outer_products_on_rtl(run: Run) -> None:
    """Small matrices that are not very sparse, in one job and in tiles; the counters are the
    model's, those of bytes too."""
    json = run.directory / "report.json"
    unit = ("--lanes", 2, "--set", "queues=5", "--set", "queue_depth=128", "--set",
            "outstanding=16")  # fmt: skip
    single = {}
    for name in ("karate", "west0067", "LFAT5", "lp_afiro"):
        file = data_file(f"matrices/{name}.mtx")
        arguments = (file, "--transposed-b", "--mode", "outer", *unit, "--json", json)
        assert run("spgemm", *arguments) == 0, run.out
        found = run.report()
        assert found["mismatches"] == 0 < found["checked"]
        assert found["reference"]["wrong"] == 0
        assert found["ratio_to_bound"] > 1
        assert found["counters"]["cycles"] > found["counters"]["operations"] / 2
        single[name] = found["jobs"] == 1
    assert set(single.values()) == {True, False}
