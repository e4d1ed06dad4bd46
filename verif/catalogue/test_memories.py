"""No unit relies on what its memories hold before it has written them.

The simulators start with zeros. Here every word of every memory starts with something else.
"""

from __future__ import annotations

import random
import re
from dataclasses import replace

import numpy as np
import pytest
from tilewright.hw.emit.unit import Emitted, emit
from tilewright.hw.spec.c2sr_converter import C2srConverterConfig
from tilewright.hw.spec.engine import EngineConfig
from tilewright.hw.spec.jobs.c2sr_converter import MODES
from tilewright.hw.spec.matraptor import MatRaptorConfig
from tilewright.hw.spec.sequencer import SequencerConfig
from tilewright.hw.spec.tensaurus import TENSAURUS
from tilewright.sim.engine.model import EngineModel
from tilewright.sim.rtl.accelerator import AxiBehaviour, NativeAccelerator
from tilewright.sim.rtl.streams import NativeSimulation, Pauses
from tilewright.verif.c2sr import jobs as converter_jobs
from tilewright.verif.engine.jobs import CONFIGS, MEMORY_BYTES, check_job, fill, random_job
from tilewright.verif.engine.rates import unit_of
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.matraptor.cases import random_case
from tilewright.verif.matraptor.jobs import check_case
from tilewright.verif.matrix_units.m3xu.simulate_sequencer import ILLEGAL, Program
from tilewright.verif.tensaurus.jobs import check_case as check_tensors
from tilewright.verif.tensaurus.jobs import random_case as random_tensors
from tilewright.verif.tensaurus.model.cases import device

pytestmark = pytest.mark.slow

_MEMORY = re.compile(r"^  logic(?: \[([^]:]+):0\])? (\w+) \[([^]:]+):0\];\n", re.M)
_DECLARATION = re.compile(r"^ *(?:(?:input|output) *)?logic\b[^;)]*", re.M)


def memories(verilog: str) -> int:
    """Counts the arrays that a unit declares; in every form the size follows the name."""
    bare = re.sub("//.*", "", verilog)
    declared = (f"{match[0]};" for match in _DECLARATION.finditer(bare))
    return sum(len(re.findall(r"\][,;]", text)) for text in declared)


def with_contents(made: Emitted, seed: int) -> Emitted:
    """The unit with a random pattern in each of its memories, another one in every word."""
    chosen = random.Random(seed)

    def filled(match: re.Match[str]) -> str:
        width, name, last = f"({match[1] or 0}+1)", match[2], match[3]
        pattern, step = (f"{{64{{64'h{chosen.getrandbits(64) | 1:x}}}}}" for _ in range(2))
        word = f"{width}'({pattern}) + {width}'(n) * {width}'({step})"
        loop = f"for (int n = 0; n <= {last}; n++) {name}[n] = {word};"
        return f"{match[0]}  initial {loop}\n"

    text, count = _MEMORY.subn(filled, made.verilog)
    declared = memories(made.verilog)
    assert count == declared > 0
    return replace(made, verilog=text)


def rough(number: int) -> AxiBehaviour:
    return AxiBehaviour(seed=number, latency=(1, 50), stall=0.3, mixed=True)


@pytest.mark.parametrize("name", slow_but([], ["small", "fp8", "complex"], ["small"]))
def test_engine(name: str) -> None:
    config: EngineConfig = CONFIGS[name]
    made = with_contents(emit(unit_of(config), config), 21)
    rng = np.random.default_rng(21)
    with NativeAccelerator(made, config, memory_bytes=MEMORY_BYTES) as device:
        model = EngineModel(config, MEMORY_BYTES)
        fill(rng, device, model)
        for number in range(60):
            device.behave(rough(number) if number % 2 else AxiBehaviour())
            check_job(device, model, random_job(rng, config, MEMORY_BYTES))
        assert device.faults == []


@pytest.mark.long
def test_matraptor() -> None:
    config = MatRaptorConfig(
        lanes=2, channels=2, queues=3, queue_depth=24, outstanding=4, data_bits=64
    )
    rng = np.random.default_rng(22)
    made = with_contents(emit("matraptor", config), 22)
    computed = 0
    with NativeAccelerator(made, config, memory_bytes=MEMORY_BYTES) as device:
        for number in range(20):
            device.behave(rough(number) if number % 2 else AxiBehaviour())
            case = random_case(rng, config, MEMORY_BYTES)
            if case.product().c is not None:
                check_case(rng, device, case)
                computed += 1
        assert device.faults == []
    assert computed > 10


@pytest.mark.long
def test_tensaurus() -> None:
    config = device(cols=1, order=3, rows=2)
    rng = np.random.default_rng(25)
    made = with_contents(emit(TENSAURUS, config), 25)
    products = 0
    with NativeAccelerator(made, config, memory_bytes=2 * MEMORY_BYTES) as accelerator:
        for number in range(20):
            accelerator.behave(rough(number) if number % 2 else AxiBehaviour())
            counts, _ = check_tensors(rng, accelerator, random_tensors(rng, config, most=8))
            products += counts["products"]
        assert accelerator.faults == []
    assert products > 1000


@pytest.mark.parametrize("direction", MODES)
def test_c2sr_converter(direction: str) -> None:
    config = C2srConverterConfig(channels=2, outstanding=4)
    made = with_contents(emit("c2sr_converter", config), 24)
    rng = np.random.default_rng(24)
    entries = 0
    with NativeAccelerator(made, config, memory_bytes=MEMORY_BYTES) as device:
        for number in range(40):
            device.behave(rough(number) if number % 2 else AxiBehaviour())
            case = converter_jobs.any_case(rng, config, direction)
            entries += converter_jobs.check(rng, device, case).counts["entries"]
        assert device.faults == []
    assert entries > 1000


def test_memories_are_counted() -> None:
    """However they are written."""
    ways = "  logic a [3:0];\n  logic signed [7:0] b [0:3], c [3:0],\n    d;\n  logic [3:0] e, f;\n"
    assert memories(f"module m (\n  input logic [7:0] i,\n  output logic o\n);\n{ways}") == 3


@pytest.mark.long
def test_sequencer() -> None:
    config = SequencerConfig(rows=4, cols=2, depth=4)
    made = with_contents(emit("m3xu_sequencer", config), 23)
    opcodes = np.random.default_rng(23).choice([*config.opcodes.values(), ILLEGAL], 60).tolist()
    program = Program(config, opcodes, 23)
    assert program.run(NativeSimulation(made), Pauses(seed=23, gap=0.3, stall=0.3)) > 0
