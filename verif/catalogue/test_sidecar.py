"""Every unit, driven by one program that knows its sidecar and nothing else of it.

The expected results are those of the golden models, which are registered; on small integers they
are also those of the definition, computed from the numbers that the words stand for.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jschon import JSON, JSONSchema, create_catalog
from tilewright.hw.emit import sidecar as sidecar_module
from tilewright.hw.emit.sidecar import schema
from tilewright.hw.emit.unit import Emitted, describe, emit
from tilewright.hw.spec.unit import named_object
from tilewright.registry import Entry, entries
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.rtl.behaviour import ManagerTraffic
from tilewright.sim.rtl.streams import NativeSimulation, Pauses
from tilewright.verif.catalogue.described import streams
from tilewright.verif.catalogue.described.bus import check_bus
from tilewright.verif.catalogue.described.formats import decode
from tilewright.verif.catalogue.described.jobs import JobDriver
from tilewright.verif.catalogue.described.operations import (
    Matrices,
    by_definition,
    numbers_of,
    operands,
    operands_of,
    padded,
)
from tilewright.verif.catalogue.described.streams import StreamDriver, illegal_opcodes, sizes_of
from tilewright.verif.kit.options import OPTIONS, small
from tilewright.verif.kit.pages import examples, page
from tilewright.verif.kit.sampling import by_size, slow_but

# jschon calls what its own dependency will remove one day.
pytestmark = pytest.mark.filterwarnings("ignore:Please use rfc3986:DeprecationWarning")

MEMORY_BYTES = 1 << 16
MOST = 14
"""Largest size of a job."""

LABELS = {name: (name, dict[str, Any]()) for name in entries()} | {
    f"{name} {dict(changes)}": (name, dict(changes))
    for name, entry in entries().items()
    for changes in entry.variants
}
"""What is driven: of each unit the small configuration, and its variants."""

_LATER = ("engine_m3xu", "m3xu_baseline", "m3xu_wide", "simd2")
"""They say no more than others that are driven do: the sparse `simd2` is no less."""

DRIVEN = slow_but(
    ["m3xu"],
    LABELS,
    [name for name in entries() if name not in ("m3xu", *_LATER)] + ["simd2 {'sparsity': '2:4'}"],
)

DESCRIBED = slow_but(["m3xu", "matraptor"], entries())


def config_of(label: str) -> tuple[Entry, Any]:
    name, changes = LABELS[label]
    return entries()[name], small(entries()[name], changes)


@cache
def emitted(label: str) -> Emitted:
    entry, config = config_of(label)
    return emit(entry.unit, config)


def as_read(sidecar: Mapping[str, Any]) -> dict[str, Any]:
    """What a program that reads the file has."""
    found: dict[str, Any] = json.loads(json.dumps(sidecar))
    return found


@cache
def checker() -> JSONSchema:
    create_catalog("2020-12")
    return JSONSchema(schema())


def faults(sidecar: Mapping[str, Any]) -> list[str]:
    """Where a sidecar breaks the schema."""
    found = checker().evaluate(JSON(dict(sidecar)))
    if found.valid:
        return []
    said: Any = found.output("basic")
    return [f"{x['instanceLocation']}: {x['error']}" for x in said["errors"]]


def test_the_schema_obeys_its_own() -> None:
    assert checker().validate().valid


@pytest.mark.parametrize("name", DESCRIBED)
def test_obeys_the_schema(name: str) -> None:
    entry = entries()[name]
    for config in (entry.small_config, entry.unit.config()):
        assert faults(as_read(describe(entry.unit, config))) == []


@pytest.mark.long
@pytest.mark.parametrize("label", OPTIONS)
def test_every_option_obeys_the_schema(label: str) -> None:
    name, changes = OPTIONS[label]
    assert faults(as_read(describe(name, small(entries()[name], changes)))) == []


def objects(value: Any, kind: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of a sidecar, with the names on the way to it."""
    if isinstance(value, dict):
        yield kind, value
        for name, item in value.items():
            yield from objects(item, f"{kind}/{name}")
    elif isinstance(value, list):
        for item in value:
            yield from objects(item, kind)


def test_the_schema_is_strict() -> None:
    """Whatever is an object says which names it may have."""
    described = [(kind, x) for kind, x in objects(schema()) if x.get("type") == "object"]
    assert len(described) > 40
    for kind, found in described:
        free = found.get("additionalProperties")
        assert free is False or (isinstance(free, dict) and "properties" not in found), kind
        assert set(found.get("required", ())) <= set(found.get("properties", ())), kind


def test_what_the_schema_does_not_know_is_refused() -> None:
    """One of each kind of object with a name more; names that are missing; a wrong value."""
    entry = entries()["m3xu_baseline"]
    sidecar = as_read(describe(entry.unit, entry.small_config))
    kinds = dict(objects(sidecar))
    for kind in ("", "/streams/fields", "/formats/fp16", "/operations/operands/placement/bits"):
        kinds[kind]["unknown"] = 1
        assert faults(sidecar), f"{kind} may have anything"
        del kinds[kind]["unknown"]
    for name in ("operations", "formats", "latency", "reset"):
        kept = sidecar.pop(name)
        assert faults(sidecar), f"{name} may be missing"
        sidecar[name] = kept
    sidecar["operations"][0]["operands"][0]["padding"] = 0
    assert faults(sidecar)


