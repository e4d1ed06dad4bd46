"""Y(n) = X(n + t) H(t): a filter of taps, several outputs at once."""

from tilewright.hw.t2s.language import compute, indices, sizes, tensor

NN, NNN, TTT = sizes(NN=8, NNN=16, TTT=4)
n, t, nn, nnn, ttt = indices("n t nn nnn ttt")
X, H = tensor("X", "fp32", n), tensor("H", "fp32", t)
Y = compute("Y", "fp32", n, sum_over=t)[X[n + t] * H[t]]
Y.tile(n, (nn, NN), (nnn, NNN)).tile(t, (ttt, TTT))
Y.order(n, t, nn, nnn, ttt).unroll(nn).vectorise(ttt)
feed_x, load_x = Y.producers(X, "feeder", "loader")
feed_h, load_h = Y.producers(H, "feeder", "loader")
collect, unload = Y.consumers("collector", "unloader")
Y.forward(feed_h, nn=1)
load_h.remove(nnn)
feed_x.unroll(nn).scatter(nn=1)
feed_h.buffer(t, double=True)
collect.unroll(nn).gather(nn=-1)
