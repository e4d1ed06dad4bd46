"""C(i, j, k) = A(i, j, l) B(l, k): a tensor times a matrix, sizes those of Table 3.3."""

from tilewright.hw.t2s.language import compute, indices, sizes, tensor

JJ, KK, LL, III, JJJ, KKK, LLL = sizes(JJ=8, KK=11, LL=4, III=8, JJJ=8, KKK=16, LLL=16)
i, j, k, l, jj, kk, ll, iii, jjj, kkk, lll = indices("i j k l jj kk ll iii jjj kkk lll")
A, B = tensor("A", "fp32", i, j, l), tensor("B", "fp32", l, k)
C = compute("C", "fp32", i, j, k, sum_over=l)[A[i, j, l] * B[l, k]]
C.tile(i, (iii, III)).tile(j, (jj, JJ), (jjj, JJJ)).tile(k, (kk, KK), (kkk, KKK))
C.tile(l, (ll, LL), (lll, LLL))
C.order(i, j, k, l, ll, jj, kk, iii, jjj, kkk, lll).unroll(jj, kk).vectorise(lll)
feed_a, load_a, serialize_a = C.producers(A, "feeder", "loader", "serializer")
feed_b, load_b, serialize_b = C.producers(B, "feeder", "loader", "serializer")
drain, collect, unload, store = C.consumers("drainer", "collector", "unloader", "deserializer")
C.forward(feed_a, kk=1).forward(feed_b, jj=1)
load_a.remove(kkk, kk), serialize_a.remove(k)
load_b.remove(jjj, iii, jj), serialize_b.remove(i, j)
feed_a.buffer(jj, double=True).unroll(jj).scatter(jj=1)
feed_b.buffer(l, double=True).unroll(kk).scatter(kk=1)
drain.unroll(jj, kk).gather(jj=-1)
collect.unroll(kk).gather(kk=-1, vector=True)
