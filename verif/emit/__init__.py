"""Tests of the emitter."""
