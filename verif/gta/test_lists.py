"""Lists of commands on the RTL at native speed: any order, any memory, errors and resets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tilewright.hw.emit.unit import emit, emit_component
from tilewright.hw.gta.control.region_scan import RegionScan
from tilewright.hw.gta.float.product_steps import ProductSteps
from tilewright.hw.spec.gta import (
    FORMATS_OF_GTA,
    GTA,
    GtaConfig,
    element_bytes,
    limbs,
    result_bytes,
)
from tilewright.hw.spec.jobs.gta import FAULTS, job_spec
from tilewright.hw.spec.jobs.gta_commands import DEALS, FIELDS
from tilewright.hw.spec.jobs.gta_vector import VECTOR_FUNCTIONS
from tilewright.sim.gta.model import GtaModel
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.verif.gta import jobs
from tilewright.verif.gta.devices import DEVICES, MEMORY_BYTES
from tilewright.verif.gta.lists import ListCase, check, random_case, refilling_case, spoilt_case
from tilewright.verif.gta.simulate import run
from tilewright.verif.kit.front_ends import complaints
from tilewright.verif.kit.pages import (
    documented_errors,
    documented_registers,
    error_rows,
    examples,
    page,
    register_rows,
)
from tilewright.verif.kit.reports import any_behaviour
from tilewright.verif.kit.sampling import by_size, rng_of, slow_but

Device = NativeAccelerator[GtaConfig]
Pair = tuple[Device, GtaModel]


@pytest.fixture(scope="module", params=slow_but(["tiny"], DEVICES, []))
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    built = DEVICES[request.param]
    made = emit(built.unit, built.config)
    with NativeAccelerator(
        made, built.config, memory_bytes=MEMORY_BYTES, time_out=400_000
    ) as device:
        yield device, built.model(built.config, MEMORY_BYTES)


def good_case(rng: np.random.Generator, device: Device) -> ListCase:
    return random_case(rng, device.config, MEMORY_BYTES)


def test_any_list_on_any_memory(pair: Pair) -> None:
    device, model = pair
    rng = rng_of(1)
    seen: Counter[str] = Counter()
    for number in range(by_size(60, 70, 3000)):
        device.behave(any_behaviour(rng) if number % 2 else AxiBehaviour())
        seen.update(kind for kind, _ in good_case(rng, device).commands)
        assert check(device, model, good_case(rng, device)).error == "none"
    assert min(seen.values()) > 20
    assert device.faults == []


def test_commands_that_are_wrong(pair: Pair) -> None:
    """A field, or a bit, is another one: the error is the model's, and a good job works after."""
    device, model = pair
    rng, wrong = rng_of(2), rng_of(1)
    seen: Counter[str] = Counter()
    for number in range(by_size(60, 80, 20000)):
        if not number % 20:
            device.behave(any_behaviour(rng))
        error = check(device, model, spoilt_case(wrong, device.config, MEMORY_BYTES)).error
        seen[error] += 1
        if error != "none":
            begin_anew(rng, device, model)
    print(seen)
    if len(device.config.formats) == 8 and device.config.lanes > 1:
        missing = set(FAULTS) - {"command_sum"} - set(seen)
        assert missing <= ({"command_range"} if device.config.addr_bits == 64 else set())
    assert ("command_sum" in seen) <= (device.config.most_products <= device.config.edge_bytes)
    assert seen["none"]


def test_masks_of_any_lanes(pair: Pair) -> None:
    """Draws any masks: either every one is a rectangle, or the error names the first torn lane."""
    device, model = pair
    rng = rng_of(4)
    device.behave(AxiBehaviour())
    lanes, seen = device.config.lanes, set()
    for _ in range(by_size(20, 30, 1000)):
        case = good_case(rng, device)
        masks = tuple(rng.integers(2, size=lanes).tolist())
        layout = int(rng.integers(lanes.bit_length()))
        seen.add(check(device, model, replace(case, masks=masks, layout=layout).with_list()).error)
    assert seen <= {"masks", "zero_size"}
    cases = [replace(good_case(rng, device), masks=(0,) * lanes, layout=0)]
    if lanes > 2:
        cases.append(replace(cases[0], masks=(0, 1) + (0,) * (lanes - 2)))
    for case in cases:
        loads = [command for command in case.commands if command[0] == "load"]
        again = [(kind, {**fields, "executes": 0, "stores": 0}) for kind, fields in loads]
        if again:
            torn = any(case.masks) and lanes > 2
            assert (check(device, model, case.with_list(*again)).error == "masks") == torn


def begin_anew(rng: np.random.Generator, device: Device, model: GtaModel) -> None:
    """Runs good jobs after one that was aborted."""
    assert check(device, model, refilling_case(rng, device.config, MEMORY_BYTES)).error == "none"
    assert check(device, model, good_case(rng, device)).error == "none"


# The least configurations: one lane, one format.


