"""What GTA computes, against arithmetic of others."""
