"""The shuffle of rows to their buckets: hashing, partitioning, packing, and spilling to disk."""
