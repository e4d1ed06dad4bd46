"""Defines the interface between the halves of the cycle model: streams, pulses, counts, the job."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....hw.spec.sida import SidaConfig
from ...timing.parts import fields

MOST_PES = 1024
"""Leaves of a set at most, more than the hardware is built with."""


_HANDSHAKE = fields("valid", "ready")

SET = np.dtype(
    [
        *_HANDSHAKE,
        # Leaves `begin` to `end - 1` are present, no others.
        *fields("base", "columns", "final", "begin", "end"),
        ("present", np.int8, (MOST_PES,)),
        ("row", np.int32, (MOST_PES,)),
        ("offset", np.int32, (MOST_PES,)),
    ]
)
"""See ``set_layout``; of a leaf that is not present ``row`` and ``offset`` are anything."""

RELOAD = np.dtype(
    [
        *_HANDSHAKE,
        *fields("row", "last"),
        ("present", np.int8, (MOST_PES,)),
        ("column", np.int32, (MOST_PES,)),
    ]
)
"""See ``reload_layout``."""

SHARED: list[tuple[Any, ...]] = [
    # The configuration, and logarithms of powers of two.
    *fields("pes", "pes_shift", "subtensor", "step_shift"),
    # The job, as its registers say.
    *fields("rows", "passes", "second_product", "transposed", "words", "entry"),
    # The column loader's sets, forked to Gather and HeldElements (``deal``, which is of the half
    # that computes: it sets `ready`).
    ("set", SET),
    # The core's: rows that it wants of the vector loader, the answers, rows that it stores.
    ("requests", np.dtype([*_HANDSHAKE, *fields("vector", "base", "rows")])),
    ("loaded", np.dtype(_HANDSHAKE)),
    ("stored", np.dtype([*_HANDSHAKE, *fields("vector", "base")])),
    # Panels that are read again, and their rows.
    ("again", np.dtype([*_HANDSHAKE, *fields("panel", "columns")])),
    ("reload", RELOAD),
    # Pulses of PassControl in this cycle, and its `turned`.
    *fields("first", "second", "turned"),
    # Pulses of the compute half in this cycle: EwiseCore's `done`, HeldElements' `done`.
    *fields("core_done", "sums_done"),
    # The same, to be counted: BothSums' `elements` (how many bits are set), Gather's `conflicts`
    # and `waits`, HeldElements' `counts.most`, whether a set waits for it, EwiseCore's `executes`
    # and `waits`.
    *fields("set_elements", "conflicts", "wait_z", "most", "wait_held", "executes", "core_waits"),
]
"""Fields of the machine. Who takes from a stream sets its ``ready`` in each cycle, who gives sets
the rest. In a cycle the load half first sets what it offers (``set``, ``loaded``, ``reload``, the
pulses) and the ``ready`` of ``requests``, ``stored`` and ``again``, which are all known from its
registers; then the half that computes takes its cycle; then the load half its own."""


def set_up_sizes(m: Any, config: SidaConfig) -> None:
    """A machine of zeros gets its sizes."""
    for name, value in {
        "pes": config.pes,
        "pes_shift": config.pes.bit_length() - 1,
        "subtensor": config.subtensor,
        "step_shift": config.subtensor.bit_length() - 1,
    }.items():
        m[name] = value


def set_up_shared(m: Any, config: SidaConfig, job: dict[str, int]) -> None:
    """A machine of zeros gets its sizes and its job: registers by their names."""
    set_up_sizes(m, config)
    for name in ("rows", "passes", "second_product", "transposed", "words", "entry"):
        m[name] = job[name.upper()]
