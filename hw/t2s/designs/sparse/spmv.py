"""Y(i) = A(i, k) X(k), A's entries alone: one element, column by column of a tile of rows."""

from tilewright.hw.t2s.language import compute, indices, sizes, tensor

III, KK = sizes(III=64, KK=128)
i, k, iii, kk = indices("i k iii kk")
A, X = tensor("A", "fp32", i, k, sparse="csr"), tensor("X", "fp32", k)
Y = compute("Y", "fp32", i, sum_over=k)[A[i, k] * X[k]]
Y.tile(i, (iii, III)).tile(k, (kk, KK)).order(i, k, kk, iii)
