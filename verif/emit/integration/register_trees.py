"""Registers as systemrdl-compiler has them, beside those of a sidecar."""

from __future__ import annotations

from typing import Any

from systemrdl.node import FieldNode


def _access(field: FieldNode) -> str:
    """The sidecar's word for what software may do."""
    software, change = field.get_property("sw").name, field.get_property("onwrite")
    if change is not None:
        return {"woclr": "w1c"}[change.name] if software == "rw" else "?"
    return {"rw": "rw", "r": "ro", "w": "wo"}[software]


def _meanings(field: FieldNode) -> dict[str, int]:
    encoded = field.get_property("encode")
    return {} if encoded is None else {x.name: x.value for x in encoded}


def compare_field(sidecar: dict[str, Any], register: str, field: FieldNode, said: Any) -> None:
    """Name, place, access, reset, whether it is constant, and what its values mean."""
    where = (register, said["name"])
    assert field.inst_name == said["name"]
    assert (field.low, field.width, _access(field)) == (said["low"], said["width"], said["access"])
    assert field.get_property("reset") == said["reset"], where
    assert (field.get_property("hw").name == "na") == said["constant"], where
    expected = {x.replace("-", "_").replace(".", "_"): v for x, v in said.get("values", {}).items()}
    if where == ("STATUS", "error_code"):
        expected = {"none": 0} | {x["name"]: x["code"] for x in sidecar["jobs"]["errors"]}
    assert _meanings(field) == expected, where
