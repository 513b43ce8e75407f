"""The inputs of a vector case as the tables and definitions that `sparkrank.evaluate` takes.

What a row can say honestly is said by the row: a label that is a gain, a list cut at k, an order inside ties as an
item id that sorts so. The join with the truth, populations, duplicates and positions are left to sparkrank, by its
definitions. What these cannot say raises `NotCoveredError`, but only where the rows hold what it speaks of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.peers.harness import Evaluation, Given, Impression, Listed, evaluate
from tests.peers.vector_metrics import NEED_AN_ORDER, OF_THE_DAY, NotCoveredError, Parameters, is_graded

Record = dict[str, Any]
ItemKey = tuple[Hashable, Hashable]

BY_ITEM = ("input_order", "reverse_input_order", "item_desc", "item_asc")
POPULATIONS = {"all": "all", "in_truth": "truth", "in_list": "lists", "in_both": "both"}
ALWAYS_DEFINED = ("precision", "dcg", "rbp", "hits")


@dataclass(frozen=True)
class Tables:
    """A log, or lists beside a truth, and the definitions of the case."""

    rows: list[Impression] | list[Listed]
    truth: list[Given] | None
    definitions: dict[str, str] = field(default_factory=dict)
    without_list: frozenset[Hashable] = frozenset()  # groups that sparkrank leaves out, and that count 1

    def evaluate(self, metrics: str | list[str], **settings: str) -> Evaluation:
        return evaluate(self.rows, metrics, self.truth, **{**self.definitions, **settings})


def tables_of(case: Record) -> Tables:
    """The case as sparkrank takes it."""
    records, truth = _listed(case), None if case["ground_truth"] is None else _truth(case)
    definitions = {**_definitions(case["params"]), "ties": _ties(case, records)}
    left_out = _left_out(case, records, truth)
    records = [record for record in records if record["group"] not in left_out]
    names = _names_for_ties(records, case["params"])
    if truth is not None:
        truth = [
            row._replace(item=names.get((row.group, row.item), row.item)) for row in truth if row.group not in left_out
        ]
    named = {record["group"] for record in records} | {row.group for row in truth or ()}
    records += [{"group": group} for group in sorted(_everyone(case) - left_out - named, key=str)]
    listless = (
        _without_list(case, records, truth, left_out) if case["params"].get("empty_list") == "one" else frozenset()
    )
    fields = [
        (record["group"], names.get(_key(record), record.get("item")), record.get("score"), record.get("rank"))
        for record in records
    ]
    if truth is not None:
        return Tables([Listed(*row) for row in fields], truth, definitions, listless)
    labels = [_label(record, case["params"]) for record in records]
    weights = [record.get("weight", 1.0) for record in records]
    rows = [Impression(*row[:3], *more, row[3]) for row, *more in zip(fields, labels, strict=True)]
    rows = [row._replace(weight=weight) for row, weight in zip(rows, weights, strict=True)]
    return Tables(rows, None, definitions, listless)


def _without_list(
    case: Record, records: list[Record], truth: list[Given] | None, left_out: set[Hashable]
) -> frozenset[Hashable]:
    """The groups of the case's population that no list has."""
    listed = {record["group"] for record in records if record.get("score", record.get("rank")) is not None}
    population = case["params"].get("groups", "all")
    judged = _everyone(case) if truth is None or population == "all" else {row.group for row in truth}
    return frozenset() if population in ("in_list", "in_both") else frozenset(judged - listed - left_out)


def _definitions(parameters: Parameters) -> dict[str, str]:
    """The definitions that the parameters name, beside those of ties and of the undefined."""
    empty_list = parameters.get("empty_list", "zero")
    return {
        "population": POPULATIONS[parameters.get("groups", "all")],
        "unretrieved": "skip" if empty_list in ("skip", "one") else "zero",
        "unjudged": "drop" if parameters.get("unjudged") == "judged_only" else "nonrelevant",
        "duplicates": "first" if parameters.get("list_duplicates") == "distinct" else "keep",
        "positions": "given" if parameters.get("position") == "given_rank" else "dense",
    }


def _ties(case: Record, records: list[Record]) -> str:
    """The definition `ties` of the case."""
    parameters = case["params"]
    rule = parameters.get("tie_rule", "none")
    if parameters.get("position") == "given_rank":
        return "expected"
    if rule in BY_ITEM:
        return "item"
    if rule == "max_rank":
        return "block"
    if rule == "strict" and case["metric"] == "auc_global" and _has_ties(records):
        raise NotCoveredError("AUC in which a tied pair counts 0")
    # Where there is no mean over orders, `none` and `any` promise that the order does not matter.
    ordered = case["metric"] in NEED_AN_ORDER or parameters.get("ap_denominator") == "hits"
    return "item" if ordered else "expected"


def _listed(case: Record) -> list[Record]:
    """The list rows as records of group, item, score or rank and, where given, label and gain, in the input's order."""
    parameters, inputs = case["params"], case["inputs"]
    # x and y are two orders to compare, the higher first in both: a score, and labels as the reference
    columns = [{"x": "score", "y": "label"}.get(column, column) for column in inputs["columns"]]
    records = [dict(zip(columns, row, strict=True)) for row in inputs["rows"]]
    if case["metric"] not in OF_THE_DAY and any(record.get("weight", 1) != 1 for record in records):
        raise NotCoveredError("weights of rows in a metric of groups")
    if parameters.get("drop_negative_labels"):
        padding = _negative_truth(case)
        records = [record for record in records if _key(record) not in padding and (record.get("label") or 0) >= 0]
    order = parameters.get("order", "score_desc" if "score" in columns else "rank")
    if order not in ("score_desc", "rank"):
        raise NotCoveredError(f"order {order}")
    if order == "score_desc" and parameters.get("position") == "given_rank":
        raise NotCoveredError("given ranks beside an order by score")
    for index, record in enumerate(records):
        record.setdefault("group", 0)
        record.setdefault("item", index)
        record.pop("score" if order == "rank" else "rank", None)
    if case["metric"] == "r_precision" and parameters.get("k") is not None:
        records = _cut(records, order, parameters["k"], case["ground_truth"] is None)
    return records


