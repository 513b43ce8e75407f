"""Modules that make the rows of the output tables, such as results, comparisons and counts."""
