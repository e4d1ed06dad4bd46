"""The native harness of accelerators: how its memory behaves, what it counts, its errors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tilewright.hw.emit.unit import Emitted
from tilewright.sim.device.protocol import RegisterError
from tilewright.sim.rtl.accelerator import AcceleratorTimeout, AxiBehaviour, NativeAccelerator
from tilewright.sim.rtl.waves import WaveError
from tilewright.verif.harness.mover import (
    MEMORY_BYTES,
    READ,
    WRITE,
    Rule,
    move,
    mover,
    read,
    start,
    sum_of,
    write,
)

STRESS = [
    AxiBehaviour(),
    AxiBehaviour(seed=1, latency=(1, 200)),
    AxiBehaviour(seed=2, latency=(1, 30), stall=0.5, register_stall=0.5),
    AxiBehaviour(seed=3, latency=(5, 60), stall=0.2, mixed=True, register_stall=0.2),
    AxiBehaviour(seed=4, stall={"r": 0.9, "w": 0.7}, beat_cycles=1.5),
    AxiBehaviour(seed=5, latency=(20, 90), mixed=True, beat_cycles=4),
    # Data run ahead of their addresses until no more are taken.
    AxiBehaviour(seed=6, stall={"aw": 0.99}),
    AxiBehaviour(seed=7, aw_after_w=True, stall=0.3, register_order="address"),
    AxiBehaviour(seed=8, w_after_aw=True, stall=0.3, register_order="data"),
    AxiBehaviour(seed=9, aw_after_w=True, w_after_aw=True, mixed=True, latency=(1, 30)),
    AxiBehaviour(seed=10, ready_after_valid=True, one_read=True, register_stall=0.3),
    AxiBehaviour(seed=11, aw_after_w=True, w_after_aw=True, ready_after_valid=True, stall=0.5),
]


@pytest.mark.parametrize("behaviour", STRESS, ids=lambda b: f"seed{b.seed}")
def test_what_is_written_is_read(device: NativeAccelerator[None], behaviour: AxiBehaviour) -> None:
    device.behave(behaviour)
    before = len(device.faults)  # of tests that make some
    random = np.random.default_rng(behaviour.seed)
    for _ in range(10):
        bursts, beats = int(random.integers(1, 17)), 2 ** int(random.integers(0, 6))
        address = int(random.integers(0, 8)) * 4096
        device.memory[:] = random.integers(0, 256, MEMORY_BYTES, dtype=np.uint8)
        expected = device.memory.copy()
        count = bursts * beats
        expected[address : address + 8 * count].view(np.uint64)[:] = np.arange(count)
        move(device, WRITE, bursts=bursts, beats=beats, address=address)
        np.testing.assert_array_equal(device.memory, expected)
        device.memory[:] = random.integers(0, 256, MEMORY_BYTES, dtype=np.uint8)
        move(device, READ, bursts=bursts, beats=beats, address=address)
        assert read(device, "SUM") == sum_of(device, count, address)
        assert read(device, "ERRORS") == 0
    assert device.faults[before:] == []


def test_the_same_seed_gives_the_same_cycles(device: NativeAccelerator[None]) -> None:
    taken = []
    for seed in (7, 7, 8):
        device.behave(AxiBehaviour(seed=seed, latency=(1, 50), stall=0.3, mixed=True))
        device.reset()
        assert device.cycles == 0
        taken.append([move(device, READ | WRITE, bursts=16) for _ in range(3)])
    assert taken[0] == taken[1] != taken[2]


def test_latency(device: NativeAccelerator[None]) -> None:
    """A read takes its latency, its beats, and the mover's two cycles; so does a write."""
    for latency in (1, 2, 17, 300):
        device.behave(AxiBehaviour(latency=(latency, latency)))
        assert move(device, READ, bursts=1, beats=8) == latency + 8 + 1
        assert move(device, WRITE, bursts=1, beats=8) == 8 + latency + 1
    device.behave(AxiBehaviour(latency=(100, 100)))
    # Bursts are answered side by side.
    assert move(device, READ, bursts=16, beats=16) == 100 + 256 + 1


@pytest.mark.parametrize("cost", [1.0, 1.5, 2.0, 7.25])
def test_bandwidth(device: NativeAccelerator[None], cost: float) -> None:
    """Reads, writes, and both at the same time share a rate of beats."""
    device.behave(AxiBehaviour(beat_cycles=cost))
    beats = 16 * 32
    for control, total in ((READ, beats), (WRITE, beats), (READ | WRITE, 2 * beats)):
        assert abs(move(device, control, bursts=16, beats=32) - total * cost) < 30
    device.behave(AxiBehaviour())
    assert move(device, READ | WRITE, bursts=16, beats=32) < beats + 10


