"""Files that every command must refuse, and why."""

from __future__ import annotations

MALFORMED = {
    "mangled1.mtx": "line 1: 'mangled' in the header must be matrix",
    "mangled5.mtx": "line 1: a pattern must be general or symmetric, not hermitian",
    "mangled7.mtx": "line 2: GraphBLAS type 'gunk' must be one of bool, int8_t",
    "mangled9.mtx": "line 4: a symmetric matrix must be square, not 3 x 4",
    "mangled11.mtx": "line 5: column index 'zero' must be an integer in 1..4",
    "mangled13.mtx": "line 7: column index '9999' must be an integer in 1..4",
    "mangled15.mtx": "line 2: GraphBLAS type float complex contradicts the header's field real",
    "mangled_bool.mtx": "line 10: value 2 must be in 0..1, the range of the declared type bool",
    "mangled_format.mtx": "line 1: an array cannot be a pattern; it must be real, complex or",
    "mangled_int8.mtx": "line 8: value -129 must be in -128..127, the range of the declared type",
    "mangled_uint16.mtx": "line 9: value 65536 must be in 0..65535, the range of the declared type",
}
"""Start of the refusal, after the file's name, for each file in the folder ``malformed`` of the
test data."""
