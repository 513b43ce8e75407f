"""Comparison of two runs, or of two models of a run: paired groups, largest changes, and effects by slice value."""
