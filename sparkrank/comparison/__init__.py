"""The comparison of two runs, or of two models of one run, by pairs of groups or by states."""
