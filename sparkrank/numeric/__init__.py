"""Arithmetic on arrays: exact sums, integers that keep the order of floats, segments of rows. Pure numpy."""
