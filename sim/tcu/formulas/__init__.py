"""Exact calls and rows of every algorithm for given sizes, without running it.

A function here has the name of the algorithm that it tells of; sizes are sides of matrices unless
it says otherwise, ``s`` is the unit's side, padding is included.
"""
