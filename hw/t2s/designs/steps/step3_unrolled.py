"""Sixteen elements; loaders and the unloader go from one to the next."""

from tilewright.hw.t2s.language import compute, indices, tensor

i, j, k, ii, jj, kk, iii, jjj, kkk = indices("i j k ii jj kk iii jjj kkk")
A, B = tensor("A", "fp32", i, k), tensor("B", "fp32", k, j)
C = compute("C", "fp32", i, j, sum_over=k)[A[i, k] * B[k, j]]
C.tile(i, (ii, 4), (iii, 8)).tile(j, (jj, 4), (jjj, 8)).tile(k, (kk, 4), (kkk, 4))
C.order(i, j, k, kk, ii, jj, iii, jjj, kkk).vectorise(kkk)
C.unroll(ii, jj)
