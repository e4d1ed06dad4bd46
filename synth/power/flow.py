"""From Verilog to the power of its netlist in a recorded run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tilewright.hw.spec.host.activity import activity
from tilewright.hw.spec.host.words import not_one_of

from ..effort import ImplementationRequest, Implementer
from ..flow import map_modules
from ..library.cells import Library
from ..mapping.hierarchy import split_design
from ..memories.cells import with_memories
from ..targets import target_library
from .measure import PoweredNetlist
from .opensta import by_pins, opensta_power
from .recording import Recording, read_vcd
from .replay import Tally
from .report import PinPower, PowerCheck, PowerReport

__all__ = ["DELAYS", "PowerRequest", "Prepared", "prepare"]

DELAYS = ("library", "none")


@dataclass(frozen=True, kw_only=True)
class PowerRequest(ImplementationRequest):
    """A request for the power of a design in standard cells. Without a period the clock is that of
    the slowest path.

    Members
    -------
    target, dont_use, liberty_path: see ``target_library``
    """

    target: str
    dont_use: Sequence[str] = ()
    liberty_path: str | os.PathLike[str] | None = None

    def library(self) -> Library:
        """The library, which has files. Raises ValueError for another target."""
        found = target_library(self.target, self.dont_use, self.liberty_path)
        if found is None or not found.files:
            raise ValueError(
                f"target {self.target} has no tables of power: take a Liberty library that has "
                "(asap7, gscl45nm, sg13g2, sky130hd)"
            )
        return found


@dataclass(frozen=True)
class Prepared:
    """A mapped design, ready for recordings.

    Members
    -------
    top: name of the top module; config: for the report
    period: of the clock in ns
    """

    top: str
    request: PowerRequest
    netlist: PoweredNetlist
    period: float
    memory_bits: int
    config: Mapping[str, Any] = field(default_factory=dict)

    def signals(self) -> dict[str, set[str]]:
        """The signals that a recording must have, by module, besides the inputs of the top."""
        found: dict[str, set[str]] = {}
        for register in self.netlist.circuit.registers:
            found.setdefault(register.module, set()).add(register.signal)
        return found

    def read(self, path: Path, clock: str) -> Recording:
        """Read a recording. Raises as ``read_vcd``."""
        circuit = self.netlist.circuit
        # A word of one bit of a memory is recorded under the name of its bit.
        wanted = {f"{register.path}{register.signal}" for register in circuit.registers}
        wanted |= {register.name for register in circuit.registers}
        with activity("reading the record"):
            return read_vcd(path, self.top, clock, wanted | set(circuit.netlist.inputs))

    def measure(
        self,
        recording: Recording,
        stimuli: str,
        operations: float | None = None,
        *,
        delays: str = "library",
        cross_check: bool = False,
    ) -> PowerReport:
        """The power in a recording.

        Parameters
        ----------
        stimuli: what was recorded, in words
        operations: how many operations it has, for the energy of one
        delays: "library", or "none", with which there are no glitches
        cross_check: let OpenSTA measure the same netlist with the same activities

        Raises ValueError for a register that is not recorded, and if the netlist computes other
        values than those recorded; ToolError if OpenSTA fails.
        """
        if delays not in DELAYS:
            raise ValueError(not_one_of("`delays`", DELAYS, delays))
        netlist = self.netlist
        tally = netlist.replay(recording)
        nets = netlist.netlist.nets
        sample = netlist.glitches(recording, tally, self.period) if delays == "library" else None
        settled = float(tally.toggles[:nets].mean() / tally.cycles)
        grown = 1.0
        if sample:
            grown = sample.glitches.toggles[:nets].sum() / max(
                sample.settled.toggles[:nets].sum(), 1
            )
        check = self._check(tally) if cross_check else None
        return PowerReport(
            unit=self.top,
            config=dict(self.config),
            target=self.request.target,
            library=netlist.library.name,
            volts=netlist.power.volts,
            period_ns=self.period,
            effort=self.request.effort,
            wires=self.request.wires,
            stimuli=stimuli,
            cycles=tally.cycles,
            operations=operations,
            cells=sum(map(len, netlist.netlist.cells.values())),
            nets=nets,
            delays=delays,
            glitch_cycles=sample.settled.cycles if sample else 0,
            toggles=float(settled * grown),
            settled_toggles=settled,
            clock_buffers=netlist.clock_tree().buffers,
            memory_bits=self.memory_bits,
            modules=netlist.modules(tally, self.period, sample),
            check=check,
        )

    def _check(self, tally: Tally) -> PowerCheck:
        """What OpenSTA says, without glitches."""
        netlist, names = self.netlist, ("internal", "switching", "leakage")
        rows = netlist.modules(tally, self.period)
        with activity("measuring by OpenSTA"):
            return PowerCheck(
                PinPower(*(sum(getattr(row, name) for row in rows) for name in names)),
                by_pins(netlist, tally, self.period),
                opensta_power(netlist, tally, self.period),
            )


def prepare(
    verilog: str,
    top: str,
    request: PowerRequest,
    config: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Prepared:
    """Map a design for the measurement of its power.

    Raises ValueError for a target without tables of power, bad Verilog, or cells whose behaviour is
    not known; ToolError for a tool that fails.
    """
    library = request.library()
    wired = request.wired(library)
    with activity("reading the Verilog"):
        design = split_design(verilog, top)
    held = {name: one.memory for name, one in design.modules.items() if one.memory}
    library, _, _ = with_memories(library, held)
    counts = design.counts()
    bits = sum(design.modules[name].memory_bits * counts[name] for name in held)
    with activity("putting the modules together") as shown:
        mapped = partial(map_modules, design, library)
        implementer = Implementer(design, library, mapped, wired, shown.about)
        one = implementer.plain
        if request.effort == "speed":
            fits = request.period is not None
            one = implementer.smallest(request.period or 0.0) if fits else implementer.fastest()
        netlist = implementer.netlist(one)
    with activity("reading the power of cells"):
        powered = PoweredNetlist(netlist, library, implementer.wires)
    period = request.period or one.ns
    if not period:
        raise ValueError(f"`{top}` has no path: give a period")
    return Prepared(top, request, powered, period, bits, dict(config or {}))
