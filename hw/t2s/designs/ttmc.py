"""D(i, j, k) = A(i, l, m) B(l, j) C(m, k): a tensor times two matrices, as in Table 3.3."""

from tilewright.hw.t2s.language import compute, indices, sizes, tensor

JJ, KK, LL, MM, III, JJJ, KKK, MMM = sizes(JJ=8, KK=10, LL=32, MM=2, III=16, JJJ=4, KKK=4, MMM=16)
i, j, k, l, m, jj, kk, ll, mm = indices("i j k l m jj kk ll mm")
iii, jjj, kkk, mmm = indices("iii jjj kkk mmm")
A, B, C = tensor("A", "fp32", i, l, m), tensor("B", "fp32", l, j), tensor("C", "fp32", m, k)
D = compute("D", "fp32", i, j, k, sum_over=(l, m))[A[i, l, m] * B[l, j] * C[m, k]]
D.tile(i, (iii, III)).tile(j, (jj, JJ), (jjj, JJJ)).tile(k, (kk, KK), (kkk, KKK))
D.tile(l, (ll, LL)).tile(m, (mm, MM), (mmm, MMM))
D.order(i, j, k, l, m, ll, mm, jj, kk, iii, jjj, kkk, mmm).unroll(jj, kk).vectorise(mmm).factor(B)
feed_a, load_a, serialize_a = D.producers(A, "feeder", "loader", "serializer")
feed_b, load_b, serialize_b = D.producers(B, "feeder", "loader", "serializer")
feed_c, load_c, serialize_c = D.producers(C, "feeder", "loader", "serializer")
drain, collect, unload, store = D.consumers("drainer", "collector", "unloader", "deserializer")
D.forward(feed_a, kk=1, jj=1).forward(feed_b, kk=1).forward(feed_c, jj=1)
load_a.remove(kkk, jjj), serialize_a.remove(k, j)
load_b.remove(kkk, iii, kk), serialize_b.remove(i, k, m, mm)
load_c.remove(jjj, iii, jj), serialize_c.remove(i, j, l, ll)
feed_a.buffer(mm, double=True)
feed_b.buffer(mm, double=True).unroll(jj).scatter(jj=1)
feed_c.buffer(mm, double=True).unroll(kk).scatter(kk=1)
drain.unroll(jj, kk).gather(jj=-1)
collect.unroll(kk).gather(kk=-1, vector=True)
