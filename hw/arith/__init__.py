"""Floating-point building blocks for any (exponent bits, fraction bits) format.

Everything here is combinational; pipelining belongs to the units that use it.
"""
