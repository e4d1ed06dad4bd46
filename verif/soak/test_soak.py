"""Soak runs: their jobs, their continuation, and the faults that they find."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.unit import named_object
from tilewright.registry import Entry, entries, registered
from tilewright.sim.rtl.accelerator import AxiBehaviour
from tilewright.verif.catalogue.toy.system import SYSTEM as TOY
from tilewright.verif.kit.job_checks import Mismatch
from tilewright.verif.kit.sampling import rng_of, slow_but
from tilewright.verif.soak.__main__ import SoakFault, accelerators, main, soak
from tilewright.verif.soak.soaked_unit import (
    Progress,
    RecordingAccelerator,
    SoakedUnit,
    Span,
    UnitProgress,
    break_off,
    replay,
)

EVERY_ACCELERATOR = slow_but([], accelerators(), ["c2sr_converter"])
[ENTRY] = TOY.entries
SUM = "reader__o__payload.data[63:32] + control__job.constant"
WRONG_IN_PAUSES = f"({SUM} ^ {{31'h0, m0_axi_wvalid & ~m0_axi_wready}})"


@pytest.fixture
def toy() -> Iterator[Entry]:
    """The toy, registered."""
    with registered(TOY):
        yield ENTRY


def changed(old: str, new: str) -> Emitted:
    """The toy with other Verilog at one place."""
    made = emit(ENTRY.unit, ENTRY.small_config)
    assert made.verilog.count(old) == 1, "the toy has changed"
    return Emitted(made.verilog.replace(old, new), made.sidecar)


def test_every_accelerator_draws_long_jobs() -> None:
    assert len(accelerators()) >= 8
    assert all(entries()[name].soak for name in accelerators())


@pytest.mark.parametrize("name", EVERY_ACCELERATOR)
def test_a_seed_of(name: str) -> None:
    """One seed runs on each accelerator without a fault."""
    with closing(SoakedUnit(entries()[name], replays=2)) as unit:
        jobs, cycles = unit.round(1)
    assert jobs % 3 == 0
    assert cycles > 300 * jobs


def test_a_run_continues(toy: Entry, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = tmp_path / "folder" / "soak.json"
    words = ["1", "--unit", "toy_adder", "--state", str(state), "--cycles"]
    assert main([*words, "1"]) == 0
    first = Progress(state).units["toy_adder"]
    assert first.seed > 0
    assert first.cycles > first.jobs > 0
    assert main([*words, str(first.cycles + 1)]) == 0
    second = Progress(state).units["toy_adder"]
    assert second.seed > first.seed
    assert second.cycles > first.cycles
    lines = capsys.readouterr().out.splitlines()
    assert f"toy_adder: seeds {first.seed} to {second.seed - 1}, " in "\n".join(lines)
    assert lines[-1].split()[:1] == ["all"]
    assert lines[-1].split()[-1] == f"{second.cycles:,}"


def test_a_seed_is_the_same_run_every_time(
    toy: Entry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = set()
    for _ in range(2):
        assert main(["0", "--unit", "toy_adder", "--seed", "7"]) == 0
        outputs.add(capsys.readouterr().out)
    assert len(outputs) == 1
    with closing(SoakedUnit(toy)) as unit:
        found = unit.round(3), unit.round(7), unit.round(7)
    assert found[0] != found[1] == found[2]
    assert f"seed 7, {found[1][0]:,} jobs, {found[1][1]:,} cycles" in outputs.pop()


def test_another_design_begins_anew(tmp_path: Path) -> None:
    progress = Progress(tmp_path / "soak.json")
    progress.of("toy_adder", "1").seed = 5
    progress.save()
    again = Progress(tmp_path / "soak.json")
    assert again.of("toy_adder", "1").seed == 5
    assert again.of("toy_adder", "2") == UnitProgress("2")


@pytest.mark.parametrize("text", ["", "[]", "{1", '{"x": {"seed": 1}}', '{"x": 1}'])
def test_a_file_of_something_else(
    toy: Entry, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    state = tmp_path / "soak.json"
    state.write_text(text)
    assert main(["1", "--unit", "toy_adder", "--state", str(state)]) == 2
    assert capsys.readouterr().err == f"error: {state} holds no progress of a soak run\n"
    assert state.read_text() == text


@pytest.mark.parametrize(
    "new", [f"{SUM} + 1", WRONG_IN_PAUSES], ids=["always", "while the memory pauses"]
)
def test_a_wrong_result_ends_the_run(tmp_path: Path, new: str) -> None:
    progress = Progress(tmp_path / "soak.json")
    with (
        closing(SoakedUnit(ENTRY, changed(SUM, new))) as unit,
        pytest.raises(SoakFault, match=r"^toy_adder, seed 0: .+$") as raised,
    ):
        soak([unit], progress, 60)
    assert (raised.value.unit, raised.value.seed) == ("toy_adder", 0)
    assert Progress(tmp_path / "soak.json").units["toy_adder"].seed == 0


def test_a_fault_tells_how_to_replay_it(
    toy: Entry, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def wrong(unit: SoakedUnit, seed: int) -> tuple[int, int]:
        raise Mismatch("a byte\nis wrong")

    monkeypatch.setattr(SoakedUnit, "round", wrong)
    assert main(["1", "--unit", "toy_adder", "--state", str(tmp_path / "soak.json")]) == 1
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "toy_adder, seed 0: a byte is wrong",
        "replay it: ./scripts/test --soak 0 --unit toy_adder --seed 0",
    ]


def recording(made: Emitted | None = None) -> RecordingAccelerator:
    """A toy that has run its exercise on a memory that never pauses."""
    spec, config = ENTRY.unit.job_spec(ENTRY.small_config), ENTRY.small_config
    made = made or emit(ENTRY.unit, config)
    device = RecordingAccelerator(spec, made, config, memory_bytes=1 << 14)
    jobs = named_object(ENTRY.exercise)(device, rng_of(0))
    assert len(device.jobs) == jobs > 1
    return device


STALLS = AxiBehaviour(seed=1, stall=0.5, aw_after_w=True)


def test_jobs_are_replayed() -> None:
    with recording() as device:
        jobs = device.jobs[:]
        device.behave(STALLS)
        for job in (*jobs, *reversed(jobs)):
            break_off(device, job, 40)
            replay(device, job, [])
        assert device.jobs == jobs


def replay_all(device: RecordingAccelerator, scratch: list[Span]) -> None:
    for job in device.jobs[:]:
        replay(device, job, scratch)


def test_a_result_that_depends_on_the_memory_is_found() -> None:
    """The exercise passes; nothing else is wrong."""
    with recording(changed(SUM, WRONG_IN_PAUSES)) as device:
        replay_all(device, [])
        device.behave(STALLS)
        message = r"^[0-9]+ bytes are not those with another memory, first 0x"
        with pytest.raises(Mismatch, match=message):
            replay_all(device, [])
        # No difference counts where memory may have any content.
        replay_all(device, [(0, device.memory_bytes)])


def test_another_status_is_found() -> None:
    with recording() as device:
        offset = device.spec.registers["BEATS"].offset
        for job in device.jobs:
            job.words[offset] = 0
        fields = device.spec.registers["STATUS"]
        status = fields.put(error=1, error_code=device.spec.code("zero_size"))
        message = rf"^status and detail \({status}, {offset}\), with another memory"
        with pytest.raises(Mismatch, match=message):
            replay_all(device, [])


def test_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["x"], ["1", "--unit", "simd2"], []):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2
    assert re.search("invalid choice: 'simd2'", capsys.readouterr().err)
