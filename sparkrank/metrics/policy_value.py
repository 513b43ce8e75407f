"""The metric ``value``: the value of a policy that was not run, estimated from the logged actions of another."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sparkrank.base.errors import SpecError
from sparkrank.histogram.scored_rows import RowSum
from sparkrank.metrics.calibration import OUTSIDE
from sparkrank.metrics.metric import Metric
from sparkrank.metrics.needs import WeightStates
from sparkrank.metrics.parameters import Choice, Number
from sparkrank.metrics.pooled_metric import PooledMetric, PooledTotals, PooledValue
from sparkrank.metrics.regression import BEYOND, JUDGED

VALUE = "value"
OF_ACTIONS = ("propensity", "estimate", "policy_estimate")  # the roles of columns, as in LoggedActions
SLATES = RowSum("slates")
UNCLIPPED = RowSum("weights"), RowSum("squared_weights")


def clip_of(metric: Metric) -> float | None:
    return None if metric["clip"] is None else metric.number("clip")


def _sum(name: str, metric: Metric) -> RowSum:
    return RowSum(name, clip=clip_of(metric))


def _sums(metric: Metric) -> tuple[RowSum, ...]:
    added = "corrected" if metric["by"] == "dr" else "rewards"
    of_weights = (_sum(name, metric) for name in ("weights", "squared_weights", "clipped"))
    slates = (SLATES,) if metric["per"] == "group" else ()
    return (*dict.fromkeys((OUTSIDE, BEYOND, JUDGED, _sum(added, metric), *of_weights, *UNCLIPPED, *slates)),)


def weight_states_of(metric: Metric) -> WeightStates:
    """Return the names of the sums over the weights of logged actions, for the table ``quality``."""
    names = (str(_sum(name, metric)) for name in ("weights", "squared_weights", "clipped"))
    weights, squares, clipped = names
    return WeightStates(str(JUDGED), weights, squares, clipped, (str(UNCLIPPED[0]), str(UNCLIPPED[1])))


def _value(totals: PooledTotals, metric: Metric) -> PooledValue:
    rows = totals.sum(JUDGED)
    units = totals.sum(SLATES) if metric["per"] == "group" else rows
    if totals.sum(OUTSIDE) or totals.sum(BEYOND) or not (rows > 0 and units > 0):
        return PooledValue(math.nan)
    weights, squares = (totals.sum(_sum(name, metric)) for name in ("weights", "squared_weights"))
    if metric["min_effective"] is not None and not weights**2 >= metric.number("min_effective") * squares > 0:
        return PooledValue(math.nan)
    if metric["by"] == "dr":
        return PooledValue(totals.sum(_sum("corrected", metric)) / units)
    summed = totals.sum(_sum("rewards", metric))
    if metric["by"] == "ips":
        return PooledValue(summed / units)
    return PooledValue(summed / weights * (rows / units) if weights else math.nan)


def validate_policy_value(metric: Metric, models: Sequence[str], *, joins: bool, weighted: bool, groups: bool) -> None:
    """Raise :class:`SpecError` if the rows of an evaluation cannot be the logged actions that ``metric`` reads."""
    if joins:
        raise SpecError(f"{metric} reads the rewards of logged actions, which are in the same rows: it takes no truth")
    if metric["by"] == "dr" and len(models) > 1:
        raise SpecError(
            f"{metric} reads the policy_estimate of one model, but there are {len(models)}: evaluate each in a run of "
            "its own, and compare the runs with sr.compare_runs or the command sparkrank compare"
        )
    if metric["per"] == "group" and not groups:
        raise SpecError(f"{metric} is a value of groups, but no group column is named")
    if metric["per"] == "group" and weighted:
        raise SpecError(f"{metric} counts groups, which have no weight: leave the weight of rows out, or take per=row")


DECLARATIONS = (
    PooledMetric(
        name=VALUE,
        title="off-policy value: the mean reward that a policy would have had, from actions of another policy",
        formula="by=ips: Σ v·y / N; by=snips: Σ v·y / Σ v; by=dr: Σ (policy_estimate + v·(y - estimate)) / N; "
        "v = min(s / propensity, clip), y = the label",
        undefined="no row has a score and a label; a score outside [0, 1]; a label is beyond ±2^32 (4.3e9); by=snips: "
        "Σ v = 0; the effective sample size, (Σ v)² / Σ v², is below min_effective",
        reference="Horvitz, Thompson: JASA 1952; Swaminathan, Joachims: NeurIPS 2015 (snips); Dudík et al.: ICML 2011 "
        "(dr); McInerney et al.: KDD 2020 (per=group); Open Bandit Pipeline: IPW, SNIPW, DR, SlateIndependentIPS",
        parameters=(
            Choice(
                "by",
                "ips",
                "estimator: ips, snips or dr, which also reads the rewards that a model expects",
                choices=("ips", "snips", "dr"),
                roles=(
                    *((word, "propensity") for word in ("ips", "snips", "dr")),
                    *(("dr", role) for role in OF_ACTIONS[1:]),
                ),
            ),
            Number("clip", None, "the largest weight of a row", above=0.0),
            Number(
                "min_effective",
                None,
                "the least effective sample size, (Σ v)² / Σ v², for which there is a value, also in each slice",
                above=0.0,
                later=True,
            ),
            Choice(
                "per",
                "row",
                "N: row = the rows; group = the groups, so that the rows of a slate add up; snips is then of a slate "
                "of mean length",
                choices=("row", "group"),
            ),
        ),
        sums=_sums,
        value=_value,
        carriers=lambda metric: (_sum("weights", metric),),
        lowest=-math.inf,
        highest=math.inf,
    ),
)
