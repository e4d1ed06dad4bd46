"""Tests of the command line and of its applications."""
