"""The memory of the benches, without a simulator: its modes, and the faults that it finds."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from tilewright.verif.bench import axi_memory
from tilewright.verif.bench.axi_memory import AxiMemory, Behaviour, Storage
from tilewright.verif.bench.axi_storage import FLAGS, any_modes

pytestmark = pytest.mark.quick

DATA_BITS = 64
READ_AT = 1 << 16
LATE = Behaviour(ready_after_valid=True)
"""READY is low in the first cycle of VALID."""


class Signal:
    """A port of the top."""

    def __init__(self) -> None:
        self.value = 0


class Top:
    """Creates a port at its first use."""

    def __getattr__(self, name: str) -> Signal:
        made = Signal()
        setattr(self, name, made)
        return made


class Bench:
    """A memory, and the cycles in which it is given values."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, behaviour: Behaviour, **settings: Any
    ) -> None:
        self.top = Top()
        self.cycle = 0
        monkeypatch.setattr(axi_memory, "cycle", lambda: self.cycle)
        self.storage = Storage(DATA_BITS, lambda address: address ^ 0x5A5A)
        self.memory = AxiMemory(self.top, None, "m", self.storage, behaviour, **settings)
        self.set(arsize=3, awsize=3, arburst=1, awburst=1, wstrb=0xFF, rready=1, bready=1)

    def set(self, **values: int) -> None:
        for name, value in values.items():
            getattr(self.top, f"m_{name}").value = value

    def get(self, name: str) -> int:
        found: int = getattr(self.top, f"m_{name}").value
        return found

    def step(self, **values: int) -> None:
        """A cycle with these values; those that are not given stay."""
        ready = self.memory.sample()
        self.cycle += 1
        self.set(**values)
        self.memory.answer(ready)

    def moves(self, channel: str) -> bool:
        return bool(self.get(f"{channel}valid") and self.get(f"{channel}ready"))


AW = {"awvalid": 1, "awaddr": 64, "awlen": 1}
W = {"wvalid": 1, "wdata": 7, "wlast": 0}
AR = {"arvalid": 1, "araddr": 64, "arlen": 1}
NONE = {"awvalid": 0, "wvalid": 0, "arvalid": 0}

WRONG: dict[str, tuple[Behaviour, list[dict[str, int]], str]] = {
    "an address that changes": (LATE, [AW, {"awaddr": 128}], "aw changed before ready"),
    "a length that changes": (LATE, [AR, {"arlen": 2}], "ar changed before ready"),
    "a valid that goes": (LATE, [AW, NONE], "aw took back its valid"),
    "a read's valid that goes": (LATE, [AR, NONE], "ar took back its valid"),
    "data that change": (LATE, [AW | W, {"wdata": 8}], "w changed before ready"),
    "data whose valid goes": (LATE, [AW | W, {"wvalid": 0}], "w took back its valid"),
    "data before their address": (Behaviour(), [W], "w is offered before its aw"),
    "data of a second burst": (
        Behaviour(), [AW | W | {"awlen": 0, "wlast": 1}, {"awvalid": 0}],
        "w is offered before its aw",
    ),
    "data with a pause": (Behaviour(), [AW | W, NONE], "w pauses within a burst"),
    "a last beat too soon": (Behaviour(), [AW | W | {"wlast": 1}, NONE], "wlast is 1 with 1 beats"),
    "a last beat too late": (
        Behaviour(), [AW | W, {"awvalid": 0}, {}], "wlast is 0 with 0 beats",
    ),
    "a page's end": (Behaviour(), [AW | {"awaddr": 4088}], "crosses 4 KiB"),
    "a page's end, read": (Behaviour(), [AR | {"araddr": 4088}], "crosses 4 KiB"),
    "half a beat's address": (Behaviour(), [AW | {"awaddr": 4}], "is no INCR burst"),
    "half a beat": (Behaviour(), [AR | {"arsize": 2}], "is no INCR burst"),
    "a burst of kind WRAP": (Behaviour(), [AR | {"arburst": 2}], "is no INCR burst"),
    "too many reads": (Behaviour(latency=(9, 9)), [AR, {}, {}], "has 3 bursts under way on ar"),
    "too many writes": (Behaviour(), [AW, {}, {}], "has 3 bursts under way on aw"),
    "data that are not taken": (
        Behaviour(), [AR | {"rready": 0}, NONE, {}], "rready is low when a response comes",
    ),
    "a response that is not taken": (
        Behaviour(), [AW | W | {"awlen": 0, "wlast": 1, "bready": 0}, NONE, {}],
        "bready is low when a response comes",
    ),
}  # fmt: skip
"""Wrong traffic: on what memory, values of each cycle, and the fault that it is."""


