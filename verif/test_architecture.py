"""Checks the direction of imports and the number of modules per folder.

The rooms and their floors are those of CONTRIBUTING.md. A test names the import that runs the wrong
way.
"""

from collections import Counter, defaultdict
from pathlib import Path

import pytest
from tilewright.registry import systems
from tilewright.verif.kit.imports import (
    FLOORS,
    REACH,
    ROOMS,
    Import,
    Imports,
    children,
    cycle,
    folders,
    imports_of,
    name_of,
    read_imports,
    sources,
)

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[1]

APART = {"hw": {"emit", "catalogue"}, "sim": set()}
"""Folders of a room that are neither floors nor systems: no floor and no system may import them."""

MOST_MODULES = 20


@pytest.fixture(scope="module")
def imports() -> Imports:
    return read_imports(ROOT)


def wrong_rooms(imports: Imports) -> list[Import]:
    """Imports between rooms that run the wrong way."""
    wrong = []
    for module, its in imports.items():
        room = module.split(".")[0]
        for one in its:
            target = one.target.split(".")[0]
            spec = one.target == "hw.spec" or one.target.startswith("hw.spec.")
            if target != room and target not in REACH[room] and not spec:
                wrong.append(one)
    return wrong


def wrong_floors(imports: Imports, room: str) -> list[Import]:
    """Imports inside a room that climb, or that lead from one system to another."""
    floors = FLOORS[room]
    wrong = []
    for module, its in imports.items():
        source = module.split(".")[1:2]
        if module.split(".")[0] != room or not source or source[0] in APART[room]:
            continue
        allowed = floors.get(source[0], set(floors)) | {source[0], "spec"}
        for one in its:
            parts = one.target.split(".")
            if parts[0] == room and len(parts) > 1 and parts[1] not in allowed:
                wrong.append(one)
    return wrong


