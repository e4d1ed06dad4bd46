"""Y(i, j) = A(i, j, k) X(k): a tensor times a vector."""

from tilewright.hw.t2s.language import compute, indices, sizes, tensor

JJ, III, JJJ, KKK = sizes(JJ=8, III=4, JJJ=4, KKK=8)
i, j, k, jj, iii, jjj, kkk = indices("i j k jj iii jjj kkk")
A, X = tensor("A", "fp32", i, j, k), tensor("X", "fp32", k)
Y = compute("Y", "fp32", i, j, sum_over=k)[A[i, j, k] * X[k]]
Y.tile(i, (iii, III)).tile(j, (jj, JJ), (jjj, JJJ)).tile(k, (kkk, KKK))
Y.order(i, j, k, jj, iii, jjj, kkk).unroll(jj).vectorise(kkk)
feed_a, load_a, serialize_a = Y.producers(A, "feeder", "loader", "serializer")
feed_x, load_x = Y.producers(X, "feeder", "loader")
collect, unload = Y.consumers("collector", "unloader")
Y.forward(feed_x, jj=1)
load_x.remove(jjj, iii)
feed_a.unroll(jj).scatter(jj=1)
feed_x.buffer(k, double=True)
collect.unroll(jj).gather(jj=-1)
