"""The evaluation of one bucket of whole groups: its rows, groups, lists and slices. Does not depend on Spark."""

from sparkrank.bucket.evaluate import BucketResult, bucket_columns, evaluate_bucket

__all__ = ["BucketResult", "bucket_columns", "evaluate_bucket"]
