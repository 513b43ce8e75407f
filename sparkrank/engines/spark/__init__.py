"""The two Spark lanes. Tasks read rows, Spark shuffles them, tasks evaluate buckets, the driver collects results."""
