"""The lanes: ways of bringing impressions to :func:`sparkrank.bucket.evaluate_bucket` and of collecting results."""
