"""Tests of images in memory, and of the parts that load and store their words."""
