"""The memories of the lanes, and what LOADs and STOREs do with them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ...hw.spec.gta import BANKS, LEFT_WORD_BYTES, GtaConfig
from ...hw.spec.jobs.gta_commands import DEALS, MEMORIES, NARROWINGS

__all__ = ["LaneMemories", "narrowed", "row_places"]

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


def row_places(fields: Mapping[str, int]) -> tuple[Ints, Ints, Ints]:
    """Returns the place of every byte of the rows of a LOAD or a STORE, (rows, row_bytes): lane,
    bank, byte of the bank."""
    deal = DEALS[fields["deal"]]
    first_bank = np.arange(fields["rows"])[:, None] * deal.banks
    turn, bank = np.divmod(first_bank, BANKS)
    again, entry = np.divmod(turn, fields["lanes"])
    element, byte = np.divmod(np.arange(fields["row_bytes"])[None, :], deal.element)
    begin = (fields["word"] + again * fields["words"]) * LEFT_WORD_BYTES
    lane = fields["first"] + entry * fields["step"] + 0 * element
    places = begin + element // deal.banks * deal.element + byte
    return lane, bank + element % deal.banks, places


def narrowed(rows: Bytes, element: int, how: str) -> Bytes:
    """Rows of signed elements, (rows, bytes), each of half its bytes: the lower half ("truncate"),
    or the nearest number that it can hold ("saturate")."""
    half = element // 2
    parts = rows.reshape(rows.shape[0], -1, element)
    low, high = parts[..., :half], parts[..., half:]
    kept = low.copy()
    if how == "saturate":
        sign = np.where(high[..., -1:] & 0x80, 0xFF, 0).astype(np.uint8)
        fits = (high == sign).all(axis=-1) & ((low[..., -1] ^ sign[..., 0]) < 0x80)
        limit = np.broadcast_to(~sign, low.shape).copy()
        limit[..., -1] ^= 0x80
        kept = np.where(fits[..., None], low, limit)
    return kept.reshape(rows.shape[0], -1)


class LaneMemories:
    """The contents of the memories of all lanes.

    Parameters
    ----------
    config: see :class:`GtaConfig`

    Members
    -------
    left, top, result: uint8, (lanes, banks, bytes of a bank)
    """

    def __init__(self, config: GtaConfig) -> None:
        edge = (config.lanes, BANKS, config.edge_bytes)
        self.left: Bytes = np.zeros(edge, np.uint8)
        self.top: Bytes = np.zeros(edge, np.uint8)
        self.result: Bytes = np.zeros((config.lanes, BANKS, config.bank_bytes), np.uint8)

    def memory(self, name: str) -> Bytes:
        """One of ``MEMORIES``."""
        found: Bytes = getattr(self, name)
        return found

    def load(self, fields: Mapping[str, int], rows: Bytes) -> None:
        """Put rows where a LOAD does, (rows, row_bytes)."""
        self.memory(MEMORIES[fields["memory"]])[row_places(fields)] = rows

    def store(self, fields: Mapping[str, int]) -> Bytes:
        """The rows that a STORE takes to memory."""
        rows = self.result[row_places(fields)]
        how = NARROWINGS[fields["narrow"]]
        return rows if how == "none" else narrowed(rows, DEALS[fields["deal"]].element, how)
