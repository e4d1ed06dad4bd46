"""The lane that GTA is compared with: separate units for each number format."""
