"""All claims on waits, with what was found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from tilewright.verif.proofs.claim import Claim
from tilewright.verif.proofs.waits.reads import (
    DroppingReader,
    FixedPriority,
    crossbar_waits,
    read_waits,
    striped_read_waits,
)
from tilewright.verif.proofs.waits.toy import toy_waits
from tilewright.verif.proofs.waits.writes import striped_write_waits, write_waits
from tilewright.verif.proofs.writers import OldBurstWriter

__all__ = ["WAITS", "Wait"]


@dataclass(frozen=True)
class Wait:
    """How long the waits of a part last at most.

    Parameters
    ----------
    part: what it is about, and its size
    claim: makes the claim, of a patience
    longest: by wait, cycles; None: for ever, which is only so in a broken part
    patience: cycles within which the surroundings answer
    size: the smallest test that runs it, ``default`` or ``long``
    """

    part: str
    claim: Callable[..., Claim] = field(repr=False)
    longest: dict[str, int | None]
    patience: int = 1
    size: str = "default"

    @property
    def name(self) -> str:
        """For a test: unique."""
        return f"{self.part}: answers within {self.patience}"


def _long(part: str, claim: Callable[..., Claim], patience: int, **longest: int | None) -> Wait:
    return Wait(part, claim, dict(longest), patience, "long")


_READ_PART = "read_manager, 2 readers, {} of 1 beat in flight each"
_READ = partial(read_waits, 2)
_WRITE_PART = "write_manager, 2 writers, 1 burst of 1 beat in flight each"
_WRITE = partial(write_waits, 2, most_beats=1)
_ONE_READER = "burst_reader, 2 bursts of up to 2 beats in flight"
_READER = partial(read_waits, 0, outstanding=2, burst_beats=2)
_ONE_WRITER = "burst_writer, 2 bursts of up to 2 beats in flight"
_WRITER = partial(write_waits, 0, outstanding=2, burst_beats=2, leads=6)
_READER_PART = "striped_reader, 2 channels, lines of {} of 1 beat"
_WRITER_PART = "striped_writer, 2 channels, lines of 2 blocks of 1 beat"
_CROSSBAR = "read_crossbar, 2 lanes, 2 channels, {} of 1 beat in flight a lane"
_TOY = "toy accelerator, 1 burst in flight each way, jobs of up to 2 beats"
_ARBITERS: dict[str, int | None] = {"accepted_0": 1, "accepted_1": 1}

WAITS: tuple[Wait, ...] = (
    Wait(_ONE_READER, _READER, {"idle_after_stop": 10, "request": 27}),
    Wait(
        "burst_reader that loses beats",
        partial(_READER, kind=DroppingReader),
        {"idle_after_stop": 10, "request": None},
    ),
    _long(_ONE_READER, _READER, 2, idle_after_stop=15, request=40),
    _long(_ONE_WRITER, _WRITER, 1, idle_after_stop=11, request=25),
    Wait(_READ_PART.format("1 burst"), _READ, {"idle_after_stop": 9, "request": 43}),
    _long(_READ_PART.format("1 burst"), _READ, 2, idle_after_stop=13, request=60),
    _long(
        _READ_PART.format("2 bursts"),
        partial(_READ, outstanding=2),
        1,
        idle_after_stop=15,
        request=45,
    ),
    _long(
        "read_manager whose readers lose beats",
        partial(_READ, kind=DroppingReader),
        1,
        idle_after_stop=9,
        request=None,
    ),
    _long(_WRITE_PART, _WRITE, 1, idle_after_stop=11, request=35),
    _long(_WRITE_PART, _WRITE, 2, idle_after_stop=15, request=47),
    _long(
        "write_manager whose turns wait for AWREADY",
        partial(_WRITE, late_turns=True),
        1,
        idle_after_stop=None,
        request=None,
    ),
    Wait(
        _READER_PART.format("2 blocks"), striped_read_waits, {"idle_after_stop": 4, "request": 11}
    ),
    _long(_READER_PART.format("2 blocks"), striped_read_waits, 2, idle_after_stop=6, request=14),
    _long(
        _READER_PART.format("1 block"),
        partial(striped_read_waits, line_blocks=1),
        1,
        idle_after_stop=4,
        request=13,
    ),
    Wait(
        "striped_reader whose lines wait for all channels",
        partial(striped_read_waits, spoilt=True),
        {"idle_after_stop": 4, "request": None},
    ),
    _long(_WRITER_PART, striped_write_waits, 1, idle_after_stop=6, request=34),
    _long(_WRITER_PART, striped_write_waits, 2, idle_after_stop=8, request=44),
    _long(
        "striped_writer whose writers wait for AWREADY",
        partial(striped_write_waits, kind=OldBurstWriter),
        1,
        idle_after_stop=None,
        request=None,
    ),
    Wait(_CROSSBAR.format("1 burst"), crossbar_waits, {**_ARBITERS, "request": 9}),
    _long(_CROSSBAR.format("1 burst"), crossbar_waits, 2, **_ARBITERS, request=13),
    Wait(
        "read_crossbar with fixed priorities",
        partial(crossbar_waits, arbiter=FixedPriority),
        {"accepted_0": 3, "accepted_1": None, "request": 3},
    ),
    Wait(_TOY, toy_waits, {"register_write": 3, "job": 23, "soft_reset": 10}),
    _long(_TOY, toy_waits, 2, register_write=4, job=29, soft_reset=13),
    Wait(
        "toy accelerator whose writer waits for AWREADY",
        partial(toy_waits, kind=OldBurstWriter),
        {"register_write": 3, "job": None, "soft_reset": None},
    ),
)
