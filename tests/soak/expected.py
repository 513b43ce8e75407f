"""What a case must give by the slow oracles: values of groups, their means, and some metrics of all rows."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.oracles import ORACLES, PAIRED, Label, expected_over_orders, lists_and_truth, settled_for
from tests.soak.cases import Case
from tests.support.strategies import OF_ALL_ROWS, OF_NUMBERS, Asked, arguments

MOST_ORDERS = 1_000  # of the tied rows of a group, so many that trying all takes no longer than an evaluation
MOST_ROWS = 40  # of a group whose pairs a loop walks through
WHOLE = 16.0  # makes scores whole numbers, as an item that counts once needs them
Key = tuple[Any, ...]
Group = tuple[list[tuple[str, float, Label]], dict[str, float]]  # its list of (item, score, label), its judged items
Rows = Sequence[Mapping[str, Any]]


def groups_of(case: Case, model: str, rows: Rows, ties: str) -> dict[Key, Group]:
    """The groups that are evaluated of a ``model``, as the slow join makes them of ``rows``."""
    column = case.columns[model]
    lists, truth = [], []
    for row in rows:
        key = tuple(row[name] for name in case.keys)
        if case.shape == "arrays":
            items = row[column] or []
            lists += [(key, item, float(len(items) - place)) for place, item in enumerate(items)]
            truth += [(key, item, 1.0) for item in row["true"] or []]
            continue
        score = row[column]
        lists.append((key, row["item"], None if score is None else (-score if case.ranked else score) * WHOLE))
        if case.shape == "rows":
            truth.append((key, row["item"], row["label"]))
    if case.truth is not None:
        truth += [((row["user"],), row["item"], row["label"]) for row in case.truth.to_pylist()]
    names = ("duplicates", "unjudged", "population", "unretrieved")
    given = {name: case.settings[name] for name in names if name in case.settings}
    found = lists_and_truth(lists, truth, **given, ties="" if ties == "expected" else ties)
    if case.shape == "arrays" and case.settings["unretrieved"] == "zero":
        # A row of arrays is a group, be both of them empty.
        found = {(row["user"],): ([], {}) for row in rows} | found
    return found


def value_of(case: Case, parts: Asked, group: Group) -> float | None:
    """The value of a metric for one group, NaN where it is undefined; None where no oracle says it in time."""
    listed, judged = group
    ties, name = case.settings["ties"], parts[0]
    repeats = len({item for item, *_ in listed}) < len(listed)
    if len(listed) > MOST_ROWS or len(judged) > MOST_ROWS or (name == "rbo" and repeats):
        return None
    if name in (*OF_ALL_ROWS, *OF_NUMBERS):
        return None
    if ties == "expected":
        if orders(listed) > MOST_ORDERS or (name in ("pair_auc", "kendall_distance") and repeats):
            return None
        oracle = functools.partial(ORACLES[name], judged=list(judged.values()), **arguments(parts))
        (value,) = expected_over_orders([(score, label) for _, score, label in listed], [oracle])
    elif name in PAIRED:
        there = {item for item, *_ in listed}
        absent = [(None, label) for item, label in judged.items() if item not in there]
        value = PAIRED[name]([(score, label) for _, score, label in listed] + absent, **parts[1])
    else:
        value = ORACLES[name](settled_for(name, listed, ties), list(judged.values()), **arguments(parts))
    return math.nan if value is None else value


def orders(listed: Iterable[tuple[str, float, Label]]) -> int:
    """The strict orders that tied rows may stand in, of which those of equal labels are one."""
    blocks: dict[float, Counter[Label]] = {}
    for _, score, label in listed:
        blocks.setdefault(score, Counter())[label] += 1
    return math.prod(math.factorial(sum(block.values())) for block in blocks.values())


def mean_of(case: Case, values: Iterable[float]) -> float:
    """The mean of the values of groups, under the case's rule for the undefined ones."""
    instead = {"zero": [0.0], "one": [1.0]}.get(case.settings["undefined"], [])
    known = [number for value in values for number in (instead if math.isnan(value) else [value])]
    return math.fsum(known) / len(known) if known else math.nan


def weighted_auc(case: Case, model: str) -> float | None:
    """The share of the weight of all pairs of a relevant and another row that is in order; None where nobody knows."""
    if case.shape != "rows" or case.rows.num_rows > 10 * MOST_ROWS:
        return None
    rows = []
    for row in case.rows.to_pylist():
        score, label = row[case.columns[model]], row["label"]
        if score is not None and (label is not None or case.settings["unjudged"] != "drop"):
            weight = row["weight"] if "weight" in case.settings else 1.0
            rows.append((-score if case.ranked else score, label is not None and label > 0, weight))
    pairs = [
        (one * other, 1.0 if high > low else 0.5 if high == low else 0.0)
        for high, relevant, one in rows
        for low, other_relevant, other in rows
        if relevant and not other_relevant
    ]
    total = sum(weight for weight, _ in pairs)
    return sum(weight * inside for weight, inside in pairs) / total if total else math.nan
