"""Rankings of many groups at once, as numpy arrays over all groups: judgments, order, tie blocks, hits and pairs."""
