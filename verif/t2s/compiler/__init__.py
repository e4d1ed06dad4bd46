"""Tests of the passes of the compiler, each of which leaves a whole program, and of its
refusals."""
