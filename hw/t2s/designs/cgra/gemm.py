"""C(i, j) = T(i, j) + A(i, k) B(k, j): elements along i and j, lanes along k."""

from tilewright.hw.t2s.language import compute, indices, sizes, tensor

II, JJ, KK, III, JJJ = sizes(II=4, JJ=4, KK=4, III=4, JJJ=4)
i, j, k, ii, jj, kk, iii, jjj = indices("i j k ii jj kk iii jjj")
A, B, T = tensor("A", "fp64", i, k), tensor("B", "fp64", k, j), tensor("T", "fp64", i, j)
C = compute("C", "fp64", i, j, sum_over=k)[A[i, k] * B[k, j]].start(T[i, j])
C.tile(i, (iii, III), (ii, II)).tile(j, (jjj, JJJ), (jj, JJ)).tile(k, (kk, KK))
C.order(i, j, k, iii, jjj, ii, jj, kk).unroll(ii, jj).vectorise(kk)
feed_a, load_a = C.producers(A, "feeder", "loader")
feed_b, load_b = C.producers(B, "feeder", "loader")
feed_t, load_t = C.producers(T, "feeder", "loader")
drain, collect, unload = C.consumers("drainer", "collector", "unloader")
C.forward(feed_a, jj=1).forward(feed_b, ii=1)
load_a.remove(jjj), load_b.remove(iii)
feed_a.buffer(iii).unroll(ii).scatter(ii=1)
feed_b.buffer(k).unroll(jj).scatter(jj=1)
feed_t.unroll(ii).scatter(ii=1)
drain.unroll(ii, jj).gather(ii=-1)
collect.unroll(jj).gather(jj=-1)
