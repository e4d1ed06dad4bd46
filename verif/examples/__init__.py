"""The programs of ``examples``: each compiled and run as its page says."""
