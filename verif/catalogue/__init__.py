"""Tests that go over all units."""
