"""trec_eval's files and trec_eval's names for metrics.

trec_eval, and pytrec_eval which wraps it, keep a score as a C float, so two scores that differ as text are tied where
float32 cannot tell them apart. The reader therefore rounds scores to float32 too; in the files of these tests six
decimals stay apart, and tests that make up scores use multiples of 1/4. Inside ties trec_eval takes the item that is
greater as text, which is ties=item. What it finds undefined counts 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from tests.peers.harness import Evaluation, Impression

DEFINITIONS = {"ties": "item", "undefined": "zero"}
COUNTS = ("num_ret", "num_rel", "num_rel_ret")

Run = list[tuple[str, str, float]]  # (query, document, score)
Qrels = dict[tuple[str, str], float]

# Names without a cut-off. The preference measures are not here.
_WHOLE_LIST = {
    "map": "ap",
    "ndcg": "ndcg",
    "recip_rank": "rr",
    "Rprec": "rprec",
    "set_P": "p",
    "set_recall": "r",
    "set_F": "f",
    "rbp": "rbp(p=0.9)",
    "num_ret": "n_ret",
    "num_rel": "n_rel",
    "num_rel_ret": "n_rel_ret",
    "set_map": "set_ap",
    "set_relative_P": "p(over=min_retrieved_relevant)",
    "11pt_avg": "iprec11",
    "bpref": "bpref",
    "infAP": "infap",
}
_AT = {
    "P": "p",
    "recall": "r",
    "map_cut": "ap",
    "ndcg_cut": "ndcg",
    "success": "hit",
    "relative_P": "p(over=min_k_relevant)",
    "unj": "unj",
}
_CUT = re.compile(r"(?P<name>[A-Za-z_]+)_(?P<k>\d+)")


def read_run(path: Path, depth: int | None = None) -> Run:
    """The lists of a run file; of each query the first `depth` documents, as trec_eval -M takes them."""
    fields = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    run = [(query, document, float(np.float32(score))) for query, _, document, _, score, *_ in fields]
    run.sort(key=lambda row: row[2:0:-1], reverse=True)  # score, then document, both descending
    place: dict[str, int] = {}
    kept = []
    for row in run:
        place[row[0]] = place.get(row[0], 0) + 1
        if depth is None or place[row[0]] <= depth:
            kept.append(row)
    return kept


def read_qrels(path: Path) -> Qrels:
    fields = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    return {(query, document): float(label) for query, _, document, label in fields}


def metric_text(name: str, level: int = 1, version: int = 9) -> str | None:
    """The metric that trec_eval calls `name` at relevance `level`; nothing when there is none yet.

    Version 10, whose outputs ship with it, rounds levels of recall otherwise than version 9, which pytrec_eval wraps.
    """
    cut = _CUT.fullmatch(name)
    if name in _WHOLE_LIST:
        text, k = _WHOLE_LIST[name] + ("(round=nearest)" if name == "11pt_avg" and version == 10 else ""), ""
    elif cut and cut["name"] in _AT:
        text, k = _AT[cut["name"]], f"@{cut['k']}"
    elif name.startswith("iprec_at_recall_"):
        text, k = f"iprec(recall={float(name[-4:])}{',round=nearest' if version == 10 else ''})", ""
    else:
        return None
    if level > 1 and name == "rbp":
        return None  # of graded judgments trec_eval sums grades, not hits
    if level > 1 and not text.startswith(
        ("ndcg", "n_ret", "unj")
    ):  # trec_eval's ndcg takes every level as a gain, whatever -l says
        text = f"{text[:-1]},rel={level})" if text.endswith(")") else f"{text}(rel={level})"
    return text + k


def metric_texts(names: Iterable[str], level: int = 1, version: int = 9) -> dict[str, str]:
    """Name -> metric, of the names that have one."""
    found = {name: metric_text(name, level, version) for name in names}
    return {name: text for name, text in found.items() if text is not None}


def of_query(answer: Evaluation, texts: dict[str, str], query: str) -> dict[str, float]:
    """What trec_eval prints for a query, from an evaluation of `texts`."""
    return {name: answer.counted(text)[query] for name, text in texts.items()}


def lesser_item_first(rows: Iterable[Impression]) -> list[Impression]:
    """The rows with items named so that ties=item takes the item that is less as text, as MS MARCO's script does."""
    rows = list(rows)
    items = sorted({str(row.item) for row in rows}, reverse=True)
    name = {item: f"{place:08d}" for place, item in enumerate(items)}
    return [row._replace(item=name[str(row.item)]) for row in rows]


def listed_groups(rows: Iterable[Impression]) -> list[Impression]:
    """The rows of groups that have a list: without -c trec_eval leaves the others out."""
    rows = list(rows)
    listed = {row.group for row in rows if row.score is not None}
    return [row for row in rows if row.group in listed]
