"""One bucket of whole groups: its rows, groups, lists and slices, and their evaluation. Knows no Spark."""

from sparkrank.bucket.evaluate import BucketResult, bucket_columns, evaluate_bucket

__all__ = ["BucketResult", "bucket_columns", "evaluate_bucket"]