def _cut(records: list[Record], order: str, k: int, labelled: bool) -> list[Record]:
    """Rows below the first `k` of a list are not retrieved: they go, or lose their order where they bring a label."""
    column, sign = ("rank", 1) if order == "rank" else ("score", -1)
    place: Counter[Hashable] = Counter()
    kept = []
    for record in sorted(records, key=lambda record: sign * record[column]):
        place[record["group"]] += 1
        if place[record["group"]] <= k:
            kept.append(record)
        elif labelled:
            kept.append({**record, column: None})
    return kept


def _label(record: Record, parameters: Parameters) -> float | None:
    """The label that a row brings with it."""
    if parameters.get("relevant_if") == "in_truth" and "label" in record:
        raise NotCoveredError("membership in a truth table that is not there")
    if parameters.get("negative_is_unjudged") and (record.get("label") or 0) < 0:
        return None
    return _grade(record.get("label"), record.get("gain"), parameters)


def _negative_truth(case: Record) -> set[ItemKey]:
    """The items that the truth table, if there is one, gives a label below 0."""
    table = case["ground_truth"] or {"columns": [], "rows": []}
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    return {_key(row) for row in rows if row.get("relevance", 1) < 0}


def _truth(case: Record) -> list[Given]:
    """The rows of the truth table."""
    parameters, table = case["params"], case["ground_truth"]
    members = parameters.get("relevant_if") == "in_truth" and not is_graded(case["metric"], parameters)
    seen: dict[ItemKey, float | None] = {}
    rows = []
    for row in table["rows"]:
        record = dict(zip(table["columns"], row, strict=True))
        relevance = record.get("relevance", 1)
        if parameters.get("drop_negative_labels") and relevance < 0:
            continue
        label = 1 if members else _grade(relevance, record.get("gain"), parameters)
        if parameters.get("negative_is_unjudged") and relevance < 0:
            label = None
        if _key(record) in seen and parameters.get("truth_duplicates", "set") != "set":
            raise NotCoveredError("a truth item given twice counts twice")
        if seen.setdefault(_key(record), label) != label:
            raise NotCoveredError("a truth item with two grades")
        rows.append(Given(*_key(record), label))
    return rows


def _grade(label: float | None, gain: float | None, parameters: Parameters) -> float | None:
    """The label, or the gain that the parameters give it: gain=linear then takes it as it stands."""
    if parameters.get("gain") == "column":
        return gain
    if parameters.get("gain") == "map" and label is not None:
        return dict(map(tuple, parameters["gain_map"])).get(label, 0)
    return label


def _names_for_ties(records: list[Record], parameters: Parameters) -> dict[ItemKey, str]:
    """Under ties=item the highest item text comes first: texts that sort as the rule orders the rows."""
    rule = parameters.get("tie_rule", "none")
    if rule not in BY_ITEM:
        return {}
    if max(Counter(map(_key, records)).values(), default=0) > 1:
        raise NotCoveredError(f"tie_rule {rule} with an item twice in a list")
    if rule in ("item_desc", "item_asc"):
        items = sorted({record["item"] for record in records}, reverse=rule == "item_asc")
        places = [items.index(record["item"]) for record in records]
    else:
        places = [-index if rule == "input_order" else index for index in range(len(records))]
    return {_key(record): f"{len(records) + place:08d}" for record, place in zip(records, places, strict=True)}


def _key(record: Record) -> ItemKey:
    return record["group"], record.get("item")


def _has_ties(records: Iterable[Record]) -> bool:
    times = Counter((record["group"], record["score"]) for record in records)
    return max(times.values(), default=0) > 1


def _everyone(case: Record) -> set[Hashable]:
    return set(case["inputs"]["groups"] or [0])


def _left_out(case: Record, records: list[Record], truth: list[Given] | None) -> set[Hashable]:
    """The groups without truth that the case leaves out of a metric that is always defined.

    Of a metric that is undefined there, the definition `undefined` says what they count.
    """
    parameters = case["params"]
    rule = parameters.get("empty_truth", "zero")
    if case["metric"] not in ALWAYS_DEFINED and parameters.get("ideal") != "all_k_relevant":
        return set()
    labels = (
        [(record["group"], _label(record, parameters)) for record in records]
        if truth is None
        else [(row.group, row.label) for row in truth]
    )
    relevant = {group for group, label in labels if _is_relevant(label, case)}
    judged, listed = {group for group, _ in labels}, {record["group"] for record in records}
    population = {"in_truth": judged, "in_list": listed, "in_both": judged & listed}
    empty = _everyone(case) & population.get(parameters.get("groups", "all"), _everyone(case)) - relevant
    if empty and rule in ("one", "nan"):
        raise NotCoveredError("a group without truth counts 1 or NaN where the metric is always defined")
    return empty if rule == "skip" else set()


def _is_relevant(label: float | None, case: Record) -> bool:
    if label is None:
        return False
    parameters = case["params"]
    by_membership = parameters.get("relevant_if") == "in_truth" or is_graded(case["metric"], parameters)
    return label > 0 if by_membership else label >= parameters.get("rel_threshold", 1)
