"""The header in C: constants, types and helpers, for C11 and C++11."""
