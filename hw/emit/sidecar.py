"""The sidecar's description of a component's ports, read from its signature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amaranth.hdl import Shape
from amaranth.lib import data, stream, wiring

__all__ = ["describe_ports"]


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
    in its attribute ``axi_ports`` (see ``ManagerPort.describe``), ``registers`` the description of
    its ``register_map``. ``ports`` are those that belong neither to a stream nor to AXI.
    """
    entries = [_stream_entry(*found) for found in _streams(component.signature)]
    covered = {entry[key] for entry in entries for key in ("valid", "ready", "payload")}
    axi = list(getattr(component, "axi_ports", ()))
    prefixes = tuple(f"{entry['prefix']}_" for entry in axi)
    plain = []
    for path, member, _value in component.signature.flatten(component):
        name = "__".join(map(str, path))
        if name not in covered and not name.startswith(prefixes):
            direction = "in" if member.flow == wiring.In else "out"
            width = Shape.cast(member.shape).width
            plain.append({"name": name, "direction": direction, "width": width})
    register_map = getattr(component, "register_map", None)
    registers = register_map.describe() if register_map is not None else []
    found = {"axi": axi, "registers": registers, "ports": plain}
    return {"streams": entries} | {key: value for key, value in found.items() if value}
