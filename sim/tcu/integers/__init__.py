"""Products of long integers in pieces: schoolbook by tall calls, Karatsuba above it."""
