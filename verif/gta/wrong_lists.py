"""Commands that cannot be, or that stand where they must not."""

from __future__ import annotations

import numpy as np
from tilewright.hw.spec.gta import GtaConfig
from tilewright.hw.spec.jobs.gta_commands import COMMAND_BYTES, FIELDS, KINDS, command_bytes
from tilewright.verif.gta.lists import Command, ListCase, random_case, random_command


def _near(rng: np.random.Generator, value: int, bits: int) -> int:
    """Another value of a field: beside it, any, a small one, or one with a single bit changed."""
    drawn = (
        value + int(rng.choice([-1, 1])),
        int(rng.integers(1 << min(bits, 62))),
        int(rng.integers(8)),
        value ^ 1 << int(rng.integers(bits)),
    )
    return drawn[int(rng.integers(len(drawn)))] % (1 << bits)


def spoilt_case(rng: np.random.Generator, config: GtaConfig, size: int) -> ListCase:
    """A command with another value in one of its fields, or a bit changed anywhere; before it some
    LOADs that hold. It may hold, too."""
    case = random_case(rng, config, size, most=1)
    kind, fields = random_command(rng, config, case.layout, case.masks, size)
    before: list[Command] = []
    while len(before) < int(rng.integers(3)):
        drawn = random_command(rng, config, case.layout, case.masks, size)
        before += [drawn] if drawn[0] == "load" else []
    fields = {**fields, "loads": len(before)}
    names = [name for name in FIELDS[kind] if name != "kind"]
    name = names[int(rng.integers(len(names)))]
    spoilt = {**fields, name: _near(rng, fields.get(name, 0), FIELDS[kind][name][1])}
    if kind != "execute" and not rng.integers(12):
        spoilt = {**fields, "base": fields["base"] | 1 << int(rng.integers(32, 64))}
    case = case.with_list(*before, (kind, spoilt))
    if not rng.integers(5):
        # A bit that belongs to no field, as a rule.
        bit = int(rng.integers(8 * COMMAND_BYTES))
        case.memory[len(before) * COMMAND_BYTES + bit // 8] ^= np.uint8(1 << bit % 8)
    assert command_bytes(kind, spoilt)[0] == KINDS.index(kind) + 1
    return case
