"""D(i, j) = A(i, k, l) B(k, j) C(l, j): a tensor times two factors, sizes those of Table 3.3."""

from tilewright.hw.t2s.language import compute, indices, sizes, tensor

II, JJ, KK, LL, III, JJJ, LLL = sizes(II=8, JJ=9, KK=16, LL=1, III=16, JJJ=16, LLL=16)
i, j, k, l, ii, jj, kk, ll, iii, jjj, lll = indices("i j k l ii jj kk ll iii jjj lll")
A, B, C = tensor("A", "fp32", i, k, l), tensor("B", "fp32", k, j), tensor("C", "fp32", l, j)
D = compute("D", "fp32", i, j, sum_over=(k, l))[A[i, k, l] * B[k, j] * C[l, j]]
D.tile(i, (ii, II), (iii, III)).tile(j, (jj, JJ), (jjj, JJJ))
D.tile(k, (kk, KK)).tile(l, (ll, LL), (lll, LLL))
D.order(i, j, k, l, kk, ll, ii, jj, iii, jjj, lll).unroll(ii, jj).vectorise(lll).factor(B)
feed_a, load_a, serialize_a = D.producers(A, "feeder", "loader", "serializer")
feed_b, load_b, serialize_b = D.producers(B, "feeder", "loader", "serializer")
feed_c, load_c, serialize_c = D.producers(C, "feeder", "loader", "serializer")
drain, collect, unload, store = D.consumers("drainer", "collector", "unloader", "deserializer")
D.forward(feed_a, jj=1).forward(feed_b, ii=1).forward(feed_c, ii=1)
load_a.remove(jjj, jj), serialize_a.remove(j)
load_b.remove(iii, ii), serialize_b.remove(i, l, ll)
load_c.remove(iii, ii), serialize_c.remove(i, k, kk)
feed_a.buffer(ii, double=True).unroll(ii).scatter(ii=1)
feed_b.buffer(ll, double=True).unroll(jj).scatter(jj=1)
feed_c.buffer(ll, double=True).unroll(jj).scatter(jj=1)
drain.unroll(ii, jj).gather(ii=-1)
collect.unroll(jj).gather(jj=-1, vector=True)
