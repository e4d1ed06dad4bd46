"""G(z, y, x) = F(z + a, y + b, x + c) W(a, b, c): a dense stencil in three dimensions."""

from tilewright.hw.t2s.language import compute, indices, sizes, tensor

XX, ZZZ, YYY, XXX = sizes(XX=4, ZZZ=4, YYY=4, XXX=4)
z, y, x, a, b, c, xx, zzz, yyy, xxx = indices("z y x a b c xx zzz yyy xxx")
F, W = tensor("F", "fp32", z, y, x), tensor("W", "fp32", a, b, c)
G = compute("G", "fp32", z, y, x, sum_over=(a, b, c))[F[z + a, y + b, x + c] * W[a, b, c]]
G.tile(z, (zzz, ZZZ)).tile(y, (yyy, YYY)).tile(x, (xx, XX), (xxx, XXX))
G.order(z, y, x, a, b, c, xx, zzz, yyy, xxx).unroll(xx)
feed_f, load_f = G.producers(F, "feeder", "loader")
feed_w, load_w = G.producers(W, "feeder", "loader")
collect, unload = G.consumers("collector", "unloader")
G.forward(feed_w, xx=1)
load_w.remove(xxx, yyy, zzz)
feed_f.unroll(xx).scatter(xx=1)
feed_w.buffer(c, double=True)
collect.unroll(xx).gather(xx=-1)
