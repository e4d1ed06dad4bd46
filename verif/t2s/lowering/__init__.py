"""Tests of the lowering from programs to hardware parts."""
