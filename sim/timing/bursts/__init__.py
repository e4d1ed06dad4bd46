"""Cycle model of managers: burst readers, a burst writer, and the memory behind them."""
