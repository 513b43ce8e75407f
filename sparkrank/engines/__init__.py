"""Lanes: ways to bring impressions to :func:`sparkrank.bucket.evaluate_bucket` and collect the results."""
