"""Sidecars as a program that reads their files has them, and the models of what they describe."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from jschon import JSON, JSONSchema, create_catalog
from tilewright.hw.emit.sidecar import schema
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.unit import named_object
from tilewright.registry import Entry, entries
from tilewright.verif.catalogue.described.operations import Matrices
from tilewright.verif.kit.options import small

Golden = Callable[[str, Mapping[str, int], Matrices], Matrices]

LABELS = {
    f"{name} {dict(changes)}" if changes else name: (name, dict(changes))
    for name, entry in entries().items()
    for changes in ({}, *entry.variants)
    if entry.golden
}
"""Driven configurations: for each unit with operations the small one and its variants."""


def config_of(label: str) -> tuple[Entry, Any]:
    """The unit of a label, and its configuration."""
    name, changes = LABELS[label]
    return entries()[name], small(entries()[name], changes)


@cache
def emitted(label: str) -> Emitted:
    """Emits the unit: its Verilog and sidecar."""
    entry, config = config_of(label)
    return emit(entry.unit, config)


def as_read(sidecar: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the sidecar as a program that reads the JSON file sees it."""
    found: dict[str, Any] = json.loads(json.dumps(sidecar))
    return found


@cache
def checker() -> JSONSchema:
    """The schema."""
    create_catalog("2020-12")
    return JSONSchema(schema())


def faults(sidecar: Mapping[str, Any]) -> list[str]:
    """Returns the places where a sidecar breaks the schema, each with the error."""
    found = checker().evaluate(JSON(dict(sidecar)))
    if found.valid:
        return []
    said: Any = found.output("basic")
    return [f"{x['instanceLocation']}: {x['error']}" for x in said["errors"]]


def golden_of(label: str) -> Golden:
    """The model that is registered, of the configuration."""
    entry, config = config_of(label)
    golden: Golden = partial(named_object(entry.golden), config)
    return golden
