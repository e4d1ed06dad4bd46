"""C(i, j) = A(i, k) B(k, j): of each entry of A a row of B, which copies of a feeder keep."""

from tilewright.hw.t2s.language import compute, indices, sizes, tensor

II, III, JJ, JJJ, KK = sizes(II=4, III=64, JJ=4, JJJ=8, KK=32)
i, j, k, ii, iii, jj, jjj, kk = indices("i j k ii iii jj jjj kk")
A, B = tensor("A", "fp32", i, k, sparse="ciss"), tensor("B", "fp32", k, j)
C = compute("C", "fp32", i, j, sum_over=k)[A[i, k] * B[k, j]]
C.tile(i, (iii, III), (ii, II)).tile(j, (jj, JJ), (jjj, JJJ)).tile(k, (kk, KK))
C.order(j, i, k, iii, ii, kk, jj, jjj).unroll(ii).vectorise(jjj)
feed, load, serialize = C.producers(B, "feeder", "loader", "serializer")
load.remove(iii, ii), serialize.remove(i)
feed.buffer(k, double=True).unroll(ii).forward(ii=1)
