"""What all accelerators that run jobs share."""
