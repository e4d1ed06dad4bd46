"""Every proof of the table holds, and the events in it can happen; every broken part is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from tilewright.verif.kit.sampling import slow_but
from tilewright.verif.proofs.proof import Proof
from tilewright.verif.proofs.table import PROOFS
from tilewright.verif.stream.prover import prove

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
