"""O(o, y, x) = I(c, y + r, x + s) W(o, c, r, s): channels of images, convolved with filters."""

from tilewright.hw.t2s.language import compute, indices, sizes, tensor

OO, XX, YYY, XXX, CCC = sizes(OO=8, XX=4, YYY=8, XXX=4, CCC=8)
o, y, x, c, r, s, oo, xx, yyy, xxx, ccc = indices("o y x c r s oo xx yyy xxx ccc")
I, W = tensor("I", "fp32", c, y, x), tensor("W", "fp32", o, c, r, s)
O = compute("O", "fp32", o, y, x, sum_over=(c, r, s))[I[c, y + r, x + s] * W[o, c, r, s]]
O.tile(o, (oo, OO)).tile(y, (yyy, YYY)).tile(x, (xx, XX), (xxx, XXX)).tile(c, (ccc, CCC))
O.order(o, y, x, c, r, s, oo, xx, yyy, xxx, ccc).unroll(oo, xx).vectorise(ccc)
feed_i, load_i = O.producers(I, "feeder", "loader")
feed_w, load_w, serialize_w = O.producers(W, "feeder", "loader", "serializer")
drain, collect, unload = O.consumers("drainer", "collector", "unloader")
O.forward(feed_i, oo=1).forward(feed_w, xx=1)
load_w.remove(xxx, yyy, xx), serialize_w.remove(y, x)
feed_i.unroll(xx).scatter(xx=1)
feed_w.buffer(s, double=True).unroll(oo).scatter(oo=1)
drain.unroll(oo, xx).gather(oo=-1)
collect.unroll(xx).gather(xx=-1)
