"""Waveforms of the pages, from simulations of the hardware: ``docs/waves``.

``python -m tilewright.verif.kit.waves`` writes WaveJSON, and with ``pip install wavedrom`` (MIT;
its last release is of 2022, so it is no dependency) the drawings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator
from tilewright.hw.axi.burst_writer import BurstWriter
from tilewright.hw.axi.registers import AxiLiteRegisters
from tilewright.hw.c2sr_converter.converter import ConverterControl
from tilewright.hw.job.states import connect_control
from tilewright.hw.simd2.simd2 import Simd2
from tilewright.hw.spec.c2sr_converter import C2srConverterConfig
from tilewright.hw.spec.host.plots import on_any_page
from tilewright.hw.spec.jobs.c2sr_converter import job_spec
from tilewright.hw.spec.simd2 import Simd2Config
from tilewright.hw.stream.queue import Queue

__all__ = ["FOLDER", "WAVES", "Wave", "source_in"]

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "waves"

Cycle = dict[str, int | str | None]
"""Values of a cycle: bits as 0 and 1, others as they are shown; None: of no meaning."""


@dataclass(frozen=True)
class Wave:
    """A waveform: its title, the simulation that records its cycles, and their width in units."""

    title: str
    record: Callable[[], Sequence[Cycle]]
    width: int = 1

    def source(self) -> str:
        """Returns the waveform in WaveJSON, a line for each signal."""
        cycles = self.record()
        lines = [{"name": "clk", "wave": "p" + "." * (len(cycles) - 1)}]
        lines += [_lane(name, [cycle[name] for cycle in cycles]) for name in cycles[0]]
        signals = ",\n  ".join(json.dumps(line) for line in lines)
        head = json.dumps({"text": self.title, "tick": 0})
        scale = json.dumps({"hscale": self.width})
        return f'{{"signal": [\n  {signals}],\n "head": {head}, "config": {scale}}}\n'

    def drawing(self) -> str:
        """Returns the waveform as SVG, with a ground and its source. Needs ``wavedrom``."""
        source = self.source()
        svg = import_module("wavedrom").render(source).tostring()
        opening = re.search(r"<svg [^>]*>", svg)
        assert opening
        width, height = (
            re.search(rf' {side}="([\d.]+)"', opening[0]) for side in ("width", "height")
        )
        assert width
        assert height
        start = re.sub(r' viewBox="[^"]*"', "", opening[0])
        start = start.replace("<svg ", f'<svg viewBox="0 0 {width[1]} {height[1]}" ', 1)
        whole = f"{start}<desc>{escape(source)}</desc>{svg[opening.end() :]}\n"
        return svg[: opening.start()] + on_any_page(whole, self.title)


def source_in(svg: str) -> str:
    """The source that a drawing was made from."""
    from xml.etree import ElementTree

    (found,) = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}desc")
    return found.text or ""


def _lane(name: str, values: Sequence[int | str | None]) -> dict[str, Any]:
    """A line of WaveJSON: bits are levels, others boxes with their values."""
    bits = all(value in (0, 1) for value in values)
    wave, shown, before = "", [], object()
    for value in values:
        if value == before:
            wave += "."
        elif bits:
            wave += str(value)
        elif value is None:
            wave += "x"
        else:
            wave += "="
            shown.append(str(value))
        before = value
    return {"name": name, "wave": wave} | ({"data": shown} if shown else {})


def simulate(part: Any, cycles: int, drive: Callable[[Any, int], Cycle | None]) -> list[Cycle]:
    """Runs a part. ``drive(sim, cycle)`` sets its inputs and returns what the cycle shows."""
    found: list[Cycle] = []

    async def bench(sim: Any) -> None:
        for cycle in range(cycles):
            if (shown := drive(sim, cycle)) is not None:
                found.append(shown)
            await sim.tick()

    simulator = Simulator(part)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return found


def _stream(sim: Any, name: str, ports: Any, payload: str | int) -> Cycle:
    valid, ready = sim.get(ports.valid), sim.get(ports.ready)
    return {
        f"{name}__valid": valid,
        f"{name}__ready": ready,
        f"{name}__payload": payload if valid else None,
    }


def _stalled_stream() -> list[Cycle]:
    """Five words through a queue of two, whose reader is not ready for some cycles."""
    part, words = Queue(8, 2), ["A", "B", "C", "D", "E"]
    sent = [0]

    def drive(sim: Any, cycle: int) -> Cycle:
        offered = cycle >= 1 and sent[0] < len(words)
        sim.set(part.i.valid, offered)
        sim.set(part.i.payload, sent[0])
        sim.set(part.o.ready, cycle not in (2, 3, 4, 8))
        shown = _stream(sim, "i", part.i, words[sent[0]] if offered else "")
        shown |= _stream(sim, "o", part.o, words[sim.get(part.o.payload)])
        sent[0] += offered and sim.get(part.i.ready)
        return shown

    return simulate(part, 13, drive)


def _operations() -> list[Cycle]:
    """Three operations of a matrix unit, two of them back to back."""
    config = Simd2Config(tile=2, format="int8", ops=("mma", "minplus"), pipeline=3)
    part, opcodes = Simd2(config), dict(enumerate(config.ops))
    given = {1: 0, 2: 1, 4: 0}
    a, b, c = ((3, 5), (1, 2)), ((2, 4), (7, 6)), ((1, 1), (1, 1))

    def drive(sim: Any, cycle: int) -> Cycle:
        payload = part.i.payload
        sim.set(part.o.ready, 1)
        sim.set(part.i.valid, cycle in given)
        sim.set(payload.op, given.get(cycle, 0))
        for operand, values in ((payload.a, a), (payload.b, b), (payload.c, c)):
            for row in range(2):
                for column in range(2):
                    sim.set(operand[row][column], values[row][column])
        shown = {"i__valid": sim.get(part.i.valid), "i__ready": sim.get(part.i.ready)}
        op = opcodes[given[cycle]] if cycle in given else None
        valid = sim.get(part.o.valid)
        result = sim.get(part.o.payload.d[0][0]) if valid else None
        return {**shown, "op": op, "o__valid": valid, "o__ready": 1, "d[0][0]": result}

    return simulate(part, 5 + config.latency["mma"] + 2, drive)


def _write_burst() -> list[Cycle]:
    """A burst of four beats, whose data is accepted before its address."""
    part = BurstWriter(
        addr_bits=16, data_bits=32, outstanding=2, count_bits=8, burst_beats=4, buffer_beats=8
    )
    beats, sent, answer = 4, [0], [0]

    def drive(sim: Any, cycle: int) -> Cycle:
        sim.set(part.request.valid, cycle == 0)
        sim.set(part.request.payload.address, 0x40)
        sim.set(part.request.payload.beats, beats)
        sim.set(part.i.valid, sent[0] < beats)
        sim.set(part.i.payload.data, 0xD0 + sent[0])
        sim.set(part.i.payload.strobe, 0xF)
        accepted = sim.get(part.aw.valid) and answer[0] >= 7
        sim.set(part.aw.ready, accepted)
        sim.set(part.w.ready, 1)
        sim.set(part.b.valid, answer[0] == 10)
        sent[0] += sim.get(part.i.valid) and sim.get(part.i.ready)
        answer[0] += bool(answer[0] or sim.get(part.aw.valid))
        aw, w = part.aw, part.w
        return {
            "AWVALID": sim.get(aw.valid),
            "AWREADY": sim.get(aw.ready),
            "AWADDR": f"0x{sim.get(aw.payload.address):X}" if sim.get(aw.valid) else None,
            "WVALID": sim.get(w.valid),
            "WREADY": sim.get(w.ready),
            "WDATA": f"0x{sim.get(w.payload.data):X}" if sim.get(w.valid) else None,
            "WLAST": sim.get(w.payload.last) if sim.get(w.valid) else 0,
            "BVALID": sim.get(part.b.valid),
        }

    return simulate(part, 19, drive)[4:]


class _Job(wiring.Component):
    """Registers and job control of ``c2sr_converter``; the bench says when the work is finished."""

    def __init__(self, config: C2srConverterConfig) -> None:
        self._spec = job_spec(config)
        self.registers = AxiLiteRegisters(self._spec.registers, self._spec.registers.address_bits)
        self.control = ConverterControl(config)
        super().__init__({"finished": In(1), "irq": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.registers = registers = self.registers
        m.submodules.control = control = self.control
        m.d.comb += [getattr(control, name).eq(getattr(registers, name))
                     for name in self._spec.members]  # fmt: skip
        m.d.comb += [control.finished.eq(self.finished), control.quiet.eq(1)]
        connect_control(m, registers, control, self.irq)
        return m


def _job() -> list[Cycle]:
    """A job from its start to the acknowledgement of its interrupt."""
    config = C2srConverterConfig(channels=2, outstanding=2, value="fp16", index_bits=16)
    part = _Job(config)
    registers = part.registers
    writes: Mapping[int, tuple[int, int]] = {
        0: (0x104, 4), 6: (0x108, 16), 13: (0x20, 5), 30: (0x24, 2),
    }  # fmt: skip
    finished, begin = 25, 12
    open_writes: list[tuple[int, int]] = []

    def drive(sim: Any, cycle: int) -> Cycle | None:
        if cycle in writes:
            open_writes.append(writes[cycle])
        waiting = bool(open_writes)
        address, word = open_writes[0] if waiting else (0, 0)
        sim.set(registers.aw.valid, waiting)
        sim.set(registers.aw.payload.address, address)
        sim.set(registers.w.valid, waiting)
        sim.set(registers.w.payload.data, word)
        sim.set(registers.w.payload.strobe, 0xF)
        sim.set(registers.b.ready, 1)
        sim.set(part.finished, cycle >= finished)
        if waiting and sim.get(registers.aw.ready):
            assert sim.get(registers.w.ready)
            open_writes.pop()
        shown: Cycle = {
            "awvalid, wvalid": int(waiting),
            "awready, wready": sim.get(registers.aw.ready),
            "awaddr": f"0x{address:X}" if waiting else None,
            "wdata": word if waiting else None,
            "bvalid": sim.get(registers.b.valid),
            "STATUS.busy": sim.get(registers.status_busy),
            "STATUS.done": sim.get(registers.status_done),
            "irq": sim.get(part.irq),
        }
        return shown if cycle >= begin else None

    return simulate(part, 36, drive)


WAVES = {
    "stream": Wave(
        "A stream: a word moves when valid and ready are 1; until then it is held",
        _stalled_stream,
    ),
    "operations": Wave(
        "simd2, tile 2, int8, pipeline 3: each result after the latency", _operations, 2
    ),
    "write_burst": Wave("A write burst: WVALID does not wait for AWREADY", _write_burst),
    "job": Wave(
        "A job: CTRL (0x20) starts it, irq reports the end, STATUS (0x24) clears done", _job
    ),
}
"""The waveforms, by name."""


def main() -> None:
    """Writes the sources, and the drawings if ``wavedrom`` is installed."""
    FOLDER.mkdir(exist_ok=True)
    for name, wave in WAVES.items():
        (FOLDER / f"{name}.json").write_text(wave.source())
        if find_spec("wavedrom"):
            (FOLDER / f"{name}.svg").write_text(wave.drawing())


if __name__ == "__main__":
    main()
