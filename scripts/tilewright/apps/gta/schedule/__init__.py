"""Schedules that the user asks for, in options or in files."""
