"""Generated sparse tensors and matrices, of the sizes and kinds that papers measure with."""
