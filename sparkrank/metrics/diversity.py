"""Declarations of metrics of diversity inside a list: distinct, category_entropy, ild."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from sparkrank.metrics.arithmetic import LIST, Arithmetic, Operation, TermTable, given, step, total
from sparkrank.metrics.arithmetic import ratio as quotient
from sparkrank.metrics.group_metric import GroupMetric
from sparkrank.metrics.metric import Metric, NeedsOrder, Unbounded
from sparkrank.metrics.overlap import divisor, share_of
from sparkrank.metrics.parameters import Choice, Column
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.elementary import log2
from sparkrank.numeric.segments import sum_by
from sparkrank.ranking.first_rows import head_of
from sparkrank.ranking.ranking import Ranking
from sparkrank.ranking.value_columns import catalog_column
from sparkrank.ranking.value_pairs import (
    SIMILARITIES,
    SumsOverPairs,
    ValuedRows,
    all_pairs,
    equal_above,
    mean_over_pairs,
    value_counts,
    valued_rows,
)


def distinct(ranking: Ranking, metric: Metric) -> Floats:
    """Return (distinct values in the first k rows) / (k, rows within k or values of the catalog, by ``over``)."""
    column = metric.value_column("by")
    values = np.bincount(value_counts(ranking, column, metric.k).group, minlength=ranking.groups).astype(np.float64)
    if metric["over"] == "catalog":
        return values / max(ranking.totals[column], 1)
    return share_of(values, ranking, metric.k, metric.word("over"))


def category_entropy(ranking: Ranking, metric: Metric) -> Floats:
    """Return -Σ p log2 p of the shares p of values in the first k rows of each group; NaN if no row has a value."""
    counts = value_counts(ranking, metric.value_column("by"), metric.k)
    rows = sum_by(counts.group, counts.times, ranking.groups)
    share = counts.times / rows[counts.group]
    bits = np.maximum(-sum_by(counts.group, share * log2(share), ranking.groups), 0.0)
    return np.where(rows > 0, bits, np.nan)


def ild(ranking: Ranking, metric: Metric) -> Floats:
    """Return the mean of 1 - similarity over pairs of the first k rows of each group.

    With fewer than two values, the result is NaN, or 0 with ``single=zero``.
    """
    columns = metric.columns_of("by")
    rows, groups = valued_rows(head_of(ranking, metric.k), columns, metric.k), ranking.groups
    different = SumsOverPairs(*np.zeros((3, groups)))
    for column in columns:
        alike = SIMILARITIES[metric.word("distance")](ranking, column).sums(rows, groups)
        different = different.plus(all_pairs(rows, groups).minus(alike))
    mean = mean_over_pairs(rows, different, groups, none_is_zero=metric["single"] == "zero")
    return mean / len(columns) if metric["scale"] == "mean" else mean


def list_terms(order: Ints, place: Ints, columns: dict[str, Floats]) -> TermTable:
    """Return the table of a list with rows in ``order``. Only the rows at ``place`` have terms, in ``columns``."""
    spread = {name: np.full(len(order), math.nan) for name in columns}
    for name, terms in columns.items():
        spread[name][place] = terms
    return TermTable(LIST, spread, order)


def _table(rows: ValuedRows, columns: dict[str, Floats]) -> TermTable:
    return list_terms(rows.order, rows.place, columns)


def _distinct_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    column = metric.value_column("by")
    rows = valued_rows(ranking, (column,), metric.k)
    table = _table(rows, {"new value": (equal_above(ranking.columns[column][rows.row]) == 0) * 1.0})
    below = [given("values of the catalog", ranking.totals[column])] if metric["over"] == "catalog" else []
    below = below or divisor(ranking, metric.k, metric.word("over"))
    steps = [total("distinct values", "new value"), *below]
    return Arithmetic.of([table], [*steps, step(str(metric), "share", "distinct values", below[-1].name)])


def _entropy_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    column = metric.value_column("by")
    rows = valued_rows(ranking, (column,), metric.k)
    codes = ranking.columns[column][rows.row]
    _, place, times = np.unique(codes, return_inverse=True, return_counts=True)
    share = np.where(equal_above(codes) == 0, times[place] / max(len(codes), 1), math.nan)
    columns = {"counts": np.ones(len(codes)), "p": share, "-p·log2 p": -share * np.log2(share)}
    steps = [total("bits", "-p·log2 p"), total("rows with a value", "counts")]
    last = step(str(metric), "where", "bits", "rows with a value")
    return Arithmetic.of([_table(rows, columns)], [*steps, last])


def _ild_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    columns = metric.columns_of("by")
    rows = valued_rows(ranking, columns, metric.k)
    above = np.arange(len(rows.row)) * len(columns)
    alike = [SIMILARITIES[metric.word("distance")](ranking, column).above(rows) for column in columns]
    terms = {"counts": np.ones(len(above)), "distances from rows above": above - np.sum(alike, axis=0)}
    table = _table(rows, terms)
    if rows.is_cut.any():
        return Arithmetic.of([table], [given(str(metric), float(ild(ranking, metric)[0]))], [CUT])
    name = str(metric)
    is_mean = metric["scale"] == "mean" and len(columns) > 1
    steps = [
        total("Σ of distances", "distances from rows above"),
        total("n", "counts"),
        step("n - 1", "minus", "n", 1.0),
        step("n (n - 1)", "times", "n", "n - 1"),
        quotient("pairs", "n (n - 1)", 2.0),
    ]
    operation: Operation = "share" if metric["single"] == "zero" else "ratio"
    steps.append(step("distance of a pair" if is_mean else name, operation, "Σ of distances", "pairs"))
    if is_mean:
        steps.append(quotient(name, "distance of a pair", float(len(columns))))
    return Arithmetic.of([table], steps)


def _check(metric: Metric) -> str | None:
    columns = metric.columns_of("by")
    if not columns:
        return f"names no column: by=<column> says what rows differ in, as in {metric.name}(by=genre)@10"
    if "over" in metric.declaration.defaults and metric["over"] == "catalog":
        own = next((column.name for column in columns if catalog_column(column.name) is None), None)
        return None if own is None else f"counts over the values of a catalog, but {own} is a column of the rows"
    return None


CUT = "a mean over the orders of the tied rows that k divides; above them, each row with a value in the block counts"
BY = "a column of texts or numbers; a row with a null is left out"
_of_categories = partial(
    GroupMetric,
    reads_labels=False,
    check=_check,
    needs_order=NeedsOrder(
        "the chance that a value is shown is a product over rows", "@k", lambda metric: metric.k is not None
    ),
)

DECLARATIONS = (
    _of_categories(
        name="distinct",
        title="distinct values, such as categories, that a list shows",
        formula="distinct values in the first k / k, or, without @k, / rows of the list; over=retrieved: / rows of the "
        "list within k; over=catalog: / distinct values in the catalog; 0 for 0 / 0",
        undefined="never",
        reference="RePlay: CategoricalDiversity; Vargas, Baltrunas, Karatzoglou, Castells: RecSys 2014",
        parameters=(
            Column("by", None, BY, kind="category"),
            Choice(
                "over",
                "k",
                "what the distinct values are divided by: k, or the rows of the list without @k; retrieved = the rows "
                "of the list within k; catalog = the distinct values of the catalog's column",
                choices=("k", "retrieved", "catalog"),
            ),
        ),
        values=distinct,
        arithmetic=_distinct_terms,
    ),
    _of_categories(
        name="category_entropy",
        title="entropy of the values, such as categories, that a list shows, in bits",
        formula="-Σ p·log2 p, p = the share of the rows with a value in the first k that have this value",
        undefined="no row in the first k has a value",
        reference="Shannon: Bell System Technical Journal 1948; LensKit: Entropy",
        parameters=(Column("by", None, BY, kind="category"),),
        highest=math.inf,
        values=category_entropy,
        arithmetic=_entropy_terms,
    ),
    GroupMetric(
        name="ild",
        title="intra-list diversity: the mean distance of two rows of a list",
        formula="Σ d(i,j) over pairs i < j of the first k rows that have values / (n(n-1)/2), n = the number of these "
        "rows; d = 1 where values differ, else 0, or as distance says; for several columns Σ d over the columns, "
        "scale=mean: / the columns",
        undefined="fewer than two rows in the first k have values; single=zero: never",
        reference="Ziegler, McNee, Konstan, Lausen: WWW 2005; Smyth, McClave: ICCBR 2001",
        parameters=(
            Column(
                "by",
                None,
                f"{BY}; or several, each with a value",
                kind="category",
                several=True,
                read_by="distance",
                kinds=(("jaccard", "texts"), ("cosine", "numbers")),
            ),
            Choice(
                "distance",
                "mismatch",
                "mismatch = 1 where values differ, else 0; jaccard = 1 - common texts / texts of either, of arrays of "
                "texts, of which an empty one is a null; cosine = 1 - x·y / (|x||y|), of arrays of numbers",
                choices=("mismatch", "jaccard", "cosine"),
            ),
            Choice(
                "scale", "sum", "of several columns: the sum of the distances, or their mean", choices=("sum", "mean")
            ),
            Choice(
                "single",
                "undefined",
                "what a list with fewer than two values counts: undefined, or zero",
                choices=("undefined", "zero"),
            ),
        ),
        reads_labels=False,
        unbounded=Unbounded(
            "several columns and scale=sum, or distance=cosine",
            lambda metric: (
                metric["distance"] == "cosine" or (metric["scale"] == "sum" and len(metric.columns_of("by")) > 1)
            ),
            has_ideal=lambda metric: False,
        ),
        check=_check,
        values=ild,
        arithmetic=_ild_terms,
    ),
)
