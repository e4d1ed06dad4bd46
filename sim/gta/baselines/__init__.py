"""Models of what GTA is compared with: machines that are better than any that has been built."""
