"""Discrete Fourier transforms by tall calls: complex, and exactly modulo primes."""
