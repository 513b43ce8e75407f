"""Lists and truth, joined row by row."""

from __future__ import annotations

from collections.abc import Sequence

from tests.oracles.values import Label

Listed = tuple[str, str, float | None]  # group, item, score
Given = tuple[str, str, Label]  # group, item, label


def lists_and_truth(
    lists: Sequence[Listed],
    truth: Sequence[Given],
    duplicates: str = "keep",
    unjudged: str = "nonrelevant",
    population: str = "all",
    unretrieved: str = "zero",
    ties: str = "",
) -> dict[str, tuple[list[tuple[str, float, Label]], dict[str, float]]]:
    """What is evaluated of each group that is: its list of (item, score, label), and the label of each judged item.

    Where an item counts ``once``, its repeats have no label. Scores being whole numbers, they stand half a point lower,
    which is behind what they tie with; where ``ties`` are by item or a block, they stay where they are.
    """
    groups = {}
    for group in {row[0] for row in [*lists, *truth]}:
        judged: dict[str, float] = {}
        for owner, item, label in truth:
            if owner == group and label is not None:
                judged[item] = max(label, judged.get(item, label))
        listed = [(item, score, judged.get(item)) for owner, item, score in lists if owner == group]
        listed = [row for row in listed if row[1] is not None]
        in_population = {"all": True, "truth": judged, "lists": listed, "both": judged and listed}[population]
        if not in_population or (unretrieved == "skip" and not listed):
            continue
        if unjudged == "drop":
            listed = [row for row in listed if row[0] in judged]
        if duplicates == "first":
            listed = [
                (item, max(s for i, s, _ in listed if i == item), judged.get(item)) for item in {r[0] for r in listed}
            ]
        if duplicates == "once":
            listed = credited_once(listed, 0.0 if ties in ("item", "block") else 0.5)
        groups[group] = (listed, judged)
    return groups


def credited_once(listed: list[tuple[str, float, Label]], lower: float) -> list[tuple[str, float, Label]]:
    """``listed`` from the highest score down, each item but its best row without a label and ``lower``."""
    seen: set[str] = set()
    found = []
    for item, score, label in sorted(listed, key=lambda row: row[1], reverse=True):
        found.append((item, score - lower, None) if item in seen else (item, score, label))
        seen.add(item)
    return found
