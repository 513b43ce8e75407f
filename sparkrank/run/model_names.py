"""The names of the models in a long table (one model per row), read from its model column before the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.checks import NO_LIMITS
from sparkrank.base.errors import InputError, NoInputError, itemize, shorten
from sparkrank.bucket.encoding import encode
from sparkrank.engines.request import Request
from sparkrank.inputs.role_table import MODEL
from sparkrank.inputs.roles import MOST_MODELS, Roles
from sparkrank.metrics import Plan

if TYPE_CHECKING:
    from sparkrank.sources.side_rows import SideRows

_PLAN = Plan((), (), (), long=True)  # a plan without models, so that only the model column is read


def roles_of_names(column: str) -> Roles:
    """Return the roles of a long table in which only ``column``, the model column, is read."""
    roles = Roles((), {}, {}, {MODEL.key: column}, long=True)
    roles.validate_roles(beside="of the input")  # it has no scores
    return roles


def model_names(side: SideRows, column: str, lane: str, spark: Any) -> tuple[str, ...]:
    """Return the model names in ``column`` of one input (``side``), sorted, from one pass in the lane ``lane``.

    Raise :class:`InputError` if there are more than :data:`MOST_MODELS` names, or if a row has no name.
    """
    from sparkrank.run.lane import open_lane

    opened = open_lane(Request((side,), None, roles_of_names(column), _PLAN, NO_LIMITS, lane, spark))
    opened.check(_PLAN)
    tables = opened.picked(_PLAN, None, _names_and_rows)
    if not tables:
        raise NoInputError(f"the {side.what} has no rows")
    rows = pa.concat_tables(tables).group_by("name").aggregate([("rows", "sum")])
    nameless = rows.filter(pc.equal(rows["name"], ""))["rows_sum"].to_pylist()
    the_column = f'the model column "{shorten(column)}"'
    if nameless:
        raise InputError(f"{the_column} is null or empty in {nameless[0]:,} rows: each row needs the name of its model")
    names = sorted(rows["name"].to_pylist())
    if len(names) > MOST_MODELS:
        raise InputError(
            f"{the_column} has more than {MOST_MODELS} names ({itemize(names[:3])} and others): up to "
            f"{MOST_MODELS} models are evaluated together"
        )
    return tuple(names)


def _names_and_rows(rows: pa.Table) -> pa.Table:
    """Return the number of rows by model name, in columns ``name`` and ``rows``, sorted by name.

    A null counts as the empty name.
    """
    codes, names = encode(rows[MODEL.key])
    counted = pa.table({"name": names.fill_null(""), "rows": np.bincount(codes, minlength=len(names))})
    return counted.sort_by("name").slice(0, MOST_MODELS + 1)
