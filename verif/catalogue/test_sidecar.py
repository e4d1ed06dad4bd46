"""Every unit, driven by one program that knows its sidecar and nothing else of it.

The expected results are those of the golden models, which are registered; on small integers they
are also those of the definition, computed from the numbers that the words stand for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import Emitted, describe
from tilewright.registry import entries
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.rtl.behaviour import ManagerTraffic
from tilewright.sim.rtl.streams import NativeSimulation, Pauses
from tilewright.verif.catalogue.described import streams
from tilewright.verif.catalogue.described.jobs import JobDriver, check_bus
from tilewright.verif.catalogue.described.operations import (
    Matrices,
    by_definition,
    contracted,
    decode,
    numbers_of,
    operands,
    operands_of,
    padded,
)
from tilewright.verif.catalogue.described.streams import StreamDriver, illegal_opcodes, sizes_of
from tilewright.verif.catalogue.sidecars import LABELS, Golden, as_read, emitted, faults, golden_of
from tilewright.verif.kit.pages import examples, page
from tilewright.verif.kit.sampling import by_size, slow_but

# jschon calls what its own dependency will remove one day.
pytestmark = pytest.mark.filterwarnings("ignore:Please use rfc3986:DeprecationWarning")

MEMORY_BYTES = 1 << 16
MOST = 14
"""Largest size of a job."""

_LATER = ("engine_m3xu", "m3xu_baseline", "m3xu_wide", "simd2")
"""They say no more than others that are driven do: the sparse `simd2` is no less."""

FOUR_MODES = "tensaurus {'order': 4, 'marker': 'bit', 'index_bits': 16}"
"""It has all that a `tensaurus` of three modes has."""

DRIVEN = slow_but(
    ["m3xu"],
    LABELS,
    [
        *(x for x in entries() if x in LABELS and x not in ("m3xu", "tensaurus", *_LATER)),
        "simd2 {'sparsity': '2:4'}",
        FOUR_MODES,
    ],
)


def test_the_driver_knows_nothing_of_units() -> None:
    """The driver's modules import only each other and the runners of Verilog from the project."""
    folder = Path(streams.__file__).parent
    imports = r"^(?:from|import) (tilewright[\w.]*)"
    named = {x for file in folder.glob("*.py") for x in re.findall(imports, file.read_text(), re.M)}
    own = "tilewright.verif.catalogue.described."
    beyond = {x for x in named if not x.startswith(own)}
    assert beyond == {"tilewright.sim.rtl.streams", "tilewright.sim.rtl.accelerator"}


def check(
    sidecar: Mapping[str, Any],
    operation: Mapping[str, Any],
    sizes: Mapping[str, int],
    meant: Matrices | None,
    got: Matrices,
    wanted: Matrices,
) -> None:
    """Results are the model's, word for word; and the definition's of what is ``meant``."""
    assert set(got) == set(wanted)
    for name, matrix in wanted.items():
        np.testing.assert_equal(got[name], matrix, f"{operation['name']}: {name}")
    kind = operation["compute"]["kind"]
    if meant is not None and kind in ("product", "contraction"):
        numbers = {
            x["name"]: numbers_of(sidecar, x, meant[x["name"]])
            for x in operands_of(operation, "in")
            if x["name"] in meant
        }
        (result,) = operands_of(operation, "out")
        found = numbers_of(sidecar, result, got[result["name"]])
        expected: Any = (
            by_definition(operation, numbers)
            if kind == "product"
            else contracted(operation, numbers, sizes)
        )
        if identity := operation["compute"].get("identity"):
            empty = decode(sidecar["formats"], result["format"], int(identity, 16))
            expected = dict.fromkeys(found, empty) | expected
        assert found == expected, operation["name"]


