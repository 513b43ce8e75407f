"""The shuffle of rows to buckets: hashing, partitioning, packing, and spilling to disk."""
