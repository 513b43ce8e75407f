"""The evaluator for ``pyspark.ml.connect``, whose base classes differ from those of ``pyspark.ml``.

An import of this module imports ``pyspark.ml.connect``, which needs the packages of ``pyspark[connect]``.
"""

from __future__ import annotations

from pyspark.ml.connect.base import Evaluator
from pyspark.ml.connect.io_utils import ParamsReadWrite

from sparkrank.ml.params import RankingMetricParams

__all__ = ["RankingMetricEvaluator"]


class ConnectEvaluator(RankingMetricParams, Evaluator, ParamsReadWrite):
    """:class:`sparkrank.ml.RankingMetricEvaluator` for the ``CrossValidator`` of ``pyspark.ml.connect.tuning``.

    Parameters, values and errors are the same. This class is saved and loaded like other evaluators in
    ``pyspark.ml.connect``. The tuning in ``pyspark.ml`` also works over Spark Connect, with the evaluator of
    :mod:`sparkrank.ml`.

    Examples
    --------
    >>> import pandas as pd
    >>> from sparkrank.ml.connect import RankingMetricEvaluator
    >>> rows = pd.DataFrame({"user": ["a", "a", "b"], "prediction": [0.9, 0.5, 0.7], "label": [0.0, 1.0, 1.0]})
    >>> RankingMetricEvaluator(metricName="mrr", groupCol="user").evaluate(rows)
    0.75
    """


RankingMetricEvaluator = ConnectEvaluator  # users import it under the name that it has in sparkrank.ml
