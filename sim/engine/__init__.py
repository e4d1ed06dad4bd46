"""The tile engine: model, driver."""
