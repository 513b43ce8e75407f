"""A Spark column that is an aggregate inside of ``agg`` and a function of arrays inside of ``select``.

A column of Spark does not know the types of its inputs, and whether it aggregates is a part of it. So this one has a
form for each place, and shows Spark the one that fits the call that reads it: a call of ``GroupedData`` or of
``DataFrame``, or the plan node of Spark Connect. Spark has no public way for that. ``SPARKRANK_PRIVATE_SPARK=0`` in the
environment leaves the form for rows alone, and the argument ``of``, which is public, says the same anywhere.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from sparkrank.base.errors import shortened

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.window import WindowSpec

# Where a column stands: among aggregates of groups, as the only one of these, among aggregates of all rows, or outside
# of an aggregation.
Place: TypeAlias = Literal["rows", "alone", "all", "lists"]
# What takes aggregates, and what takes none, by the names of classes of Spark.
_AGGREGATES = frozenset({"GroupedData", "Aggregate"})
_OTHERS = frozenset({"DataFrame"})
_CONNECT_PLANS = "pyspark.sql.connect.plan"
_SHOWN = ("_jc", "_expr")  # what Spark reads of a column: classic, Connect
# Methods that make another column of one: all forms do the same.
_OPERATORS = tuple(
    f"__{name}__"
    for name in (
        *("neg", "add", "sub", "mul", "truediv", "mod", "pow", "radd", "rsub", "rmul", "rtruediv", "rmod", "rpow"),
        *("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "invert", "rand", "ror", "getitem"),
    )
)
_METHODS = (
    *("alias", "name", "cast", "astype", "try_cast", "getField", "getItem", "isNull", "isNotNull", "isNaN", "between"),
    *("eqNullSafe", "isin", "asc", "desc", "asc_nulls_first", "asc_nulls_last", "desc_nulls_first", "desc_nulls_last"),
)


def either(forms: Mapping[Place, Column], over: Callable[[WindowSpec], Column], text: str) -> Column:
    """A column of ``forms`` by where it stands, that of ``rows`` where it has no other, and ``over`` a window.

    It is printed as ``text``: Spark prints a function of Python with the nodes and stack traces of its arguments.
    """
    made: Column = _kind(cast("Any", type(forms["rows"])))(forms, over, text)
    return made


@functools.cache
def _kind(base: Any) -> Any:
    """The class of columns of several forms, each of the class ``base``: that of classic Spark or of Connect."""
    made = type("Either", (base,), {"__new__": _new, "__init__": _init, "over": _over, "__repr__": _repr})
    for name in _SHOWN:
        setattr(made, name, property(functools.partial(_shown, name)))
    for name in filter(functools.partial(hasattr, base), (*_OPERATORS, *_METHODS)):
        setattr(made, name, _applied(name))
    made.__hash__ = base.__hash__  # type: ignore[method-assign] # __eq__ is new, and it makes a column
    return made


def _new(kind: type, *_: Any) -> Any:
    return object.__new__(kind)


def _init(column: Any, forms: Mapping[Place, Any], over: Callable[[Any], Any] | None, text: str) -> None:
    vars(column).update(forms=forms, when_over=over, text=text)


def _over(column: Any, window: Any) -> Any:
    if column.when_over is None:
        return column.forms["rows"].over(window)
    return column.when_over(window)


def _repr(column: Any) -> str:
    return f"Column<'{column.text}'>"


def _shown(name: str, column: Any) -> Any:
    return getattr(_form(column, place_of_reader()), name)


def _applied(name: str) -> Callable[..., Any]:
    """The method ``name``, which is that of each form."""

    def apply(column: Any, *given: Any, **named: Any) -> Any:
        forms = {
            place: getattr(form, name)(*(_form(each, place) for each in given), **named)
            for place, form in column.forms.items()
        }
        arguments = [*map(text_of, given), *(f"{key}={text_of(each)}" for key, each in named.items())]
        return type(column)(forms, None, f"{text_of(column)}.{name.strip('_')}({', '.join(arguments)})")

    return apply


def text_of(given: Any) -> str:
    """What is ``given`` to a column, as it stands in the text of that."""
    return shortened(repr(given).removeprefix("Column<'").removesuffix("'>"))


def _form(given: Any, place: Place) -> Any:
    """``given`` where it stands in ``place``, if it is a column of several forms."""
    forms = getattr(given, "__dict__", {}).get("forms")
    return given if forms is None else forms.get(place, forms["rows"])


def place_of_reader() -> Place:
    """Where the column stands that Spark reads: what the nearest call of a DataFrame, of groups or of a plan says.

    Where a function of Spark has been given the column, as in ``F.round(column)``, nobody knows where that will stand,
    and it is among rows.
    """
    if os.environ.get("SPARKRANK_PRIVATE_SPARK") == "0":
        return "rows"
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - inspect reads the source of every caller
    while frame and (module := str(frame.f_globals.get("__name__"))).startswith("pyspark."):
        owner = frame.f_locals.get("self")
        kind = type(owner).__name__
        if kind in _AGGREGATES:
            return _place_among(frame, owner)
        if kind in _OTHERS or (module == _CONNECT_PLANS and owner is not None):
            return "lists"
        frame = frame.f_back
    return "rows"


def _place_among(frame: FrameType, owner: Any) -> Place:
    """The place among the aggregates that the call in ``frame`` puts together, a method of ``owner``."""
    if _is_of_all(frame, owner):
        return "all"
    named = frame.f_locals
    beside = named.get("exprs", named.get("aggregate_cols", getattr(owner, "_aggregate_cols", ())))
    return "alone" if len(beside) == 1 else "rows"


def _is_of_all(frame: FrameType, owner: Any) -> bool:
    """Whether it aggregates all rows together: classic Spark says so by ``DataFrame.agg``, a plan of Connect by having
    no keys.
    """
    keys = frame.f_locals.get("grouping_cols", getattr(owner, "_grouping_cols", None))
    if keys is not None:
        return not keys and frame.f_locals.get("group_type", getattr(owner, "_group_type", "")) == "groupby"
    caller = frame.f_back
    while caller and str(caller.f_globals.get("__name__")).startswith("pyspark."):
        if caller.f_code.co_name == "agg" and type(caller.f_locals.get("self")).__name__ in _OTHERS:
            return True
        caller = caller.f_back
    return False
