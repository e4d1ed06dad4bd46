"""What is written for integrators, read by programs that are not ours."""
