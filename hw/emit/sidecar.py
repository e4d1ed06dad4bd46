"""Writes the sidecar: a component's ports, read from its signature, and its unit's data on
operations, operands, jobs and bus. The schema beside it explains the fields."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib.resources import files
from typing import Any

from amaranth.hdl import Const, Shape
from amaranth.lib import data, stream, wiring

from ..spec.formats import AnyFormat, ComplexFormat, FloatFormat, IntFormat
from ..spec.registers.job_spec import DETAILS, Check, JobSpec, Rule
from ..spec.sidecar.operation import OperationEntry, ResultFlag

__all__ = [
    "SCHEMA",
    "describe_jobs",
    "describe_operations",
    "describe_ports",
    "describe_results",
    "schema",
]

SCHEMA = "urn:tilewright:sidecar:1"
"""Name of the schema that sidecars obey; additions keep it."""


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of sidecars."""
    text = (files(__package__) / "sidecar.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _array_shape(shape: Any) -> tuple[list[int], int]:
    """Dimensions and element width of nested arrays, outermost first."""
    dimensions: list[int] = []
    while isinstance(shape, data.ArrayLayout):
        dimensions.append(shape.length)
        shape = shape.elem_shape
    return dimensions, Shape.cast(shape).width


def _fields(shape: Any) -> list[dict[str, Any]]:
    if isinstance(shape, type) and issubclass(shape, data.Struct):
        shape = data.Layout.cast(shape)
    if not isinstance(shape, data.StructLayout):
        return []
    fields = []
    for name, item in shape:
        dimensions, bits = _array_shape(item.shape)
        entry: dict[str, Any] = {"name": name, "offset": item.offset}
        entry |= {"shape": dimensions, "element_bits": bits} if dimensions else {"width": bits}
        fields.append(entry)
    return fields


def _streams(
    signature: wiring.Signature, path: tuple[str, ...] = (), inwards: bool = False
) -> Iterator[tuple[str, str, stream.Signature]]:
    """Every stream below a signature: name, "in" or "out", signature."""
    for name, member in signature.members.items():
        if member.is_port:
            continue
        for index in _indices(member.dimensions):
            below = (*path, name, *index)
            # A flipped stream arrives as an interface of flow In.
            flipped = isinstance(member.signature, wiring.FlippedSignature)
            inner = member.signature.flip() if flipped else member.signature
            turned = inwards ^ flipped
            if isinstance(inner, stream.Signature):
                yield "__".join(below), "in" if turned else "out", inner
            else:
                yield from _streams(inner, below, turned)


def _indices(dimensions: tuple[int, ...]) -> Iterator[tuple[str, ...]]:
    if not dimensions:
        yield ()
        return
    for index in range(dimensions[0]):
        for rest in _indices(dimensions[1:]):
            yield (str(index), *rest)


def _stream_entry(name: str, direction: str, signature: stream.Signature) -> dict[str, Any]:
    shape = signature.members["payload"].shape
    width = Shape.cast(shape).width
    return {
        "name": name,
        "direction": direction,
        "valid": None if signature.always_valid else f"{name}__valid",
        "ready": None if signature.always_ready else f"{name}__ready",
        "payload": f"{name}__payload",
        "width": width,
        "fields": _fields(shape),
    }


def describe_ports(component: wiring.Component) -> dict[str, Any]:
    """``streams``; and, where there are any, ``axi``, ``registers`` and ``ports``.

    A stream has name, direction, the names of its three signals (None for one that is
    constant), its payload's width and the payload's fields. ``axi`` is what the component says
    in its attribute ``axi_ports`` (see ``ManagerPort.describe``), and the ports' ``signals``;
    ``registers`` is the description of its ``register_map``. ``ports`` are those that belong
    neither to a stream nor to AXI.
    """
    entries = [_stream_entry(*found) for found in _streams(component.signature)]
    covered = {entry[key] for entry in entries for key in ("valid", "ready", "payload")}
    axi = [_entry(port) for port in getattr(component, "axi_ports", ())]
    prefixes = tuple(f"{entry['prefix']}_" for entry in axi)
    plain: list[dict[str, Any]] = []
    bus: list[dict[str, Any]] = []
    for path, member, value in component.signature.flatten(component):
        name = "__".join(map(str, path))
        if name not in covered and not isinstance(value, Const):
            direction = "in" if member.flow == wiring.In else "out"
            width = Shape.cast(member.shape).width
            found_in = bus if name.startswith(prefixes) else plain
            found_in.append({"name": name, "direction": direction, "width": width})
    for entry, prefix in zip(axi, prefixes, strict=True):
        entry["signals"] = [port for port in bus if port["name"].startswith(prefix)]
    register_map = getattr(component, "register_map", None)
    registers = register_map.describe() if register_map is not None else []
    found = {"axi": axi, "registers": registers, "ports": plain}
    return {"streams": entries} | {key: value for key, value in found.items() if value}


def _word(value: int) -> str:
    """A container word: too wide for the numbers of some readers of JSON."""
    return f"{value:#x}"


_WORDS = ("padding", "identity", "header", "no_op")
"""Fields that are container words, or slots."""


def _entry(value: Any) -> Any:
    """Converts data to JSON: dataclasses by field, None left out, formats by name."""
    if isinstance(value, FloatFormat | IntFormat | ComplexFormat):
        return value.name
    if is_dataclass(value):
        kind = getattr(value, "kind", None)
        named = {item.name: getattr(value, item.name) for item in fields(value)}
        return {**({"kind": kind} if kind else {}), **_entry(named)}
    if isinstance(value, Mapping):
        return {
            name: _word(item) if name in _WORDS else _entry(item)
            for name, item in value.items()
            if item is not None
        }
    return [_entry(item) for item in value] if isinstance(value, tuple | list) else value


def _format(fmt: AnyFormat) -> dict[str, Any]:
    if isinstance(fmt, ComplexFormat):
        half = fmt.part.container_bits
        parts = {"part": fmt.part.name, "real": 0, "imaginary": half}
        return {"kind": "complex", "container_bits": fmt.container_bits, **parts}
    if isinstance(fmt, IntFormat):
        return {"kind": "integer", "container_bits": fmt.container_bits}
    return {
        "kind": "float",
        "container_bits": fmt.container_bits,
        "low": fmt.padding_bits,
        "exponent_bits": fmt.exponent_bits,
        "fraction_bits": fmt.fraction_bits,
        "bias": fmt.bias,
        "infinities": fmt.has_infinity,
        "nan": _word(fmt.nan << fmt.padding_bits),
    }


def describe_operations(operations: Iterable[OperationEntry]) -> dict[str, Any]:
    """``operations``, and ``formats``: those of their operands, by name."""
    entries = list(operations)
    found = {operand.format.name: operand.format for x in entries for operand in x.operands}
    listed = (one.format for x in entries if x.commands for one in x.commands.formats)
    found |= {fmt.name: fmt for fmt in listed}
    parts = {f.part.name: f.part for f in found.values() if isinstance(f, ComplexFormat)}
    formats = {name: _format(fmt) for name, fmt in sorted((found | parts).items())}
    return {"formats": formats, "operations": _entry(entries)}


def describe_results(
    operations: Iterable[OperationEntry], flags: Iterable[ResultFlag]
) -> dict[str, Any]:
    """Describes ``result_flags`` and ``illegal_opcode`` of a unit of streams: the fields of a
    result that are no element, and the transfers of an illegal opcode."""
    selecting = {setting.stream for x in operations for setting in x.select}
    flagged = sorted({flag.stream for flag in flags})
    illegal = {"takes": sorted(filter(None, selecting)), "gives": flagged, "transfers": 1}
    return {"result_flags": _entry(list(flags)), "illegal_opcode": illegal}


_CONTROLS = {
    "start": ("CTRL", "start"),
    "soft_reset": ("CTRL", "soft_reset"),
    "interrupt_enable": ("CTRL", "irq_enable"),
    "busy": ("STATUS", "busy"),
    "done": ("STATUS", "done"),
    "error": ("STATUS", "error"),
    "error_code": ("STATUS", "error_code"),
    "error_detail": ("ERROR_DETAIL", "value"),
}
"""Registers and fields of the controls that all accelerators have."""

_NUMBERED = (Rule.AT_MOST, Rule.BELOW, Rule.MULTIPLE_OF)


def _rule(check: Check) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "register": check.register,
        "must": check.rule.name.lower(),
        "error": check.error,
    }
    if check.rule in _NUMBERED:
        rule["number"] = check.number
    if check.rule is Rule.ONE_OF:
        rule["choices"] = list(check.choices)
    if check.factors:
        rule["factors"] = list(check.factors)
    return rule if check.when is None else {**rule, "when": _entry(check.when)}


def describe_jobs(spec: JobSpec) -> dict[str, Any]:
    """``jobs``: how a job is run and how it ends."""
    checked = {check.error for check in spec.checks}
    controls = {
        name: {"register": register, "field": field}
        for name, (register, field) in _CONTROLS.items()
    }
    return {
        "jobs": {
            "byte_order": "little",
            "interrupt": "irq",
            "controls": controls,
            "registers": [register.name for register in spec.job],
            "rules": [_rule(check) for check in spec.checks],
            "errors": [
                {
                    "name": error.name,
                    "code": error.code,
                    "detail": error.detail,
                    "found": "before" if error.name in checked else "during",
                    "doc": error.doc,
                }
                for error in spec.errors
            ],
            "details": {name: DETAILS[name] for name in sorted({e.detail for e in spec.errors})},
            "counters": [{"name": x, "register": x.upper()} for x in spec.counters],
        }
    }
