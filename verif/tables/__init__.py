"""Tests of the tables and their bars."""
