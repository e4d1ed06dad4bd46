"""One element, one product at a time."""

from tilewright.hw.t2s.language import compute, indices, tensor

i, j, k, ii, jj, kk, iii, jjj, kkk = indices("i j k ii jj kk iii jjj kkk")
A, B = tensor("A", "fp32", i, k), tensor("B", "fp32", k, j)
C = compute("C", "fp32", i, j, sum_over=k)[A[i, k] * B[k, j]].accumulate(stall="allowed")
