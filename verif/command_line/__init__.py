"""The command line of the whole: what it says, writes and imports."""
