"""Histograms of scores: bin rules, counting, merging, the threshold sweep, the mergeable state and its packed form."""