def drive_streams(made: Emitted, golden: Golden, seed: int) -> None:
    """Runs operations of all kinds, mixed with illegal opcodes, with gaps and stalls."""
    sidecar, rng = as_read(made.sidecar), np.random.default_rng(seed)
    driver = StreamDriver(sidecar, NativeSimulation(made), rng)
    sent: list[tuple[dict[str, Any], Matrices, Matrices | None]] = []
    for number in range(by_size(4, 8, 40)):
        exact = number % 2 == 0
        for operation in sidecar["operations"]:
            given = meant = operands(rng, sidecar, operation, sizes_of(operation), small=exact)
            if number % 4 == 2:
                given, meant = padded(operation, given)
            driver.submit(operation, given)
            sent.append((operation, given, meant if exact else None))
        for opcode in illegal_opcodes(sidecar):
            driver.submit_illegal(opcode)
    results = driver.run(Pauses(seed=seed, gap=0.2, stall=0.2))
    assert len(results) == len(sent)
    for (operation, given, left), got in zip(sent, results, strict=True):
        sizes = sizes_of(operation)
        wanted = golden(operation["name"], sizes, given)
        check(sidecar, operation, sizes, left, got, wanted)


def drive_jobs(made: Emitted, golden: Golden, seed: int) -> None:
    """Jobs of all kinds on a memory that answers late and in any order; then jobs that break each
    rule, and a memory that fails."""
    sidecar, rng = as_read(made.sidecar), np.random.default_rng(seed)
    with NativeAccelerator(made, None, memory_bytes=MEMORY_BYTES) as device:
        driver = JobDriver(sidecar, device, rng)
        driver.check_constants()
        for operation in sidecar["operations"]:
            for number in range(by_size(2, 8, 30)):
                device.behave(AxiBehaviour(seed=number, latency=(1, 60), stall=0.2, mixed=True))
                exact = number % 2 == 0
                job = driver.draw(operation, most=MOST, small=exact)
                assert driver.start(job) == {"error": None, "detail": 0}
                got = driver.results(job)
                wanted = golden(operation["name"], job.sizes, job.operands)
                meant = job.operands if exact else None
                check(sidecar, operation, job.sizes, meant, got, wanted)
            driver.check_rules(job)
            driver.check_failures(job)
            # Nothing of it is left.
            assert driver.start(job)["error"] is None
        check_traffic(sidecar, device.traffic)


def check_traffic(sidecar: Mapping[str, Any], traffic: Mapping[str, ManagerTraffic]) -> None:
    """Checks that the traffic on the bus stays within the sidecar's limits."""
    managers = [port for port in sidecar["axi"] if port["role"] == "manager"]
    assert {port["prefix"] for port in managers} == set(traffic)
    for port in managers:
        seen = traffic[port["prefix"]]
        for name, side in (("reads", seen.read), ("writes", seen.write)):
            said = port.get(name, {"outstanding": 0, "longest_beats": 0})
            assert side.most_under_way <= said["outstanding"], (port["prefix"], name)
            assert side.beats <= side.bursts * said["longest_beats"], (port["prefix"], name)


ACCELERATORS = [name for name, entry in entries().items() if entry.unit.jobs and entry.golden]


@pytest.mark.long
@pytest.mark.parametrize("name", ACCELERATORS)
def test_the_bus_carries_what_is_said(name: str, tmp_path: Path) -> None:
    """Checks every burst of some jobs, in waves: kind, alignment, length, ID, number in flight."""
    made, waves = emitted(name), tmp_path / "waves.vcd"
    sidecar, rng = as_read(made.sidecar), np.random.default_rng(2)
    with NativeAccelerator(
        made, None, memory_bytes=MEMORY_BYTES, waves=waves, wave_depth=1
    ) as device:
        driver = JobDriver(sidecar, device, rng)
        for number, operation in enumerate(sidecar["operations"] * 2):
            device.behave(AxiBehaviour(seed=number, latency=(20, 60), mixed=True))
            job = driver.draw(operation, most=MOST, small=False)
            assert driver.start(job) == {"error": None, "detail": 0}
        traffic = device.traffic
    found = check_bus(sidecar, waves)
    assert found == {x: (seen.read.bursts, seen.write.bursts) for x, seen in traffic.items()}
    assert min(min(both) for both in found.values()) > 0
    for port in sidecar["axi"]:
        port["cache"] = 0
    with pytest.raises(AssertionError):
        check_bus(sidecar, waves)


@pytest.mark.parametrize("label", DRIVEN)
def test_a_driver_needs_nothing_else(label: str) -> None:
    made, golden = emitted(label), golden_of(label)
    (drive_jobs if "jobs" in made.sidecar else drive_streams)(made, golden, seed=1)


