"""``tilewright t2s``: its output, its checks, its refusals and its page."""

from __future__ import annotations

import gc
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from amaranth.hdl import UnusedElaboratable
from tilewright.cli import main
from tilewright.hw.spec.t2s.config import T2sConfig
from tilewright.hw.spec.t2s.loops import Affine
from tilewright.hw.spec.t2s.program import Program
from tilewright.hw.spec.t2s.statements import Body, For, Statement
from tilewright.hw.t2s.compiler import passes
from tilewright.hw.t2s.compiler.rewriting import rewrite
from tilewright.hw.t2s.language import Computation
from tilewright.registry import commands
from tilewright.sim.t2s.checking import random_operands, wrong_elements
from tilewright.verif.kit.commands import check_refused
from tilewright.verif.kit.pages import examples, page
from tilewright.verif.t2s.designs import FOLDER

PAGE = page("t2s.md")
GEMM = str(FOLDER / "gemm.py")
SMALL = ["--set", "II=2", "--set", "JJ=3", "--set", "KKK=4", "--largest", "4"]
BOUNDS = ["--bounds", "i=7,j=8", "--bounds", "k=17"]


def test_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "show.json"
    assert main(["t2s", "show", GEMM, *SMALL, *BOUNDS, "--json", str(report)]) == 0
    found = json.loads(report.read_text())
    assert (found["elements"], found["lanes"], found["products"]) == (6, 4, 7 * 8 * 17)
    assert found["multiplications"] == {"defined": 7 * 8 * 17, "done": 8 * 12 * 32}
    # A block of 8 x 12 results and 16 of k: 4 x 4 sums an element, 4 of kk; 17 of k are two.
    assert found["iterations"]["C"] == found["iterations"]["A_feeder"] == 2 * 4 * 16
    assert found["iterations"]["A_loader"] == 2 * 4 * 2 * 4
    assert found["words"] == {
        "A_image": {"read": 8 * 32, "written": 0},
        "B_image": {"read": 32 * 12, "written": 0},
        "C_image": {"read": 0, "written": 8 * 12},
    }
    assert found["buffers"]["A_feeder_buffer"] == {
        "function": "A_feeder", "words": 16, "double": True, "copies": 2,
    }  # fmt: skip
    assert found["buffers"]["sums"]["words"] == 16
    assert found["channels"]["B_ii_forward"] == {
        "from": "C", "to": "C", "queues": 6, "depth": None,
    }  # fmt: skip
    assert found["depths"]["A_loader"] >= 1
    assert found["depths_depend_on_bounds"] is None
    told = capsys.readouterr().out
    assert "if jj == 0:\n" in told
    assert "B_ii_forward" in told
    assert "depths, any bounds" in told
    assert "depths, these bounds" not in told


