"""A file is a subject: neither a fragment of its one user nor longer than one reads at once."""

from collections import defaultdict
from pathlib import Path

import pytest
from tilewright.verif.kit.imports import Imports, name_of, read_imports, sources

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[1]
MOST_FILES = 2007
MOST_LINES = 400
FEWEST_LINES = 40

LONGER = {
    "hw.gta.gta": "the top of GTA, whose wiring is read against the drawing of the page",
    "hw.gta.float.row_adder": "one adder with its operands and its pipeline",
    "hw.emit.verilog.parameters": "one algorithm: formulas, comparison of variants, their text",
    "hw.gta.vector.vector_path": "one path of vector operations, stage by stage",
    "hw.tensaurus.array.head.row_head": "the head of a row, with the states of its two streams",
    "hw.t2s.language.isolated": "all checks of one isolated tensor",
    "hw.sida.sida": "the top of SIDA, whose wiring is read against the drawing of the page",
    "sim.matraptor.cycles.outer": "the cycle model of one dataflow",
    "verif.emit.test_readable": "one example a rule of the text",
    "verif.protocol.traces": "one trace a rule of the two buses",
    "verif.tcu.sparse.test_output_sensitive": "one algorithm, step by step",
    "verif.catalogue.described.images": "arrays of all accelerators, read by their description",
    "verif.t2s.sparse.hostile_host.host": "one host, written without our code",
    "verif.sida.jobs": "random jobs and their check, for all benches of SIDA",
    "verif.ciss.test_image": "images of one format",
    "verif.bench.axi_memory": "one memory with its modes",
}
"""Files of more than 400 lines, with the reason."""

SHORT = {
    "hw.catalogue": "the list of units, which the emitter reads and all rooms may name",
    "sim.gta.workloads.reduced": "data that a table reads, beside the other workloads",
    "sim.numbers.word_functions": "a floor below its user",
    "sim.tcu.split.narrow_reference": "a reference beside the algorithm, for a command",
    "sim.tcu.split.split_cost": "a cost beside its algorithm, for a table",
    "scripts.tables.lane_rate": "a bound that a test of other tables needs as well",
}
"""Files of fewer than 40 lines that one module imports, with the reason."""

EXEMPT = (
    "verif.catalogue.toy.",
    "verif.mutation.example.",
    "scripts.systems.",
    "scripts.commands.",
    "verif.examples.",
)
"""Modules that are short by nature: the worked example, registrations, commands."""


@pytest.fixture(scope="module")
def imports() -> Imports:
    return read_imports(ROOT)


@pytest.fixture(scope="module")
def lines() -> dict[str, int]:
    """Lines of all modules that are no package's ``__init__``."""
    return {
        name_of(path, ROOT): path.read_text().count("\n")
        for path in sources(ROOT)
        if path.name != "__init__.py"
    }


def test_there_are_not_too_many() -> None:
    assert len(list(sources(ROOT))) <= MOST_FILES


def test_long_files_have_a_reason(lines: dict[str, int]) -> None:
    assert {name for name, count in lines.items() if count > MOST_LINES} <= set(LONGER)


def test_no_file_is_a_fragment_of_its_one_user(imports: Imports, lines: dict[str, int]) -> None:
    users: dict[str, set[str]] = defaultdict(set)
    for module, its in imports.items():
        for one in its:
            if one.target.startswith("verif") or not module.startswith("verif"):
                users[one.target].add(module)
    short = {
        name
        for name, count in lines.items()
        if count < FEWEST_LINES
        and len(users[name]) == 1
        and not name.startswith(EXEMPT)
        and not name.endswith(".__main__")
    }
    assert short <= set(SHORT)


def test_reasons_are_of_files_that_are_there(lines: dict[str, int]) -> None:
    assert {*LONGER, *SHORT} <= set(lines)
