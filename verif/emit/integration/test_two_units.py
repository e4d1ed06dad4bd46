"""Two configurations of one unit in one design, with its emitted instances and packages."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tilewright
from tilewright import formats
from tilewright.cli import main
from tilewright.hw.emit.integration.c.header import header
from tilewright.hw.emit.integration.ip_xact_component import ip_xact
from tilewright.hw.emit.integration.rdl import rdl
from tilewright.hw.emit.unit import Emitted
from tilewright.sim.rtl.streams import NativeSimulation, Pauses, pack, unpack
from tilewright.verif.emit.integration.readers import sidecar_of
from tilewright.verif.kit.commands import check_refused
from tilewright.verif.kit.front_ends import FRONT_ENDS, complaints
from tilewright.verif.kit.sampling import cases

Floats = npt.NDArray[np.float64]
OPS = {"left": "minplus", "right": "maxmin"}
OTHERS = ("package", "template", "header", "core")


@cache
def unit(name: str) -> tilewright.Generated:
    return tilewright.generate("simd2", name=name, tile=2, ops=["mma", OPS[name]])


@cache
def files(name: str, folder: Path) -> dict[str, str]:
    """Writes all files of a unit and returns their texts by option; the modules are ``unit``."""
    paths = {one: folder / f"{name}.{one}" for one in OTHERS}
    unit(name).write(folder / f"{name}.sv", **paths)
    texts = {one: path.read_text() for one, path in paths.items()}
    return texts | {"unit": (folder / f"{name}.sv").read_text()}


DESIGN = """`default_nettype none

module pair (
  input  logic clk,
  input  logic rst,
{ports}
);
{insides}
endmodule
`default_nettype wire
"""

PORTS = """
  input  logic [255:0] @_in,
  input  logic @_in_valid,
  output logic @_in_ready,
  output logic [127:0] @_out,
  output logic @_out_valid,
  input  logic @_out_ready"""

INSIDE = """
  assign @_i__payload.op = @_pkg::OP_#;
{inputs}
  assign @_i__valid = @_in_valid;
  assign @_in_ready = @_i__ready;
{outputs}
  assign @_out_valid = @_o__valid & ~@_o__payload.error;
  assign @_o__ready = @_out_ready;
"""
"""All that stands in the design beside what is pasted; @ is the unit's name, # its operation."""


def inside(name: str) -> str:
    """The text for a unit: every element of its matrices by its row and column."""
    inputs, outputs = [], []
    for number, (row, column) in enumerate(np.ndindex(2, 2)):
        place = f"[{row}][{column}]"
        for field, low, bits in (("a", 0, 16), ("b", 64, 16), ("c", 128, 32)):
            part = f"@_in[{low + bits * number} +: {bits}]"
            inputs.append(f"  assign @_i__payload.{field}{place} = {part};")
        outputs.append(f"  assign @_out[{32 * number} +: 32] = @_o__payload.d{place};")
    return filled(name, inputs, outputs)


def filled(name: str, inputs: list[str], outputs: list[str]) -> str:
    text = INSIDE.format(inputs="\n".join(inputs), outputs="\n".join(outputs))
    return text.replace("@", name).replace("#", OPS[name].upper())


@cache
def sources(folder: Path) -> dict[str, str]:
    """The design and what it needs, in the order in which it is read."""
    texts = {name: files(name, folder) for name in OPS}
    found = {f"{name}_pkg.sv": texts[name]["package"] for name in OPS}
    found |= {f"{name}.sv": texts[name]["unit"] for name in OPS}
    ports = ",".join(PORTS.replace("@", name) for name in OPS)
    insides = "".join(texts[name]["template"] + inside(name) for name in OPS)
    design = DESIGN.format(ports=ports, insides=insides)
    return found | {"pair.sv": design}


def streams_of(name: str) -> list[dict[str, Any]]:
    """The design's two streams for a unit, as a sidecar has them."""
    found = []
    for stream, end, width in zip(unit(name).sidecar["streams"], ("in", "out"), (256, 128),
                                  strict=True):  # fmt: skip
        first = min(f["offset"] for f in stream["fields"] if "shape" in f)
        fields = [f | {"offset": f["offset"] - first} for f in stream["fields"] if "shape" in f]
        port = f"{name}_{end}"
        found.append(
            stream
            | {"name": port, "payload": port, "valid": f"{port}_valid", "ready": f"{port}_ready"}
            | {"width": width, "fields": fields}
        )
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("two")


@pytest.mark.parametrize("tool", [tool for tool in FRONT_ENDS if tool != "icarus"])
def test_tools_take_the_design(tool: str, folder: Path, tmp_path: Path) -> None:
    """The tools read the design without a warning."""
    assert complaints(tool, sources(folder), "pair", tmp_path) == ""


@pytest.mark.parametrize("tool", ["verilator", "icarus"])
def test_tools_take_an_imported_package(tool: str, folder: Path, tmp_path: Path) -> None:
    """Icarus 11 ends with an assertion where a structure is named with its package, or an element
    of two dimensions is assigned: it takes imported ones and whole fields."""
    fields = {"a": "63:0", "b": "127:64", "c": "255:128"}
    inputs = [f"  assign @_i__payload.{name} = @_in[{bits}];" for name, bits in fields.items()]
    text = filled("left", inputs, ["  assign @_out = @_o__payload.d;"])
    insides = f"{files('left', folder)['template']}{text}".replace("left_pkg::", "")
    design = DESIGN.format(
        ports=PORTS.replace("@", "left"), insides=f"import left_pkg::*;\n{insides}"
    )
    texts = sources(folder)
    read = {name: texts[name] for name in ("left_pkg.sv", "left.sv")} | {"pair.sv": design}
    assert complaints(tool, read, "pair", tmp_path) == ""