def test_verilator_finds_nothing_in_the_scan_of_one_lane(tmp_path: Path) -> None:
    """One lane has one column, so the scan compares no column numbers."""
    text = emit_component(RegionScan(GtaConfig(lanes=1)), name="region_scan").verilog
    assert complaints("verilator", text, "region_scan", tmp_path) == ""


def test_steps_of_one_float_of_one_limb(tmp_path: Path) -> None:
    """Many adders leave no limbs to count, and the pause of a turn is a constant bit."""
    config = GtaConfig(lanes=1, formats=("bf16",), float_adders=64)
    text = emit_component(ProductSteps(config), name="steps").verilog
    assert complaints("verilator", text, "steps", tmp_path) == ""


# The pages of GTA and its jobs list registers, errors and commands as the tables do; examples work.

PAGE, JOB_PAGE, VECTOR_PAGE = (page(f"gta{part}.md") for part in ("", "-job", "-vectors"))


def section(title: str, of: Path = JOB_PAGE) -> str:
    return of.read_text().partition(f"\n##{title}\n")[2].partition("\n##")[0]


def test_registers_and_errors() -> None:
    spec = job_spec(GtaConfig())
    assert documented_registers(JOB_PAGE) == register_rows(spec.registers)
    assert documented_errors(JOB_PAGE) == error_rows(spec.errors)


@pytest.mark.slow
def test_python_examples_run() -> None:
    """The model of cycles among them, which takes twenty seconds to compile."""
    for where in (PAGE, VECTOR_PAGE):
        found = examples(where, "python")
        assert found
        for example in found:
            exec(compile(example, str(where), "exec"), {})


@pytest.mark.parametrize(
    ("title", "kinds"), [("# LOAD and STORE", ("load", "store")), ("# EXECUTE", ("execute",))]
)
def test_fields(title: str, kinds: tuple[str, ...]) -> None:
    """Lists each field once, in the section of its kind or in that of all commands."""
    text = section("# Fields of every command") + section(title)
    found = re.findall(r"^\| ([a-z]\w*) \| ([\d:]+) \|", text, re.M)
    fields = {name: place for kind in kinds for name, place in FIELDS[kind].items()}
    places = {
        name: f"{low + bits - 1}:{low}" if bits > 1 else str(low)
        for name, (low, bits) in fields.items()
    }
    assert sorted(found) == sorted(places.items())


def test_deals_and_formats() -> None:
    rows = re.findall(r"^\| (\d+) \| (\d+) \| (\d+) \|", JOB_PAGE.read_text(), re.M)
    assert rows == [(str(n), str(deal.element), str(deal.banks)) for n, deal in enumerate(DEALS)]
    formats = re.findall(r"^\| (\w+) \| (\d) \| (\d) \| (\d)", PAGE.read_text(), re.M)
    assert formats == [
        (name, *map(str, (limbs(name), element_bytes(name), result_bytes(name))))
        for name in FORMATS_OF_GTA
    ]


def test_functions_of_vectors() -> None:
    rows = re.findall(
        r"^\| (\d+) \| (\w+) \| .* \| (.*) \| (.*) \|$",
        section(" Functions and layout", VECTOR_PAGE),
        re.M,
    )
    assert rows == [
        (str(n), name, *(", ".join(memories or "-") for memories in row))
        for n, (name, row) in enumerate(VECTOR_FUNCTIONS.items())
    ]


# GTA's RTL from end to end: in cocotb, on cocotbext-axi's memory and on our own; and what the
# command that simulates it counts.


@pytest.mark.parametrize("name", slow_but(["tiny"], ["tiny", "all"], []))
def test_simulate_counts_jobs(name: str) -> None:
    """Runs the requested number of jobs, of every format, on memories of both kinds."""
    config = DEVICES[name].config
    report = run(GTA, config, seed=5, count=40)
    assert report.passed
    assert (report.jobs, sum(report.kinds.values())) == (40, 40)
    found = dict.fromkeys(config.formats, 0)
    for (_, what), count in report.coverage.items():
        if what.startswith("results of "):
            found[what.rpartition(", ")[2]] += count
    assert list(found) == list(config.formats)
    assert sum(found.values()) == report.operations > 0
    modes = {mode for mode, _ in report.coverage}
    assert modes == {"ideal", "rough"}
    assert sum(report.coverage[mode, "jobs"] for mode in modes) == report.jobs


def test_simulate_finds_a_wrong_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job with a wrong result is not counted, and no job follows it."""
    right = jobs.pgemm
    monkeypatch.setattr(jobs, "pgemm", lambda *given, **named: right(*given, **named) ^ 1)
    report = run(GTA, DEVICES["tiny"].config, seed=5, count=30)
    assert not report.passed
    assert (report.jobs, report.operations) == (1, 0)
    assert "words are wrong" in report.complaints[0]
    (wrong,) = (case for case in report.cases() if case.complaint)
    assert wrong.name.startswith("jobs: products, ")
