"""D(i, j) = T(i, j) + A(i, k, l) B(k, j) C(l, j): elements along i and j, lanes along l."""

from tilewright.hw.t2s.language import compute, indices, sizes, tensor

II, JJ, LL, III, JJJ = sizes(II=4, JJ=4, LL=4, III=4, JJJ=4)
i, j, k, l, ii, jj, ll, iii, jjj = indices("i j k l ii jj ll iii jjj")
A, B = tensor("A", "fp64", i, k, l), tensor("B", "fp64", k, j)
C, T = tensor("C", "fp64", l, j), tensor("T", "fp64", i, j)
D = compute("D", "fp64", i, j, sum_over=(k, l))[A[i, k, l] * B[k, j] * C[l, j]].start(T[i, j])
D.tile(i, (iii, III), (ii, II)).tile(j, (jjj, JJJ), (jj, JJ)).tile(l, (ll, LL))
D.order(i, j, k, l, iii, jjj, ii, jj, ll).unroll(ii, jj).vectorise(ll).factor(B)
feed_a, load_a = D.producers(A, "feeder", "loader")
feed_b, load_b = D.producers(B, "feeder", "loader")
feed_c, load_c = D.producers(C, "feeder", "loader")
feed_t, load_t = D.producers(T, "feeder", "loader")
drain, collect, unload = D.consumers("drainer", "collector", "unloader")
D.forward(feed_a, jj=1).forward(feed_b, ii=1).forward(feed_c, ii=1)
load_a.remove(jjj), load_b.remove(iii), load_c.remove(iii)
feed_a.buffer(iii).unroll(ii).scatter(ii=1)
feed_b.buffer(l).unroll(jj).scatter(jj=1)
feed_c.buffer(l).unroll(jj).scatter(jj=1)
feed_t.unroll(ii).scatter(ii=1)
drain.unroll(ii, jj).gather(ii=-1)
collect.unroll(jj).gather(jj=-1)
