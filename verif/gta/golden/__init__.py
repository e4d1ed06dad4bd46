"""Checks GTA's golden model against independent arithmetic."""