def products(op: str, a: Floats, b: Floats, c: Floats) -> Floats:
    """d = c (+) (a (x) b), by definition."""
    left, right = a[:, :, :, None], b[:, None, :, :]
    if op == "minplus":
        return np.minimum(c, (left + right).min(axis=2))
    return np.maximum(c, np.minimum(left, right).max(axis=2))


@pytest.mark.slow
def test_the_design_computes(folder: Path) -> None:
    """Each unit has its own operation; elements are where the package's structures have them."""
    seed = 32
    rng = np.random.default_rng(seed)
    streams = {name: streams_of(name) for name in OPS}
    sidecar = unit("left").sidecar | {
        "unit": "pair",
        "module": "pair",
        "streams": [*streams["left"], *streams["right"]],
    }
    simulation = NativeSimulation(Emitted("\n".join(sources(folder).values()), sidecar))
    simulation.reset()
    count = cases(400)
    numbers = {
        name: [rng.integers(-99, 99, (count, 2, 2)).astype(float) for _ in "abc"] for name in OPS
    }
    payloads = {}
    for name, (i, _) in streams.items():
        words = [formats.to_words(x, f) for x, f in zip(numbers[name], FORMATS, strict=True)]
        payloads[i["name"]] = pack(dict(zip("abc", words, strict=True)), i)
    found, _ = simulation.run_streams(
        payloads, {o["name"]: count for _, o in streams.values()},
        pauses=Pauses(gap=0.2, stall=0.2, seed=seed),
    )  # fmt: skip
    for name, (_, o) in streams.items():
        d = formats.from_words(unpack(found[o["name"]], o)["d"].astype(np.uint64), "fp32")
        assert (d == products(OPS[name], *numbers[name])).all(), f"{name}, seed {seed}"


FORMATS = ("fp16", "fp16", "fp32")


@pytest.mark.parametrize("name", ["left", "A__b", "_x"])
def test_every_name_begins_with_it(name: str) -> None:
    """Modules, types and constants of the header start with the name; the rest of the text is the
    same as without a name."""
    options: dict[str, Any] = {"tile": 2, "ops": ["minplus", "orand"]}
    named = tilewright.generate("simd2", name=name, **options)
    plain = tilewright.generate("simd2", **options)
    assert (named.unit, named.name, plain.name) == ("simd2", name, "simd2")
    assert named.sidecar == plain.sidecar | {"module": name}
    assert tilewright.generate("simd2", name=name, **options).verilog == named.verilog
    begun = re.findall(r"^module (\w+)|\} (\w+_t);", named.verilog, re.M)
    words = [one or other for one, other in begun]
    assert words[-1] != name in words
    assert {one for one in words if one != name and not one.startswith(f"{name}_")} == set()

    def instances(text: str, prefix: str) -> list[str]:
        """Returns the names of all modules and instances after the prefix."""
        return sorted(re.findall(rf"^(?:module|  ){prefix}(\w*) \w* ?\(", text, re.M))

    assert instances(named.verilog, name) == instances(plain.verilog, "simd2")


def test_texts_are_named(folder: Path) -> None:
    """The core, the guard and all names of the header."""
    texts = files("left", folder)
    assert 'name: "tilewright:generated:left:' in texts["core"]
    assert '- "left.package"\n      - "left.sv"\n' in texts["core"]
    assert "#ifndef LEFT_H\n" in texts["header"]
    assert "simd2" not in re.sub(r"/\*.*?\*/", "", texts["header"], flags=re.S).lower()


def test_texts_of_an_accelerator_are_named() -> None:
    """Names SystemRDL and IP-XACT too; the unit's own name remains only in comments."""
    sidecar = sidecar_of("matraptor") | {"module": "near"}
    assert re.search(r"^addrmap near \{$", rdl(sidecar), re.M)
    assert "<ipxact:name>near</ipxact:name>" in ip_xact(sidecar, ["near.sv"])
    for text in (header(sidecar), rdl(sidecar), ip_xact(sidecar, ["near.sv"])):
        said = re.sub(r"/\*.*?\*/|//.*?$|<!--.*?-->", "", text, flags=re.S | re.M)
        assert "matraptor" not in said.lower()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("2x", "--name: `name` must be up to 100 letters, digits and `_` that do not begin with a "
               "digit, not '2x'"),
        ("é", "--name: `name` must be up to 100 letters, digits and `_` that do not begin with a "
              "digit, not 'é'"),
        ("module", "--name: `name` must not be 'module', a keyword of SystemVerilog"),
        ("TOP", "--name: `name` must not be 'TOP', which Verilator calls what is above a top "
                "module"),
        ("clk", "m3xu_baseline: `name` must not be 'clk', a port of the module"),
        ("o__valid", "m3xu_baseline: `name` must not be 'o__valid', a port of the module"),
    ],
)  # fmt: skip
def test_refused_names(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    words = ["generate", "m3xu_baseline", "--set", "rows=1", "-o", "a.sv", "--name", name]
    check_refused(words, message, tmp_path, capsys)


def test_refused_names_in_python() -> None:
    with pytest.raises(TypeError, match=r"^`name` must be a str, not 5$"):
        tilewright.generate("simd2", name=5)  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"^`name` must not be 'enum', a keyword of SystemVerilog$"
    ):
        tilewright.generate("simd2", name="enum")


def test_a_template_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["generate", "simd2", "--set", "tile=2", "--set", "ops=minplus", "--name", "near"]
    path = tmp_path / "near.v"
    assert main([*words, "-o", str(path), "--template", "/dev/stdout"]) == 0
    printed = capfd.readouterr().out
    assert printed.endswith(");\n")
    assert "near u_near (\n    .clk(clk),\n" in printed
    assert "\nmodule near (\n" in path.read_text()
