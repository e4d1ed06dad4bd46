"""A scratchpad: two sides of banks, and the way from banks to rows."""

from __future__ import annotations

from typing import Final

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...spec.tensaurus import TensaurusConfig
from ...stream.multiplex import lowest_one, one_of
from .layouts import (
    access_layout,
    answer_layout,
    bank_answer_layout,
    bank_reads_layout,
    place_layout,
    requests_layout,
)


class WaveNode(wiring.Component):
    """Adds one of a row's requests to the reads of the scratchpads: the oldest one whose bank is
    free, or reads the same vector for another row.

    Combinational.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    requests: in; see :func:`requests_layout`
    i, o: the wave before and behind the row, see :func:`bank_reads_layout`
    granted: out; the request that is served
    read: out; the same, with its bank, see :func:`bank_answer_layout`
    conflict: out; there are requests, and none is
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self.config: Final = config
        super().__init__(
            {
                "requests": In(requests_layout(config)),
                "i": In(bank_reads_layout(config)),
                "o": Out(bank_reads_layout(config)),
                "granted": Out(answer_layout(config)),
                "read": Out(bank_answer_layout(config)),
                "conflict": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, requests, granted = self.config, self.requests, self.granted
        fits = Signal(config.window)
        banks = Array(self.i[n].as_value() for n in range(config.banks))
        for n in range(config.window):
            place = requests.places[n]
            bank = Signal.like(self.i[0], name=f"bank_{n}")
            m.d.comb += bank.eq(banks[place.bank])
            same = (bank.line == place.line) & (bank.side == place.side)
            m.d.comb += fits[n].eq(requests.pending[n] & (~bank.enable | same))
        # The oldest operation has priority, then the order is round.
        newer = Signal(config.window)
        chosen = Signal(config.window)
        m.d.comb += [
            newer.eq(fits & ~((1 << requests.oldest) - 1)[: config.window]),
            chosen.eq(
                Mux(
                    newer.any(),
                    lowest_one(m, newer, name="newest"),
                    lowest_one(m, fits, name="first"),
                )
            ),
        ]
        place = Signal.like(requests.places[0], name="place")
        m.d.comb += [
            granted.valid.eq(fits.any()),
            granted.index.eq(one_of(chosen, range(config.window))),
            self.conflict.eq(requests.pending.any() & ~fits.any()),
            Value.cast(place).eq(one_of(chosen, [Value.cast(place) for place in requests.places])),
            self.o.eq(self.i),
            self.read.valid.eq(granted.valid),
            self.read.bank.eq(place.bank),
            self.read.index.eq(granted.index),
        ]
        for n in range(config.banks):
            # By the places that are chosen from, which are there before the choice.
            here = Cat(place.bank == n for place in requests.places)
            with m.If((chosen & here).any()):
                m.d.comb += [
                    self.o[n].enable.eq(1),
                    self.o[n].line.eq(place.line),
                    self.o[n].side.eq(place.side),
                ]
        return m


class WaveArbiter(wiring.Component):
    """Assigns scratchpad banks to the requests of rows. In every cycle an empty wave begins; it
    passes all rows, one row per cycle, and each row adds a request if it finds a free bank. In
    every cycle one wave is complete, and the scratchpads read what it holds.

    Wave n begins at row ``2 * n % rows``, so that in each cycle each row has a wave of its own, and
    none is always the first or the last. A granted request is at the output after 2 to
    ``rows + 1`` cycles. ``rows`` requests are served a cycle, but for conflicts.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    requests: in; by row, see :func:`requests_layout`
    granted: out; by row, the request that is served, and is to be taken back
    conflict: out; by row: there are requests, and none is served
    access: out; what the scratchpads read, see :func:`access_layout`
    clear: in; forgets everything at the end of the cycle
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self.config: Final = config
        rows = config.rows
        super().__init__(
            {
                "requests": In(data.ArrayLayout(requests_layout(config), rows)),
                "granted": Out(data.ArrayLayout(answer_layout(config), rows)),
                "conflict": Out(rows),
                "access": Out(access_layout(config)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows, layout = self.config.rows, access_layout(self.config)
        waves = [Signal(layout, name=f"wave_{row}") for row in range(rows)]
        nodes = [WaveNode(self.config) for _ in range(rows)]
        # The row at which the wave begins: two rows on in every cycle.
        begins = Signal(rows, init=1)
        if rows > 2:
            m.d.sync += begins.eq(begins.rotate_left(2))
        for row, node in enumerate(nodes):
            m.submodules[f"node_{row}"] = node
            before = Signal(layout, name=f"before_{row}")
            m.d.comb += [
                node.i.eq(before.banks),
                node.requests.eq(self.requests[row]),
                self.granted[row].eq(node.granted),
                self.conflict[row].eq(node.conflict),
            ]
            # With one or two rows, the first one begins every wave.
            if rows > 2 or row:
                m.d.comb += before.eq(waves[row - 1])
            if rows > 2:
                # What a wave has that begins has no effect without these.
                with m.If(begins[row]):
                    m.d.comb += [before.banks[n].enable.eq(0) for n in range(self.config.banks)]
                    m.d.comb += [before.rows[n].valid.eq(0) for n in range(rows)]
            m.d.sync += waves[row].banks.eq(node.o)
            for number in range(rows):
                read = node.read if number == row else before.rows[number]
                m.d.sync += waves[row].rows[number].eq(read)
        ends = [waves[row - 1].as_value() for row in range(rows)]
        complete = one_of(begins, ends) if rows > 2 else ends[0]
        m.d.sync += self.access.eq(complete)
        with m.If(self.clear):
            m.d.sync += [wave.eq(0) for wave in waves]
            m.d.sync += self.access.eq(0)
        return m


class Scratchpad(wiring.Component):
    """Scratchpad of operand vectors, which all rows read and the loader writes.

    Consecutive vectors are in consecutive banks. Latency two cycles from ``access`` to ``answers``
    and ``vectors``: there is a register behind the banks. A vector is written a cycle after it
    comes; a vector that is read while it is written gives the old content.

    Parameters
    ----------
    config: of the accelerator

    Members
    -------
    write, write_side, write_address, write_data: in; a vector
    access: in; see :func:`access_layout`
    answers, vectors: out; by row: the operation that gets a vector, and the vector
    """

    def __init__(self, config: TensaurusConfig) -> None:
        self.config: Final = config
        bits = config.vlen * config.format.bits
        super().__init__(
            {
                "write": In(1),
                "write_side": In(1),
                "write_address": In(range(config.spm_units)),
                "write_data": In(bits),
                "access": In(access_layout(config)),
                "answers": Out(data.ArrayLayout(answer_layout(config), config.rows)),
                "vectors": Out(data.ArrayLayout(bits, config.rows)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        bits = config.vlen * config.format.bits
        low = config.banks.bit_length() - 1
        lines = 1 << place_layout(config)["line"].width
        new = Signal(self.signature.members["write_address"].shape, name="address")
        side = Signal()
        vector = Signal(bits, reset_less=True)
        write = Signal()
        m.d.sync += [
            write.eq(self.write),
            side.eq(self.write_side),
            new.eq(self.write_address),
            vector.eq(self.write_data),
        ]
        found = []
        for n in range(config.banks):
            bank = self.access.banks[n]
            m.submodules[f"bank_{n}"] = memory = Memory(
                shape=unsigned(bits), depth=2 * lines, init=[]
            )
            writing, reading = memory.write_port(), memory.read_port()
            m.d.comb += [
                writing.en.eq(write & ((new[:low] == n) if low else 1)),
                writing.addr.eq(new[low:] + side * lines),
                writing.data.eq(vector),
                reading.en.eq(bank.enable),
                reading.addr.eq(bank.line + bank.side * lines),
            ]
            found.append(reading.data)
        for row in range(config.rows):
            read = Signal.like(self.access.rows[row], name=f"read_{row}")
            m.d.sync += [
                read.eq(self.access.rows[row]),
                self.answers[row].valid.eq(read.valid),
                self.answers[row].index.eq(read.index),
                self.vectors[row].eq(Array(found)[read.bank]),
            ]
        return m
