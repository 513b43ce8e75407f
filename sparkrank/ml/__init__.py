"""The evaluator for Spark ML, with which tuning selects models by any metric of :func:`sparkrank.evaluate`.

Importing this package imports ``pyspark.ml``. For ``pyspark.ml.connect``, use :mod:`sparkrank.ml.connect`.
"""

from sparkrank.ml.evaluator import RankingMetricEvaluator

__all__ = ["RankingMetricEvaluator"]
