"""Arithmetic on arrays: exact sums, integers that keep the order of floats, and functions on segments of rows."""
