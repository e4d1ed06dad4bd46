"""Cycle model of what adds sums up and writes results."""
