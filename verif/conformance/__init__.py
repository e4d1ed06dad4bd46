"""Tests that every registered accelerator must pass, whatever it computes."""
