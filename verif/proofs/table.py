"""All proofs."""

from __future__ import annotations

from tilewright.verif.proofs.progress import PROGRESS_PROOFS
from tilewright.verif.proofs.proof import Proof
from tilewright.verif.proofs.stream_proofs import STREAM_PROOFS
from tilewright.verif.proofs.writers import WRITER_PROOFS

__all__ = ["PROOFS"]

PROOFS: tuple[Proof, ...] = (*STREAM_PROOFS, *WRITER_PROOFS, *PROGRESS_PROOFS)
