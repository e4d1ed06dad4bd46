"""Models of memory channels: DRAM with its timings, and a flat memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["FLAT", "HBM", "HBM_32", "HBM_REFRESH", "MEMORIES", "MemoryModel"]


@dataclass(frozen=True, kw_only=True)
class MemoryModel:
    """The parameters of a memory channel. Times in ns.

    Parameters
    ----------
    name: of the model
    gigabytes: peak bandwidth in GB/s
    access_bytes: bytes of an access: the least that is ever moved
    banks: banks of the channel; 0 for a flat memory, which answers each burst ``latency`` cycles of
        the accelerator after its address and sends a beat a cycle, and whose other
        parameters mean nothing
    page_bytes: bytes of a row of a bank
    column: from a column command to its data (tCL)
    activate: from an activate to a column command (tRCD)
    precharge: from a precharge to an activate (tRP)
    active: least time from an activate to a precharge (tRAS)
    read_to_precharge, write_recovery: from a read command, from a write's last data, to a
        precharge (tRTP, tWR)
    activate_gap: least time between activates of different banks (tRRD)
    activate_window: time in which at most four activates may be (tFAW); 0 for no limit
    read_to_write, write_to_read: gap on the bus between a read and a write (tRTW), and from the
        last data of a write to a read command (tWTR)
    refresh_interval: time from one refresh of all banks to the next (tREFI); 0 for no refresh
    refresh: time of a refresh (tRFC), after which all rows are closed
    controller: time that a read spends in the controller's pipelines, beside waiting
    read_queue, write_queue: accesses that the controller holds and may reorder
    latency: of a flat memory, in cycles of the accelerator
    """

    name: str
    gigabytes: float = 16.0
    access_bytes: int = 64
    banks: int = 16
    page_bytes: int = 2048
    column: float = 15.0
    activate: float = 15.0
    precharge: float = 15.0
    active: float = 33.0
    read_to_precharge: float = 7.5
    write_recovery: float = 18.0
    activate_gap: float = 4.0
    activate_window: float = 30.0
    read_to_write: float = 4.0
    write_to_read: float = 10.0
    refresh_interval: float = 0.0
    refresh: float = 0.0
    controller: float = 20.0
    read_queue: int = 64
    write_queue: int = 64
    latency: int = 20

    def __post_init__(self) -> None:
        for name in ("access_bytes", "page_bytes"):
            value = getattr(self, name)
            if value < 8 or value & (value - 1):
                raise ValueError(f"`{name}` must be a power of two from 8 up, not {value}")
        for name in ("read_queue", "write_queue", "latency"):
            if getattr(self, name) < 1:
                raise ValueError(f"`{name}` must be at least 1, not {getattr(self, name)}")
        if self.banks < 0:
            raise ValueError(f"`banks` must be at least 0, not {self.banks}")
        if not self.gigabytes > 0:
            raise ValueError(f"`gigabytes` must be above 0, not {self.gigabytes}")
        if self.refresh_interval and not 0 < self.refresh < self.refresh_interval:
            raise ValueError(
                f"`refresh` must be above 0 and below `refresh_interval`, {self.refresh_interval}, "
                f"not {self.refresh}"
            )

    @property
    def flat(self) -> bool:
        """True if the memory has neither banks nor a bandwidth of its own."""
        return self.banks == 0


HBM = MemoryModel(name="hbm")
"""A 128-bit channel of HBM at 1 GHz, accesses of burst length 4 (64 bytes).

The timings are those of gem5's ``HBM_1000_4H_1x128`` (src/python/gem5/components/memory/
dram_interfaces/hbm.py), the model that the MatRaptor paper used: pages of 2 KiB, tCL = tRCD = tRP =
15 ns, tRAS 33 ns, tRRD 4 ns, four activates in 30 ns, tWTR 10 ns, tRTW 4 ns; 10 + 10 ns in its
controller. It has 8 banks for dies of 2 Gb; larger dies have 16, as here."""

HBM_32 = replace(HBM, name="hbm32", access_bytes=32)
"""The same with accesses of burst length 2 (32 bytes), which JEDEC's HBM allows in legacy mode."""

HBM_REFRESH = replace(HBM, name="hbm-refresh", refresh_interval=3900.0, refresh=160.0)
"""HBM with refreshes of all banks, every 3.9 us for 160 ns, as gem5's model has them."""

FLAT = MemoryModel(name="flat", banks=0)
"""The memory behind the RTL in benches: a fixed latency and a beat of the port every cycle."""

MEMORIES = {model.name: model for model in (HBM, HBM_32, HBM_REFRESH, FLAT)}
