"""The inputs of a vector case as impressions, with its populations, its order and its ties.

What a row can say honestly is said by the row: a rank is a score that falls, a cut list is a list whose rest was not
retrieved, an order inside ties is an item id that sorts so. What would need a rule of sparkrank's own raises
`NotCoveredError`, but only where the rows hold what the rule speaks of: `list_duplicates` decides nothing in a list
without duplicates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

from tests.peers.harness import Impression, join_truth
from tests.peers.vector_metrics import (
    NEED_AN_ORDER,
    OF_THE_DAY,
    NotCoveredError,
    Parameters,
    is_auc,
    is_graded,
)

Record = dict[str, Any]
ItemKey = tuple[Hashable, Hashable]

BY_ITEM = ("input_order", "reverse_input_order", "item_desc", "item_asc")


def rows_of(case: Record) -> list[Impression]:
    """The rows to evaluate: exactly the groups that the case evaluates, each with a row at least."""
    listed = _listed(case)
    if case["ground_truth"] is None:
        rows = [_labelled(record, case["params"]) for record in listed]
        judged = {row.group for row in rows if row.label is not None}
    else:
        rows, judged = _joined(case, listed)
    rows = _named_for_ties(rows, case["params"].get("tie_rule", "none"))
    return _of_population(case, rows, judged)


def ties_of(case: Record, rows: list[Impression]) -> str:
    """The definition `ties` of the case."""
    rule = case["params"].get("tie_rule", "none")
    if rule in BY_ITEM:
        return "item"
    if rule == "max_rank":
        return "block"
    if rule == "strict" and is_auc(case["metric"]) and _has_ties(rows):
        raise NotCoveredError("AUC in which a tied pair counts 0")
    # Where there is no mean over orders, `none` and `any` promise that the order does not matter.
    ordered = case["metric"] in NEED_AN_ORDER or case["params"].get("ap_denominator") == "hits"
    return "item" if ordered else "expected"


def _listed(case: Record) -> list[Record]:
    """The list rows as records of group, item, score and, where given, label and gain, in the order of the input."""
    parameters, inputs = case["params"], case["inputs"]
    # x and y are two orders to compare, the higher first in both: a score, and labels as the reference
    columns = [{"x": "score", "y": "label"}.get(column, column) for column in inputs["columns"]]
    records = [dict(zip(columns, row, strict=True)) for row in inputs["rows"]]
    if case["metric"] not in OF_THE_DAY and any(record.get("weight", 1) != 1 for record in records):
        raise NotCoveredError("weights of rows in a metric of groups")
    if parameters.get("drop_negative_labels"):
        records = [record for record in records if record["label"] is None or record["label"] >= 0]
    order = parameters.get("order", "score_desc" if "score" in columns else "rank")
    if order not in ("score_desc", "rank"):
        raise NotCoveredError(f"order {order}")
    for index, record in enumerate(records):
        record.setdefault("group", 0)
        record.setdefault("item", index)
        if order == "rank":
            record["score"] = -record["rank"]
    if parameters.get("position") == "given_rank":
        _refuse_gaps(records)
    if parameters.get("list_duplicates") == "distinct" and _repeated(records):
        raise NotCoveredError("an item twice in a list counts once (duplicates=first)")
    if case["metric"] == "r_precision" and parameters.get("k") is not None:
        _cut(records, parameters["k"])
    return records


def _refuse_gaps(records: list[Record]) -> None:
    """A given rank is the position as long as no position is left out."""
    ranks: dict[Hashable, list[int]] = {}
    for record in records:
        ranks.setdefault(record["group"], []).append(record["rank"])
    if any(sorted(given) != list(range(1, len(given) + 1)) for given in ranks.values()):
        raise NotCoveredError("positions given by ranks with gaps (a rank column)")


def _repeated(records: Iterable[Record]) -> set[ItemKey]:
    times = Counter((record["group"], record["item"]) for record in records)
    return {key for key, count in times.items() if count > 1}


def _cut(records: list[Record], k: int) -> None:
    """Rows below the first `k` of a list become rows that were not retrieved."""
    place: Counter[Hashable] = Counter()
    for record in sorted(records, key=lambda record: -record["score"]):
        place[record["group"]] += 1
        if place[record["group"]] > k:
            record["score"] = None


def _labelled(record: Record, parameters: Parameters) -> Impression:
    """A row that brings its own label."""
    if parameters.get("relevant_if") == "in_truth":
        raise NotCoveredError("membership in a truth table that is not there")
    label = _grade(record["label"], record.get("gain"), parameters)
    return Impression(record["group"], record["item"], record["score"], label, record.get("weight", 1.0))


def _joined(case: Record, listed: list[Record]) -> tuple[list[Impression], set[Hashable]]:
    """Lists and truth together, list rows first, and the groups that the truth table has."""
    truth, judged = _truth(case)
    if case["params"].get("unjudged") == "judged_only":
        listed = [record for record in listed if (record["group"], record["item"]) in truth]
    if any(truth.get(key) for key in _repeated(listed)):  # it would be relevant twice, and R grow with the list
        raise NotCoveredError("a relevant item twice in a list")
    return join_truth([(record["group"], record["item"], record["score"]) for record in listed], truth), judged


def _truth(case: Record) -> tuple[dict[ItemKey, float], set[Hashable]]:
    """The truth table as (group, item) -> label, and its groups."""
    parameters, table = case["params"], case["ground_truth"]
    members = parameters.get("relevant_if") == "in_truth" and not is_graded(case["metric"], parameters)
    truth: dict[ItemKey, float] = {}
    for row in table["rows"]:
        record = dict(zip(table["columns"], row, strict=True))
        relevance = record.get("relevance", 1)
        label = 1 if members else _grade(relevance, record.get("gain"), parameters)
        key = (record["group"], record["item"])
        if key in truth and parameters.get("truth_duplicates", "set") != "set":
            raise NotCoveredError("a truth item given twice counts twice")
        if truth.get(key, label) != label:
            raise NotCoveredError("a truth item with two grades")
        if not (parameters.get("negative_is_unjudged") and relevance < 0):
            truth[key] = label
    return truth, {row[table["columns"].index("group")] for row in table["rows"]}


def _grade(label: float | None, gain: float | None, parameters: Parameters) -> float | None:
    """The label, or the gain that the parameters give it: gain=linear then takes it as it stands."""
    if parameters.get("gain") == "column":
        return gain
    if parameters.get("gain") == "map" and label is not None:
        return dict(map(tuple, parameters["gain_map"])).get(label, 0)
    return label


def _named_for_ties(rows: list[Impression], rule: str) -> list[Impression]:
    """Under ties=item the highest item text comes first: texts that sort as the rule orders the rows."""
    if rule not in BY_ITEM:
        return rows
    if rule in ("item_desc", "item_asc"):
        items = sorted({row.item for row in rows}, reverse=rule == "item_asc")
        place = {item: index for index, item in enumerate(items)}
        places = [place[row.item] for row in rows]
    else:
        places = [-index if rule == "input_order" else index for index in range(len(rows))]
    return [row._replace(item=f"{len(rows) + place:08d}") for row, place in zip(rows, places, strict=True)]


def _has_ties(rows: Iterable[Impression]) -> bool:
    times = Counter((row.group, row.score) for row in rows if row.score is not None)
    return max(times.values(), default=0) > 1


def _of_population(case: Record, rows: list[Impression], judged: set[Hashable]) -> list[Impression]:
    """The rows of the groups that the case evaluates, those without any row included."""
    everyone = set(case["inputs"]["groups"] or [0])
    listed = {row.group for row in rows if row.score is not None}
    evaluated = {
        "all": everyone,
        "in_truth": everyone & judged,
        "in_list": everyone & listed,
        "in_both": everyone & judged & listed,
    }[case["params"].get("groups", "all")]
    evaluated = evaluated - _left_out(case, evaluated, listed, {row.group for row in rows if _is_relevant(row, case)})
    empty = evaluated - {row.group for row in rows}
    placeholders = [Impression(group, None, None, None) for group in sorted(empty, key=str)]
    return [row for row in rows if row.group in evaluated] + placeholders


def _left_out(case: Record, groups: set[Hashable], listed: set[Hashable], with_truth: set[Hashable]) -> set[Hashable]:
    """The empty groups that the case leaves out, where that is not a matter of `undefined`."""
    parameters = case["params"]
    if parameters.get("empty_list") == "one" and groups - listed:
        raise NotCoveredError("a group without a list counts 1")
    left_out = groups - listed if parameters.get("empty_list") == "skip" else set()
    always_defined = case["metric"] in ("precision", "dcg", "rbp", "hits")
    if (always_defined or parameters.get("ideal") == "all_k_relevant") and groups - with_truth:
        if parameters.get("empty_truth", "zero") in ("one", "nan"):
            raise NotCoveredError("a group without truth counts 1 or NaN where the metric is always defined")
        if parameters.get("empty_truth") == "skip":
            left_out |= groups - with_truth
    return left_out


def _is_relevant(row: Impression, case: Record) -> bool:
    if row.label is None:
        return False
    parameters = case["params"]
    by_membership = parameters.get("relevant_if") == "in_truth" or is_graded(case["metric"], parameters)
    return row.label > 0 if by_membership else row.label >= parameters.get("rel_threshold", 1)
