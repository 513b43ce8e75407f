"""Relevance by subtopic against ndeval, the program of the diversity tasks of TREC, and against TF-Ranking."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest

import sparkrank as sr
from tests.oracles.lists import greedy_order
from tests.peers.rankings import EXACT

QUERIES, DOCUMENTS, SUBTOPICS = 40, 14, 6
CUTOFFS = (1, 3, 5, 10, 20)


def rows_of(draw: np.random.Generator) -> pa.Table:
    """Documents of queries, of which some are in no list, with the subtopics that they are relevant to.

    Documents have few subtopics, so that the greedy list has to choose among equal ones.
    """
    has = draw.random((QUERIES, DOCUMENTS, SUBTOPICS)) < draw.random((QUERIES, 1, SUBTOPICS)) * 0.6
    subtopics = [[f"t{topic}" for topic in np.flatnonzero(flags)] for flags in has.reshape(-1, SUBTOPICS)]
    documents = [f"d{draw.integers(10**6)}" for _ in range(QUERIES * DOCUMENTS)]
    score = draw.permutation(QUERIES * DOCUMENTS).astype(float)  # of tied rows pyndeval takes the lowest document first
    return pa.table(
        {
            "query": np.repeat([f"q{query}" for query in range(QUERIES)], DOCUMENTS),
            "document": documents,
            "score": pa.array(score, mask=draw.random(len(score)) < 0.2),
            "label": [int(bool(topics)) for topics in subtopics],
            "subtopics": subtopics,
        }
    )


@pytest.mark.peer
@pytest.mark.parametrize("alpha", [0.0, 0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_ndeval(pyndeval: ModuleType, seed: int, alpha: float) -> None:
    """At numbers alpha of which all powers are exact: with others, ndeval chooses among equal rows by rounding."""
    rows = rows_of(np.random.default_rng(seed))
    judged = [
        (row["query"], topic, row["document"], int(topic in row["subtopics"]))
        for row in rows.to_pylist()
        for topic in (f"t{topic}" for topic in range(SUBTOPICS))
    ]
    run = [(row["query"], row["document"], row["score"]) for row in rows.to_pylist() if row["score"] is not None]
    names = [f"{name}@{k}" for name in ("alpha-nDCG", "strec") for k in CUTOFFS]
    theirs = pyndeval.ndeval(judged, run, names, alpha=alpha)
    metrics = [f"alpha_ndcg(by=subtopics,alpha={alpha})@{k}" for k in CUTOFFS]
    metrics += [f"strecall(by=subtopics)@{k}" for k in CUTOFFS]
    roles = {"group": "query", "item": "document", "score": "score", "label": "label"}
    ev = sr.evaluate(rows, metrics, **roles, ties="item")
    ours = {row["query"]: [row[str(sr.Metric.parse(metric))] for metric in metrics] for row in ev.groups.to_pylist()}
    has_subtopic = {query for query, _, _, label in judged if label}
    assert len(has_subtopic) > QUERIES / 2
    for query in has_subtopic & {query for query, _, _ in run}:
        assert ours[query] == pytest.approx([theirs[query][name] for name in names], abs=EXACT), query


@pytest.mark.peer
@pytest.mark.parametrize("k", CUTOFFS)
@pytest.mark.parametrize("alpha", [0.25, 0.5])
def test_the_alpha_dcg_of_tf_ranking(tensorflow_ranking_metrics: ModuleType, alpha: float, k: int) -> None:
    """In float32. It has no normalised form: the gain of a list is divided by that of its greedy list."""
    rows = rows_of(np.random.default_rng(11))
    metric = str(sr.Metric.parse(f"alpha_ndcg(by=subtopics,alpha={alpha})@{k}"))
    roles = {"group": "query", "item": "document", "score": "score", "label": "label"}
    ours = {row["query"]: row[metric] for row in sr.evaluate(rows, [metric], **roles, ties="item").groups.to_pylist()}
    theirs = tensorflow_ranking_metrics.AlphaDCGMetric(None, topn=k, alpha=alpha)

    def gain(lists: list[list[frozenset[str]]]) -> np.ndarray:
        labels = [[[float(f"t{topic}" in own) for topic in range(SUBTOPICS)] for own in topics] for topics in lists]
        below = -np.arange(DOCUMENTS, dtype=np.float32)
        padded = [own + [[-1.0] * SUBTOPICS] * (DOCUMENTS - len(own)) for own in labels]
        return np.array(theirs.compute(np.float32(padded), np.tile(below, (len(lists), 1)))[0]).ravel()

    by_query: dict[str, list[dict]] = {}
    for row in rows.to_pylist():
        by_query.setdefault(row["query"], []).append(row)
    listed, best = [], []
    for own in by_query.values():
        scored = sorted((row for row in own if row["score"] is not None), key=lambda row: -row["score"])
        listed.append([frozenset(row["subtopics"]) for row in scored])
        relevant = [(row["document"], frozenset(row["subtopics"])) for row in own if row["label"]]
        best.append(greedy_order(relevant, alpha))
    pairs = zip(by_query, gain(listed), gain(best), strict=True)
    expected = {query: value / ideal for query, value, ideal in pairs if ideal}
    assert len(expected) > QUERIES / 2
    assert {query: ours[query] for query in expected} == pytest.approx(expected, rel=1e-5)
