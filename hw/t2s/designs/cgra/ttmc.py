"""D(i, j, k) = T(i, j, k) + A(i, l, m) B(l, j) C(m, k): elements along j and k, lanes along m."""

from tilewright.hw.t2s.language import compute, indices, sizes, tensor

JJ, KK, MM, JJJ, KKK = sizes(JJ=4, KK=4, MM=4, JJJ=4, KKK=4)
i, j, k, l, m, jj, kk, mm, jjj, kkk = indices("i j k l m jj kk mm jjj kkk")
A, B = tensor("A", "fp64", i, l, m), tensor("B", "fp64", l, j)
C, T = tensor("C", "fp64", m, k), tensor("T", "fp64", i, j, k)
D = compute("D", "fp64", i, j, k, sum_over=(l, m))[A[i, l, m] * B[l, j] * C[m, k]]
D.start(T[i, j, k]).tile(j, (jjj, JJJ), (jj, JJ)).tile(k, (kkk, KKK), (kk, KK)).tile(m, (mm, MM))
D.order(i, j, k, l, m, jjj, kkk, jj, kk, mm).unroll(jj, kk).vectorise(mm).factor(B)
feed_a, load_a = D.producers(A, "feeder", "loader")
feed_b, load_b = D.producers(B, "feeder", "loader")
feed_c, load_c = D.producers(C, "feeder", "loader")
feed_t, load_t = D.producers(T, "feeder", "loader")
drain, collect, unload = D.consumers("drainer", "collector", "unloader")
D.forward(feed_a, jj=1, kk=1).forward(feed_b, kk=1).forward(feed_c, jj=1)
load_a.remove(jjj, kkk), load_b.remove(kkk), load_c.remove(jjj)
feed_a.buffer(m)
feed_b.buffer(jjj).unroll(jj).scatter(jj=1)
feed_c.buffer(m).unroll(kk).scatter(kk=1)
feed_t.unroll(jj).scatter(jj=1)
drain.unroll(jj, kk).gather(jj=-1)
collect.unroll(kk).gather(kk=-1)
