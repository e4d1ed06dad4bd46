"""An offer of a lazy fork that an output refuses has no effect on its accelerator."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from tilewright.hw.emit.unit import emit_component
from tilewright.hw.stream.fork_join import Fork
from tilewright.registry import entries
from tilewright.verif.kit.front_ends import run_yosys
from tilewright.verif.kit.options import emitted_unit
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.proofs.claim import Proof
from tilewright.verif.proofs.table import PROOFS
from tilewright.verif.stream.prover import prove

# Finds the offers of a lazy fork that have an effect, from the netlist of a design, in all states.
#
# The valid of a lazy fork's output follows the ready of the others, so it may fall before its
# transfer. That is harmless if a refused offer has no effect. Two copies of a netlist share their
# inputs, the values of all registers and the data read from memories. In the second, any valid of
# a lazy fork may be inverted while the ready of the same output is low. All next states, ports of
# memories and outputs of the design must be the same in both. The question is combinational: no
# state is excluded, whether it can be reached or not.

_FORK = re.compile(r"^module \w*fork\w* #?\(.*?^endmodule", re.DOTALL | re.MULTILINE)
_VALID = re.compile(r"assign o__(\d+)__valid = ([^;]*);")
_INVERTED = r"""
  wire refused_\1, accepted_\1;
  any_bit any_refused_\1 (.y(refused_\1));
  any_bit any_accepted_\1 (.y(accepted_\1));
  assign o__\1__valid = (\2) ^ (o__\1__ready ? accepted_\1 : refused_\1);"""
_ANY_BIT = "(* blackbox *) module any_bit(output y); endmodule\n"

_MITERS = """
read_verilog -sv unit.sv; hierarchy -check -top {top}; proc -norom; flatten
tee -o examined select -list c:*any_refused_*
opt_expr; memory_collect; opt_clean
select -set state t:$dff t:$mem_v2 t:$scopeinfo %u %u
select -set inverted w:*refused_* w:*accepted_* %u
submod -copy -name plain @inverted %coe*:-$dff,$mem_v2 %cie*:-$dff,$mem_v2 @state %d t:any_bit %u
delete {top}; setundef -undriven -expose plain; opt_clean plain; setundef -zero plain
copy plain refused; copy plain accepted
delete plain/t:any_bit refused/c:*any_accepted_* accepted/c:*any_refused_*
setundef -undriven -zero plain refused accepted
tee -o offers select -list accepted/t:any_bit
delete t:any_bit; setundef -undriven -anyseq refused accepted
miter -equiv -flatten plain refused on_refused; miter -equiv -flatten plain accepted on_accepted
delete plain refused accepted; opt_expr; opt_merge; opt_expr; opt_clean; write_rtlil miters.il
"""
"""The script keeps the logic after an inverted valid and that which it depends on, up to registers
and memories. Their outputs become inputs of the copies, and their inputs become outputs."""


@dataclass(frozen=True)
class Offers:
    """Outputs of lazy forks, as the path of the fork and the number of the output.

    Parameters
    ----------
    examined: all outputs of which the valid may be inverted
    refused: outputs in a counterexample, where an offer has an effect while ready is low; none if
        there is no counterexample
    accepted: outputs in the examples found, where an offer has an effect while ready is high
    """

    examined: frozenset[str]
    refused: frozenset[str]
    accepted: frozenset[str]


def _inverted(verilog: str) -> str:
    """The design with lazy forks (they have no clock), in which each valid can be inverted."""

    def change(module: re.Match[str]) -> str:
        text, forks = module[0], re.findall(r"output .*o__\d+__valid", module[0])
        if re.search(r"\bclk\b", text):
            return text
        changed, count = _VALID.subn(_INVERTED, text)
        assert count == len(forks), text
        return changed

    return _FORK.sub(change, verilog) + _ANY_BIT


def _listed(file: Path) -> list[str]:
    """The outputs in a list of the cells that invert their valids."""
    cells = [line.partition("/")[2] for line in file.read_text().split()]
    return [re.sub(r"any_\w+_(\d+)$", r"o__\1", cell) for cell in cells]


def _signal(output: str, kind: str) -> str:
    """The signal in the second copy that inverts a valid."""
    return "gate." + output.replace(".o__", f".{kind}_")


def _example(file: Path, kind: str) -> set[str]:
    """The outputs whose valid is inverted in the example that the solver found; none if it proved
    that there is none."""
    text = file.read_text()
    assert ("no model found: SUCCESS" in text) != ("model found: FAIL" in text), text
    ones = re.findall(rf"^ +\\gate\.(\S+)\.{kind}_(\d+) +1 ", text, re.MULTILINE)
    return {f"{place}.o__{number}" for place, number in ones}


def offers_with_effect(verilog: str, top: str, directory: Path, *, each: bool = False) -> Offers:
    """Look for an offer of a lazy fork that has an effect.

    Parameters
    ----------
    directory: for files
    each: look for an accepted offer of each output; default: for one of any output
    """
    text = _inverted(verilog)
    if "any_bit any_refused" not in text:
        return Offers(frozenset(), frozenset(), frozenset())
    (directory / "unit.sv").write_text(text)
    run_yosys("; ".join(_MITERS.format(top=top).split("\n")[1:-1]), directory)
    used = _listed(directory / "offers")
    solve = "sat -prove trigger 0 -show-public"
    steps = ["read_rtlil miters.il", "cd on_refused", f"tee -o refused {solve}", "cd on_accepted"]
    questions = [[one] for one in used] if each else [used]
    for number, ones in enumerate(questions):
        quiet = [f"-set {_signal(one, 'accepted')} 0" for one in used if one not in ones]
        steps.append(" ".join([f"tee -o accepted_{number}", solve, *quiet]))
    run_yosys("; ".join(steps), directory)
    found = [_example(directory / f"accepted_{n}", "accepted") for n in range(len(questions))]
    return Offers(
        examined=frozenset(_listed(directory / "examined")),
        refused=frozenset(_example(directory / "refused", "refused")),
        accepted=frozenset().union(*found),
    )


OUTPUTS = {"engine_m3xu": (10, 10), "engine_simd2": (10, 10), "matraptor": (12, 12), "t2s": (12, 8)}
"""Outputs of lazy forks in each small accelerator, and those that lead to something: an element at
an edge of T2S' array has no neighbour."""

