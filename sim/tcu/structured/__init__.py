"""2:4 sparsity: of four neighbours in a row two are zero, and half of the words are streamed."""