def test_a_valid_that_waits_for_ready_hangs(device: NativeAccelerator[None]) -> None:
    """A unit whose W waits for AWREADY works until a memory waits for WVALID, which AXI allows. The
    other way round W leads AW, and the harness reports it."""
    rule = Rule.W_WAITS_FOR_AWREADY
    assert move(device, WRITE, rule=rule) > 0
    device.behave(AxiBehaviour(aw_after_w=True))
    assert move(device, WRITE) > 0
    start(device, WRITE, rule=rule)
    with pytest.raises(AcceleratorTimeout):
        device.wait(2000)
    device.reset()
    assert move(device, WRITE) > 0


def test_ready_after_valid(device: NativeAccelerator[None]) -> None:
    """Each transfer to the memory takes a cycle more, and without pauses no more than that. So does
    the response to the start, from which on cycles are counted."""
    device.behave(AxiBehaviour(ready_after_valid=True))
    assert move(device, READ, bursts=1, beats=8) == (1 + 1) + 8 + 1 - 1
    assert move(device, WRITE, bursts=1, beats=8) == 2 * 8 + 1 + 1 - 1


def test_one_read_in_flight(device: NativeAccelerator[None]) -> None:
    device.behave(AxiBehaviour(latency=(20, 20), one_read=True))
    cycles = move(device, READ, bursts=8, beats=8)
    assert device.traffic["m0_axi"].read.most_under_way == 1
    assert 8 * (20 + 8) <= cycles <= 8 * (20 + 8 + 2)


def test_responses_to_writes_may_come_later(device: NativeAccelerator[None]) -> None:
    device.behave(AxiBehaviour(latency=(3, 3), write_latency=(100, 100)))
    assert move(device, READ, bursts=1, beats=8) == 3 + 8 + 1
    assert move(device, WRITE, bursts=1, beats=8) == 8 + 100 + 1


@pytest.mark.parametrize("order", ["together", "address", "data"])
def test_orders_of_a_register_write(device: NativeAccelerator[None], order: str) -> None:
    """Address and data of a write to a register, offered in one cycle or one after the other."""
    device.behave(AxiBehaviour(register_order=order))
    begun = device.cycles
    write(device, "BURSTS", 77)
    assert device.cycles - begun == 3 + (order != "together")
    assert read(device, "BURSTS") == 77


def test_stalls_by_channel(device: NativeAccelerator[None]) -> None:
    device.behave(AxiBehaviour(seed=1, stall={"r": 0.75}))
    assert 1700 < move(device, READ, bursts=16, beats=32) < 2400
    assert move(device, WRITE, bursts=16, beats=32) < 520
    device.behave(AxiBehaviour(seed=1, stall={"w": 0.75}))
    assert 1700 < move(device, WRITE, bursts=16, beats=32) < 2400
    waits = device.traffic["m0_axi"].write.wait_cycles
    assert 1200 < waits < 1900
    device.behave(AxiBehaviour(seed=1, stall={"ar": 0.9}))
    assert 80 < move(device, READ, bursts=16, beats=1) < 400


def test_order(device: NativeAccelerator[None]) -> None:
    """Reads in order, or with the beats of different IDs interleaved."""
    for mixed in (False, True):
        device.behave(AxiBehaviour(seed=3, latency=(1, 100), mixed=mixed))
        move(device, READ, bursts=16, beats=8)
        assert read(device, "SUM") == sum_of(device, 128)
        for name in ("INTERLEAVED", "OVERTAKEN"):
            assert (read(device, name) > 3) is mixed
    # IDs come again after 16 bursts, and those with the same one stay in order.
    device.memory[:] = np.random.default_rng(3).integers(0, 256, MEMORY_BYTES, dtype=np.uint8)
    move(device, READ, bursts=300, beats=8)
    assert read(device, "SUM") == sum_of(device, 2400)
    device.behave(AxiBehaviour(seed=3, latency=(1, 100)))
    move(device, READ, bursts=16, beats=1)
    assert read(device, "OVERTAKEN") == 0


