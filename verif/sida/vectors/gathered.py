"""Sets whose elements of the vectors are gathered, and whether they are right."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tilewright.hw.sida.layouts import gathered_layout, set_layout
from tilewright.hw.spec.sida import SidaConfig


def drawn(config: SidaConfig, rng: random.Random, count: int, size: int) -> list[int]:
    """Sets of ascending columns and of any rows, many of them again and again."""
    bases = sorted(rng.randrange(size) for _ in range(count))
    hubs = [rng.randrange(size) for _ in range(3)]
    many, full = rng.random(), rng.choice([0.3, 0.9, 1.0])
    words = []
    for base in bases:
        leaves = [
            {
                "valid": int(rng.random() < full),
                "row": rng.choice(hubs) if rng.random() < many else rng.randrange(size),
                "offset": rng.randrange(config.pes),
                "value": rng.getrandbits(config.format.bits),
            }
            for _ in range(config.pes)
        ]
        fields = {"base": base, "columns": rng.randrange(config.pes + 1), "leaves": leaves}
        words.append(int(set_layout(config).const(fields).as_bits()))
    return words


def steps_of(config: SidaConfig, words: Sequence[int]) -> list[int]:
    """Returns for each set the step of its columns."""
    return [set_layout(config).from_bits(word).base // config.subtensor for word in words]


def check_gathered(config: SidaConfig, found: Sequence[int], sent: Sequence[int],
                   x: Sequence[int], z: Sequence[int]) -> None:  # fmt: skip
    """Checks each set, its elements of x and those of z that must be available."""
    assert len(found) == len(sent)
    steps = steps_of(config, sent)
    for number, (word, set_sent) in enumerate(zip(found, sent, strict=True)):
        gathered = gathered_layout(config).from_bits(word)
        assert gathered.set.as_bits() == set_sent, number
        for n in range(config.pes):
            leaf = gathered.set.leaves[n]
            if leaf.valid:
                assert gathered.x[n] == x[leaf.row], (number, n)
                if leaf.row // config.subtensor + 2 <= steps[number]:
                    assert gathered.z[n] == z[leaf.row], (number, n)
