"""Comparing two runs, or two models of one run: paired groups, largest changes, and effects by slice value."""
