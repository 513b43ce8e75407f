"""The comparison of two whole runs by their states: every metric over all rows, without pairs of groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sparkrank.base import checks
from sparkrank.base.errors import InputError, itemize
from sparkrank.comparison.group_tables import GroupTable, chosen_models, metric_among, notes_on_definitions
from sparkrank.comparison.run_comparison import RunComparison
from sparkrank.comparison.run_states import RunStates
from sparkrank.metrics.slices import ALL
from sparkrank.schemas.tables import COMPARISONS
from sparkrank.stats.corrections import Correction, adjusted
from sparkrank.text.text import unlisted_sentence
from sparkrank.uncertainty.differences import compare_two


def compare_states(
    left: RunStates,
    right: RunStates,
    models: tuple[str | None, str | None],
    metrics: Sequence[str] | None,
    *,
    correction: Correction,
    level: float,
    other_definitions: bool,
    options: tuple[str, str] = ("left_model", "right_model"),
) -> RunComparison:
    """Return the comparison of two runs by ``metrics`` (None: by all metrics of both runs)."""
    for what, one, other in (
        ("groups are", itemize(left.plan.keys), itemize(right.plan.keys)),
        ("clusters of groups are", left.plan.cluster, right.plan.cluster),
    ):
        if one != other:
            raise InputError(
                f"{what} by {one or 'nothing'} in {left.place}, and by {other or 'nothing'} in {right.place}: only "
                "groups of one key are compared"
            )
    baseline, candidate = chosen_models(left, right, *models, options)
    names, notes = _common_metrics(left, right, metrics, other_definitions)
    ours, theirs = right.loaded(names), left.loaded(names)
    rows = []
    for name in names:
        metric = right.metrics[name]
        numbers = compare_two(ours.sample(candidate), theirs.sample(baseline), metric, level)
        rows.append({"metric": name, "definition": right.definitions[name], **numbers})
    common = {"candidate": candidate, "baseline": baseline, "spec_hash": right.spec_hash, "run_id": right.run_id}
    for side, states, model in ((left, theirs, baseline), (right, ours, candidate)):
        if count := states.merged.partials.counts.get((checks.UNRETRIEVED_GROUPS, model), 0):
            notes.append(f"{side.place}: {unlisted_sentence(model, count, states.groups)}")
        if not states.plan.has_parts:
            notes.append(f"{side.place} has no parts of its groups: there are no intervals")
    if not {str(metric) for metric, _ in right.plan.group_metrics} & set(names):
        notes.append("no metric of groups is compared: each value is one of all rows together")
    sentences = dict.fromkeys((*notes, *theirs.notes, *ours.notes))
    return RunComparison(
        whole_day_rows(rows, common, correction),
        left.place,
        right.place,
        "all",
        theirs.groups,
        ours.groups,
        notes=tuple(sentences),
    )


def _common_metrics(
    left: RunStates, right: RunStates, texts: Sequence[str] | None, other_definitions: bool
) -> tuple[list[str], list[str]]:
    common = [name for name in right.metrics if name in left.metrics]
    notes = notes_on_lone_metrics(left, right) if texts is None else []
    presets = right.preset, left.preset
    names = common if texts is None else list(dict.fromkeys(metric_among(common, text, *presets) for text in texts))
    if not names:
        raise InputError(f"no metric of {left.place} is one of {right.place}: nothing can be compared")
    return names, notes + notes_on_definitions(left.definitions, right.definitions, names, other_definitions)


def notes_on_lone_metrics(left: RunStates | GroupTable, right: RunStates | GroupTable) -> list[str]:
    """Return one note for each run with metrics that the other run lacks. The note names these metrics."""
    sides = (left, right), (right, left)
    alone = [(side.what, [name for name in side.metrics if name not in other.metrics]) for side, other in sides]
    return [f"metrics on the {what} only: {itemize(names)}" for what, names in alone if names]


def whole_day_rows(rows: Sequence[dict[str, Any]], common: dict[str, Any], correction: Correction) -> pa.Table:
    """Return a ``comparisons`` table of ``rows`` for the whole day, with p-values corrected as one family of tests."""
    p = adjusted(np.array([math.nan if row["p"] is None else row["p"] for row in rows]), correction)
    family = {"slice": ALL, "slice_value": ALL, "correction": correction, "family": "whole day"}
    whole = [
        {**common, **family, **row, "p_adjusted": None if math.isnan(p_adjusted) else p_adjusted}
        for row, p_adjusted in zip(rows, p.tolist(), strict=True)
    ]
    return pa.Table.from_pylist(whole, schema=COMPARISONS.schema)
