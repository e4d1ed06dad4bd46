"""C(i, j, k) = T(i, j, k) + A(i, j, l) B(l, k): elements along j and k, lanes along l."""

from tilewright.hw.t2s.language import compute, indices, sizes, tensor

JJ, KK, LL, JJJ, KKK = sizes(JJ=4, KK=4, LL=4, JJJ=4, KKK=4)
i, j, k, l, jj, kk, ll, jjj, kkk = indices("i j k l jj kk ll jjj kkk")
A, B, T = tensor("A", "fp64", i, j, l), tensor("B", "fp64", l, k), tensor("T", "fp64", i, j, k)
C = compute("C", "fp64", i, j, k, sum_over=l)[A[i, j, l] * B[l, k]].start(T[i, j, k])
C.tile(j, (jjj, JJJ), (jj, JJ)).tile(k, (kkk, KKK), (kk, KK)).tile(l, (ll, LL))
C.order(i, j, k, l, jjj, kkk, jj, kk, ll).unroll(jj, kk).vectorise(ll)
feed_a, load_a = C.producers(A, "feeder", "loader")
feed_b, load_b = C.producers(B, "feeder", "loader")
feed_t, load_t = C.producers(T, "feeder", "loader")
drain, collect, unload = C.consumers("drainer", "collector", "unloader")
C.forward(feed_a, kk=1).forward(feed_b, jj=1)
load_a.remove(kkk), load_b.remove(jjj)
feed_a.buffer(jjj).unroll(jj).scatter(jj=1)
feed_b.buffer(l).unroll(kk).scatter(kk=1)
feed_t.unroll(jj).scatter(jj=1)
drain.unroll(jj, kk).gather(jj=-1)
collect.unroll(kk).gather(kk=-1)
