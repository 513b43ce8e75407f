"""Both lanes of Spark: rows read in its tasks, pieces that it shuffles, buckets solved, and what comes back."""
