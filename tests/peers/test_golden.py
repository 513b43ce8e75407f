"""Real rankings against what trec_eval and pytrec_eval print for them."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.peers import trec
from tests.peers.harness import Impression, evaluate, join_truth

pytestmark = pytest.mark.peer

EXACT = 1e-9
HALF_A_DIGIT = 5e-5 + 1e-12  # trec_eval prints four decimals

# What trec_eval was asked for each of the outputs that ship with it (qrels, run, -l, -M), and how many of the values in
# it have a counterpart here.
COMMANDS = {
    "out.test": ("qrels.test", "results.test", 1, None, 27),
    "out.test.a": ("qrels.test", "results.test", 1, None, 78),
    "out.test.aq": ("qrels.test", "results.test", 1, None, 78),
    "out.test.aqc": ("qrels.test", "results.trunc", 1, None, 78),
    "out.test.aqcM": ("qrels.test", "results.trunc", 1, 100, 78),
    "out.test.aql": ("qrels.rel_level", "results.test", 2, None, 77),
    "out.test.meas_params": ("qrels.test", "results.test", 1, None, 16),
}

# Qrels and run of each collection in trec_eval's format, and its golden file.
RUNS = {
    "results.test": ("trec_eval/qrels.test", "trec_eval/results.test", "trec_eval_results.test.json"),
    "rel_level": ("trec_eval/qrels.rel_level", "trec_eval/results.test", "trec_eval_rel_level.json"),
    "trunc": ("trec_eval/qrels.test", "trec_eval/results.trunc", "trec_eval_trunc.json"),
    "wt11": ("wt11/qrels.wt11.txt", "wt11/run.wt11.trec", "wt11.json"),
}
# Columns of the learning-to-rank set as scores: 57 distinct values, 11 distinct values, almost no ties.
FEATURES = ("feature_248", "feature_285", "feature_sum")

# The relevance levels at which pytrec_eval was asked.
LEVELS = {
    "results.test": (1,),
    "trunc": (1,),
    "rel_level": (1, 2),
    "wt11": (1, 2),
    **dict.fromkeys(FEATURES, (1, 2)),
}


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def printed_of(name: str, golden: Path) -> dict[str, Any]:
    """What the libraries print for `name`."""
    if name in FEATURES:
        return read(golden / "lightgbm_rank_train.json")[f"train_{name}"]
    printed = read(golden / RUNS[name][2])
    return printed["wt11"] if name == "wt11" else printed


def rows_of(name: str, data: Path) -> list[Impression]:
    """The impressions of `name`."""
    if name not in FEATURES:
        qrels, run, _ = RUNS[name]
        return join_truth(trec.read_run(data / run), trec.read_qrels(data / qrels))
    with (data / "lightgbm_rank" / "train.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["group"], row["item"], row[f"score_{name}"], row["label"]) for row in csv.DictReader(file)]
    return [Impression(group, item, float(score), float(label)) for group, item, score, label in rows]


def differing(got: dict[str, float], expected: dict[str, float], tolerance: float) -> dict[str, tuple[float, float]]:
    """Name -> (got, expected) where they differ, of the names that both have."""
    pairs = {name: (got[name], expected[name]) for name in expected if name in got}
    assert pairs
    return {name: pair for name, pair in pairs.items() if not math.isclose(*pair, rel_tol=0, abs_tol=tolerance)}


@pytest.mark.parametrize("name", COMMANDS)
def test_trec_eval_prints_these(name: str, data_folder: Path, golden_folder: Path) -> None:
    printed = read(golden_folder / "trec_eval_printed_outputs.json")["files"][name]["values"]
    qrels, run, level, depth, covered = COMMANDS[name]
    folder = data_folder / "trec_eval"
    listed, labels = trec.read_run(folder / run, depth), trec.read_qrels(folder / qrels)
    texts = trec.metric_texts(printed["all"], level, version=10)
    assert len(texts) == covered
    unjudged = {key: text for key, text in texts.items() if key.startswith("unj_")}
    assert_printed(printed, {key: texts[key] for key in texts.keys() - unjudged}, join_truth(listed, labels))
    if unjudged:  # it takes a label below 0 for none
        positive = {pair: label for pair, label in labels.items() if label >= 0}
        assert_printed(printed, unjudged, join_truth(listed, positive))


def assert_printed(printed: dict[str, Any], texts: dict[str, str], rows: list[Impression]) -> None:
    answer = evaluate(rows, list(texts.values()), **trec.DEFINITIONS)
    assert sorted(answer.counts) == ["301", "302", "303"]
    for query in printed.keys() - {"all"}:
        assert not differing(trec.of_query(answer, texts, query), printed[query], HALF_A_DIGIT), query
    means = {key: answer.means[text].value for key, text in texts.items()}
    for count in means.keys() & set(trec.COUNTS):
        means[count] *= 3  # the last block of the output has the sum over the three topics
    assert not differing(means, printed["all"], HALF_A_DIGIT)


@pytest.mark.parametrize(("name", "level"), [(name, level) for name, levels in LEVELS.items() for level in levels])
def test_pytrec_eval_means(name: str, level: int, data_folder: Path, golden_folder: Path) -> None:
    """Over the queries with a list, and over all judged queries, a missing list counting 0."""
    rows = rows_of(name, data_folder)
    means = printed_of(name, golden_folder)["pytrec_eval"][f"relevance_level_{level}"]["means"]
    populations = {
        "over_queries_in_both": trec.listed_groups(rows),
        "over_all_judged_queries_missing_count_zero": rows,
    }
    for population, evaluated in populations.items():
        expected = means[population]
        texts = trec.metric_texts(expected.keys() - set(trec.COUNTS), level)  # sums, not means
        assert len(texts) == 57
        answer = evaluate(evaluated, list(texts.values()), **trec.DEFINITIONS)
        got = {key: answer.means[text].value for key, text in texts.items()}
        assert not differing(got, expected, EXACT), population
