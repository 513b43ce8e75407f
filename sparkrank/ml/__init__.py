"""The evaluator for Spark ML: the selection of models by any metric of :func:`sparkrank.evaluate`.

An import of this package imports ``pyspark.ml``. For ``pyspark.ml.connect``, use :mod:`sparkrank.ml.connect`.
"""

from sparkrank.ml.evaluator import RankingMetricEvaluator

__all__ = ["RankingMetricEvaluator"]
