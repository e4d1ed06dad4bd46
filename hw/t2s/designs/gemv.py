"""Y(i) = A(i, k) X(k): rows in space, the vector forwarded from one to the next."""

from tilewright.hw.t2s.language import compute, indices, sizes, tensor

II, III, KKK = sizes(II=8, III=16, KKK=8)
i, k, ii, iii, kkk = indices("i k ii iii kkk")
A, X = tensor("A", "fp32", i, k), tensor("X", "fp32", k)
Y = compute("Y", "fp32", i, sum_over=k)[A[i, k] * X[k]]
Y.tile(i, (ii, II), (iii, III)).tile(k, (kkk, KKK))
Y.order(i, k, ii, iii, kkk).unroll(ii).vectorise(kkk)
feed_a, load_a, serialize_a = Y.producers(A, "feeder", "loader", "serializer")
feed_x, load_x = Y.producers(X, "feeder", "loader")
collect, unload = Y.consumers("collector", "unloader")
Y.forward(feed_x, ii=1)
load_x.remove(iii)
feed_a.unroll(ii).scatter(ii=1)
feed_x.buffer(k, double=True)
collect.unroll(ii).gather(ii=-1)
