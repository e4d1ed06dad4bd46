"""What waits on chip for its row, and the late part of the second product."""