@pytest.mark.parametrize(
    ("place", "change"),
    [
        # The halves of an fp32 of b beside each other; a real part that is an imaginary one; c in
        # the upper half of its lane; a padding that adds something; another exponent.
        (("operations", 3, "operands", 1, "placement", "bits"), {"row": 32, "word": 16}),
        (("formats", "fp32c"), {"real": 32, "imaginary": 0}),
        (("operations", 0, "operands", 2, "placement", "bits"), {"row": 64, "column": 32}),
        (("operations", 0, "operands", 2), {"padding": "0x3f800000"}),
        (("formats", "bf16"), {"bias": 126}),
        (("result_flags", 0), {"illegal": 0}),
    ],
)
def test_a_wrong_sidecar_is_found(place: tuple[str | int, ...], change: dict[str, Any]) -> None:
    made = emitted("m3xu")
    sidecar = as_read(made.sidecar)
    entry: Any = sidecar
    for name in place:
        entry = entry[name]
    entry.update(change)
    assert faults(sidecar) == []
    with pytest.raises(AssertionError):
        drive_streams(Emitted(made.verilog, sidecar), golden_of("m3xu"), seed=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "place", "change"),
    [
        # The innermost index where the middle one is; the sum over an index that is one of the
        # result's; a matrix in both its mode's place and another's; operands over each other.
        ("spmttkrp_4", ("operands", 0, "placement"), {"index": {"low": 48, "bits": 15}}),
        ("dttmc_3", ("operands", 3), {"columns": "G", "more": ["F"]}),
        ("dmttkrp_3", ("operands", 2, "placement"), {"base": "operand_1"}),
        ("spttmc_4", ("operands", 1, "region"), {"multiple_of": 1}),
    ],
)
def test_a_wrong_tensor_is_found(
    name: str, place: tuple[str | int, ...], change: dict[str, Any]
) -> None:
    made = emitted(FOUR_MODES)
    sidecar = as_read(made.sidecar)
    sidecar["operations"] = [x for x in sidecar["operations"] if x["name"] == name]
    entry: Any = sidecar["operations"][0]
    for step in place:
        entry = entry[step]
    entry.update(change)
    assert faults(sidecar) == []
    with pytest.raises(AssertionError):
        drive_jobs(Emitted(made.verilog, sidecar), golden_of(FOUR_MODES), seed=1)


@pytest.mark.slow
def test_a_wrong_order_of_words_is_found() -> None:
    """Reorders the loops of the result's image, whose innermost loop is the columns of elements."""
    made = emitted("t2s")
    sidecar = as_read(made.sidecar)
    (operation,) = sidecar["operations"]
    loops = operation["operands"][-1]["placement"]["loops"]
    loops.insert(-2, loops.pop())
    assert faults(sidecar) == []
    with pytest.raises(AssertionError, match="C: C"):
        drive_jobs(Emitted(made.verilog, sidecar), golden_of("t2s"), seed=1)


@pytest.mark.slow
def test_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the page's examples, including those on units that are built for the driver."""
    monkeypatch.chdir(tmp_path)
    made = emitted("m3xu")
    (tmp_path / "unit.json").write_text(json.dumps(made.sidecar))
    simulation = NativeSimulation(made)
    widths = {x["name"]: x["width"] for x in made.sidecar["streams"]}

    def transfer(payload: int) -> int:
        content = payload.to_bytes(-(-widths["i"] // 32) * 4, "little")
        sent = np.frombuffer(content, np.uint32)[np.newaxis]
        return int.from_bytes(simulation.run(sent).payloads.tobytes(), "little")

    engine = emitted("engine_simd2")
    (tmp_path / "engine.json").write_text(json.dumps(engine.sidecar))
    sida = entries()["sida"]
    (tmp_path / "sida.json").write_text(json.dumps(describe(sida.unit, sida.small_config)))
    names: dict[str, Any] = {"transfer": transfer}
    found = examples(page("sidecar.md"), "python")
    assert len(found) == 3
    with NativeAccelerator(engine, None) as names["device"]:
        for example in found:
            exec(compile(example, "sidecar.md", "exec"), names)
    assert names["d"] == [68, 68]