def test_error_responses(device: NativeAccelerator[None]) -> None:
    device.behave(AxiBehaviour(read_errors={8 * n: 2 for n in (3, 40, 41)}))
    device.memory[:] = 0xFF
    expected = sum_of(device, 128)
    move(device, READ, bursts=16)
    assert read(device, "ERRORS") == 3
    assert read(device, "SUM") != expected
    device.behave(AxiBehaviour(write_errors={64: 3, 72: 2}))
    move(device, WRITE, bursts=16)
    assert read(device, "ERRORS") == 1
    words = device.memory[:1024].view(np.uint64)
    wanted = np.arange(128, dtype=np.uint64)
    wanted[8:16] = 2**64 - 1
    np.testing.assert_array_equal(words, wanted)


def test_outside_of_the_memory(device: NativeAccelerator[None]) -> None:
    """The bus fails after the end of memory, also for the part of a burst that is beyond it."""
    top = MEMORY_BYTES - 64
    move(device, READ, bursts=3, address=top)
    assert read(device, "ERRORS") == 16
    device.memory[:] = 9
    move(device, WRITE, bursts=3, address=top)
    assert read(device, "ERRORS") == 2
    np.testing.assert_array_equal(device.memory[-64:].view(np.uint64), np.arange(8))
    assert (device.memory[:-64] == 9).all()
    move(device, READ, bursts=1, address=1 << 39)
    assert read(device, "ERRORS") == 8
    for address, count in ((-1, 1), (MEMORY_BYTES, 1), (MEMORY_BYTES - 8, 9)):
        with pytest.raises(IndexError, match=r"lie outside of 0x0\.\.0xffff$"):
            device.read_memory(address, count)
    with pytest.raises(IndexError, match=r"^4 bytes at 0xfffe lie outside"):
        device.write_memory(0xFFFE, bytes(4))


def test_traffic(device: NativeAccelerator[None]) -> None:
    move(device, READ, bursts=5, beats=4)
    move(device, WRITE, bursts=3, beats=2)
    traffic = device.traffic["m0_axi"]
    for side, bursts, beats in ((traffic.read, 5, 20), (traffic.write, 3, 6)):
        assert (side.bursts, side.beats, side.bytes) == (bursts, beats, 8 * beats)
        assert (side.under_way, side.wait_cycles) == (0, 0)
        assert beats <= side.busy_cycles <= beats + 2
        assert 1 < side.most_under_way <= bursts
    device.behave(AxiBehaviour(latency=(50, 50)))
    start(device, READ, bursts=5, beats=4)
    device.run(10)
    assert device.traffic["m0_axi"].read.under_way == 5
    with pytest.raises(ValueError, match=r"^5 bursts are under way$"):
        device.behave(AxiBehaviour())
    device.reset()
    assert device.traffic["m0_axi"].read.bursts == 0
    device.run(100)
    assert device.traffic["m0_axi"].read.beats == 0


def test_registers(device: NativeAccelerator[None]) -> None:
    device.behave(AxiBehaviour(seed=9, register_stall=0.6))
    random = np.random.default_rng(9)
    for value in random.integers(0, 1 << 63, 100).tolist():
        write(device, "ADDRESS", value)
        assert read(device, "ADDRESS") == value
    for offset in (0x14, 0x3C):
        with pytest.raises(RegisterError, match=f"^response 2 to a read at offset {offset:#x}$"):
            device.read_register(offset)
        with pytest.raises(RegisterError, match=f"^response 2 to a write at offset {offset:#x}$"):
            device.write_register(offset, 0)
    # Offsets that 7 address bits do not reach, or that are not multiples of 4.
    for offset in (0x80, 0x82, 2, -4):
        none = f"^there is no register at offset {offset:#x}$"
        with pytest.raises(RegisterError, match=none):
            device.read_register(offset)
        with pytest.raises(RegisterError, match=none):
            device.write_register(offset, 0)
    with pytest.raises(ValueError, match=r"^`value` must fit 32 bits, not 0x100000000$"):
        device.write_register(0, 1 << 32)


