"""Programs of the user's: what they are given, and how they run."""
