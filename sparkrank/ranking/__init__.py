"""Rankings of many groups at once: judgments, order, tie blocks, hits, pairs. Numpy over segments."""
