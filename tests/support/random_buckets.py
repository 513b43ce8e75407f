"""Random plans and random rows of buckets: few groups, in any order, of several types and habits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from numpy.typing import NDArray

from sparkrank.base.errors import MetricError, SpecError
from sparkrank.bucket import bucket_columns
from sparkrank.bucket.impressions import (
    ITEM,
    LABEL,
    REFERENCE_RANK,
    WEIGHT,
    key_column,
    score_column,
    slice_column,
    value_column,
)
from sparkrank.metrics import Definitions, Plan, plan_of
from sparkrank.metrics.policy_value import OF_ACTIONS
from tests.support.strategies import asked, text, weighs_by_a_word

MODELS = ("m", "n", "o")
FEW = (0.0, -0.0, 0.25, 0.5, 0.75, 1.0, -1.0)
EXTREME = (*FEW, math.inf, -math.inf, 5e-324, -5e-324, 1e-310, 1.7e308, math.nextafter(0.5, 1.0))
Rng = np.random.Generator
SCORES: dict[str, Callable[[Rng, int], NDArray[np.float64]]] = {
    "few": lambda rng, n: rng.choice(FEW, n),
    "tied": lambda rng, n: rng.choice([0.0, -0.0], n),
    "distinct": lambda rng, n: rng.permutation(n) / 7 - 2,
    "two tied": lambda rng, n: np.maximum(rng.permutation(n), 1) / 7 - 2,
    "extreme": lambda rng, n: rng.choice(EXTREME, n),
    "logits": lambda rng, n: rng.normal(0, 3, n),
    "probabilities": lambda rng, n: rng.random(n).round(2),
}
LABELS = {
    "clicks": (0, 0, 0, 1),
    "grades": (-1, 0, 0, 1, 2, 3),
    "none": (-2, 0),
    "alike": (0, 7),
    "all": (1,),
    "all graded": (1, 2, 5),
    "fractions": (-0.1, 0, 0.1, 0.2, 1 / 3, 1.5),
    "one fraction": (0, 1 / 3),
    "unjudged": (None, 0, 1, 2),
}
LABEL_TYPES = (pa.int8(), pa.int32(), pa.int64(), pa.float64())
DEFINITIONS = (
    *[Definitions()] * 8,
    Definitions(undefined="zero"),
    Definitions(undefined="one", unjudged="drop"),
    Definitions(unjudged="drop"),
    Definitions(duplicates="first"),
    *(Definitions(ties=ties, duplicates="once") for ties in ("expected", "item", "best", "block")),
    Definitions(ties="item"),
    Definitions(ties="worst", undefined="zero"),
    Definitions(ties="best"),
    Definitions(ties="block"),
)
# At least these are evaluated, beside some of the whole catalogue.
METRICS = ["ndcg@5", "ndcg", "dcg(gain=exp2)@3", "ndcg(gain=binary,rel=2)@4", "p@1", "r(rel=2)@7", "hit@2", "ap"]
METRICS += ["ap@3", "rr", "rr@2", "group_auc", "gauc", "auc", "auc(bits=3)", "auc(exact)", "auc_up(digits=1)"]
METRICS += [
    "ndcg(gain=_)@5",
    "cg(gain=_)",
    "p90(ndcg@5)",
    "ece(bins=7)",
    "ndcg(ideal=retrieved)@5",
    "ndcg(ideal=k_relevant)@3",
    "ndcg(ideal=[3,2])@4",
    "r(propensity=snips)@3",
    "ndcg(propensity=best,clip=0.2)@5",
    "cg(propensity=ips)",
    "value(by=snips,clip=2)",
]


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    definitions = draw(st.sampled_from(DEFINITIONS))
    models = MODELS[: draw(st.integers(1, 3))]
    keys = ["user", "query"][: draw(st.sampled_from([1, 1, 2]))]
    more: dict[str, Any] = {
        "weighted": draw(st.sampled_from([False, False, True])),
        "slices": draw(st.sampled_from([(), (), [["country"]]])),
        "score_sums": draw(st.booleans()),
    }
    small = asked(thresholds=st.sampled_from([0.5, 1.0, 2.0]), cutoffs=st.integers(1, 70)).filter(weighs_by_a_word)
    chosen: list[str] = []
    for metric in [*METRICS, *map(text, draw(st.lists(small, max_size=6)))]:
        try:
            plan = plan_of([metric], models, keys, definitions, **more)
        except (MetricError, SpecError):
            continue  # not under these definitions
        chosen += [] if plan.past or plan.item_columns else [metric]  # these buckets have no rows of the past
    return plan_of(chosen, models, keys, definitions, **more)


@st.composite
def buckets(draw: st.DrawFn, plan: Plan) -> pa.Table:
    """Rows of a few groups of 1 to 60 rows, in any order, with labels and scores of several types and habits."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = draw(st.lists(st.integers(1, 12) | st.integers(20, 60) | st.sampled_from([24, 25, 32, 33]), max_size=6))
    n, group = sum(sizes), np.repeat(np.arange(len(sizes)), sizes)
    kind = draw(st.sampled_from(sorted(LABELS)))
    per_group = [rng.choice(np.array(LABELS[draw(st.sampled_from([kind, kind, "none"]))], object), s) for s in sizes]
    label_type = pa.float64() if "fraction" in kind else draw(st.sampled_from(LABEL_TYPES))
    key = rng.choice(draw(st.sampled_from([[-(2**63), 2**63 - 1, -1, 0, 1, 10**12], range(6)])), 6, replace=False)
    order = rng.permutation(n)
    key_type = draw(st.sampled_from([pa.int64(), pa.int64(), pa.int32(), pa.string()]))
    if key_type == pa.int32():
        key = np.arange(6)
    columns: dict[str, pa.Array] = {
        key_column(0): pa.array(key[group][order]).cast(key_type),
        key_column(1): pa.array((group[order] + rng.integers(0, 2, n)) % 3),
        LABEL: pa.array(np.concatenate([np.empty(0, object), *per_group])[order], label_type),
        slice_column(0): pa.array(
            rng.choice(["a", "b"], n) if draw(st.booleans()) else np.array(["a", "b"])[group[order] % 2]
        ),
        ITEM: pa.array((rng.permutation(n) if draw(st.booleans()) else rng.integers(0, 80, n))[order].astype(str)),
        WEIGHT: pa.array(rng.choice([0.0, 1.0, 0.1, 2.5], n)),
        REFERENCE_RANK: pa.array(rng.integers(1, 50, n)),
        **{name: pa.array(rng.choice([0.05, 0.1, 0.3, 1 / 3, 1.0], n)) for name in OF_ACTIONS},
    }
    for index in range(len(plan.models)):
        wide = np.concatenate([np.empty(0), *(SCORES[draw(st.sampled_from(sorted(SCORES)))](rng, s) for s in sizes)])
        with np.errstate(over="ignore"):  # 1.7e308 is infinite as a float32
            scores = wide[order].astype(draw(st.sampled_from([np.float64, np.float32])))
        missing = rng.random(n) < 0.1 if draw(st.sampled_from([False, False, False, True])) else None
        columns[score_column(index)] = pa.array(scores, mask=missing)
    for index, value in enumerate(plan.value_columns):
        amounts = pa.array(rng.choice([0.0, 0.1, 1.0, 2.0, 7.0], n), mask=rng.random(n) < 0.1)
        columns[value_column(index)] = amounts if value.kind == "number" else columns[ITEM]
    return pa.table(columns).select(bucket_columns(plan, len(plan.keys)))
