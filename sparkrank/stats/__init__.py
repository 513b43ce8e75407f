"""The statistics of values: intervals, comparisons, corrections and power. Numbers in, numbers out."""
