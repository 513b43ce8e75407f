"""Modules that make the rows of each output table, such as results, comparisons and counts."""
