"""Both Spark lanes: tasks read rows, Spark shuffles pieces, tasks evaluate buckets, and results are collected."""
