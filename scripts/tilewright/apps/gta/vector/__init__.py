"""Operations on vectors on GTA."""
