"""The two Strassen-like algorithms that the paper names, of 2 x 2 blocks (n0 = 4)."""

from __future__ import annotations

from .bilinear import Bilinear

__all__ = ["STANDARD", "STRASSEN"]

STANDARD = Bilinear(
    name="standard",
    side=2,
    products=(
        "P1 = A11 B11", "P2 = A12 B21", "P3 = A11 B12", "P4 = A12 B22",
        "P5 = A21 B11", "P6 = A22 B21", "P7 = A21 B12", "P8 = A22 B22",
    ),
    result_sums=("C11 = P1 + P2", "C12 = P3 + P4", "C21 = P5 + P6", "C22 = P7 + P8"),
)  # fmt: skip
"""p0 = 8: any words."""

STRASSEN = Bilinear(
    name="strassen",
    side=2,
    operand_sums=(
        "S1 = A21 + A22", "S2 = S1 - A11", "S3 = A11 - A21", "S4 = A12 - S2",
        "T1 = B12 - B11", "T2 = B22 - T1", "T3 = B22 - B12", "T4 = T2 - B21",
    ),
    products=(
        "P1 = A11 B11", "P2 = A12 B21", "P3 = S4 B22", "P4 = A22 T4",
        "P5 = S1 T1", "P6 = S2 T2", "P7 = S3 T3",
    ),
    result_sums=(
        "C11 = P1 + P2",
        "U2 = P1 + P6", "U3 = U2 + P7", "U4 = U2 + P5",
        "C12 = U4 + P3", "C21 = U3 - P4", "C22 = U3 + P5",
    ),
)  # fmt: skip
"""p0 = 7, in Winograd's form: 15 additions of blocks a level, where Strassen's own has 18."""
