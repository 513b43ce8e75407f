"""The evaluator for Spark ML, which selects models by any metric of :func:`sparkrank.evaluate`.

Importing it imports ``pyspark.ml``. The evaluator for ``pyspark.ml.connect`` is in :mod:`sparkrank.ml.connect`.
"""

from sparkrank.ml.evaluator import RankingMetricEvaluator

__all__ = ["RankingMetricEvaluator"]
