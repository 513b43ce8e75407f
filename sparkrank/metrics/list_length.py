"""Declarations of metrics of the length of lists, which read neither labels nor the order of the rows."""

from __future__ import annotations

import math

import numpy as np

from sparkrank.metrics.arithmetic import Arithmetic, given, list_table, ratio, step
from sparkrank.metrics.group_metric import GroupMetric
from sparkrank.metrics.metric import Metric
from sparkrank.numeric.array_types import Floats
from sparkrank.ranking.ranking import Ranking


def filled(ranking: Ranking, k: int | None) -> Floats:
    """Return the share of the first ``k`` positions with a row.

    Without ``k``, the share is 1 for a list with rows, and 0 for an empty list.
    """
    whole = 1 if k is None else k
    return np.minimum(ranking.length, whole) / whole


def retrieved(ranking: Ranking, k: int | None) -> Floats:
    """Return the number of rows in the first ``k`` positions of each list."""
    length = ranking.length if k is None else np.minimum(ranking.length, k)
    return length.astype(np.float64)


def _filled_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    whole = 1 if metric.k is None else metric.k
    steps = [
        given("length of the list", int(ranking.length[0])),
        step("n", "min", float(whole), "length of the list"),
        ratio(str(metric), "n", float(whole)),
    ]
    return Arithmetic.of([list_table(ranking, {})], steps)


def _length_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    return Arithmetic.of([list_table(ranking, {})], [given(str(metric), int(ranking.length[0]))])


def _retrieved_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    length = int(ranking.length[0])
    if metric.k is None:
        return _length_terms(ranking, metric)
    steps = [given("length of the list", length), step(str(metric), "min", float(metric.k), "length of the list")]
    return Arithmetic.of([list_table(ranking, {})], steps)


DECLARATIONS = (
    GroupMetric(
        name="filled",
        title="share of the first k positions that a row takes",
        formula="min(k, rows of the list) / k; without @k: 1 if the list has a row, else 0",
        undefined="never",
        reference="sparkrank's own; without @k, user coverage: Herlocker et al., TOIS 2004",
        reads_labels=False,
        values=lambda ranking, metric: filled(ranking, metric.k),
        arithmetic=_filled_terms,
    ),
    GroupMetric(
        name="list_length",
        title="rows of a list",
        formula="rows with a score",
        undefined="never",
        reference="sparkrank's own",
        cutoff="none",
        higher_is_better=None,
        highest=math.inf,
        reads_labels=False,
        values=lambda ranking, metric: ranking.length.astype(np.float64),
        arithmetic=_length_terms,
    ),
    GroupMetric(
        name="n_ret",
        title="rows in the first k; without k, list_length",
        formula="min(k, rows with a score)",
        undefined="never",
        reference="NIST trec_eval: num_ret, which is the sum over groups",
        aliases=("num_ret", "numret"),
        higher_is_better=None,
        highest=math.inf,
        refused=(("rel", "NumRet(rel=) of ir_measures is n_rel_ret(rel=)"),),
        reads_labels=False,
        values=lambda ranking, metric: retrieved(ranking, metric.k),
        arithmetic=_retrieved_terms,
    ),
)
