"""cocotb drivers, monitors, memories and devices."""
