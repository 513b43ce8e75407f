"""The comparison of two runs, or of two models of one run, by paired groups or by states."""
