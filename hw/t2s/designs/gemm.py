"""C(i, j) = A(i, k) B(k, j): the array of the thesis' Figure 3.5, its sizes those of Table 3.3."""

from tilewright.hw.t2s.language import compute, indices, sizes, tensor

II, JJ, KK, III, JJJ, KKK = sizes(II=10, JJ=8, KK=32, III=32, JJJ=32, KKK=16)
i, j, k, ii, jj, kk, iii, jjj, kkk = indices("i j k ii jj kk iii jjj kkk")
A, B = tensor("A", "fp32", i, k), tensor("B", "fp32", k, j)
C = compute("C", "fp32", i, j, sum_over=k)[A[i, k] * B[k, j]]
C.tile(i, (ii, II), (iii, III)).tile(j, (jj, JJ), (jjj, JJJ)).tile(k, (kk, KK), (kkk, KKK))
C.order(i, j, k, kk, ii, jj, iii, jjj, kkk).unroll(ii, jj).vectorise(kkk)
feed_a, load_a, serialize_a = C.producers(A, "feeder", "loader", "serializer")
feed_b, load_b, serialize_b = C.producers(B, "feeder", "loader", "serializer")
drain, collect, unload, store = C.consumers("drainer", "collector", "unloader", "deserializer")
C.forward(feed_a, jj=1).forward(feed_b, ii=1)
load_a.remove(jjj, jj), serialize_a.remove(j)
load_b.remove(iii, ii), serialize_b.remove(i)
feed_a.buffer(ii, double=True).unroll(ii).scatter(ii=1)
feed_b.buffer(k, double=True).unroll(jj).scatter(jj=1)
drain.unroll(ii, jj).gather(ii=-1)
collect.unroll(jj).gather(jj=-1, vector=True)
