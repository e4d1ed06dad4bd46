"""Benches of the array's elements, and of a lane's array."""
