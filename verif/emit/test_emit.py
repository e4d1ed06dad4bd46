"""The emitter: merged, deterministic, lint-clean Verilog that does what Amaranth's own does."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, Shape, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from tilewright.hw.axi.ports import LitePort, ManagerPort
from tilewright.hw.emit import unit as emitter
from tilewright.hw.spec.m3xu import M3xuConfig
from tilewright.registry import entries
from tilewright.verif.emit.components import (
    Arithmetic,
    Cell,
    Choices,
    Grid,
    Machine,
    Namesakes,
    Patterns,
    Steps,
    Tables,
)
from tilewright.verif.kit.front_ends import FRONT_ENDS, complaints, run_yosys
from tilewright.verif.kit.options import EVERY_UNIT, emitted_unit
from tilewright.verif.kit.sampling import slow_but

pytestmark = pytest.mark.quick

COMPONENTS = {
    "arithmetic": Arithmetic,
    "machine": Machine,
    "tables": Tables,
    "steps": Steps,
    "namesakes": Namesakes,
    "patterns": Patterns,
    "choices": Choices,
    "grid": lambda: Grid(2, depth=1),
}


GRIDS = ["m3xu", "m3xu_baseline", "m3xu_wide"]

SAMPLE = ["m3xu", "m3xu_sequencer", "c2sr_converter", "engine_simd2", "matraptor"]
"""Units that other tools read in the default test, besides the options of ``test_options``."""


def emitted(name: str) -> emitter.Emitted:
    return emitter.emit_component(COMPONENTS[name](), name=name)


def unit_text(name: str, **parameters: Any) -> str:
    return emitted_unit(name, **parameters).verilog


def modules(verilog: str) -> list[str]:
    return re.findall(r"^module (\w+)", verilog, re.M)


def test_one_module_for_each_different_component() -> None:
    expected = ["grid", "grid_cell", "grid_arithmetic"]
    assert modules(emitted("grid").verilog) == expected
    assert modules(emitter.emit_component(Grid(6), name="grid").verilog) == expected


def test_components_of_other_fields_stay_apart() -> None:
    class Kept(wiring.Component):
        def __init__(self, *fields: str) -> None:
            self._fields = fields
            super().__init__({"i": In(data.StructLayout(dict.fromkeys(fields, 4))), "o": Out(8)})

        def elaborate(self, platform: object) -> Module:
            m = Module()
            m.d.sync += self.o.eq(self.i)
            return m

    class Three(wiring.Component):
        o: Out(24)  # type: ignore[valid-type]

        def elaborate(self, platform: object) -> Module:
            m = Module()
            for n, fields in enumerate((("a", "b"), ("row", "column"), ("a", "b"))):
                m.submodules[f"kept_{n}"] = kept = Kept(*fields)
                m.d.comb += [kept.i.eq(n), self.o.word_select(n, 8).eq(kept.o)]
            return m

    text = emitter.emit_component(Three(), name="three").verilog
    assert modules(text) == ["three", "three_kept_2", "three_kept"]
    assert len(re.findall(r"^  three_kept_2 kept_1 \(", text, re.M)) == 1


def test_components_that_differ_stay_apart() -> None:
    class Pair(wiring.Component):
        def __init__(self) -> None:
            super().__init__({"o": Out(27)})

        def elaborate(self, platform: object) -> Module:
            m = Module()
            for k, depth in enumerate((1, 2, 1)):
                m.submodules[f"cell_{k}"] = cell = Cell(depth)
                m.d.comb += self.o[9 * k : 9 * k + 9].eq(cell.d)
            return m

    text = emitter.emit_component(Pair(), name="pair").verilog
    assert modules(text) == ["pair", "pair_cell_2", "pair_cell", "pair_arithmetic"]
    assert len(re.findall(r"^  pair_cell cell_[02] \(", text, re.M)) == 2
    assert len(re.findall(r"^  pair_cell_2 cell_1 \(", text, re.M)) == 1


@pytest.mark.parametrize("name", COMPONENTS)
def test_computes_what_amaranth_emits(name: str, tmp_path: Path) -> None:
    """Equal outputs for every sequence of three inputs after a reset."""
    gate = emitter.emit_component(COMPONENTS[name](), name="gate").verilog
    (tmp_path / "gold.il").write_text(rtlil.convert(COMPONENTS[name](), name="gold"))
    (tmp_path / "gate.v").write_text(gate)
    flatten = "proc; flatten; memory_map; opt_clean"
    run_yosys(
        f"read_rtlil gold.il; {flatten}; setattr -unset init w:*; design -stash gold; "
        f"read_verilog -sv gate.v; hierarchy -top gate; {flatten}; setattr -unset init w:*; "
        "design -copy-from gold -as gold gold; miter -equiv -flatten gold gate miter; "
        "hierarchy -top miter; sat -verify -seq 4 -set-at 1 in_rst 1 -set-init-zero "
        "-prove trigger 0 -prove-skip 1 miter",
        tmp_path,
    )


def test_is_the_same_in_every_process(tmp_path: Path) -> None:
    script = (
        "from tilewright.hw.emit import unit as emitter;"
        "from tilewright.verif.emit.components import Grid;"
        "import sys; e = emitter.emit_component(Grid(3), name='grid');"
        "emitter.write(e, sys.argv[1])"
    )
    written = []
    for seed in ("0", "1", "2"):
        path = tmp_path / f"seed{seed}.v"
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", script, str(path)], env=environment, check=True)
        written.append((path.read_bytes(), path.with_suffix(".json").read_bytes()))
    assert written[0] == written[1] == written[2]


@pytest.mark.parametrize("unit", slow_but([], GRIDS, []))
def test_text_grows_with_different_modules_only(unit: str) -> None:
    small, large = unit_text(unit, rows=4, cols=4), unit_text(unit, rows=16, cols=16)
    assert modules(small) == modules(large)
    assert len(large) <= 2.5 * len(small)


@pytest.mark.parametrize("tool", FRONT_ENDS)
@pytest.mark.parametrize("name", [*COMPONENTS, *slow_but(["simd2"], entries(), SAMPLE)])
def test_every_front_end_accepts(tool: str, name: str, tmp_path: Path) -> None:
    text = emitted(name).verilog if name in COMPONENTS else unit_text(name)
    assert complaints(tool, text, name, tmp_path) == ""


@pytest.mark.parametrize(
    ("tool", "complaint"),
    [
        ("verilator", "SELRANGE"),
        ("icarus", "after vector"),
        ("yosys", "out of bounds"),
        ("slang", "index-oob"),
    ],
)
def test_a_front_end_complains(tool: str, complaint: str, tmp_path: Path) -> None:
    """The waivers leave the other rules in force."""
    text = emitted("arithmetic").verilog
    text = text.replace("endmodule", "  logic more;\n  assign more = a[4];\nendmodule")
    assert complaint in complaints(tool, text, "arithmetic", tmp_path)
    assert complaints(tool, text.replace("a[4]", "missing"), "arithmetic", tmp_path)


def test_waivers_are_the_listed_ones() -> None:
    found = re.findall(r"lint_off (\w+) \*/ // (.+)$", emitted("grid").verilog, re.M)
    assert dict(found) == emitter.LINT_WAIVERS


@pytest.mark.parametrize("unit", EVERY_UNIT)
def test_no_dummy_registers_and_no_initial_blocks(unit: str) -> None:
    text = unit_text(unit)
    assert "always_ff @(posedge clk)" in text
    # The one attribute is that of memories without collisions, as in queues.
    style = r'^  \(\* syn_ramstyle = "no_rw_check" \*\) (?=logic )'
    text, styled = re.subn(style, "  ", text, flags=re.M)
    assert (styled > 0) == ("_deep_queue" in text)
    assert not re.search(r"\binitial\b|always @|\\\S|\(\*|\b_\d+_\b", text)


def test_only_contents_that_count_are_initial() -> None:
    text = emitted("tables").verilog
    initial = re.findall(r"^    (\w+)\[(\d)\] = 8'h(\w+);$", text, re.M)
    expected = {"squares": (0, 1, 4, 9), "zeros": (0, 0, 0, 0)}
    assert sorted((name, int(n), int(value, 16)) for name, n, value in initial) == [
        (name, n, value) for name, values in expected.items() for n, value in enumerate(values)
    ]


def test_a_read_port_is_a_register() -> None:
    text = emitted("tables").verilog
    assert "if (held__en) held <= words[at];" in text
    assert "    latest__data <= words[at];\n" in text
    assert "assign low = parted__data[3:0];" in text


def test_parts_of_words_are_written_under_their_enables() -> None:
    text = emitted("tables").verilog
    assert "if (write__en[1]) words[to][7:4] <= i[7:4];" in text


def axi_signals(entry: dict[str, Any]) -> set[tuple[str, str, int]]:
    """The ports that an AXI entry of the sidecar stands for."""
    manager = entry["role"] == "manager"
    names = ("prefix", "addr_bits", "data_bits", "id_bits") if manager else ("prefix", "addr_bits")
    port = (ManagerPort if manager else LitePort)(**{name: entry[name] for name in names})
    return {
        ("input" if member.flow == In else "output", name, Shape.cast(member.shape).width)
        for name, member in port.members().items()
    }


@pytest.mark.parametrize("unit", EVERY_UNIT)
def test_sidecar_describes_the_real_ports(unit: str) -> None:
    made = emitted_unit(unit)
    head = re.search(rf"^module {unit} \(\n(.*?)\n\);", made.verilog, re.M | re.S)
    assert head
    real = {
        (kind, name, int(high or 0) + 1)
        for kind, high, name in re.findall(
            r"(input|output) +logic (?:\[(\d+):0\] )?(\w+),?(?: // .*)?$", head[1], re.M
        )
    }
    said = {("input", made.sidecar["clock"], 1), ("input", made.sidecar["reset"]["name"], 1)}
    for entry in made.sidecar["streams"]:
        ahead, back = ("input", "output") if entry["direction"] == "in" else ("output", "input")
        said |= {(ahead, entry["valid"], 1), (back, entry["ready"], 1)}
        said |= {(ahead, entry["payload"], entry["width"])}
        position = 0
        for field in entry["fields"]:
            assert field["offset"] == position
            count = 1
            for length in field.get("shape", ()):
                count *= length
            position += count * field.get("element_bits", field.get("width"))
        assert position == entry["width"]
    for entry in made.sidecar.get("axi", ()):
        said |= axi_signals(entry)
    for entry in made.sidecar.get("ports", ()):
        said |= {(f"{entry['direction']}put", entry["name"], entry["width"])}
    assert said == real


def test_sidecar_carries_the_configuration() -> None:
    config = M3xuConfig(rows=2, modes=("fp32", "fp16"))
    made = emitter.emit("m3xu", config).sidecar
    assert made["config"] == config.resolved()
    assert made["config"]["modes"] == ["fp16", "fp32"]
    assert (made["opcodes"], made["latency"]) == (config.opcodes, config.latency)
    assert made["initiation_interval"] == config.initiation_interval
    fields = {field["name"]: field for field in made["streams"][0]["fields"]}
    assert fields["a"] == {"name": "a", "offset": 3, "shape": [2, 8], "element_bits": 16}
    assert fields["op"] == {"name": "op", "offset": 0, "width": 3}


def test_sidecar_lists_plain_ports() -> None:
    made = emitter.emit_component(Machine(), name="machine", sidecar_extras={"latency": {"x": 1}})
    assert made.sidecar["ports"] == [
        {"name": "i", "direction": "in", "width": 4},
        {"name": "o", "direction": "out", "width": 8},
        {"name": "busy", "direction": "out", "width": 1},
    ]
    assert made.sidecar["latency"] == {"x": 1}


def test_write_leaves_two_whole_files(tmp_path: Path) -> None:
    made = emitted("machine")
    sidecar = emitter.write(made, tmp_path / "unit.v")
    assert sidecar is not None
    assert sorted(p.name for p in tmp_path.iterdir()) == ["unit.json", "unit.v"]
    assert json.loads(sidecar.read_text()) == made.sidecar
    assert (tmp_path / "unit.v").read_text() == made.verilog


def test_write_fails_without_leaving_anything(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        emitter.write(emitted("machine"), tmp_path / "missing" / "unit.v")
    (tmp_path / "unit.v").mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        emitter.write(emitted("machine"), tmp_path / "unit.v")
    assert [p.name for p in tmp_path.iterdir()] == ["unit.v"]


def test_a_port_that_is_too_wide() -> None:
    component = Wide()
    message = "`i` of wide would be 65537 bits wide; at most 65536 are allowed, choose smaller"
    with pytest.raises(ValueError, match=message):
        emitter.emit_component(component, name="wide")


class Wide(wiring.Component):
    def __init__(self) -> None:
        super().__init__({"i": In(65537)})

    def elaborate(self, platform: object) -> Module:
        return Module()


class Unreset(wiring.Component):
    def __init__(self) -> None:
        super().__init__({"o": Out(4)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = Signal(4, init=7, reset_less=True)
        m.d.sync += count.eq(count + 1)
        m.d.comb += self.o.eq(count)
        return m


def test_initial_value_without_reset() -> None:
    message = "register `count` has an initial value, so it must not be without reset"
    with pytest.raises(ValueError, match=message):
        emitter.emit_component(Unreset(), name="unreset")


def test_signal_that_is_no_port() -> None:
    shared = Signal(4)

    class User(wiring.Component):
        def __init__(self) -> None:
            super().__init__({"o": Out(4)})

        def elaborate(self, platform: object) -> Module:
            m = Module()
            m.d.comb += self.o.eq(shared + 1)
            return m

    class Owner(wiring.Component):
        def __init__(self) -> None:
            super().__init__({"o": Out(4)})

        def elaborate(self, platform: object) -> Module:
            m = Module()
            m.submodules.user = user = User()
            m.d.sync += shared.eq(user.o)
            m.d.comb += self.o.eq(shared)
            return m

    with pytest.raises(ValueError, match="signal `shared` is used in owner_user and in owner but"):
        emitter.emit_component(Owner(), name="owner")