LATER = "engine_simd2"
"""This design has the forks of ``engine_m3xu``, but its unit is always ready."""

VARIANTS = [(name, n) for name in OUTPUTS for n in range(len(entries()[name].variants))]


def offers(name: str, directory: Path, *, each: bool = False, **changed: Any) -> Offers:
    verilog = emitted_unit(name, **{**entries()[name].small, **changed}).verilog
    return offers_with_effect(verilog, name, directory, each=each)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name == LATER else pytest.mark.slow)
        for name in OUTPUTS
    ],
)
def test_a_refused_offer_has_no_effect(name: str, tmp_path: Path) -> None:
    """A refused offer changes no register in any state, reachable or not. An accepted offer
    does."""
    found = offers(name, tmp_path)
    assert len(found.examined) == OUTPUTS[name][0]
    assert found.refused == set()
    assert found.accepted


@pytest.mark.long
@pytest.mark.parametrize(("name", "number"), VARIANTS)
def test_a_refused_offer_has_no_effect_in_a_variant(name: str, number: int, tmp_path: Path) -> None:
    changed = entries()[name].variants[number]
    found = offers(name, tmp_path, **changed)
    assert found.refused == set()
    # Only the sparse design of T2S has no lazy forks.
    assert bool(found.accepted) == (not str(changed.get("design")).startswith("sparse"))


@pytest.mark.long
@pytest.mark.parametrize("name", OUTPUTS)
def test_an_accepted_offer_of_each_output_has_an_effect(name: str, tmp_path: Path) -> None:
    assert len(offers(name, tmp_path, each=True).accepted) == OUTPUTS[name][1]


class Counting(wiring.Component):
    """A lazy fork with a bit at each output that changes with each transfer, or if it is hasty at
    output 1 with each offer."""

    def __init__(self, *, hasty: bool) -> None:
        self._hasty = hasty
        super().__init__(
            {
                "i": wiring.In(stream.Signature(1)),
                "ready": wiring.In(2),
                "odd": wiring.Out(2),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.lazy = lazy = Fork(1, 2)
        wiring.connect(m, wiring.flipped(self.i), lazy.i)
        for number, o in enumerate(lazy.o):
            m.d.comb += o.ready.eq(self.ready[number])
            counted = o.valid if self._hasty and number == 1 else o.valid & o.ready
            with m.If(counted):
                m.d.sync += self.odd[number].eq(~self.odd[number])
        return m


@pytest.mark.slow
@pytest.mark.parametrize("hasty", [False, True])
def test_a_sink_that_reacts_to_valid_alone_is_named(hasty: bool, tmp_path: Path) -> None:
    verilog = emit_component(Counting(hasty=hasty), name="counting").verilog
    found = offers_with_effect(verilog, "counting", tmp_path, each=True)
    assert found.examined == found.accepted == {"lazy.o__0", "lazy.o__1"}
    assert found.refused == ({"lazy.o__1"} if hasty else set())


# Every proof of the table holds, and the events in it can happen; every broken part is found.

SAMPLE = [one for one in PROOFS if one.size == "default"][::4]
"""Proofs of the default test."""


@pytest.mark.parametrize("proof", slow_but([], PROOFS, SAMPLE), ids=lambda proof: proof.name)
def test_no_sequence_of_inputs_breaks_it(proof: Proof, tmp_path: Path) -> None:
    verdict = prove(proof.claim(), tmp_path, cycles=proof.cycles, within=proof.within)
    assert verdict.holds is not proof.refuted
    assert verdict.holds is not None
    if not proof.refuted:
        unreached = {name for name, cycle in verdict.reached.items() if cycle is None}
        assert unreached == set(proof.unreached)


def test_every_proof_has_a_name_of_its_own() -> None:
    assert len({proof.name for proof in PROOFS}) == len(PROOFS)
