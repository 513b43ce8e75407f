"""Print the bits of every metric of the catalog, of its groups and its mean, on lists of a hundred rows.

Run as a program, by processes that differ in what they use of the processor.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import sparkrank as sr
from sparkrank.base.errors import SparkrankError
from sparkrank.metrics import CATALOG, Metric
from sparkrank.metrics.parameters import Column, ColumnChoice
from sparkrank.ranking.ranking import Ties

GROUPS, ROWS = 60, 100
MORE = ["rbp(p=0.95)", "rbp(p=0.5)@20", "rbo(p=0.98)", "err(max_grade=4.5)", "fbeta(beta=0.3)", "f(beta=0.7)@10"]
MORE += ["ndcg(ideal=[4,3,3,2,1,1,1,0.5,0.3],gain=exp2)@9", "ndcg(discount=[1,0.7,0.3])", "ece(bins=7)"]
MORE += ["fitness(alpha=0.9,discount=log2)", "fitness(alpha=0.3,discount=log2)", "median(dcg)", "auc(exact)"]
MORE += ["auc(digits=3)", "ece(digits=3)", "alpha_ndcg(by=texts,alpha=0.3)"]
# A third of the lists has one label as high, if labels are fractions.
SAMPLED = [f"{name}(sampled=99,items=5000,rel=3.4)@60" for name in ("r", "hit", "rr", "ndcg")]
SAMPLED += ["ndcg(sampled=99,items=5000,rel=3.4,by=minimal_bias)@60"]


def texts() -> Iterator[str]:
    """Every metric with each choice of each of its parameters, with a cut-off and without; some are no metrics."""
    for name, declaration in CATALOG.items():
        columns = [each for each in declaration.parameters if isinstance(each, Column) and each.default is None]
        chosen = [
            f"({each.name}={word})" for each in declaration.parameters for word in getattr(each, "choices", None) or ()
        ]
        if any(isinstance(each, ColumnChoice) for each in declaration.parameters):
            chosen = [f"(of=rows,{one[1:]}" for one in chosen if not one.startswith("(of=")] + ["(of=rows)"]
        named = ",".join(f"{each.name}={'texts' if each.kind == 'texts' else 'item'}" for each in columns)
        forms = [f"({named})"] if columns else ["", *chosen]
        yield from (f"{name}{one}{at}" for one, at in itertools.product(forms, ["", "@10", "@60"]))
    yield from MORE


def rows(*, tied: bool, fractions: bool) -> pa.Table:
    """Lists of a hundred rows of two models, with labels of five grades or between them, weights and another order."""
    random, count = np.random.default_rng(11), GROUPS * ROWS
    score = random.random(count)
    labels = random.integers(0, 5, count) * (random.random(count) < 0.3)
    columns = {"user": np.repeat(np.arange(GROUPS), ROWS), "item": random.integers(0, 10**9, count)}
    columns |= {"m": np.round(score, 1) if tied else score, "n": random.random(count).astype(np.float32)}
    columns["chance"] = 0.05 + 0.95 * np.random.default_rng(14).random(count)
    topics = np.random.default_rng(12).integers(0, 9, (count, 2))
    columns["texts"] = [[f"text {number}" for number in item] for item in topics]
    columns |= {"label": labels * random.random(count) if fractions else labels.astype(np.float64)}
    return pa.table({**columns, "rank": random.random(count), "weight": random.random(count) + 0.1})


def found(name: str, table: pa.Table, metrics: Sequence[str], ties: Ties) -> dict[str, list[str]]:
    """The bits of ``metrics`` and of their groups, by what they are of."""
    columns = {"group": "user", "item": "item", "label": "label", "reference_rank": "rank", "weight": "weight"}
    columns["propensity"] = "chance"
    had = table.select(["user", "item"])[::3]
    ev = sr.evaluate(table, metrics, score={"m": "m", "n": "n"}, ties=ties, buckets=3, interactions=had, **columns)
    names = set(ev.metrics["metric"].to_pylist())
    groups = ev.groups.sort_by([("user", "ascending"), ("model", "ascending")])
    tables = {f"{name}: {text}": ev.metrics.filter(pc.equal(ev.metrics["metric"], text)) for text in names}
    tables |= {f"{name}, groups: {text}": groups.select([text]) for text in names & {*groups.column_names}}
    return {text: floats(rows) for text, rows in tables.items()}


def floats(table: pa.Table) -> list[str]:
    """The bits of all numbers that are not whole."""
    columns = (column for column in table.columns if pa.types.is_floating(column.type))
    return ["" if each is None else each.hex() for column in columns for each in column.to_pylist()]


def known(text: str) -> Metric | None:
    try:
        return Metric.parse(text)
    except SparkrankError:  # the metric has no cut-off, or none with this parameter
        return None


if __name__ == "__main__":
    metrics = [each for each in map(known, dict.fromkeys(texts())) if each is not None]
    metrics = [each for each in metrics if not str(each).startswith("value(")]  # of one model, or without weights
    of_ties = [str(each) for each in metrics if not each.declaration.unexpected(each)]
    named = list(map(str, metrics))
    bits = (
        found("grades", rows(tied=False, fractions=False), named, "item")
        | found("fractions", rows(tied=False, fractions=True), [*named, *SAMPLED], "item")
        | found("ties", rows(tied=True, fractions=False), of_ties, "expected")
    )
    sys.stdout.write(json.dumps(bits))
