"""The evaluator for ``pyspark.ml``, in a classic session and over Spark Connect."""

from __future__ import annotations

from pyspark.ml.evaluation import Evaluator
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable

from sparkrank.ml.params import RankingMetricParams


class RankingMetricEvaluator(
    RankingMetricParams,
    Evaluator,
    DefaultParamsReadable["RankingMetricEvaluator"],
    DefaultParamsWritable,
):
    """Evaluates predictions, one in each row, by one metric of groups or of all rows together.

    The evaluator reads the output of ALS and of Spark ML's classifiers, and serves as the ``evaluator`` of
    ``CrossValidator`` and ``TrainValidationSplit`` in ``pyspark.ml.tuning``, with any ``parallelism``. The metric's
    declaration decides ``isLargerBetter``. Values equal the values of :func:`sparkrank.evaluate`, to the bit.

    Parameters
    ----------
    metricName : str
        The text of one metric, such as ``"ndcg@10"`` or ``"auc"``. A metric whose best value is neither its highest nor
        its lowest (``copc``) is refused, because it cannot select a model.
    groupCol : str or list of str, optional
        The columns that identify a group, such as a user. Only read if the metric or a definition needs groups.
    predictionCol : str
        The column of the scores; higher is better. For a classifier, use ``"probability"`` or ``"rawPrediction"``, a
        vector of two elements, of which the second is the score. Its column ``"prediction"`` is a class, so most rows
        tie.
    labelCol : str
        The column of the labels (for ALS, the rating), read only if the metric needs labels. Above 0 is relevant.
    itemCol : str, optional
        The column of items. Metrics of the catalogue, ``ties="item"`` and ``duplicates`` need it.
    weightCol : str, optional
        The column with the weight of each row in a metric of all rows together.
    referenceRankCol : str, optional
        The column with the order that some metrics compare with. The lowest number comes first.
    preset : str, optional
        A library whose definitions are used unless other definitions are given.
    ties, undefined, unretrieved, unjudged, duplicates, population, positions : str, optional
        The definitions, see :class:`sparkrank.Definitions`. ``positions`` must be ``"dense"``: ranks are not read.
    maxBadFraction : float
        The largest share of rows, from 0 to 1, that may be rejected, such as those of a user unknown to ALS.
    buckets : int, optional
        The number of buckets. By default, rows are counted to choose it, which computes the predictions once more.

    Raises
    ------
    SpecError
        If a value is not allowed, as soon as the value is set. If values contradict each other, in the constructor, in
        ``setParams``, or else in ``evaluate`` before any row is read.
    SparkrankError
        In the constructor, before any model is fitted, if the Python of the active session's workers cannot be used.
    InputError
        In ``evaluate``, if the rows cannot be evaluated, for example because too many predictions are NaN, or if the
        metric is undefined, for example because no row is relevant. An undefined metric is not returned as NaN, because
        Spark treats NaN as the best value, whether higher or lower is better, and would select that model.

    Notes
    -----
    After ``evaluate``, no data stays cached. Standard errors and the group table are not computed.

    Examples
    --------
    A pandas DataFrame needs no session. The only relevant row is ranked second for ``a`` and first for ``b``.

    >>> import pandas as pd
    >>> from sparkrank.ml import RankingMetricEvaluator
    >>> rows = pd.DataFrame({"user": ["a", "a", "b"], "prediction": [0.9, 0.5, 0.7], "label": [0.0, 1.0, 1.0]})
    >>> evaluator = RankingMetricEvaluator(metricName="mrr", groupCol="user")
    >>> evaluator.evaluate(rows), evaluator.isLargerBetter()
    (0.75, True)
    >>> evaluator.evaluate(rows, {evaluator.metricName: "auc"})  # neither relevant row is above the other
    0.0
    >>> evaluator.setMetricName("ndgc@10")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    sparkrank.base.errors.MetricError: metricName: unknown metric "ndgc" in "ndgc@10", did you mean "ndcg"? (known: ...)
    """

    __module__ = "sparkrank.ml"  # saved evaluators name this module, by which later releases find the class
