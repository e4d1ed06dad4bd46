"""Writers with a port that tells whether a response would find its burst's address."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out
from tilewright.hw.axi.burst_writer import BurstWriter
from tilewright.hw.axi.managers import WriteManager
from tilewright.hw.channels import striped_writer
from tilewright.hw.channels.striped_writer import StripedWriter
from tilewright.hw.spec.channels import ChannelGeometry

__all__ = ["WatchedBurstWriter", "WatchedManager", "WatchedStripedWriter"]


class _Watched(wiring.Component):
    """What is mixed with a writer for the member ``answerable``: out; of each burst writer, whether
    its queue of addresses has one at its end, as it must have whenever a response comes."""

    _answerable: Signal

    @property
    def signature(self) -> wiring.Signature:
        members = dict(super().signature.members)
        return wiring.Signature({**members, "answerable": Out(len(self.answerable))})

    @property
    def answerable(self) -> Signal:
        return self._answerable

    def _connect(self, m: Module, count: int) -> Module:
        """Connect it with that of the writers inside."""
        writers = [getattr(m.submodules, f"writer_{n}") for n in range(count)]
        m.d.comb += self.answerable.eq(Cat(writer.answerable for writer in writers))
        return m


class WatchedBurstWriter(_Watched, BurstWriter):
    """A :class:`BurstWriter`."""

    def __init__(self, **sizes: int) -> None:
        self._answerable = Signal(name="answerable")
        super().__init__(**sizes)

    def _addresses(self) -> Any:
        self._queue = super()._addresses()
        return self._queue

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.answerable.eq(self._queue.o.valid)
        return m


class WatchedManager(_Watched, WriteManager):
    """A :class:`WriteManager`."""

    _part = WatchedBurstWriter

    def __init__(self, parts: int, **sizes: int) -> None:
        self._answerable = Signal(parts, name="answerable")
        super().__init__(parts, **sizes)

    def elaborate(self, platform: object) -> Module:
        return self._connect(super().elaborate(platform), len(self.answerable))


class WatchedStripedWriter(_Watched, StripedWriter):
    """A :class:`StripedWriter`."""

    def __init__(self, geometry: ChannelGeometry, **settings: int) -> None:
        self._answerable = Signal(geometry.channels, name="answerable")
        super().__init__(geometry, **settings)

    def elaborate(self, platform: object) -> Module:
        with patch.object(striped_writer, "BurstWriter", WatchedBurstWriter):
            m = super().elaborate(platform)
        return self._connect(m, len(self.answerable))
