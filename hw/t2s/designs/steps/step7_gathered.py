"""Results move along columns, then, a word of each column at once, along a row."""

from tilewright.hw.t2s.language import compute, indices, tensor

i, j, k, ii, jj, kk, iii, jjj, kkk = indices("i j k ii jj kk iii jjj kkk")
A, B = tensor("A", "fp32", i, k), tensor("B", "fp32", k, j)
C = compute("C", "fp32", i, j, sum_over=k)[A[i, k] * B[k, j]]
C.tile(i, (ii, 4), (iii, 8)).tile(j, (jj, 4), (jjj, 8)).tile(k, (kk, 4), (kkk, 4))
C.order(i, j, k, kk, ii, jj, iii, jjj, kkk).vectorise(kkk)
C.unroll(ii, jj)
feed_a, load_a = C.producers(A, "feeder", "loader")
feed_b, load_b = C.producers(B, "feeder", "loader")
C.forward(feed_a, jj=1).forward(feed_b, ii=1)
load_a.remove(jjj, jj), load_b.remove(iii, ii)
feed_a.buffer(k, double=True), feed_b.buffer(k, double=True)
feed_a.unroll(ii).scatter(ii=1)
feed_b.unroll(jj).scatter(jj=1)
drain, collect, unload = C.consumers("drainer", "collector", "unloader")
drain.unroll(ii, jj).gather(ii=-1)
collect.unroll(jj).gather(jj=-1, vector=True)
