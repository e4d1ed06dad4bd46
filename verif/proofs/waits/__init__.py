"""Bounded response: how long requests, stops and jobs take at most, in all reachable states."""
