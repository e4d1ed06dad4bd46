"""D(i, j) = A(i, k, l) B(k, j) C(l, j): a sparse tensor times two matrices, as in MTTKRP."""

from tilewright.hw.t2s.language import compute, indices, sizes, tensor

II, III, JJ, JJJ, KK, LL = sizes(II=4, III=16, JJ=4, JJJ=8, KK=32, LL=32)
i, j, k, l, ii, iii, jj, jjj, kk, ll = indices("i j k l ii iii jj jjj kk ll")
A = tensor("A", "fp32", i, k, l, sparse="ciss")
B, C = tensor("B", "fp32", k, j), tensor("C", "fp32", l, j)
D = compute("D", "fp32", i, j, sum_over=(k, l))[A[i, k, l] * B[k, j] * C[l, j]]
D.tile(i, (iii, III), (ii, II)).tile(j, (jj, JJ), (jjj, JJJ)).tile(k, (kk, KK)).tile(l, (ll, LL))
D.order(j, i, k, l, iii, ii, kk, ll, jj, jjj).unroll(ii).vectorise(jjj)