def test_time_outs(device: NativeAccelerator[None]) -> None:
    with pytest.raises(AcceleratorTimeout) as raised:
        device.wait(50)
    assert str(raised.value) == (
        f"no interrupt after 50 cycles (m0_axi: 0 reads and 0 writes under way), "
        f"in cycle {device.cycles}"
    )
    assert raised.value.cycle == device.cycles
    device.behave(AxiBehaviour(latency=(300, 300)))
    start(device, READ, bursts=4)
    with pytest.raises(AcceleratorTimeout, match=r"\(m0_axi: 4 reads and 0 writes under way\)"):
        device.wait(50)
    device.wait()
    write(device, "STATUS", 1)
    start(device, READ, bursts=0, rule=Rule.NO_REPLY)
    with pytest.raises(
        AcceleratorTimeout, match=r"^no answer to a read at offset 0x8 in 2000 cycles, in cycle"
    ):
        read(device, "RULE")
    device.reset()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"latency": (0, 3)}, "`latency` must be two numbers in 1..4294967295, ascending, not (0,"),
        ({"write_latency": (4, 3)}, "`write_latency` must be two numbers in 1..4294967295, ascen"),
        ({"register_order": "any"}, "`register_order` must be one of together, address, data, not"),
        ({"latency": (4, 3)}, "`latency` must be two numbers in 1..4294967295, ascending, not (4,"),
        ({"stall": 1.0}, "stall of ar must be at least 0 and below 1, not 1.0"),
        ({"stall": {"x": 0.5}}, "`stall` must be of the channels ar, aw, w, r, b, not x"),
        ({"register_stall": -0.5}, "stall of registers must be at least 0 and below 1, not -0.5"),
        ({"beat_cycles": 0.5}, "`beat_cycles` must be 0 or in 1..65536, not 0.5"),
        ({"read_errors": {8: 0}}, "`read_errors` must give responses 1 to 3 by address, not 0 at"),
    ],
)
def test_behaviour_is_checked(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)}"):
        AxiBehaviour(**arguments)


def test_units_that_do_not_fit() -> None:
    emitted = mover()
    axi = emitted.sidecar["axi"]
    cases: list[tuple[dict[str, Any], str]] = [
        ({"axi": axi[:1]}, "unit `mover` needs an AXI4 manager"),
        ({"axi": axi[1:]}, "unit `mover` needs one subordinate, not 0"),
        ({"ports": []}, "unit `mover` needs a port `irq`"),
        (
            {"axi": [axi[0], axi[1] | {"data_bits": 1024}]},
            "`data_bits` of m0_axi must be at most 512, not 1024",
        ),
    ]
    for change, text in cases:
        with pytest.raises(ValueError, match=f"^{text}$"):
            NativeAccelerator(Emitted(emitted.verilog, emitted.sidecar | change), None)
    with pytest.raises(ValueError, match=r"^0 bytes from 0x0 on are not memory$"):
        NativeAccelerator(emitted, None, memory_bytes=0)


def test_a_closed_device() -> None:
    with NativeAccelerator(mover(), None) as device:
        device.run(5)
    with pytest.raises(ValueError, match=r"^the accelerator is closed$"):
        device.run(1)


@pytest.mark.slow
@pytest.mark.parametrize("data_bits", [32, 512])
def test_other_widths(data_bits: int) -> None:
    """The widest ID and address, with the memory at the top of the address space."""
    emitted, width = mover(64, data_bits, 12), data_bits // 8
    base = (1 << 64) - MEMORY_BYTES
    behaviour = AxiBehaviour(seed=data_bits, latency=(1, 99), stall=0.2, mixed=True)
    with NativeAccelerator(
        emitted, None, memory_bytes=MEMORY_BYTES, base=base, behaviour=behaviour
    ) as device:
        beats, address = MEMORY_BYTES // width, base
        move(device, WRITE, bursts=beats // 4, beats=4, address=address)
        words = device.memory.view("<u4").reshape(beats, -1)
        np.testing.assert_array_equal(words[:, 0], np.arange(beats))
        assert not words[:, 1:].any()
        words[:] = np.random.default_rng(1).integers(0, 1 << 32, words.shape, np.uint32)
        move(device, READ, bursts=beats // 4, beats=4, address=address)
        assert read(device, "SUM") == words[:, 0].sum(dtype=np.uint64)
        assert read(device, "OVERTAKEN") > 10
        assert device.read_memory(base, 8) == device.memory[:8].tobytes()


@pytest.mark.slow
def test_wave_file(tmp_path: Path) -> None:
    waves = tmp_path / "waves.vcd"
    with NativeAccelerator(mover(), None, waves=waves) as device:
        move(device, READ | WRITE)
    text = waves.read_text()
    assert "$enddefinitions" in text
    assert "m0_axi_araddr" in text


@pytest.mark.slow
def test_waves_that_find_no_space(tmp_path: Path) -> None:
    """The simulation ends where they do, long before its time is over."""
    waves = tmp_path / "waves.vcd"
    waves.symlink_to("/dev/full")
    with NativeAccelerator(mover(), None, waves=waves) as device:
        start(device, READ | WRITE, bursts=1000)
        said = f"^{waves}: cannot be written: No space left on device$"
        with pytest.raises(WaveError, match=said):
            device.run(1 << 40)
    assert waves.is_symlink()
