"""Components that the tops of all accelerators share: from registers to a job and its end."""
