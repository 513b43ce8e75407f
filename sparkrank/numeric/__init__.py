"""Arithmetic on arrays: exact sums, integers that keep the order of floats, and segments of rows. Pure numpy."""
