"""Rankings of many groups at once: judgments, order, tie blocks, hits and pairs, in numpy over segments."""
