"""Arithmetic to check against: exact integers, Berkeley SoftFloat, and stimuli for both.

Nothing here knows the models of `sim` or the hardware: the rules are those of the numerics page.
"""
