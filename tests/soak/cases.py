"""Random evaluations: rows of every shape, and what is asked of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from sparkrank.metrics.definitions import ALLOWED
from tests.support.strategies import Asked, group_metrics, text

TIES = (None, 0.0, -0.0, 0.5, 1.0, 2.0)  # few, so that most rows tie
FRACTIONS = (None, *(number / 16 for number in range(17)))
LABELS = (None, -1.0, 0.0, 0.0, 1.0, 1.0, 2.0, 0.5)
CLICKS = (0.0, 0.0, 1.0, None)
POOLED = (
    *("auc", "auc(exact)", "auc_up(digits=1)", "auc_up(exact,min_rows=3)", "pr_auc", "pr_auc(exact)", "ks", "bep"),
    *("accuracy", "precision(threshold=0.25)", "recall", "specificity", "fpr", "f1", "fbeta(beta=2)"),
    *("logloss", "ne", "brier", "ece", "copc"),
)
BESIDE = (
    *("ap(weight=rows)", "ndcg(weight=relevant)@3", "p90(rr)", "median(ap)"),
    *("gini(ties=item)@2", "novelty@2", "coverage(ties=item)@3"),
)
SMALL, LARGE = 6, 400  # rows of a group: so few that every order of its ties can be tried, and more than a tile


@dataclass(frozen=True)
class Case:
    """What is evaluated, and how; ``settings`` are arguments of :func:`sparkrank.evaluate`.

    ``columns`` are the models with the columns of their scores or ranks; ``listed`` are the metrics that have a slow
    oracle, ``others`` those that have none here.
    """

    shape: str  # rows, truth or arrays
    rows: pa.Table
    truth: pa.Table | None
    keys: tuple[str, ...]
    columns: Mapping[str, str]
    ranked: bool
    listed: tuple[Asked, ...]
    others: tuple[str, ...]
    slices: tuple[Any, ...]
    settings: Mapping[str, Any]
    order: int  # seeds the other order of the rows
    buckets: int

    @property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys([*map(text, self.listed), *self.others]))

    @property
    def arguments(self) -> dict[str, Any]:
        """All that :func:`sparkrank.evaluate` is given beside the rows and the metrics."""
        found: dict[str, Any] = {"group": list(self.keys), **self.settings}
        if self.slices:
            found["slices"] = list(self.slices)
        if self.shape == "arrays":
            return {**found, "items": dict(self.columns), "true_items": "true"}
        found["rank" if self.ranked else "score"] = dict(self.columns)
        return {**found, "item": "item", "label": "label"}

    def __str__(self) -> str:
        """All of it, so that somebody else may evaluate it."""
        lines = [f"shape: {self.shape}", f"metrics: {self.metrics}", f"arguments: {self.arguments}"]
        lines.append(f"buckets: {self.buckets}, order: {self.order}")
        for side, table in (("rows", self.rows), ("truth", self.truth)):
            lines += [] if table is None else [f"{side}: {table.schema}", *map(str, table.to_pylist())]
        return "\n".join(lines)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Any case that the grammar allows; it may be one that is refused."""
    shape = draw(st.sampled_from(["rows", "rows", "truth", "arrays"]))
    ties = draw(st.sampled_from(ALLOWED["ties"]))
    listed = draw(st.lists(group_metrics(tied=ties == "expected"), min_size=1, max_size=5, unique_by=text))
    others = draw(st.lists(st.sampled_from(BESIDE), max_size=2, unique=True))
    settings: dict[str, Any] = {"ties": ties, "undefined": draw(st.sampled_from(["skip", "zero", "one"]))}
    for name in ("unretrieved", "unjudged"):
        settings[name] = draw(st.sampled_from(ALLOWED[name]))
    if shape == "truth":
        settings["population"] = draw(st.sampled_from(ALLOWED["population"]))
    if shape != "rows":
        settings["duplicates"] = draw(st.sampled_from(["keep", "once", "first"]))
    models = draw(st.integers(1, 3))
    columns = {f"m{number}": f"score_{number}" for number in range(models)}
    ranked = shape != "arrays" and draw(st.integers(0, 4)) == 0
    if ranked and ties != "expected":
        settings["ties"] = draw(st.sampled_from([ties, "item"]))
    if shape == "rows":
        others += draw(st.lists(st.sampled_from(POOLED), max_size=4, unique=True))
        if others and draw(st.booleans()):
            settings["weight"] = "weight"
    slices = draw(st.sampled_from([(), (), ("country",), ("country", "device"), (("country", "device"),)]))
    keys = draw(st.sampled_from([("user",), ("user",), ("user", "session")]))
    draw_rows = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = draw(st.lists(_sizes(), min_size=1, max_size=8))
    rows, truth = _tables(draw_rows, shape, sizes, columns, ranked, kind=draw(st.integers(0, 3)))
    return Case(
        shape, rows, truth, keys if shape == "rows" else ("user",), columns, ranked, tuple(listed), tuple(others),
        slices, settings, draw(st.integers(0, 99)), draw(st.integers(1, 7)),
    )  # fmt: skip


