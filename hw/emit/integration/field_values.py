"""What the values of a register's field mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["field_values"]


def field_values(
    sidecar: Mapping[str, Any], register: Mapping[str, Any], field: Mapping[str, Any]
) -> dict[str, tuple[int, str]]:
    """By name the value and a remark: those of the field, or the errors if it is an error code."""
    code = sidecar.get("jobs", {}).get("controls", {}).get("error_code")
    if code == {"register": register["name"], "field": field["name"]}:
        none = {"none": (0, "no error")}
        return none | {x["name"]: (x["code"], x["doc"]) for x in sidecar["jobs"]["errors"]}
    return {name: (value, "") for name, value in field.get("values", {}).items()}
