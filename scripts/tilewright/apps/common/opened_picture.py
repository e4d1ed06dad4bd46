"""Pictures in files, opened; whatever is wrong with them gets one line."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...errors import UserError
from ...hw.spec.host import inputs
from .extras import need
from .limits import check_size

__all__ = ["opened_picture"]


@contextmanager
def opened_picture(path: Path) -> Iterator[Any]:
    """The picture of a file, Pillow's. Raises UserError if it is none, is too large, or is damaged,
    which may be found when its pixels are asked for."""
    image = need("PIL.Image", "Pillow")
    try:
        with image.open(io.BytesIO(inputs.read_bytes(path))) as opened:
            check_size(path, *opened.size)
            yield opened
    except (OSError, ValueError, SyntaxError, image.DecompressionBombError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        if isinstance(error, image.UnidentifiedImageError):  # which names what it cannot name
            reason = "cannot identify image file"
        raise UserError(f"{path}: not a picture that can be read: {reason}") from None
