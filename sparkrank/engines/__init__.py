"""Lanes: the ways by which impressions reach :func:`sparkrank.bucket.evaluate_bucket`, and the way back."""
