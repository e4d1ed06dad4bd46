"""The schema of sidecars, and that those of all units obey it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tilewright.hw.emit import sidecar as sidecar_module
from tilewright.hw.emit.sidecar import schema
from tilewright.hw.emit.unit import describe
from tilewright.registry import entries
from tilewright.verif.catalogue.sidecars import as_read, checker, faults
from tilewright.verif.kit.options import OPTIONS, small
from tilewright.verif.kit.pages import page
from tilewright.verif.kit.sampling import slow_but

# jschon calls what its own dependency will remove one day.
pytestmark = pytest.mark.filterwarnings("ignore:Please use rfc3986:DeprecationWarning")

DESCRIBED = slow_but(["m3xu", "matraptor", "sida", "t2s", "gta"], entries())


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
    """The schema lists the allowed names of every object."""
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
    """Checks that every referenced size, format, register, stream and error exists."""
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
            assert {operand["rows"], operand["columns"], *operand.get("more", ())} <= sizes
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
    """The package's data includes the schema."""
    project = tomllib.loads((page("..") / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["*"]
    (found,) = Path(sidecar_module.__file__).parent.glob("*.json")
    assert any(found.match(pattern) for pattern in patterns)
