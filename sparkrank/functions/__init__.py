"""Functions of Spark columns for metrics: ``from sparkrank import functions as srf``.

Each metric of groups, or of all rows together, is a function here under its name and its aliases.
``srf.ndcg("score", "label", k=10)`` aggregates the rows of a group. With ``of="lists"``, the function evaluates the
list in the arrays of each row. For the same group, :func:`sparkrank.evaluate` gives the same value, to the bit. An
undefined value is null.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from sparkrank.base.errors import MetricError, SpecError, did_you_mean, hint, quote
from sparkrank.doors.keywords import with_options
from sparkrank.functions.column_plans import column_plan, is_of_one_list
from sparkrank.functions.function_docs import metric_function
from sparkrank.functions.spark_columns import OF, MetricColumn, validate_workers
from sparkrank.functions.sql_functions import register_functions, sql_name
from sparkrank.inputs.role_table import row_roles
from sparkrank.metrics import CATALOG, Metric
from sparkrank.metrics.definitions import ALLOWED, SettingOptions

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession
    from pyspark.sql.window import WindowSpec
    from typing_extensions import Unpack

    from sparkrank.functions.spark_columns import ColumnOrName
    from sparkrank.metrics.presets import PresetName

    Of: TypeAlias = Literal["lists", "rows", "batches"]

__all__ = ["metric", "metrics", "register", "sql_name"]
ROLES = ("rank", *(role.key for role in row_roles() if not role.is_group_value))


class ColumnOptions(SettingOptions, total=False):
    """The keyword arguments of :func:`metric` and :func:`metrics` in addition to scores and labels."""

    rank: ColumnOrName | None
    item: ColumnOrName | None
    reference_rank: ColumnOrName | None
    weight: ColumnOrName | None
    propensity: ColumnOrName | None
    estimate: ColumnOrName | None
    policy_estimate: ColumnOrName | None
    of: Of | None
    over: WindowSpec | None


@with_options(ColumnOptions)
def metric(
    text: str | Metric,
    score: ColumnOrName | None = None,
    label: ColumnOrName | None = None,
    **options: Unpack[ColumnOptions],
) -> Column:
    """Return a column of the metric ``text``, with a value for the list in each row or for the rows of each group.

    Parameters
    ----------
    text : str or Metric
        The metric, such as ``"ap(over=min_k_relevant)@10"``, as for :func:`sparkrank.evaluate`.
    score : Column or str, optional
        The scores. A higher score is better; null means judged but not retrieved. For lists, they are arrays of scores
        or, without ``label``, arrays of structs whose fields are score, label and other needed values, by name or in
        this order.
    label : Column or str, optional
        The labels. Null means not judged.
    rank : Column or str, optional
        The ranks, used in place of ``score``. A lower rank is better.
    item, reference_rank, weight, propensity, estimate, policy_estimate : Column or str, optional
        Columns that some metrics or definitions need, as in :func:`sparkrank.evaluate`.
    ties, undefined, unretrieved, unjudged, duplicates, population, positions : str, optional
        The definitions, see :class:`sparkrank.Definitions`.
    preset : str, optional
        A library of :data:`sparkrank.metrics.PRESETS`. Its definitions and parameters apply unless others are given.
    of : {"rows", "lists", "batches"}, optional
        The content of the columns: the ``rows`` of a group; ``lists`` in arrays, the default for one column of structs;
        or ``batches`` of rows, which a metric for all rows together reduces to score bins, so that memory is bounded.
        Spark allows no other aggregate beside one of ``batches``.
    over : WindowSpec, optional
        The window whose rows are evaluated.

    Returns
    -------
    Column
        Doubles, named by the text of the metric. A value is null if the list is null, or if the metric is undefined and
        ``undefined`` sets no value. It is NaN if a row cannot be evaluated because a score or label is NaN.

    Raises
    ------
    SpecError
        If the arguments are invalid, or the metric is a property of all lists together, such as coverage.

    Examples
    --------
    >>> from sparkrank import functions as srf
    >>> srf.metric("rr(ties=item)", "score", "label")
    Traceback (most recent call last):
        ...
    sparkrank.base.errors.SpecError: ties=item of rr(ties=item) orders tied rows by item, but no item column is named
    """
    return _column([text], score, label, options, is_struct=False)


@with_options(ColumnOptions)
def metrics(
    texts: Sequence[str | Metric],
    score: ColumnOrName | None = None,
    label: ColumnOrName | None = None,
    **options: Unpack[ColumnOptions],
) -> Column:
    """Return a struct column of several metrics of one list, which Spark sends to Python only once, to be ranked once.

    Parameters
    ----------
    texts : sequence of str or Metric
        Either only metrics of groups, or only metrics of all rows together.
    score, label, rank, item, reference_rank, weight, propensity, estimate, policy_estimate, of, over : optional
        As in :func:`metric`.
    preset, ties, undefined, unretrieved, unjudged, duplicates, population, positions : optional
        As in :func:`metric`.

    Returns
    -------
    Column
        A struct with a field for each metric, named by its text. ``select("metrics.*")`` turns the fields into columns.

    Raises
    ------
    SpecError
        As in :func:`metric`, or if only some of the metrics are metrics of groups.

    Examples
    --------
    >>> from sparkrank import functions as srf
    >>> srf.metrics(["ap", "auc"], "score", "label")
    Traceback (most recent call last):
        ...
    sparkrank.base.errors.SpecError: ap is a metric of a group and auc of all rows together: ask for them in two columns
    """
    return _column(texts, score, label, options, is_struct=True)


def _column(
    texts: Sequence[str | Metric],
    score: ColumnOrName | None,
    label: ColumnOrName | None,
    options: ColumnOptions,
    *,
    is_struct: bool,
) -> Column:
    of, over = options.get("of"), options.get("over")
    columns: dict[str, Any] = {"score": score, "label": label, **{name: options.get(name) for name in ROLES}}
    settings = {name: options.get(name) for name in ALLOWED}
    if of is not None and of not in OF:
        raise SpecError(f"of is {quote(of)}{hint(str(of), OF)}")
    if over is not None and of not in (None, "rows"):
        raise SpecError(f"over evaluates the rows of a window, but of={of} does not: give only one of them")
    given = {key: column for key, column in columns.items() if column is not None}
    for key, column in given.items():
        if not isinstance(column, str) and not hasattr(column, "alias"):
            raise SpecError(f"{key} is {quote(column)}: the name of a column, or a column, is needed")
    # the fields of one array of structs replace columns that are not named; the metrics decide which fields they need
    of_structs = of in (None, "lists") and over is None and set(given) in ({"score"}, {"rank"})
    roles = (*given, "label", "item", "reference_rank") if of_structs else tuple(given)
    metric_column = MetricColumn(column_plan(texts, roles, settings, options.get("preset")), given, is_struct)
    validate_workers()
    if over is not None:
        return metric_column.over(over)
    if of == "lists" or of_structs:
        return metric_column.of_lists()
    return metric_column.of_batches() if of == "batches" else metric_column.of_rows()


def register(
    spark: SparkSession,
    metrics: Sequence[str | Metric] | Mapping[str, str | Metric] | None = None,
    *,
    prefix: str = "",
    preset: PresetName | None = None,
    **definitions: str | None,
) -> tuple[str, ...]:
    """Register metrics as SQL functions in the session ``spark``.

    A metric of a group is a function of an array of structs, as in ``ndcg_at_10(collect_list(struct(score, label)))``,
    or of an array of scores and one of labels, followed by arrays of items or reference ranks if the metric needs them.
    A metric of all rows together is an aggregate of the columns: ``SELECT day, auc(score, label) ... GROUP BY day``.
    Spark allows no built-in aggregate beside such a metric, and a worker needs memory for all rows of a group.

    Parameters
    ----------
    spark : SparkSession
        The session, classic or Spark Connect. The functions are temporary: they exist as long as the session.
    metrics : sequence of str or Metric, or mapping of str to these, optional
        The metrics, registered under their :func:`sql_name` or the keys of the mapping. By default, all metrics that
        need only scores and labels; metrics of groups are registered for the whole list and at 5, 10 and 20.
    prefix : str
        A prefix for every name, such as ``"srf_"``.
    preset : str, optional
        A library of :data:`sparkrank.metrics.PRESETS`.
    **definitions : str, optional
        The definitions, see :class:`sparkrank.Definitions`.

    Returns
    -------
    tuple of str
        The names of the functions.

    Raises
    ------
    SpecError
        If a metric, a definition or a name is invalid. In this case, no function is registered.

    Examples
    --------
    >>> from sparkrank import functions as srf
    >>> srf.register(None, ["ndcg@10"])
    Traceback (most recent call last):
        ...
    sparkrank.base.errors.SpecError: spark is None: a session of Spark is needed
    """
    return register_functions(spark, metrics, prefix, definitions, preset)


def __getattr__(name: str) -> Callable[..., Column]:
    """Return the function for the metric ``name``, which may be an alias."""
    if name.startswith("__") or not CATALOG.is_known(name):
        known = __dir__()
        raise AttributeError(
            f'sparkrank.functions has no "{name}"{did_you_mean(name, known)}: metrics are functions here'
        )
    at_k = CATALOG.find(name, has_cutoff=True, text=name)
    try:
        declaration = CATALOG.find(name, has_cutoff=False, text=name)
    except MetricError:  # an alias that needs a cut-off
        declaration = at_k
    return metric_function(name, declaration, at_k, metric, __name__)


def __dir__() -> list[str]:
    """Return the names of this module's functions, and of each metric that has a value for a group or for all rows."""
    names = (name for name, declared in CATALOG.items() if is_of_one_list(declared))
    return sorted({*__all__, *(name for name in names if name.isidentifier())})
