"""The runner of mutants on a small part: what is killed, what is equivalent, what survives."""

from __future__ import annotations

import importlib
import json
import random
from pathlib import Path
from typing import Any

import pytest
from tilewright.hw.emit.unit import emit_component
from tilewright.verif.mutation.__main__ import PARTS, ROOT, STAND_INS, run
from tilewright.verif.mutation.designs import Design, Story
from tilewright.verif.mutation.example.bench import Parity
from tilewright.verif.mutation.proof import (
    ORIGIN,
    Mutation,
    all_mutations,
    is_equivalent,
    sample,
    with_selector,
)
from tilewright.verif.mutation.settings import Settings, read_end, read_rows, table

EXAMPLE = "verif/mutation/example/"

pytestmark = pytest.mark.slow


def test_a_run(tmp_path: Path) -> None:
    """Every mutant of a small part: the tests pass without one, notice nearly all, and miss those
    of the bit that they do not look at."""
    settings = Settings(
        folders=(EXAMPLE,),
        mutants=40,
        seed=1,
        result=tmp_path / "result.json",
        here=1000,
        most=1000,
        proof_seconds=10,
    )
    print("seed 1")
    run(settings, [f"{EXAMPLE}bench.py"])
    mutants = read_rows(settings.result)
    end = read_end(settings.result)
    assert end
    assert end["sound"]
    assert len(mutants) == 40
    by_verdict: dict[str, list[str]] = {"killed": [], "equivalent": [], "survivor": []}
    for one in mutants:
        by_verdict[one["verdict"]].append(
            f"{one['mutation']['change']}: {one['mutation']['where']}"
        )
    assert len(by_verdict["killed"]) > 25
    assert by_verdict["survivor"]
    # The bit that the bench does not look at, or what resets a register that is 0 at the start.
    unseen = ("payload", "^", "always_ff")
    assert all(any(word in one for word in unseen) for one in by_verdict["survivor"])
    assert "verif/mutation " in table(mutants)


def test_a_run_that_was_cut_off_continues(tmp_path: Path) -> None:
    """A second run decides only what the result file does not hold: it keeps a verdict that the
    tests would not come to, and drops a line that was cut off and mutants of other sources."""
    result = tmp_path / "result.jsonl"
    settings = Settings(folders=(EXAMPLE,), mutants=6, seed=1, result=result, proof_seconds=10)
    run(settings, [f"{EXAMPLE}bench.py"])
    first = read_rows(result)
    assert len(first) == 6
    marked = [row | {"verdict": "equivalent"} for row in first[:2]]
    strange = first[2] | {"sources": "", "verdict": "equivalent"}
    lines = [json.dumps(row) for row in (*marked, strange, first[3])]
    result.write_text("\n".join(lines)[:-9])
    assert read_end(result) is None
    run(settings, [f"{EXAMPLE}bench.py"])
    second = read_rows(result)
    assert second[:2] == marked
    assert [row["verdict"] for row in second[2:]] == [row["verdict"] for row in first[2:]]


ONCE = """
import numpy as np
from tilewright.hw.emit.unit import emit_component
from tilewright.sim.rtl.streams import NativeSimulation
from tilewright.verif.mutation.example.parity import Parity

RAN = []


def test_once():
    NativeSimulation(emit_component(Parity(), name="parity")).run(np.zeros((2, 1), np.uint32))
    assert not RAN
    RAN.append(1)
"""


def test_a_test_that_fails_when_it_is_repeated(tmp_path: Path) -> None:
    """Such a test would kill every mutant, so the run reports itself as unsound."""
    bench = tmp_path / "test_once.py"
    bench.write_text(ONCE)
    settings = Settings(folders=(EXAMPLE,), mutants=0, seed=1, result=tmp_path / "result.json")
    run(settings, [str(bench)])
    end = read_end(settings.result)
    assert end
    assert not end["sound"]


def test_proofs(tmp_path: Path) -> None:
    """The count is never 3, so that one bit of its comparison with 2 is not needed."""
    text = emit_component(Parity(), name="parity").verilog
    comment = f"// {ORIGIN}{Parity.__module__}.Parity\n"
    text = text.replace("module parity (", f"{comment}module parity (")
    mutations = all_mutations(text, "parity", tmp_path, (EXAMPLE,), {})
    compared = {
        one.change.split("-cell")[0].split()[1]: is_equivalent(tmp_path, one, 10)
        for one in mutations
        if "steps == 2'h2" in one.where and "-port A -portbit 0" in one.change and "$eq" in one.cell
    }
    assert compared == {"const0": True, "cnot0": True, "const1": False, "inv": False}


