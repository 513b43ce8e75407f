"""What live comparisons with other libraries share: small random rankings, and how close two values must be."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable

from hypothesis import settings
from hypothesis import strategies as st

from tests.extent import examples
from tests.peers.harness import Given, Impression, Listed

EXACT = 1e-9
CUTOFFS = (1, 2, 3, 5, 20)  # 20 is beyond every list here

# A busy machine makes single examples slow, and that is no failure.
looking = settings(max_examples=examples(60), deadline=None)

# Multiples of 1/4 are the same number in float32, in which trec_eval keeps scores, and few enough to tie often.
tied_scores = st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, -1.0])
graded_labels = st.sampled_from([0, 0, 1, 1, 2, 3, -1])


@st.composite
def impressions(
    draw: st.DrawFn,
    scores: st.SearchStrategy[float | None],
    labels: st.SearchStrategy[int | None],
    groups: int = 4,
    least: int = 1,
    most: int = 9,
    ties: bool = True,
) -> list[Impression]:
    """Some groups of some rows. Item ids compare as text otherwise than by number: d10 stands before d9."""
    rows = []
    for group in range(draw(st.integers(1, groups))):
        pairs = draw(
            st.lists(
                st.tuples(scores, labels),
                min_size=least,
                max_size=most,
                unique_by=None if ties else lambda pair: pair[0],
            )
        )
        rows += [Impression(f"q{group}", f"d{7 * i % 12}", score, label) for i, (score, label) in enumerate(pairs)]
    return rows


def assert_close(got: float, expected: float, what: object) -> None:
    assert math.isclose(got, expected, rel_tol=EXACT, abs_tol=EXACT), f"{what}: got {got!r}, expected {expected!r}"


def by_group(rows: list[Impression]) -> dict[Hashable, list[Impression]]:
    groups: dict[Hashable, list[Impression]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row)
    return groups


def qrels_and_run(rows: list[Impression]) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """The rows as trec_eval's two tables: what was judged, and what was retrieved."""
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    run: dict[str, dict[str, float]] = defaultdict(dict)
    for row in rows:
        if row.label is not None:
            qrels[str(row.group)][str(row.item)] = int(row.label)
        if row.score is not None:
            run[str(row.group)][str(row.item)] = row.score
    # trec_eval counts judgments in a table by level from 0. Of a query with negative ones only pytrec_eval reads beyond
    # that table: it reports no retrieved document, or never returns.
    return {query: judged for query, judged in qrels.items() if max(judged.values()) >= 0}, dict(run)


def lists_and_truth(
    qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]
) -> tuple[list[Listed], list[Given]]:
    """The same two tables as sparkrank takes them."""
    lists = [Listed(query, item, score) for query, scores in run.items() for item, score in scores.items()]
    return lists, [Given(query, item, label) for query, labels in qrels.items() for item, label in labels.items()]
