"""Describes a unit's operations, operands and bus to the sidecar, as data.

Every dataclass here is an entry of the sidecar, field for field (``hw/emit/sidecar.py`` writes
them out); what the fields mean to a reader is said in ``hw/emit/sidecar.schema.json``.
"""