def app_of(module: str) -> str:
    """The application that a module of `apps` is of; of another one nothing."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["scripts", "apps"] and len(parts) > 2 else ""


def wrong_apps(imports: Imports) -> list[Import]:
    """Imports from one application of another; all may import ``common``, which imports none."""
    return [
        one
        for module, its in imports.items()
        for one in its
        if app_of(module) and app_of(one.target) not in ("", "common", app_of(module))
    ]


def apps_that_need(module: str, imports: Imports) -> set[str]:
    """The applications that import a module of ``common``, directly or through its others."""
    found, waiting, seen = set(), [module], {module}
    users: dict[str, list[str]] = {}
    for name, its in imports.items():
        for one in its:
            users.setdefault(one.target, []).append(name)
    while waiting:
        for user in users.get(waiting.pop(), ()):
            if app_of(user) == "common" and user not in seen:
                seen.add(user)
                waiting.append(user)
            found.add(app_of(user))
    return found - {"", "common"}


def said(wrong: list[Import]) -> str:
    return "\n".join(map(str, wrong))


def test_arrows_between_rooms(imports: Imports) -> None:
    assert not wrong_rooms(imports), said(wrong_rooms(imports))


def test_applications_import_no_other(imports: Imports) -> None:
    assert not wrong_apps(imports), said(wrong_apps(imports))


def test_what_is_common_is_of_two_applications(imports: Imports) -> None:
    packages = {name.rpartition(".")[0] for name in imports}
    common = [name for name in imports if app_of(name) == "common" and name not in packages]
    assert len(common) > 10
    needed = {name: apps_that_need(name, imports) for name in common}
    assert not {name: apps for name, apps in needed.items() if len(apps) < 2}


@pytest.mark.parametrize("room", FLOORS)
def test_arrows_between_floors_and_systems(imports: Imports, room: str) -> None:
    wrong = wrong_floors(imports, room)
    assert not wrong, said(wrong)


def test_only_simulate_uses_benches() -> None:
    """Registrations name what is imported when it is used."""
    for system in systems():
        works = [*system.tables.values(), *system.commands.values()]
        named = [work.function for work in works]
        assert not [name for name in named if name.startswith("tilewright.verif.")], system.name


def test_no_test_is_imported(imports: Imports) -> None:
    wrong = [
        one
        for its in imports.values()
        for one in its
        if one.target.rpartition(".")[2].startswith("test_")
    ]
    assert not wrong, said(wrong)


def test_no_cycles(imports: Imports) -> None:
    """At every level of the tree, siblings import one another in one direction only."""
    packages = {""} | {name.rpartition(".")[0] for name in imports}
    for package in sorted(packages):
        found = cycle(children(imports, package))
        assert not found, " imports ".join(found)


def test_folders_are_not_full(imports: Imports) -> None:
    packages = {name.rpartition(".")[0] for name in imports}
    modules = Counter(name.rpartition(".")[0] for name in imports if name not in packages)
    full = {folder: count for folder, count in modules.items() if count > MOST_MODULES}
    assert not full


def test_every_module_is_seen(imports: Imports) -> None:
    for room in (*ROOMS, "scripts"):
        assert any(name.startswith(f"{room}.") for name in imports), room
    named = {one.target for its in imports.values() for one in its}
    assert named <= set(imports) | folders(imports)


def test_the_root_names_the_public_api_only(imports: Imports) -> None:
    """Type checkers need these imports; ``verif/api/test_formats.py`` checks that the root imports
    nothing."""
    named = {one.target for one in imports["scripts"]}
    public = {name for name in named if name.startswith("scripts.api.")}
    assert named == public | {"scripts.formats", "scripts.payloads", "sim.device.protocol"}


KNOWN = frozenset(["hw.spec.m3xu", "hw.m3xu.grid", "sim.rtl", "scripts", "scripts.cli", "hw.m3xu"])


@pytest.mark.parametrize(
    ("text", "module", "is_package", "targets"),
    [
        ("from ..spec.m3xu import M3xuConfig", "hw.m3xu.unit", False, ["hw.spec.m3xu"]),
        ("from ..spec import m3xu", "hw.m3xu.unit", False, ["hw.spec.m3xu"]),
        ("from . import grid", "hw.m3xu", True, ["hw.m3xu.grid"]),
        ("def f():\n    from .sim import rtl", "scripts.cli", False, ["sim.rtl"]),
        ("from ..sim.rtl import x", "scripts.apps.gemm", False, ["sim.rtl"]),
        ("import tilewright", "hw.m3xu.unit", False, []),
        ("import tilewright.cli\nimport os", "verif.test_cli", False, ["scripts.cli"]),
        ("from tilewright.cli import main", "verif.test_cli", False, ["scripts.cli"]),
        ("from os import path", "hw.m3xu.unit", False, []),
    ],
)
def test_reading(text: str, module: str, is_package: bool, targets: list[str]) -> None:
    assert [one.target for one in imports_of(text, module, KNOWN, is_package)] == targets


@pytest.mark.parametrize(
    ("module", "target", "wrong"),
    [
        ("sim.units.m3xu", "hw.m3xu.grid", True),
        ("sim.units.m3xu", "hw.spec.m3xu", False),
        ("scripts.apps.dense.gemm", "verif.bench.device", True),
        ("scripts.cli", "hw.emit.unit", False),
        ("synth.flow", "sim.rtl.build", True),
        ("synth.flow", "hw.emit.unit", False),
        ("hw.emit.unit", "scripts.cli", True),
    ],
)
def test_a_wrong_arrow_is_named(module: str, target: str, wrong: bool) -> None:
    one = Import(module, target, 7)
    assert wrong_rooms({module: (one,)}) == [one] * wrong
    assert str(one) == f"{module}:7 imports {target}"


@pytest.mark.parametrize(
    ("module", "target", "wrong"),
    [
        ("scripts.apps.sparse.spgemm", "scripts.apps.gta.lu", True),
        ("scripts.apps.common.files", "scripts.apps.gta.lu", True),
        ("scripts.apps.sparse.spgemm", "scripts.apps.common.files", False),
        ("scripts.apps.sparse.spgemm", "scripts.apps.sparse.report", False),
        ("scripts.tables.simd2", "scripts.apps.graphs.hops", False),
    ],
)
def test_an_import_of_another_application_is_named(module: str, target: str, wrong: bool) -> None:
    one = Import(module, target, 7)
    assert wrong_apps({module: (one,)}) == [one] * wrong


def test_applications_are_found_by_what_is_common() -> None:
    pairs = {
        "scripts.apps.a.x": "scripts.apps.common.y",
        "scripts.apps.b.x": "scripts.apps.common.z",
        "scripts.apps.common.z": "scripts.apps.common.y",
        "scripts.tables.t": "scripts.apps.common.z",
    }
    imports = {module: (Import(module, target),) for module, target in pairs.items()}
    assert apps_that_need("scripts.apps.common.y", imports) == {"a", "b"}
    assert apps_that_need("scripts.apps.common.z", imports) == {"b"}


@pytest.mark.parametrize(
    ("module", "target", "wrong"),
    [
        ("hw.engine.engine", "hw.simd2.simd2", True),
        ("hw.engine.engine", "hw.job.states", False),
        ("hw.engine.engine", "hw.emit.unit", True),
        ("hw.stream.queue", "hw.axi.ports", True),
        ("hw.axi.ports", "hw.engine.layouts", True),
        ("hw.axi.ports", "hw.stream.queue", False),
        ("hw.emit.unit", "hw.catalogue", False),
        ("sim.sparse.c2sr", "sim.matraptor.model", True),
        ("sim.matraptor.model", "sim.sparse.c2sr", False),
    ],
)
def test_a_climb_is_named(module: str, target: str, wrong: bool) -> None:
    one = Import(module, target, 7)
    assert wrong_floors({module: (one,)}, module.split(".")[0]) == [one] * wrong


def test_a_cycle_is_named() -> None:
    pairs = [("hw.a.x", "hw.b.y"), ("hw.b.z", "hw.a.w"), ("hw.a.w", "hw.c")]
    imports = {module: (Import(module, target),) for module, target in pairs}
    assert cycle(children(imports, "hw")) == ["hw.a", "hw.b", "hw.a"]
    assert cycle(children(imports, "hw.a")) == []


# A file is a subject: neither a fragment of its one user nor longer than one reads at once.

MOST_FILES = 1556
"""1,500, and those of boards and of power: more systems may have more files, the others not."""
MOST_LINES = 400
FEWEST_LINES = 40

LONGER = {
    "hw.gta.gta": "the top of GTA, whose wiring is read against the drawing of the page",
    "hw.gta.float.row_adder": "one adder with its operands and its pipeline",
    "hw.emit.rtlil.tidy": "all simplifications of a module, and their order",
    "hw.emit.verilog.expressions": "one kind of expression after another: widths, signs, text",
    "hw.emit.verilog.parameters": "one algorithm: formulas, comparison of variants, their text",
    "hw.gta.vector.vector_path": "one path of vector operations, stage by stage",
    "hw.tensaurus.array.head.row_head": "the head of a row, with the states of its two streams",
    "hw.t2s.language.isolated": "all checks of one isolated tensor",
    "hw.sida.sida": "the top of SIDA, whose wiring is read against the drawing of the page",
    "hw.matraptor.matraptor": "the top of MatRaptor, whose wiring is read against the drawing",
    "hw.matraptor.load.b_loader": "one loader and its parts, in the order of the data",
    "sim.matraptor.cycles.outer": "the cycle model of one dataflow",
    "sim.matraptor.cycles.state": "one machine's state, field by field",
    "verif.emit.test_readable": "one example a rule of the text",
    "verif.protocol.traces": "one trace a rule of the two buses",
    "verif.tcu.sparse.test_output_sensitive": "one algorithm, step by step",
    "verif.catalogue.described.images": "arrays of all accelerators, read by their description",
    "verif.t2s.sparse.hostile_host.host": "one host, written without our code",
    "verif.sida.jobs": "random jobs and their check, for all benches of SIDA",
    "verif.ciss.test_image": "images of one format",
    "verif.bench.axi_memory": "one memory with its modes",
    "verif.mutation.proof": "a mutant from the list of yosys to its proof",
    "verif.emit.test_style": "one test a rule of the text, with its measures",
    "hw.emit.blocks": "processes of a module, from cells to statements",
    "hw.arith.round": "one algorithm: rounding and packing, with its parameters",
    "hw.t2s.compiler.passes": "all passes in their order",
    "verif.tensaurus.load.test_matrix_loader": "one loader, and the rows that it serves",
    "verif.tensaurus.load.test_tensor_loader": "one loader, all its formats and faults",
    "verif.tensaurus.test_native": "random and wrong jobs of one accelerator, at native speed",
    "verif.gta.apps.test_vector": "one command, its cases and refusals",
    "hw.c2sr_converter.lane": "a lane: its requests, its entries, and their packets",
    "hw.c2sr_converter.found_rows": "both forms of an index, from its requests to the rows",
    "verif.c2sr.test_native_parts": "the converter's reader of rows and its lane, one bench a part",
    "verif.gta.test_native_parts": "the control and loaders of GTA, one bench a part",
    "verif.job.test_controls": "the same bench of job control for every accelerator",
    "verif.engine.test_native_parts": "the control and loaders of the engine, one bench a part",
}
"""Files of more than 400 lines, with the reason."""

SHORT = {
    "hw.catalogue": "the list of units, which the emitter reads and all rooms may name",
    "sim.tcu.split.narrow_reference": "a reference beside the algorithm, for a command",
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
