"""The function :func:`register` for metrics from outside the package, and the import of plugins.

Plugins are modules that call :func:`register` when they are imported. A parsed metric from outside contains its
declaration (:class:`sparkrank.metrics.metric.Metric`), so that processes that receive a plan need not register it.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any, TypeVar

from sparkrank.base.errors import MOST_LISTED, MetricError, SpecError, first_line, itemize, quote, shorten
from sparkrank.metrics import aliases as names
from sparkrank.metrics.metric import CATALOG, Declaration, NeedsOrder, Unbounded
from sparkrank.metrics.parameters import Parameter

D = TypeVar("D", bound=Declaration)

_NAME = re.compile(r"[a-z_][a-z0-9_.]*")
_PARAMETER = re.compile(r"[a-z_][a-z0-9_]*")
_OVER_GROUPS = re.compile(r"median|gmean|p\d+(\.\d+)?|gm_(map|bpref)")


def _tuple_of(kind: type[object]) -> Callable[[Any], bool]:
    return lambda given: isinstance(given, tuple) and all(isinstance(value, kind) for value in given)


def _is_number(given: Any) -> bool:
    return isinstance(given, (int, float)) and not isinstance(given, bool) and not math.isnan(given)


# For each field of a declaration, a test of values other than the default, and a description of valid values.
_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(
        ("name", "title", "formula", "undefined", "reference"),
        (lambda given: isinstance(given, str) and bool(given.strip()), "a text"),
    ),
    **dict.fromkeys(("aliases", "exclusive", "columns"), (_tuple_of(str), "a tuple of texts")),
    **dict.fromkeys(("parameters", "common"), (_tuple_of(Parameter), "a tuple of parameters")),
    "translations": (_tuple_of(tuple), "a tuple of (alias, parameter, function)"),
    "refused": (_tuple_of(tuple), "a tuple of (parameter, reason)"),
    "cutoff": (lambda given: given in ("optional", "none"), "optional or none"),
    "higher_is_better": (lambda given: given is None or isinstance(given, bool), "True, False or None"),
    **dict.fromkeys(("curve", "point_of"), (lambda given: given in ("roc", "pr"), "roc, pr or None")),
    "at": (lambda given: isinstance(given, str), "a text or None"),
    "needs_order": (lambda given: isinstance(given, NeedsOrder), "a NeedsOrder or None"),
    "unbounded": (lambda given: isinstance(given, Unbounded), "an Unbounded or None"),
    **dict.fromkeys(("lowest", "highest"), (_is_number, "a number")),
    **dict.fromkeys(
        ("check", "values", "weights", "sums", "value", "rule", "terms", "arithmetic"), (callable, "a function")
    ),
}
_lock = threading.RLock()


def register(declaration: D) -> D:
    """Make a metric available by name in evaluations, tables, ``sparkrank metrics`` and Spark's workers.

    Workers need not register the metric, because each evaluation sends the declaration to them. Functions of a notebook
    or of the main script are sent by value. Functions of a module are sent by name, so the workers must be able to
    import this module (``--py-files``).

    Parameters
    ----------
    declaration : GroupMetric, CatalogueMetric, PooledMetric or HistogramMetric
        The metric, built from the classes of :mod:`sparkrank.metrics`.

    Returns
    -------
    Declaration
        The registered declaration of this name: ``declaration``, or an equal declaration from an earlier call.

    Raises
    ------
    MetricError
        If a field of ``declaration`` is missing or has the wrong type, or if its name or an alias is not allowed or
        belongs to another metric. The metric is not registered then.

    Examples
    --------
    The share of a list's first k rows that were judged at all:

    >>> import numpy as np, pyarrow as pa, sparkrank as sr
    >>> def judged_share(ranking, metric):
    ...     rows = ranking.row if metric.k is None else ranking.row[ranking.stands_at() <= metric.k]
    ...     judgments = ranking.judgments
    ...     judged = np.bincount(judgments.codes[rows], judgments.pooled()[rows], ranking.groups)
    ...     shown = np.bincount(judgments.codes[rows], minlength=ranking.groups)
    ...     return np.divide(judged, shown, out=np.full(ranking.groups, np.nan), where=shown > 0)
    >>> judged = sr.register(sr.GroupMetric(
    ...     name="judged_share",
    ...     title="share of the list that was judged",
    ...     formula="judged rows of the first k / rows of the first k",
    ...     undefined="the list is empty",
    ...     reference="ours",
    ...     values=judged_share,
    ... ))
    >>> rows = pa.table({"user": ["a", "a", "b"], "score": [3.0, 2.0, 1.0], "clicked": [1, None, None]})
    >>> day = sr.evaluate(rows, ["judged_share", "judged_share@1"], group="user", score="score", label="clicked")
    >>> day.metrics["value"].to_pylist()
    [0.25, 0.5]
    """
    kind: type[object] = type(declaration)
    if not issubclass(kind, Declaration) or not kind.parts:
        raise MetricError(
            f"register takes a GroupMetric, CatalogueMetric, PooledMetric or HistogramMetric, not {quote(declaration)}"
        )
    _validate_declaration(declaration)
    with _lock:
        known = CATALOG.get(declaration.name)
        if known is not None and _alike(known, declaration):
            return known  # type: ignore[return-value] # equal declarations have one type
        for name in (declaration.name, *declaration.aliases):
            _validate_name_is_free(name, declaration)
        CATALOG.add(declaration)
    return declaration


def _validate_declaration(declaration: Declaration) -> None:
    _validate_field_types(declaration)
    own = [declaration.name, *(alias.removesuffix("@") for alias in declaration.aliases)]
    for name in own:
        is_summary = _OVER_GROUPS.fullmatch(name)
        if is_summary or not _NAME.fullmatch(name):
            allowed = "small letters, digits, _ and . are allowed, a letter or _ first"
            also = ", and this asks for a summary of the values of groups" if is_summary else ""
            raise MetricError(f"{quote(name)} is not a name of a metric: {allowed}{also}")
    if len(set(own)) < len(own):
        raise MetricError(f"the metric {declaration.name} has one name twice: {itemize(own)}")
    parameters = [name for parameter in declaration.all_parameters for name in (parameter.name, *parameter.aliases)]
    for name in parameters:
        if not _PARAMETER.fullmatch(name) or parameters.count(name) > 1:
            twice = "is there twice" if parameters.count(name) > 1 else "is not a name: small letters, digits and _ are"
            raise MetricError(f"the parameter {quote(name)} of {declaration.name} {twice}")
    _validate_parameters(declaration)
    if (lacking := declaration.lacking) is not None:
        raise MetricError(f"the metric {declaration.name} has no {lacking}, the function that computes its values")


def _validate_field_types(declaration: Declaration) -> None:
    for field, given in vars(declaration).items():
        fits, needed = _FIELDS.get(field, (None, ""))
        if fits is not None and given is not getattr(type(declaration), field, ...) and not fits(given):
            raise MetricError(f"{field} of the metric {declaration.name} is {quote(given)}: {needed} is needed")
    if declaration.lowest > declaration.highest:
        raise MetricError(
            f"lowest of the metric {declaration.name} is {declaration.lowest:g}, above its highest, "
            f"{declaration.highest:g}"
        )


def _validate_parameters(declaration: Declaration) -> None:
    for parameter in declaration.all_parameters:
        if parameter.is_flag or parameter.default is None:
            continue
        try:
            read = parameter.read(parameter.write(parameter.default))
        except ValueError:
            read = None
        if read != parameter.default:
            raise MetricError(
                f"{parameter.name} of {declaration.name} is {quote(parameter.default)} by default: {parameter.allowed} "
                f"is allowed"
            )
    of_its_own = {parameter.name for parameter in declaration.all_parameters}
    for name in (*declaration.exclusive, *filter(None, [declaration.at])):
        if name not in of_its_own:
            raise MetricError(f"{declaration.name} refers to {quote(name)}, and has no such parameter")
    if getattr(declaration, "by_rate", False) and not isinstance(declaration.defaults.get("min_rows"), int):
        raise MetricError(
            f"the metric {declaration.name} is by_rate and has no parameter min_rows with a whole number by default, "
            "up to which the rows of neighbouring bins are joined"
        )


def _validate_name_is_free(name: str, declaration: Declaration) -> None:
    bare = name.removesuffix("@")
    with_number = names.cut_off(bare)
    for word in (bare, *(() if with_number is None else (with_number[0],))):
        if CATALOG.is_known(word):
            taken = CATALOG.find(word, True, word)
            remedy = "give it another name"
            if taken.name == declaration.name and not CATALOG.is_built_in(taken):  # a cell of a notebook was edited
                remedy += ", or start Python anew to change it"
            raise MetricError(
                f'"{bare}" of the metric {declaration.name} is taken: it means {taken.name} ({taken.title}); {remedy}'
            )


def _alike(one: object, other: object) -> bool:
    """Return whether two values are equal. Functions are compared by code, because a new import makes new functions."""
    if isinstance(one, FunctionType) and isinstance(other, FunctionType):
        return one is other or (one.__code__ == other.__code__ and all(map(_alike, _bound(one), _bound(other))))
    if _class_of(one) != _class_of(other):
        return False
    if dataclasses.is_dataclass(one):
        return _alike(vars(one), vars(other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(one == other)


def _class_of(value: object) -> object:
    kind = type(value)
    return (kind.__qualname__, kind.__bases__) if dataclasses.is_dataclass(value) else kind


def _bound(function: FunctionType) -> Iterator[object]:
    yield function.__defaults__
    yield function.__kwdefaults__
    yield tuple(cell.cell_contents for cell in function.__closure__ or ())


def import_plugins(modules: Iterable[str], place: str) -> None:
    """Import ``modules``, which register metrics.

    Raise :class:`SpecError` if a module is missing or its import fails. The message contains ``place`` with the index
    of the module in place of ``{}``.
    """
    for index, module in enumerate(modules):
        where = f"{place.format(index)} is {shorten(module)}"
        if not all(part.isidentifier() for part in module.split(".")):
            raise SpecError(f"{where}: the name of a module is needed, as my_package.metrics")
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            missing = error.name or module
            if f"{module}.".startswith(f"{missing}."):
                raise SpecError(
                    f"{where}, and there is no module {missing}: install it, name its folder in PYTHONPATH, or give it "
                    f"to spark-submit with --py-files"
                ) from error
            raise SpecError(f"{where}, which imports {missing}, which is not installed") from error
        except SpecError as error:  # register raised the error, which says what is wrong with the metric
            raise SpecError(f"{where}: {error}") from error
        except Exception as error:
            reason = shorten(f"{type(error).__name__}: {first_line(error)}", MOST_LISTED)
            raise SpecError(f"{where}, which fails when it is imported ({reason})") from error
