"""Y(i) = A(i, k) B(i, k) X(k): entries that both A and B have, which are merged as they come."""

from tilewright.hw.t2s.language import compute, indices, sizes, tensor

III, KK = sizes(III=64, KK=128)
i, k, iii, kk = indices("i k iii kk")
A, B = (tensor(name, "fp32", i, k, sparse="csr") for name in "AB")
X = tensor("X", "fp32", k)
Y = compute("Y", "fp32", i, sum_over=k)[A[i, k] * B[i, k] * X[k]]
Y.tile(i, (iii, III)).tile(k, (kk, KK)).order(i, k, kk, iii)
