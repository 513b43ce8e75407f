"""The lanes, which are ways to bring impressions to :func:`sparkrank.bucket.evaluate_bucket` and collect results."""
