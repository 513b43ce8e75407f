"""Hits weighed by propensity: an oracle of all orders, published formulas, bad rows, a truth, ``quality``, refusals."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.base import checks
from tests.extent import examples
from tests.oracles.propensities import weighed
from tests.support.strategies import PATIENT

NAMES = ("p", "r", "cg", "dcg", "ndcg", "arhr", "rbp")
ROLES: dict[str, Any] = {"group": "u", "item": "i", "score": "s", "label": "y", "propensity": "e"}
some_rows = st.lists(
    st.tuples(
        st.sampled_from([None, 1.0, 2.0, 3.0]),
        st.sampled_from([0.0, 1.0, 1.0, 2.0]),
        st.sampled_from([0.05, 0.1, 0.3, 1 / 3, 0.5, 1.0]),
    ),
    min_size=1,
    max_size=6,
)


def table(rows: list[tuple]) -> pa.Table:
    score, label, chance = zip(*rows, strict=True)
    shown = [own if mark > 0 else None for own, mark in zip(chance, label, strict=True)]
    columns = {"s": pa.array(score, pa.float64()), "y": label, "e": pa.array(shown, pa.float64())}
    return pa.table({"u": ["a"] * len(rows), "i": [f"i{place}" for place in range(len(rows))], **columns})


def texts(name: str) -> list[tuple[str, dict[str, Any]]]:
    asked = []
    for word, clip, k in [("ips", 0.0, None), ("ips", 0.2, 2), ("snips", 0.0, 2), ("snips", 0.2, None)]:
        asked.append((word, clip, k))
    asked += [("best", 0.0, 2), ("best", 0.2, None)]
    return [
        (
            f"{name}(propensity={word}{f',clip={clip}' if clip else ''}){f'@{k}' if k else ''}",
            {"propensity": word, "clip": clip, "k": k},
        )
        for word, clip, k in asked
    ]


@settings(PATIENT, max_examples=examples(25))
@given(some_rows, st.randoms())
def test_values_are_those_of_all_orders(rows: list[tuple], random: Any) -> None:
    asked = {text: (name, own) for name in NAMES for text, own in texts(name)}
    shuffled = [*rows]
    random.shuffle(shuffled)
    found = sr.evaluate(table(rows), [*asked], **ROLES, uncertainty=False).groups.to_pylist()[0]
    for text, (name, own) in asked.items():
        value = weighed(name, rows, **own)
        assert found[text] == pytest.approx(math.nan if value is None else value, abs=1e-12, nan_ok=True), text
    other = sr.evaluate(table(shuffled), [*asked], **ROLES, uncertainty=False).groups.to_pylist()[0]
    assert {text: repr(found[text]) for text in asked} == {text: repr(other[text]) for text in asked}


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
@pytest.mark.parametrize("label", [pa.int32(), pa.float64(), pa.bool_()])
def test_rows_keep_their_propensity_however_columns_are_cut(label: pa.DataType, kind: pa.DataType) -> None:
    """Relevant are b, d and f, with v = 2, 4 and 1; b is first and d third. Propensities of other rows are not read."""
    labels = pa.array([1, 0, 1, None, 1, 0, 1, None], pa.int8()).cast(label)
    chances = pa.array([0.125, 9.0, 0.5, None, 0.25, 7.0, 1.0, -1.0], kind)
    columns = {
        "u": pa.chunked_array([["x"] * 7]),
        "i": pa.chunked_array([list("abcdefg")]),
        "s": pa.chunked_array([[1.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0]]),
        "y": pa.chunked_array([labels[1:3], labels[3:]]),
        "e": pa.chunked_array([chances[1:6], chances[6:]]),
    }
    texts = [f"r(propensity=snips)@{k}" for k in (2, 3, 6)]
    (group,) = sr.evaluate(pa.table(columns), texts, **ROLES, uncertainty=False).groups.to_pylist()
    assert [group[text] for text in texts] == [2 / 7, 6 / 7, 1.0]


def test_precision_and_ndcg_are_those_of_extreme_classification() -> None:
    """As in Jain et al., KDD 2016, with matrices: PSP@k and PSnDCG@k, plain and over those of the best order."""
    rng, k = np.random.default_rng(3), 5
    scores = rng.permuted(np.tile(np.arange(30.0), (40, 1)), axis=1)
    true, inverse = rng.random((40, 30)) < 0.2, 1 / rng.uniform(0.1, 1, 30)
    true[:, 0] = True
    discount = 1 / np.log2(np.arange(k) + 2)

    def first(order: np.ndarray) -> np.ndarray:
        top = np.argsort(-order, axis=1)[:, :k]
        return np.take_along_axis(true * inverse, top, axis=1)

    listed, best = first(scores), first(true * inverse)
    expected = {
        "p(propensity=ips)@5": listed.sum(axis=1) / k,
        "p(propensity=best)@5": listed.sum(axis=1) / best.sum(axis=1),
        "ndcg(propensity=ips,gain=binary,ideal=k_relevant)@5": (listed * discount).sum(axis=1) / discount.sum(),
        "ndcg(propensity=best,gain=binary)@5": (listed * discount).sum(axis=1) / (best * discount).sum(axis=1),
    }
    user, item = np.indices(scores.shape).reshape(2, -1)
    columns = {"u": user, "i": item, "s": scores.ravel(), "y": true.ravel().astype(int), "e": 1 / inverse[item]}
    found = sr.evaluate(pa.table(columns), [*expected], **ROLES).groups.sort_by("u")
    for text, values in expected.items():
        assert found[str(sr.Metric.parse(text))].to_pylist() == pytest.approx(values.tolist(), abs=1e-12)


def test_recall_is_that_of_yang() -> None:
    """Equation 9 of Yang et al., RecSys 2018: 1/|U| Σ_u 1/Σ(1/P) Σ_i c(Z)/P, c(Z) = 1 if Z < k, or 1 / log2(Z + 2)."""
    rng, expected, rows = np.random.default_rng(5), {"r": [], "dcg": []}, []
    for user in range(30):
        rank, seen, chance = rng.permutation(20), rng.random(20) < 0.4, rng.uniform(0.05, 1, 20)
        seen[0] = True
        for name, c in (("r", rank < 5), ("dcg", 1 / np.log2(rank + 2))):
            expected[name].append((c / chance)[seen].sum() / (1 / chance)[seen].sum())
        rows += [(user, item, -float(rank[item]), int(seen[item]), chance[item]) for item in range(20)]
    log = pa.table(dict(zip(("u", "i", "s", "y", "e"), map(list, zip(*rows, strict=True)), strict=True)))
    found = sr.evaluate(log, ["r(propensity=snips)@5", "dcg(propensity=snips)"], **ROLES)
    assert found.metrics["value"].to_pylist() == pytest.approx([np.mean(own) for own in expected.values()], abs=1e-12)


LOG = pa.table(
    {"u": [1, 1, 1, 2, 2], "i": [*"abcab"], "s": [3.0, 2, 1, 2, 1], "y": [1, 0, 2, 1, 1], "e": [0.5, 0, 0.1, 0.25, 1]}
)


@pytest.mark.parametrize("bad", [None, math.nan, 0.0, 1e-10, 1.0001, -0.5, math.inf])
def test_a_propensity_that_is_none_is_a_bad_row_if_it_is_read(bad: float | None) -> None:
    """Of a row that is not relevant it is not read; at rel=2 neither is that of the label 1."""
    chances = LOG["e"].to_pylist()
    for place, metric, count in ((1, "r(propensity=snips)", 0), (2, "r(propensity=snips)", 1)):
        chances_now = [*chances[:place], bad, *chances[place + 1 :]]
        rows = LOG.set_column(4, "e", pa.array(chances_now, pa.float64()))
        quality = sr.evaluate(rows, [metric], max_bad_fraction=1.0, **ROLES).quality.to_pylist()
        assert {row["check"]: row["count"] for row in quality}[checks.BAD_PROPENSITY] == count
    rows = LOG.set_column(4, "e", pa.array([bad, bad, *chances[2:]], pa.float64()))
    assert sr.evaluate(rows, ["r(propensity=snips,rel=2)"], **ROLES)["r(propensity=snips,rel=2)"] == 1.0
    with pytest.raises(sr.InputError, match=r"\(1 propensity that is null, NaN, below 1e-9 or above 1\)"):
        sr.evaluate(rows, ["r(propensity=snips)"], **ROLES)


def test_quality_says_what_the_weights_do_and_limits_bound_it() -> None:
    """The weights are 2, 10, 4 and 1, or with clip=0.2 2, 5, 4 and 1."""
    asked = ["r(propensity=snips)@2", "r(propensity=snips,clip=0.2)@2"]
    quality = {row["check"]: row for row in sr.evaluate(LOG, asked, **ROLES).quality.to_pylist()}
    assert quality["effective sample size"]["count"] == 17**2 / (4 + 100 + 16 + 1)
    assert quality["largest weight by propensity"]["count"] == 10
    assert (quality["weights clipped"]["count"], quality["weights clipped"]["fraction"]) == (1, 1 / 4)
    one = {row["check"]: row for row in sr.evaluate(LOG, asked[1:], **ROLES).quality.to_pylist()}
    assert one["effective sample size"]["count"] == pytest.approx(12**2 / (4 + 25 + 16 + 1))
    assert one["largest weight by propensity"]["count"] == 5
    for check, limit, passes in (
        ("effective sample size", 2.4, False),
        ("effective sample size", 2.3, True),
        ("largest weight by propensity", 9.0, False),
        ("largest weight by propensity", 10.0, True),
        ("weights clipped", 0.2, False),
        ("weights clipped", 0.25, True),
    ):
        if passes:
            sr.evaluate(LOG, asked, **ROLES, limits={check: limit})
        else:
            with pytest.raises(sr.InputError, match=f'^"{check}" of s is .*, and limits allows'):
                sr.evaluate(LOG, asked, **ROLES, limits={check: limit})


def test_a_truth_has_the_propensities_of_its_rows() -> None:
    """b, of weight 4, is second, and d, of weight 10, in no list; a column of that name in the lists is not read."""
    lists = pa.table({"u": [1] * 3, "i": [*"abc"], "s": [3.0, 2, 1], "e": [9.0] * 3})
    truth = pa.table({"u": [1] * 2, "i": [*"bd"], "p": [0.25, 0.1]})
    roles = {name: column for name, column in ROLES.items() if name not in ("label", "propensity")}
    for given_roles in ({"truth_columns": {"propensity": "p"}}, {"propensity": "p"}):
        found = sr.evaluate(
            lists, ["r(propensity=snips)@2", "arhr(propensity=ips)"], truth=truth, **roles, **given_roles
        )
        assert found.metrics["value"].to_pylist() == [4 / 14, 4 / 2]
    with pytest.raises(sr.SpecError, match="reads the propensity, but no propensity column is named"):
        sr.evaluate(lists, ["r(propensity=snips)@2"], truth=truth, **roles)


def test_an_item_that_a_truth_has_twice_has_its_lowest_propensity() -> None:
    """Whichever row comes last; a row that is not relevant is not read."""
    lists = pa.table({"u": [1] * 2, "i": [*"ab"], "s": [2.0, 1]})
    truth = pa.table({"u": [1] * 5, "i": [*"aaacc"], "y": [1, 1, 0, 1, 1], "e": [0.5, 0.25, 0.01, 0.125, 1.0]})
    for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0]):
        found = sr.evaluate(lists, ["r(propensity=snips)", "cg(propensity=ips)"], truth=truth.take(order), **ROLES)
        assert found.metrics["value"].to_pylist() == [4 / (4 + 8), 4]


@pytest.mark.parametrize("duplicates", ["keep", "once", "first"])
def test_an_item_with_several_relevant_rows_has_its_lowest_propensity(duplicates: str) -> None:
    """The last row of x is not relevant, so what stands there is not read."""
    rows = {"u": [1] * 4, "i": [*"xxxy"], "s": [4.0, 3, 2, 1], "y": [1, 1, 0, 1], "e": [0.5, 0.25, 0.01, 1.0]}
    log = pa.table(rows)
    for given_rows in (log, log.take([3, 2, 1, 0])):
        found = sr.evaluate(
            given_rows, ["cg(propensity=ips)@1", "cg(propensity=best)@1"], **ROLES, duplicates=duplicates
        )
        # without a rule for duplicates, each row counts for itself
        expected = [2.0, 2 / 4] if duplicates == "keep" else [4.0, 1.0]
        assert found.metrics["value"].to_pylist() == expected


@pytest.mark.parametrize(
    ("metric", "sentence"),
    [
        ("r(clip=0.1)", "gives clip alone: add propensity=ips, snips or best"),
        ("p(propensity=snips,over=retrieved)@2", "gives over with propensity=snips, which says itself what is divided"),
        ("ndcg(propensity=best,ideal=retrieved)", "gives ideal with propensity=best, which says itself"),
        ("r(propensity=dr)", "propensity=dr"),
        ("r(propensity=ips,clip=2)", "clip=2"),
        ("rr(propensity=ips)", "rr takes"),
    ],
)
def test_what_means_nothing_is_refused(metric: str, sentence: str) -> None:
    with pytest.raises(sr.MetricError, match=re.escape(sentence)):
        sr.Metric.parse(metric)


def test_a_metric_asks_for_the_column_before_anything_is_read() -> None:
    roles = {name: column for name, column in ROLES.items() if name != "propensity"}
    with pytest.raises(sr.SpecError, match=r"^median\(r\(propensity=snips\)@2\) reads the propensity, but no"):
        sr.evaluate("nowhere.parquet", ["median(r(propensity=snips)@2)"], **roles)


def test_what_groups_had_before_needs_no_propensity() -> None:
    """Neither beside a log nor beside a truth, whose column it is."""
    rows = pa.table({"user": [1, 1], "item": [1, 2], "score": [0.2, 0.1], "label": [0, 1], "seen": [0.5, 0.5]})
    had, roles = pa.table({"user": [1], "item": [9]}), {"group": "user", "score": "score", "item": "item"}
    asked = {"metrics": ["p(propensity=ips)"], "exclude": had, "propensity": "seen", "lane": "local", **roles}
    truth = rows.drop_columns(["score"])
    lists = rows.drop_columns(["label", "seen"])
    for rows_of_lists, beside in ((rows, {}), (lists, {"truth": truth})):
        found = sr.evaluate(rows_of_lists, **asked, **beside, label="label")
        assert found.to_pandas()["value"].tolist() == [1.0]  # one hit, which counts 1 / 0.5, of two rows
