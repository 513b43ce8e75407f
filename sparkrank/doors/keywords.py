"""The typed keyword arguments of several public functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

from sparkrank.base.errors import SpecError, did_you_mean, itemize
from sparkrank.inputs.roles import Relevance, ScoreColumns
from sparkrank.metrics.definitions import SettingOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.sources.folders import PartitionTypes
    from sparkrank.sources.in_memory import Rows

F = TypeVar("F", bound=Callable[..., Any])


class _ColumnOptions(TypedDict, total=False):
    """The keyword arguments that name columns, and those that give the truth as a table or as array columns."""

    score: ScoreColumns | None
    rank: ScoreColumns | None
    label: str | Mapping[str, str] | None
    item: str | None
    reference_rank: str | None
    weight: str | None
    propensity: str | None
    estimate: str | None
    policy_estimate: str | None
    model: str | None
    time: str | None
    truth: Rows | None
    truth_columns: Mapping[str, str | Sequence[str]] | None
    catalog: Rows | None
    catalog_columns: Mapping[str, str] | None
    interactions: Rows | Mapping[str, str | bool] | None
    interactions_columns: Mapping[str, str | Sequence[str]] | None
    tiers: Mapping[str, str | float] | None
    exclude: Rows | Literal["interactions"] | None
    exclude_columns: Mapping[str, str | Sequence[str]] | None
    items: ScoreColumns | None
    true_items: str | None
    relevance: Relevance


class InputOptions(_ColumnOptions, SettingOptions, total=False):
    """The keyword arguments of every public function that reads an input."""

    spark: SparkSession | None
    lane: str
    partition_types: PartitionTypes


class ExplainOptions(InputOptions, total=False):
    """The keyword arguments of :func:`sparkrank.explain`. Only explanations show titles."""

    title: str | None


INPUT_DEFAULTS = {"relevance": "membership", "lane": "auto", "partition_types": "inferred"}


def with_options(options: type[Any], defaults: Mapping[str, Any] | None = None) -> Callable[[F], F]:
    """Return a decorator that lists the keys of ``options`` in the signature of a function with ``**options``.

    ``help`` and editors show the ``defaults`` too. A call with an unknown name raises an error with the nearest name.
    """

    def decorate(function: F) -> F:
        own, title = inspect.signature(function), function.__qualname__.removesuffix(".__init__")
        shown = [parameter for parameter in own.parameters.values() if parameter.kind != inspect.Parameter.VAR_KEYWORD]
        for name, annotation in options.__annotations__.items():
            text = getattr(annotation, "__forward_arg__", annotation)
            default = (defaults or {}).get(name)
            shown.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=text))
        signature = own.replace(parameters=shown)

        @functools.wraps(function)
        def checked(*arguments: Any, **named: Any) -> Any:
            refuse_unknown(title, named, signature)
            return function(*arguments, **named)

        checked.__signature__ = signature  # type: ignore[attr-defined] # what inspect reads
        return checked  # type: ignore[return-value] # it has the arguments and result of ``function``

    return decorate


def refuse_unknown(function: str, named: Mapping[str, Any], signature: inspect.Signature) -> None:
    """Raise :class:`SpecError` if a name in ``named`` is not an argument in the ``signature`` of ``function``."""
    known = [name for name in signature.parameters if name != "self"]
    for name in named:
        if name not in known:
            is_of_explain = name in ExplainOptions.__annotations__.keys() - InputOptions.__annotations__.keys()
            near = ", which only sparkrank.explain reads" if is_of_explain else did_you_mean(name, known)
            raise SpecError(f'{function} has no argument "{name}"{near} (allowed: {itemize(known)})')
