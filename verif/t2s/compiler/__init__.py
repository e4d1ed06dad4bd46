"""The passes of the compiler, after each of which there is a whole program, and its refusals."""
