"""Y(i) = A(i, k) X(k), A's rows dealt to four elements, the longest first."""

from tilewright.hw.t2s.language import compute, indices, sizes, tensor

II, III, KK = sizes(II=4, III=64, KK=128)
i, k, ii, iii, kk = indices("i k ii iii kk")
A, X = tensor("A", "fp32", i, k, sparse="ciss"), tensor("X", "fp32", k)
Y = compute("Y", "fp32", i, sum_over=k)[A[i, k] * X[k]]
Y.tile(i, (iii, III), (ii, II)).tile(k, (kk, KK)).order(i, k, iii, ii, kk).unroll(ii)