@pytest.mark.parametrize("name", WRONG)
def test_wrong_traffic_has_its_fault(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    behaviour, cycles, fault = WRONG[name]
    bench = Bench(monkeypatch, behaviour, outstanding=2)
    bench.step()
    for values in cycles:
        assert bench.memory.faults == []
        bench.step(**values)
    bench.step(**NONE)
    bench.step()
    assert fault in "\n".join(bench.memory.faults)
    assert bench.memory.faults[0].startswith("`m`: ")


class Manager:
    """A manager that keeps all rules: bursts of one to three beats, written, and read elsewhere.

    Parameters
    ----------
    ahead: whether W of a burst is offered from its AWVALID on, or once its address is taken
    """

    def __init__(self, bench: Bench, seed: int, *, ahead: bool) -> None:
        generator = random.Random(seed)
        self.bench, self.ahead = bench, ahead
        lengths = [generator.randint(1, 3) for _ in range(8)]
        places = itertools.accumulate(lengths, initial=0)
        self.bursts = [(8 * at, beats) for at, beats in zip(places, lengths, strict=False)]
        self.words = [generator.getrandbits(64) for _ in range(sum(lengths))]
        self.last = [n == beats - 1 for _, beats in self.bursts for n in range(beats)]
        self.sent = {"aw": 0, "w": 0, "ar": 0}
        self.finished = 0
        self.read: list[int] = []
        self.answers = 0

    @property
    def done(self) -> bool:
        whole = len(self.words)
        return len(self.read) == whole and self.sent["w"] == whole and self.answers == 8

    def cycle(self) -> None:
        """See what moves in the present cycle, and set the VALIDs of the next one."""
        bench = self.bench
        for channel in self.sent:
            self.sent[channel] += bench.moves(channel)
        self.finished = sum(self.last[: self.sent["w"]])
        if bench.get("rvalid"):
            self.read.append(bench.get("rdata"))
        self.answers += bench.get("bvalid")
        values: dict[str, int] = {}
        for channel in ("aw", "ar"):
            number = self.sent[channel]
            values[f"{channel}valid"] = int(number < 8)
            if number < 8:
                address, beats = self.bursts[number]
                place = address + READ_AT * (channel == "ar")
                values |= {f"{channel}addr": place, f"{channel}len": beats - 1}
        beat = self.sent["w"]
        begun = self.sent["aw"] + (self.ahead and values["awvalid"])
        values["wvalid"] = int(beat < len(self.words) and self.finished < begun)
        if values["wvalid"]:
            values |= {"wdata": self.words[beat], "wlast": int(self.last[beat])}
        bench.step(**values)


@pytest.mark.parametrize("flags", list(itertools.product([False, True], repeat=len(FLAGS))))
def test_every_mode(flags: tuple[bool, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries every combination: it obeys the rules, has no fault, and completes."""
    modes: dict[str, Any] = dict(zip(FLAGS, flags, strict=True))
    for stall, seed, ahead in itertools.product((0.0, 0.4), range(3), (True, False)):
        if modes["aw_after_w"] and not ahead:
            continue
        behaviour = Behaviour(
            stall=stall, latency=(1, 6), mixed=bool(seed), write_latency=(20, 30), **modes
        )
        bench = Bench(monkeypatch, behaviour, seed=f"{seed}")
        bench.step()
        manager = Manager(bench, seed, ahead=ahead)
        before: dict[str, bool] = {}
        ready_before = apart = 0
        while not manager.done:
            assert bench.cycle < 2000
            manager.cycle()
            high = {c: bench.get(f"{c}ready") for c in ("aw", "w", "ar")}
            valid = {c: bench.get(f"{c}valid") for c in ("aw", "w", "ar")}
            waiting = manager.sent["aw"] - manager.finished
            if modes["aw_after_w"]:
                assert valid["w"] or not high["aw"]
            if modes["w_after_aw"]:
                assert valid["aw"] or waiting > 0 or not high["w"]
            if modes["ready_after_valid"]:
                assert not any(high[c] and not before.get(c) for c in high)
            if modes["one_read"] and high["ar"]:
                assert bench.memory.owed("read") == 0
            before = {c: bool(valid[c] and not high[c]) for c in high}
            ready_before += high["aw"] and not valid["aw"]
            apart += bench.moves("w") and waiting <= 0 and not bench.moves("aw")
        assert bench.memory.faults == []
        wanted = [(READ_AT + 8 * n) ^ 0x5A5A for n in range(len(manager.words))]
        assert manager.read == wanted
        for number, word in enumerate(manager.words):
            assert bench.storage.get(8 * number) == word
        assert min(b[0] for b in bench.memory.record.b) >= 20
        if not any(flags) and stall:
            # W went before its address at times, and AWREADY was high with nothing there.
            assert apart + ready_before > 0


def test_modes_are_drawn_from_the_seed() -> None:
    drawn = [any_modes(seed) for seed in range(64)]
    assert drawn == [any_modes(seed) for seed in range(64)]
    assert {tuple(modes[flag] for flag in FLAGS) for modes in drawn} == set(
        itertools.product([False, True], repeat=len(FLAGS))
    )
    assert {modes["write_latency"] for modes in drawn} == {None, (1, 1), (60, 120)}