@pytest.mark.parametrize("name", DESCRIBED)
def test_what_it_names_is_there(name: str) -> None:
    """Sizes, formats, registers, streams, errors: whatever an entry refers to."""
    entry = entries()[name]
    sidecar = as_read(describe(entry.unit, entry.small_config))
    fields = {(x["name"], field["name"]) for x in sidecar["streams"] for field in x["fields"]}
    fields |= {
        (x["name"], field["name"]) for x in sidecar.get("registers", ()) for field in x["fields"]
    }
    jobs = sidecar.get("jobs", {})
    errors = {x["name"] for x in jobs.get("errors", ())}
    assert {x["detail"] for x in jobs.get("errors", ())} == set(jobs.get("details", ()))
    for kind, found in objects(sidecar):
        if kind in ("/jobs/details", "/jobs/controls"):
            continue
        owner = found.get("stream", found.get("register"))
        if owner is not None:
            assert (owner, found.get("field", "value")) in fields, (kind, found)
        if "error" in found:
            assert found["error"] in errors, (kind, found)
    for operation in sidecar["operations"]:
        sizes = {size["name"] for size in operation["sizes"]}
        names = {operand["name"] for operand in operation["operands"]}
        for operand in operation["operands"]:
            assert {operand["rows"], operand["columns"]} <= sizes
            assert operand["format"] in sidecar["formats"]
            assert set(operand["placement"].get("may_be", ())) <= names
    for port in sidecar.get("axi", ()):
        for side in (port.get("reads"), port.get("writes")):
            low = 0
            for part in side["id_parts"] if side else ():
                assert part["low"] == low
                low += part["bits"]
                assert part["count"] <= 1 << part["bits"]
                assert len(part.get("names", [""] * part["count"])) == part["count"]
            assert low <= port["id_bits"]


def test_the_schema_ships() -> None:
    """As data of the package."""
    project = tomllib.loads((page("..") / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["*"]
    (found,) = Path(sidecar_module.__file__).parent.glob("*.json")
    assert any(found.match(pattern) for pattern in patterns)


def test_the_driver_knows_nothing_of_units() -> None:
    """What its modules import of the project: themselves, and what runs Verilog."""
    folder = Path(streams.__file__).parent
    imports = r"^(?:from|import) (tilewright[\w.]*)"
    named = {x for file in folder.glob("*.py") for x in re.findall(imports, file.read_text(), re.M)}
    own = "tilewright.verif.catalogue.described."
    beyond = {x for x in named if not x.startswith(own)}
    assert beyond == {"tilewright.sim.rtl.streams", "tilewright.sim.rtl.accelerator"}


Golden = Callable[[str, Mapping[str, int], Matrices], Matrices]


def check(
    sidecar: Mapping[str, Any],
    operation: Mapping[str, Any],
    meant: Matrices | None,
    got: Matrices,
    wanted: Matrices,
) -> None:
    """Results are the model's, word for word; and the definition's of what is ``meant``."""
    assert set(got) == set(wanted)
    for name, matrix in wanted.items():
        np.testing.assert_equal(got[name], matrix, f"{operation['name']}: {name}")
    if meant is not None and operation["compute"]["kind"] == "product":
        numbers = {
            x["name"]: numbers_of(sidecar, x, meant[x["name"]])
            for x in operands_of(operation, "in")
            if x["name"] in meant
        }
        (result,) = operands_of(operation, "out")
        found = numbers_of(sidecar, result, got[result["name"]])
        expected = by_definition(operation, numbers)
        if identity := operation["compute"].get("identity"):
            empty = decode(sidecar["formats"], result["format"], int(identity, 16))
            expected = dict.fromkeys(found, empty) | expected
        assert found == expected, operation["name"]


def drive_streams(made: Emitted, golden: Golden, seed: int) -> None:
    """Operations of all kinds, mixed with opcodes that there are not, through gaps and stalls."""
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
        wanted = golden(operation["name"], sizes_of(operation), given)
        check(sidecar, operation, left, got, wanted)


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
                check(sidecar, operation, job.operands if exact else None, got, wanted)
            driver.check_rules(job)
            driver.check_failures(job)
            # Nothing of it is left.
            assert driver.start(job)["error"] is None
        check_traffic(sidecar, device.traffic)


def check_traffic(sidecar: Mapping[str, Any], traffic: Mapping[str, ManagerTraffic]) -> None:
    """What went over the bus is within what the sidecar says."""
    managers = [port for port in sidecar["axi"] if port["role"] == "manager"]
    assert {port["prefix"] for port in managers} == set(traffic)
    for port in managers:
        seen = traffic[port["prefix"]]
        for name, side in (("reads", seen.read), ("writes", seen.write)):
            said = port.get(name, {"outstanding": 0, "longest_beats": 0})
            assert side.most_under_way <= said["outstanding"], (port["prefix"], name)
            assert side.beats <= side.bursts * said["longest_beats"], (port["prefix"], name)


ACCELERATORS = [name for name, entry in entries().items() if entry.unit.jobs]


@pytest.mark.long
@pytest.mark.parametrize("name", ACCELERATORS)
def test_the_bus_carries_what_is_said(name: str, tmp_path: Path) -> None:
    """Every burst of some jobs, in waves: kind, alignment, length, ID, how many are under way."""
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


def golden_of(label: str) -> Golden:
    """The model that is registered, of the configuration."""
    entry, config = config_of(label)
    golden: Golden = partial(named_object(entry.golden), config)
    return golden


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
def test_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On units that are built for the driver, too."""
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
    names: dict[str, Any] = {"transfer": transfer}
    found = examples(page("sidecar.md"), "python")
    assert len(found) == 2
    with NativeAccelerator(engine, None) as names["device"]:
        for example in found:
            exec(compile(example, "sidecar.md", "exec"), names)
    assert names["d"] == [68, 68]
