"""From the arguments of a call to a request: what ``sr.evaluate`` and ``sr.explain`` have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sparkrank.base.errors import SpecError
from sparkrank.engines.request import Request
from sparkrank.inputs.roles import COLUMN_ROLES, Roles, TruthColumns, planned
from sparkrank.metrics import Definitions, Metric, find_preset
from sparkrank.metrics.definitions import ALLOWED
from sparkrank.metrics.slices import Slices
from sparkrank.run.arguments import validate_argument_words
from sparkrank.sources.in_memory import accepted, is_path
from sparkrank.sources.pandas_rows import out_of_pandas
from sparkrank.sources.side_rows import SideRows
from sparkrank.tables.rows.limits import limits_of


def request_called(
    impressions: Any,
    metrics: Sequence[str | Metric],
    options: Mapping[str, Any],
    group: str | Sequence[str] | None,
    slices: Slices = (),
    *,
    bad: float = 0.0,
    limits: Mapping[str, float] | None = None,
    buckets: int | None = None,
    row_memory: int | None = None,
    **asked: Any,
) -> tuple[Request, TruthColumns | None]:
    """The request for ``impressions``, and the columns of the truth as the caller named them.

    ``options`` are :class:`sparkrank.doors.keywords.InputOptions` with their defaults, and the cluster; ``asked`` are
    further arguments of :func:`sparkrank.inputs.roles.planned`. Raises :class:`SpecError` if they make no sense.
    """
    truth, truth_columns, label = (options.get(name) for name in ("truth", "truth_columns", "label"))
    lane, partition_types, spark = options["lane"], options["partition_types"], options.get("spark")
    columns = {name: options.get(name) for name in (*COLUMN_ROLES, "cluster")}
    settings = {name: options.get(name) for name in ALLOWED}
    library = find_preset(options.get("preset"))
    validate_argument_words(lane, partition_types, is_path(impressions) or is_path(truth))
    beside = None if truth is None else TruthColumns.of(label, truth_columns)
    if truth_columns is not None and truth is None:
        raise SpecError("truth_columns names columns of a truth, but there is no truth")
    named = Roles.named(columns, group, label if truth is None else None, beside, options["relevance"], slices)
    definitions = Definitions.of(library, settings, joins=named.joins)
    asked = {**asked, "buckets": buckets, "ties_asked": settings["ties"] is not None}
    roles, plan = planned(named, metrics, definitions, library, **asked)
    lists = accepted("the impressions are", impressions, roles)
    true = None if truth is None else accepted("the truth is", truth, roles.truth or roles)
    given = out_of_pandas(lists, true, roles, plan)
    request = Request(
        SideRows.of("input", given.impressions, partition_types),
        None if truth is None else SideRows.of("truth", given.truth, partition_types),
        roles,
        plan,
        limits_of(plan, bad, limits, also={check for check, _ in given.counts}),
        lane,
        spark,
        buckets,
        row_memory=row_memory,
        counts=given.counts,
    )
    return request, beside
