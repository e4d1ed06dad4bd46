"""Tests of the models of Tensaurus."""