def _sizes() -> st.SearchStrategy[int]:
    """The rows of a group: mostly few, at times many."""
    few = st.integers(1, SMALL)
    return few | few | st.integers(1, 40) | st.integers(1, LARGE)


def _tables(
    draw: np.random.Generator, shape: str, sizes: Sequence[int], columns: Mapping[str, str], ranked: bool, kind: int
) -> tuple[pa.Table, pa.Table | None]:
    """The rows, and the truth where there is one; ``kind`` chooses the types of keys, items and scores."""
    users = [(f"u{number}", 2**40 + number, number - 1, number)[kind] for number in range(len(sizes))]
    group = np.repeat(np.arange(len(sizes)), sizes)
    count = len(group)
    items = np.concatenate([draw.permutation(np.arange(7, 7 + size)) for size in sizes])  # 10 stands below 7 as text
    item = [f"i{each}" if kind % 2 else str(each) for each in items]
    if shape == "arrays":
        return _arrays(draw, users, sizes, columns), None
    values = TIES if kind % 2 else FRACTIONS
    found: dict[str, Any] = {
        "user": [users[each] for each in group],
        "session": draw.integers(0, 2, count),
        "item": item,
        "country": _chosen(draw, ("de", "fr", None), count),
        "device": _chosen(draw, ("web", "tv"), count),
    }
    number = pa.int64() if ranked else pa.float32() if kind == 2 else pa.float64()
    for name in columns.values():
        found[name] = pa.array(_ranks(draw, sizes) if ranked else _chosen(draw, values, count), number)
    labels = pa.array(_chosen(draw, CLICKS if draw.random() < 0.5 else LABELS, count), pa.float64())
    if shape == "rows":
        found["label"] = labels
        found["weight"] = draw.choice([0.0, 0.25, 1.0, 3.0] if kind % 2 else [0.1, 1 / 3, 1e6 / 7, 1e-9 / 3], count)
        return pa.table(found), None
    if draw.random() < 0.4:  # some items stand in a list twice
        found["item"] = [item[draw.integers(0, at + 1)] if draw.random() < 0.3 else item[at] for at in range(count)]
    kept = pa.array(draw.random(count) < 0.6)
    truth = pa.table({"user": found["user"], "item": item, "label": labels})
    beside = {"user": [users[0]] * 2, "item": ["never", "listed"], "label": pa.array([1.0, 0.0])}
    return pa.table(found), pa.concat_tables([truth.filter(kept), pa.table(beside, schema=truth.schema)])


def _chosen(draw: np.random.Generator, values: Sequence[Any], count: int) -> list[Any]:
    return [values[place] for place in draw.integers(0, len(values), count)]


def _ranks(draw: np.random.Generator, sizes: Sequence[int]) -> list[int | None]:
    """Ranks of each group, of which some rows have none."""
    ranks = np.concatenate([draw.permutation(size) + 1 for size in sizes])
    return [None if draw.random() < 0.1 else int(rank) for rank in ranks]


def _arrays(
    draw: np.random.Generator, users: Sequence[Any], sizes: Sequence[int], columns: Mapping[str, str]
) -> pa.Table:
    """A list a row, and the items that are relevant to it."""
    found: dict[str, Any] = {"user": list(users)}
    for name in (*columns.values(), "true"):
        lists = [[f"i{each}" for each in draw.permutation(9)[: draw.integers(0, min(size, 6) + 1)]] for size in sizes]
        found[name] = pa.array([None if draw.random() < 0.1 else each for each in lists], pa.list_(pa.string()))
    found["country"] = _chosen(draw, ("de", "fr", None), len(sizes))
    found["device"] = _chosen(draw, ("web", "tv"), len(sizes))
    return pa.table(found)
