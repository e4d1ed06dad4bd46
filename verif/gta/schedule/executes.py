"""EXECUTEs of a driver's list by themselves, by the cycle model that equals the RTL."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.hw.spec.jobs.gta import job_spec
from tilewright.sim.device.job_registers import JobRegisters
from tilewright.sim.gta.tiles.program import CommandList, LaneJob
from tilewright.sim.gta.timed import TimedGta


class Executes(CommandList):
    """A list without LOADs and STOREs, in which nothing waits.

    Parameters
    ----------
    group: the mask of the lanes whose EXECUTEs are kept; None: of all
    """

    def __init__(self, group: int | None = None) -> None:
        super().__init__()
        self._group = group

    def add(
        self, kind: str, fields: Mapping[str, int], behind: Mapping[str, int] | None = None
    ) -> int:
        if kind != "execute" or self._group not in (None, fields.get("group", 0)):
            return 1
        return super().add(kind, fields)


def busy_cycles(timed: TimedGta, listed: Executes, job: LaneJob) -> int:
    """Returns the cycles in which at least one command of the list is in flight, with operands on
    chip."""
    timed.write_memory(0, listed.to_bytes())
    registers = {"LIST": 0, "COMMANDS": len(listed), **job.registers(timed.config)}
    status = JobRegisters(timed, job_spec(timed.config)).submit(registers)
    assert status.error == "none"
    return status.counts["busy_cycles"]
