"""Metrics as SQL functions: their names, and their registration in a session."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sparkrank.base.errors import SpecError, quote
from sparkrank.functions.column_plans import column_plan, is_of_one_list
from sparkrank.functions.spark_columns import has_arrow_functions, list_function, row_function, validate_workers
from sparkrank.metrics import CATALOG, GroupMetric, Metric
from sparkrank.metrics.presets import PresetName
from sparkrank.metrics.rank_comparison import REF

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_CUTOFFS = (5, 10, 20)


def sql_name(text: str | Metric) -> str:
    """Return the SQL name of a metric: its text with ``_at_`` for @ and ``_`` for other characters not allowed in SQL.

    Parameters
    ----------
    text : str or Metric
        The text of a metric.

    Returns
    -------
    str
        A name of lower-case letters, digits and _.

    Examples
    --------
    >>> sql_name("ndcg@10"), sql_name("ap(over=min_k_relevant)@10"), sql_name("auc(exact)")
    ('ndcg_at_10', 'ap_over_min_k_relevant_at_10', 'auc_exact')
    """
    return re.sub(r"[^a-z0-9]+", "_", str(text).lower().replace("@", "_at_")).strip("_")


def default_texts() -> tuple[str, ...]:
    """Return all metrics that need only scores and labels. Metrics of groups also appear at :data:`DEFAULT_CUTOFFS`."""
    texts: list[str] = []
    for name, declared in CATALOG.items():
        compares = REF.name in declared.defaults and declared.defaults[REF.name] != "label"
        if not is_of_one_list(declared) or declared.columns or compares:
            continue
        texts.append(name)
        if isinstance(declared, GroupMetric) and declared.cutoff == "optional" and not declared.at:
            texts += [f"{name}@{k}" for k in DEFAULT_CUTOFFS]
    return tuple(texts)


def register_functions(
    spark: SparkSession,
    metrics: Sequence[str | Metric] | Mapping[str, str | Metric] | None,
    prefix: str,
    settings: Mapping[str, Any],
    preset: PresetName | None,
) -> tuple[str, ...]:
    """Check all ``metrics``, register them in the session ``spark``, and return the names of their SQL functions."""
    if not hasattr(spark, "udf"):
        raise SpecError(f"spark is {quote(spark)}: a session of Spark is needed")
    if metrics is None:
        metrics = _possible(settings, preset)
    named = dict(metrics) if isinstance(metrics, Mapping) else {sql_name(text): text for text in _texts(metrics)}
    roles = ("score", "label", "item", "reference_rank")
    plans = {f"{prefix}{name}": column_plan([text], roles, settings, preset) for name, text in named.items()}
    for name in plans:
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise SpecError(f"{quote(name)} is not a function name in SQL: letters, digits and _ are allowed")
    validate_workers()
    for name, own in plans.items():
        folds = not own.by_group and has_arrow_functions()
        made = row_function(own, is_struct=False, at_once=True) if folds else list_function(own, is_struct=False)
        spark.udf.register(name, made)
    return tuple(plans)


def _possible(settings: Mapping[str, Any], preset: PresetName | None) -> list[str]:
    """Return the default metrics that ``settings`` allow. Other default metrics are skipped without an error."""
    possible = []
    for text in default_texts():
        try:
            column_plan([text], ("score", "label", "item"), settings, preset)
        except SpecError:
            continue
        possible.append(text)
    return possible


def _texts(metrics: Sequence[str | Metric]) -> Sequence[str | Metric]:
    if isinstance(metrics, str):
        raise SpecError(f'metrics is "{metrics}", one text: a list of texts is needed, for example ["ndcg@10"]')
    return metrics
