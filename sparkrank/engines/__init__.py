"""Lanes: the routes by which impressions reach :func:`sparkrank.bucket.evaluate_bucket` and results come back."""
