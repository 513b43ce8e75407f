"""Real rankings by name, and what other libraries print for each: the golden files and the data they were made from."""

from __future__ import annotations

import csv
import importlib.util
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.peers import trec
from tests.peers.harness import Impression, join_truth

# Qrels and run of each collection in trec_eval's format, and its golden file.
RUNS = {
    "results.test": ("trec_eval/qrels.test", "trec_eval/results.test", "trec_eval_results.test.json"),
    "rel_level": ("trec_eval/qrels.rel_level", "trec_eval/results.test", "trec_eval_rel_level.json"),
    "trunc": ("trec_eval/qrels.test", "trec_eval/results.trunc", "trec_eval_trunc.json"),
    "wt11": ("wt11/qrels.wt11.txt", "wt11/run.wt11.trec", "wt11.json"),
}
# Columns of the learning-to-rank set as scores: 57 distinct values, 11 distinct values, almost no ties.
FEATURES = ("feature_248", "feature_285", "feature_sum")
MOVIELENS = ("by_rank_graded", "by_rank_binary", "by_score_ties_binary")

# The relevance levels at which pytrec_eval was asked.
LEVELS = {
    "results.test": (1,),
    "trunc": (1,),
    "rel_level": (1, 2),
    "wt11": (1, 2),
    **dict.fromkeys(FEATURES, (1, 2)),
    "by_rank_graded": (1, 3),
    "by_rank_binary": (1,),
    "by_score_ties_binary": (1,),
}


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def printed(name: str, golden: Path) -> dict[str, Any]:
    """What the libraries print for `name`."""
    if name in FEATURES:
        return read(golden / "lightgbm_rank_train.json")[f"train_{name}"]
    if name in MOVIELENS:
        return read(golden / "spark_movielens_popularity.json")[name]
    found = read(golden / RUNS[name][2])
    return found["wt11"] if name == "wt11" else found


def rows(name: str, data: Path) -> list[Impression]:
    """The impressions of `name`."""
    if name in FEATURES:
        return _learning_to_rank(data / "lightgbm_rank" / "train.csv", f"score_{name}")
    if name in MOVIELENS:
        return _most_popular(name)
    qrels, run, _ = RUNS[name]
    return join_truth(trec.read_run(data / run), trec.read_qrels(data / qrels))


def _learning_to_rank(path: Path, score: str) -> list[Impression]:
    with path.open(encoding="utf-8", newline="") as file:
        records = list(csv.DictReader(file))
    return [Impression(r["group"], r["item"], float(r[score]), float(r["label"])) for r in records]


def _most_popular(name: str) -> list[Impression]:
    """The 50 films with the most ratings that a user has not rated, from the sample of MovieLens inside pyspark."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        pytest.skip("The sample of MovieLens comes with pyspark, which is not installed.")
    path = Path(spec.origin).parent / "data" / "mllib" / "als" / "sample_movielens_ratings.txt"
    ratings = [tuple(map(int, line.split("::")[:3])) for line in path.read_text(encoding="utf-8").split()]
    held_out = {(user, film): rating for user, film, rating in ratings if (31 * user + 17 * film) % 5 == 0}
    seen = {(user, film) for user, film, _ in ratings} - held_out.keys()
    times = Counter(film for _, film in seen)
    popular = sorted(times, key=lambda film: (-times[film], film))
    lists = []
    for user in sorted({user for user, _, _ in ratings}):
        unseen = [film for film in popular if (user, film) not in seen][:50]
        by_rank = ((film, 1000.0 - rank) for rank, film in enumerate(unseen, 1))
        by_times = ((film, float(times[film])) for film in unseen)
        lists += [(user, f"{film:04d}", score) for film, score in (by_times if "ties" in name else by_rank)]
    truth = {
        (user, f"{film:04d}"): float(rating if "graded" in name else rating >= 3)
        for (user, film), rating in held_out.items()
    }
    return join_truth(lists, truth)
