"""The evaluation of one bucket: all rows of some groups. This package does not depend on Spark."""

from sparkrank.bucket.evaluate import BucketResult, bucket_columns, evaluate_bucket

__all__ = ["BucketResult", "bucket_columns", "evaluate_bucket"]