def test_queues(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report lists queues by channel, as in the hardware, including those with a proved
    depth."""
    report = tmp_path / "show.json"
    file = str(FOLDER / "steps/step4_forwarded.py")
    assert main(["t2s", "show", file, "--json", str(report)]) == 0
    found = json.loads(report.read_text())["hardware"]["queues"]
    links = T2sConfig(design=file).plan.links
    assert list(found) == list(dict.fromkeys(one.channel for one in links))
    for one in links:
        assert found[one.channel]["depth"] == one.depth
    assert found["A_feeder"]["depth"] > 2
    # Four lanes of fp32, with two flags; sums wait in their elements.
    assert (found["A_feeder"]["queues"], found["A_feeder"]["bits"]) == (4, [4 * 32 + 2])
    assert found["C"] == {"queues": 16, "depth": 0, "bits": [32]}
    told = capsys.readouterr().out
    assert f" 4 of {found['A_feeder']['depth']} words of 130 bits " in told
    assert " 16 of 32 bits, joined " in told
    assert main(["t2s", "show", GEMM, "--json", str(report)]) == 0
    found = json.loads(report.read_text())["hardware"]["queues"]
    # A row of eight collectors packs a vector.
    assert found["C_collector_gather"]["bits"] == [32 * n for n in range(1, 8)]
    assert found["C_collector"]["bits"] == [32 * 8]


def test_queues_leave_no_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Components whose ports are only read leave no warning, even if others are elaborated."""
    monkeypatch.setattr(UnusedElaboratable, "_MustUse__silence", False)
    report = tmp_path / "show.json"
    assert main(["t2s", "show", GEMM, "--json", str(report)]) == 0
    assert json.loads(report.read_text())["hardware"]["queues"]
    gc.collect()


def test_no_queues(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, report = tmp_path / "slow.py", tmp_path / "show.json"
    text = (FOLDER / "steps/step1_plain.py").read_text()
    file.write_text(text.replace('"allowed"', '"refused"'))
    assert main(["t2s", "show", str(file), "--json", str(report)]) == 0
    why = json.loads(report.read_text())["hardware"]["refused"]
    assert why.startswith("slow.py:")
    assert "an element keeps 1 sum" in why
    assert "no hardware: slow.py:" in capsys.readouterr().out


def test_drawing(tmp_path: Path) -> None:
    drawn = tmp_path / "gemm.svg"
    assert main(["t2s", "show", GEMM, *SMALL, *BOUNDS, "--svg", str(drawn)]) == 0
    root = ElementTree.parse(drawn).getroot()
    (legend,) = [one for one in root if one.get("class") == "legend"]
    root.remove(legend)
    texts = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    for name in ("A_loader", "A_feeder [2]", "C [2 x 3]", "C_drainer [2 x 3]", "C_unloader"):
        assert texts.count(name) == 1
    assert "buffer: 2 x 64 words" in texts
    assert texts.count("memory") == 3
    boxes = [one for one in root.iter("{http://www.w3.org/2000/svg}rect") if one.get("rx")]
    assert len(boxes) == 11
    copies = sum(1 for _ in root.iter("{http://www.w3.org/2000/svg}rect")) - len(boxes) - 1
    assert copies == 2 + 3 + 6 + 6 + 3


def test_the_page_has_the_drawing(tmp_path: Path) -> None:
    assert main(["t2s", "show", GEMM, "--svg", str(tmp_path / "gemm.svg")]) == 0
    assert (tmp_path / "gemm.svg").read_text() == (PAGE.parent / "t2s.svg").read_text()


def test_dump(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["t2s", "show", GEMM, "--dump", "define"]) == 0
    assert capsys.readouterr().out == (
        "C:\n"
        "    for i < I:\n"
        "        for j < J:\n"
        "            C(i, j) = identity\n"
        "    for i < I:\n"
        "        for j < J:\n"
        "            for k < K:\n"
        "                C(i, j) = C(i, j) (+) A(i, k) (x) B(k, j)\n"
    )


def test_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "check.json"
    assert main(["t2s", "check", GEMM, *SMALL, *BOUNDS, "--json", str(report)]) == 0
    found = json.loads(report.read_text())
    assert found["elements"] == 56
    assert [one["pass"] for one in found["passes"]] == ["define", *passes.PASSES]
    assert {one["wrong"] for one in found["passes"]} == {0}
    assert "gemm.py: 56 elements" in capsys.readouterr().out


def test_a_pass_that_is_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A compiler that loses the last iterations is found out, and the exit status says so."""
    accumulate = passes.PASSES["accumulate"]

    def shorter(one: Statement) -> Body | None:
        if isinstance(one, For) and one.loop.name == "kk":
            return (replace(one, first=Affine(), last=Affine((), 1)),)
        return None

    def forgets(program: Program, computation: Computation) -> Program:
        return accumulate(program, computation).with_function(
            "C", lambda one: replace(one, body=rewrite(one.body, shorter))
        )

    monkeypatch.setitem(passes.PASSES, "accumulate", forgets)
    report = tmp_path / "check.json"
    assert main(["t2s", "check", GEMM, *SMALL, *BOUNDS, "--json", str(report)]) == 1
    found = {one["pass"]: one for one in json.loads(report.read_text())["passes"]}
    assert (found["tile"]["wrong"], found["tile"]["stopped"]) == (0, None)
    assert found["accumulate"]["wrong"] > 50
    assert found["accumulate"]["stopped"] is None
    assert found["partition"]["wrong"] == 56
    assert re.match(r"channel \w+_feeder is left with \d+ values", found["partition"]["stopped"])


REFUSED = {
    "t2s show absent.py": "absent.py: No such file or directory",
    "t2s show empty.py": "empty.py: must define 1 computation, not 0",
    "t2s show two.py": "two.py: must define 1 computation, not 2",
    "t2s show broken.py": "broken.py:2: invalid syntax",
    "t2s show stops.py": "stops.py:2: NameError: name 'nothing' is not defined",
    "t2s show wrong.py": "wrong.py:3: compute: its name must be an identifier, not 'C C'",
    "t2s show GEMM --set II=0": "--set II must be an integer in 1..1000000, not '0'",
    "t2s show GEMM --set QQ=3": "the file has no size 'QQ'",
    "t2s show GEMM --largest x": "--largest must be an integer in 1..1000000, not 'x'",
    "t2s show GEMM --dump flat": (
        "--dump must be one of define, tile, accumulate, partition, unroll, forward, remove, "
        "scatter, gather, vectorise, factor, visit, overlap, fifo, signal, rotate, perfect, "
        "flatten, infinitise, not 'flat'; did you mean 'flatten'?"
    ),
    "t2s show GEMM --bounds i=7": "--bounds must be given j=...; there are i, j, k",
    "t2s show GEMM --svg x.png": "x.png: must end in .svg, not '.png'",
    "t2s check GEMM": "--bounds must be given i=...; there are i, j, k",
    "t2s check GEMM --bounds i=7,j=8,k=0": ("--bounds k must be an integer in 1..1000000, not '0'"),
    "t2s check GEMM --bounds i=7,j=8,k=3,z=1": "--bounds must be of i, j, k, not of 'z'",
    "t2s check GEMM --bounds i=7,j=8,k=3 --seed -1": (
        "--seed must be an integer in 0..4294967295, not '-1'"
    ),
}


@pytest.mark.parametrize("words", REFUSED)
def test_bad_words(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    start = "from tilewright.hw.t2s.language import compute, indices, tensor\n"
    one = 'i, k = indices("i k"); A = tensor("A", "fp32", i, k)\n'
    sums = 'compute("C", "fp32", i, sum_over=k)[A[i, k]]\n'
    Path("empty.py").write_text(start)
    Path("two.py").write_text(f"{start}{one}C = {sums}D = {sums}")
    Path("broken.py").write_text(f"{start}C = = 3\n")
    Path("stops.py").write_text(f"{start}C = nothing\n")
    Path("wrong.py").write_text(f'{start}{one}compute("C C", "fp32", i)\n')
    check_refused(words.replace("GEMM", GEMM).split(), REFUSED[words], tmp_path, capfd)


def test_the_examples_run() -> None:
    blocks = examples(PAGE, "python")
    assert len(blocks) > 4
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {})


def test_the_convolution_of_the_page() -> None:
    block = next(one for one in examples(PAGE, "python") if "I[c, y + r]" in one)
    names: dict[str, Any] = {}
    exec("from tilewright.hw.t2s.language import compute, indices, tensor\n" + block, names)
    bounds = {"c": 2, "y": 17, "r": 3}
    (_, plain), *found = passes.programs(names["O"])
    operands = random_operands(plain, bounds, seed=1)
    image, weights = (operands[name].astype(np.int64) for name in "IW")
    wanted = [np.correlate(image[c], weights[c], "valid") for c in range(2)]
    for _, program in found:
        assert wrong_elements(program, bounds, operands, np.array(wanted, object)) == 0


def test_the_page_names_everything() -> None:
    text = PAGE.read_text() + page("t2s-compiler.md").read_text()
    missing = [name for name in commands("t2s") if f"    tilewright t2s {name} FILE" not in text]
    missing += [name for name in ("define", *passes.PASSES) if f"`{name}`" not in text]
    assert missing == []
