"""Histograms of scores: their bins, how rows are counted, merged and swept, their state and its forms."""