GATED = f"""
// {ORIGIN}tilewright.{EXAMPLE.replace("/", ".")}gated.Gated
module gated (input clk, input rst, input [1:0] i, output o__valid, output [1:0] o__payload);
assign o__valid = i[0];
assign o__payload = i[0] ? i : 2'h2;
endmodule
"""


def test_payloads_are_compared_while_valid_is_high(tmp_path: Path) -> None:
    """The multiplexer's input that a low ``valid`` selects is not compared."""
    mutations = all_mutations(GATED, "gated", tmp_path, (EXAMPLE,), {})
    compared = {
        one.change.split("-port ")[1].split()[0]: is_equivalent(tmp_path, one, 10)
        for one in mutations
        if one.change.startswith("-mode inv") and "?" in one.where
    }
    assert compared == {"A": True, "B": False}


PARTS_BESIDE = f"""
// {ORIGIN}{EXAMPLE.replace("/", ".")}beside.Beside
module beside (input clk, input a__i, input b__i, output reg a__o, output b__o);
always @(posedge clk) a__o <= ~a__i;
assign b__o = ~b__i;
endmodule
"""


def test_a_test_of_one_part_sees_mutants_of_it_only(tmp_path: Path) -> None:
    mutations = all_mutations(PARTS_BESIDE, "beside", tmp_path, (EXAMPLE,), {})
    library: Any = None
    design = Design("beside-0", tmp_path, mutations, library, tmp_path, 0)
    for one in mutations:
        mine, other = ("b", "a") if "-wire b__" in one.change else ("a", "b")
        assert design.is_seen(one, Story(parts={("beside", mine)})), one.where
        assert not design.is_seen(one, Story(parts={("beside", other)})), one.where
        assert design.is_seen(one, Story(parts={("another", other)}))
        assert design.is_seen(one, Story())


TABLE = f"""
// {ORIGIN}tilewright.{EXAMPLE.replace("/", ".")}squares.Squares
module squares (input clk, input [3:0] i, output reg [7:0] o);
always @* case (i)
{"".join(f"{n}: o = {n * n};" for n in range(16))}
endcase
endmodule
"""


def test_contents_of_a_memory_are_not_mutated(tmp_path: Path) -> None:
    """A table of constants becomes a memory. All other mutations of it fit into one build."""
    mutations = all_mutations(TABLE, "squares", tmp_path, (EXAMPLE,), {})
    assert "$meminit" in (tmp_path / "prepared.il").read_text()
    assert mutations
    assert "native_mutant_select" in with_selector(mutations, "squares", tmp_path)


def test_a_sample_is_of_different_cells() -> None:
    rows = [Mutation("a.py", f"cell {n % 4}", f"-mode {n}", "") for n in range(40)]
    rows += [Mutation("b.py", "cell", "-mode 40", "")]
    chosen = sample(rows, {"a.py": 6, "b.py": 6}, random.Random(1))
    cells = [one.cell for one in chosen if one.module == "a.py"]
    assert (len(cells), len(set(cells[:4])), len(chosen)) == (6, 4, 7)
    assert sample(rows, {"a.py": 6}, random.Random(1)) == chosen[:6]


@pytest.mark.parametrize("name", PARTS)
def test_a_part_has_modules_and_tests(name: str) -> None:
    """Each path of a part begins the path of a module; each of its tests is there."""
    part = PARTS[name]
    for folder in part.folders:
        assert list(ROOT.glob(f"{folder}*")), folder
    for test in part.tests:
        if test.startswith("verif/"):
            assert (ROOT / test.partition("::")[0]).exists(), test


@pytest.mark.parametrize("component", STAND_INS)
def test_a_stand_in_has_a_module(component: str) -> None:
    module, _, kind = component.rpartition(".")
    assert hasattr(importlib.import_module(f"tilewright.{module}"), kind)
    assert (ROOT / STAND_INS[component]).exists()
