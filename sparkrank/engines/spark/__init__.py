"""The two Spark lanes. Tasks read rows, Spark shuffles them, tasks evaluate buckets, and the driver collects states."""
