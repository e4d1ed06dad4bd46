"""Backends of hardware: options, calibration, report."""
