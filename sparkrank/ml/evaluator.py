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
    """Evaluates predictions, a row each, by one metric of groups or of all rows together.

    It takes what ALS and classifiers of Spark ML put out, and stands as the ``evaluator`` in ``CrossValidator`` and
    ``TrainValidationSplit`` of ``pyspark.ml.tuning``, with any ``parallelism``. ``isLargerBetter`` is what the metric
    declares. The value is that of :func:`sparkrank.evaluate`, to the bit.

    Parameters
    ----------
    metricName : str
        The text of one metric, such as ``"ndcg@10"``, ``"ap(over=min_k_relevant)@10"`` or ``"auc"``. One whose best
        value lies in the middle (``copc``) is refused: no model can be chosen by it.
    groupCol : str or list of str, optional
        The column or columns that identify a group: a user, a query. Metrics of groups need it; metrics of all rows
        together do not read it, unless a definition is about groups.
    predictionCol : str
        The column of the scores; higher is better. For a classifier it is ``"probability"`` or ``"rawPrediction"``, a
        vector of two, of which the second element is taken; its ``"prediction"`` is a class, in which most rows tie.
    labelCol : str
        The column of the labels, not read where the metric needs none: above 0 is relevant. For ALS it is the rating.
    itemCol : str, optional
        The column of items, which metrics of the catalogue, ``ties="item"`` and ``duplicates`` need.
    weightCol : str, optional
        How much each row counts in a metric of all rows together.
    referenceRankCol : str, optional
        The order that some metrics compare with; the lowest is first.
    preset : str, optional
        A library whose definitions hold where no other is given.
    ties, undefined, unretrieved, unjudged, duplicates, population, positions : str, optional
        The definitions, see :class:`sparkrank.Definitions`. There is no column of ranks, so ``positions`` can only be
        ``"dense"``, which a preset may set otherwise.
    maxBadFraction : float
        The largest share of rows, from 0 to 1, that may be rejected: those with a NaN prediction, as of a user that
        ALS has not seen.
    buckets : int, optional
        The number of buckets that groups are divided into. Without it the rows are counted first, which computes the
        predictions once more. Values do not depend on it.

    Raises
    ------
    SpecError
        Where a value is not allowed, as soon as it is set; where values do not go together, in the constructor, in
        ``setParams``, or else in ``evaluate`` before anything is read.
    InputError
        In ``evaluate``, where the rows cannot be evaluated, as too many predictions are NaN; and where the metric is
        undefined, as with no relevant row at all. Spark would take a NaN for the best value of all, whether higher or
        lower is better, and choose its model.

    Notes
    -----
    Nothing stays cached after ``evaluate``. No standard errors and no table of groups are made.

    Examples
    --------
    A DataFrame of pandas needs no session. The one relevant row of ``a`` stands second, that of ``b`` first.

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

    __module__ = "sparkrank.ml"  # which saved evaluators name: a later release finds them by it
