"""When things happen in a Tensaurus: counters equal to the hardware's."""
