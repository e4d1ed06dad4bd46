"""Memory striped over channels: where a row lies, and the walks over it."""
