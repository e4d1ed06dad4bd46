"""The four kernels of the thesis as its CGRA has them: in each element the innermost reduction is
unrolled, sums start from words of memory (section 3.5.3). The sizes are ours: it has none."""
