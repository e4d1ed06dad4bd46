"""Vector operations of GTA: what the lanes do with octets, and vectors of any length."""
