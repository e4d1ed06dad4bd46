"""Generated sparse tensors and matrices."""
