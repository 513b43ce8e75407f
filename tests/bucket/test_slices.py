"""Slices: what stands under a value of a slice is what its rows alone would give."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.bucket import slicing
from sparkrank.bucket.slicing import NO_PART
from sparkrank.metrics.slices import shown_value
from sparkrank.states.distributions import distributions_table
from sparkrank.states.items import items_table
from sparkrank.text.text import metrics_text
from tests.extent import IS_LONG
from tests.support.numbers import without_hash

UNJUDGED = ["judged@2", "rr(unjudged=drop)", "p(unjudged=best)@2"]
METRICS = [
    *("mcb", "dsc(exact)"),
    *("ndcg@2", "ap", "rr", "r@2", "gauc", "group_auc", "p50(ap)", "p90(ndcg@2)"),
    *("auc(bits=3)", "auc(exact)", "auc_up(digits=1)", "auc_up(exact,min_rows=3)", "pr_auc", "ks", "bep"),
    *("f1(threshold=0.4)", "accuracy", "logloss", "brier", "ece", "copc", "ne"),
    *("coverage", "gini@2", "novelty@2"),
]
COLUMNS = {"group": "user", "score": {"a": "score", "b": "other"}, "label": "label", "item": "item"}
SLICES = ["country", "new", ("new", "kind")]


def log(seed: int, rows: int = 60) -> pa.Table:
    """Impressions of users, each of one country and some of none, and of items of two kinds."""
    rng = np.random.default_rng(seed)
    user = rng.integers(0, 8, rows)
    country = np.array(["de", "fr", None, "a,b\\"], object)[user % 4]
    return pa.table(
        {
            "user": user,
            "country": pa.array(country, pa.string()),
            "kind": pa.array(rng.integers(1, 3, rows), mask=rng.random(rows) < 0.1),
            "new": user > 4,
            "item": rng.permutation(rows) // 2,
            "score": np.where(rng.random(rows) < 0.4, 0.25, rng.random(rows).round(2)),
            "other": pa.array(rng.random(rows), mask=rng.random(rows) < 0.3),
            "label": pa.array(rng.choice([0.0, 1.0, 2.0], rows), mask=rng.random(rows) < 0.1),
            "weight": 1 / rng.uniform(0.01, 1, rows),
        }
    )


def columns_of(slice_: str | tuple[str, ...]) -> list[str]:
    return [slice_] if isinstance(slice_, str) else list(slice_)


def of_value(rows: pa.Table, value: Mapping[str, Any]) -> pa.Table:
    """The rows of which each column of a slice has its ``value``."""
    for column, wanted in value.items():
        equal = pc.is_null(rows[column]) if wanted is None else pc.equal(rows[column], wanted).fill_null(False)
        rows = rows.filter(equal)
    return rows


def text(value: object) -> str | None:
    return str(value).lower() if isinstance(value, bool) else None if value is None else str(value)


def joined(values: Sequence[object]) -> str | None:
    if all(value is None for value in values):
        return None
    escaped = [NO_PART if value is None else re.sub(r"[\\,]", r"\\\g<0>", text(value) or "") for value in values]
    return ",".join(escaped)


def values_of(rows: pa.Table, slice_: str | tuple[str, ...]) -> dict[str | None, dict[str, Any]]:
    """The values of each column under every value that the slice has in ``rows``, by the text of the slice's value."""
    distinct = rows.group_by(columns_of(slice_)).aggregate([]).to_pylist()
    to_text = text if isinstance(slice_, str) else lambda *values: joined(values)
    return {to_text(*row.values()): row for row in distinct}


def numbers(evaluation: sr.Evaluation) -> dict[tuple[str, str | None], list[list[str]]]:
    """What the metrics, the blocks and the curves say of each value of each slice, each number as its exact text."""
    found: dict[tuple[str, str | None], list[list[str]]] = defaultdict(lambda: [[], [], []])
    for place, table in enumerate((evaluation.metrics, evaluation.blocks, evaluation.curves)):
        for row in without_hash(table).to_pylist():
            found[row.pop("slice"), row.pop("slice_value")][place].append(repr(row))
    return found


def check_law(rows: pa.Table, truth: pa.Table | None = None, slices: Sequence[Any] = SLICES, **asked: Any) -> None:
    """Each value of each slice against the evaluation of its rows alone, and the whole day against one without."""
    metrics = METRICS if asked.get("unjudged") == "drop" else [*UNJUDGED, *METRICS]
    asked = {"curve_points": 10, "score_sums": True, "uncertainty": False, **asked}  # slices have fewer parts
    sliced = sr.evaluate(rows, metrics, truth=truth, slices=slices, buckets=3, **asked)
    whole = sr.evaluate(rows, metrics, truth=truth, buckets=2, **asked)
    of_slices = numbers(sliced)
    assert of_slices["all", "all"] == numbers(whole)["all", "all"]
    assert sliced.quality.equals(whole.quality)
    assert sliced.groups.num_rows == whole.groups.num_rows
    for slice_ in slices:
        name = ",".join(columns_of(slice_))
        both = [side.select(columns_of(slice_)) for side in (rows, truth) if side is not None]
        expected = values_of(pa.concat_tables(both), slice_)
        in_order = sliced.metrics.filter(pc.field("slice") == name)["slice_value"].unique().to_pylist()
        assert in_order == sorted(expected, key=lambda value: (value is None, value or ""))
        for value, columns in expected.items():
            beside = None if truth is None else of_value(truth, columns)
            try:
                alone = sr.evaluate(of_value(rows, columns), metrics, truth=beside, buckets=1, **asked)
            except sr.InputError as error:  # a value may lack what a day may not: truth, or any row that is judged
                assert re.match("the (lists|truth)|lists and truth|no (row|group) ", str(error))  # noqa: PT017
                continue
            assert of_slices[name, value] == numbers(alone)["all", "all"], (name, value)


SETTINGS = {
    "defaults": {},
    "weights": {"weight": "weight"},
    "ties by item": {"ties": "item", "undefined": "zero"},
    "population": {"population": "lists", "unretrieved": "skip", "undefined": "one"},
    "unjudged dropped": {"unjudged": "drop", "ties": "worst", "duplicates": "first"},
    "once": {"duplicates": "once"},
}


@pytest.mark.parametrize("asked", SETTINGS.values(), ids=SETTINGS)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=5 if IS_LONG else 1, deadline=None)
def test_a_value_of_a_slice_is_what_its_rows_alone_give(asked: dict[str, Any], seed: int) -> None:
    check_law(log(seed), **{**COLUMNS, **asked})


@given(seed=st.integers(0, 10**6))
@settings(max_examples=5 if IS_LONG else 1, deadline=None)
def test_lists_and_truth_are_sliced_by_columns_of_both(seed: int) -> None:
    rows, columns = log(seed), ["user", "item", "label", "country", "kind", "new"]
    asked = {**COLUMNS, "label": "label", "truth_columns": {"label": "label"}, "truth": log(seed + 1).select(columns)}
    check_law(rows.drop_columns(["label"]), slices=["country", ("new", "country")], **asked)


def by_value(rows: pa.Table, metrics: list[str], slice_: str, **roles: str) -> dict[tuple[str | None, str], Any]:
    found = sr.evaluate(rows, metrics, slices=[slice_], **roles).metrics.to_pylist()
    return {(row["slice_value"], row["metric"]): (row["value"], row["n_rows"]) for row in found}


def test_arrays_are_sliced_by_the_columns_of_their_row() -> None:
    columns = {"user": [1, 2, 3, 4], "country": ["de", "fr", "de", None]}
    lists = {"shown": [["a", "b"], ["c"], [], ["b", "a"]], "liked": [["b"], ["c", "d"], ["a"], None]}
    roles = {"group": "user", "items": "shown", "true_items": "liked"}
    found = by_value(pa.table({**columns, **lists}), ["rr", "r", "coverage"], "country", **roles)
    # user 1 finds b second, and user 3 has no list: (1/2 + 0) / 2; of the items a and b, both are shown
    expected = {("de", "rr"): 1 / 4, ("de", "coverage"): 1, ("fr", "r"): 1 / 2, (None, "coverage"): 1}
    assert {key: found[key][0] for key in expected} == expected


def test_a_slice_by_hand() -> None:
    """Two users. Of the books, both put the relevant one first; of the films, one user has a relevant one, second."""
    columns = {"user": [1, 1, 1, 1, 2, 2, 2], "kind": ["film", "book", "film", "book", "book", "film", "book"]}
    rows = pa.table({**columns, "score": [0.9, 0.8, 0.7, 0.1, 0.5, 0.4, 0.3], "label": [0, 1, 1, 0, 1, 0, 0]})
    assert by_value(rows, ["rr", "auc"], "kind", group="user", score="score", label="label") == {
        # the whole lists: the first relevant row stands second and first; 0.9 alone is above relevant ones
        ("all", "rr"): ((1 / 2 + 1) / 2, 7),
        ("all", "auc"): (9 / 12, 7),
        # books: first of two for user 1, first of two for user 2; 0.8 and 0.5 against 0.1 and 0.3: every pair in order
        ("book", "rr"): (1.0, 4),
        ("book", "auc"): (1.0, 4),
        # films: second of two for user 1, undefined for user 2, who has none relevant; 0.7 against 0.9 and 0.4
        ("film", "rr"): (1 / 2, 3),
        ("film", "auc"): (1 / 2, 3),
    }


# Texts that somebody might write where there is no value, and those that a combination writes of its own.
LIKE_NOTHING = ["null", "(null)", "", "None", "NaN", "all", " ", "\\N", "\\", ",", "\\N,\\N"]


def users_of(values: Sequence[Any]) -> pa.Table:
    """User n has n + 1 rows, all with the n-th of ``values`` in the column c, and nothing in d."""
    user = [n for n in range(len(values)) for _ in range(n + 1)]
    texts = {"c": pa.array([values[n] for n in user], pa.string()), "d": pa.nulls(len(user), pa.string())}
    item = [str(index) for index in range(len(user))]
    return pa.table({"u": user, **texts, "i": item, "s": [0.5] * len(user), "y": [1] * len(user)})


def sizes_of(table: pa.Table, slice_: str, of: str) -> dict[str | None, float]:
    """What the rows of each value of a slice add up to in the column ``of``."""
    sums: dict[str | None, float] = defaultdict(float)
    for row in table.to_pylist():
        if row["slice"] == slice_:
            sums[row["slice_value"]] += row[of]
    return sums


@pytest.mark.parametrize("buckets", [1, 7])
def test_a_missing_value_is_none_and_every_text_a_value_of_its_own(buckets: int) -> None:
    values = [None, *LIKE_NOTHING]
    roles, slices = {"group": "u", "score": "s", "label": "y", "item": "i"}, ["c", ("d", "c")]
    metrics = ["rr", "median(rr)", "pr_auc", "auc(exact)", "coverage"]
    ev = sr.evaluate(users_of(values), metrics, **roles, slices=slices, buckets=buckets, curve_points=10)
    expected = {value: n + 1 for n, value in enumerate(values)}  # rows of the user who has the value
    tables = {name: ev.metrics.filter(pc.field("metric") == name) for name in metrics}
    for name, column in (("rr", "n_rows"), ("pr_auc", "weight"), ("coverage", "n_rows")):
        assert sizes_of(tables[name], "c", column) == expected
    assert sizes_of(ev.blocks.filter(pc.field("rule") == "exact"), "c", "pos") == expected
    assert sizes_of(ev.curves.filter(pc.field("curve") == "pr"), "c", "x").keys() == set(values)
    assert sizes_of(items_table(ev.partials.items), "c", "relevant") == expected
    assert sizes_of(distributions_table(ev.partials.distributions), "c", "groups") == dict.fromkeys(values, 1)
    # d is missing everywhere: with c missing too the combination has no value
    of_both = {joined([None, value]): n for value, n in expected.items()}
    assert len(of_both) == len(values)
    assert None in of_both
    assert sizes_of(tables["rr"], "d,c", "n_rows") == of_both


def test_a_combination_says_which_of_its_columns_has_no_value() -> None:
    """Whatever stands beside it, and whatever looks so: no two combinations are shown alike."""
    parts = [None, *LIKE_NOTHING, "a,b", "a\\"]
    pairs = [pair for pair in itertools.product(parts, parts) if pair != (None, None)]
    shown = {shown_value(joined(pair), "c,d") for pair in pairs}
    assert len(shown) == len(pairs)
    assert all((r"\N" in re.split(r"(?<![\\]),", text)) is False for text in shown)
    assert shown_value(joined([None, "web"]), "c,d") == "(null),web"
    assert shown_value(joined(["web", None]), "c,d") == "web,(null)"
    assert shown_value(joined(["(null)", ""]), "c,d") == '"(null)",""'
    alike = ["(null)", '"(null)"', r'"\"(null)\""', "", '""', '"']
    assert len({shown_value(value, "c") for value in (None, *alike)}) == len(alike) + 1
    assert shown_value(r"\N", "c") == r"\N"  # of one column it is a text
    assert shown_value("web", "a,b") == "web"  # one column whose name has a comma


def test_a_sentence_tells_a_missing_value_from_the_text_that_looks_so() -> None:
    asked = {"group": "u", "score": "s", "label": "y", "slices": ["c"]}
    for value, shown in ((None, r"\(null\)"), ("(null)", r'"\(null\)"'), ("", '""'), ("null", "null")):
        rows = pa.table({"u": [1, 1], "c": ["x", value], "s": [1.0, 0.5], "y": [1, 0]})
        with pytest.raises(sr.InputError, match=f"^ap of s where c is {shown} is undefined in 1 of 1 groups"):
            sr.evaluate(rows, ["ap"], undefined="error", **asked)
        assert "Also by c (values: 2)" in metrics_text(sr.evaluate(rows, ["ap"], **asked).metrics)


def test_a_slice_that_makes_no_sense_is_refused() -> None:
    for slices, sentence in (
        (["contry"], 'the slice column "contry" is not in the input, did you mean "country"?'),
        (["score"], 'the slice column "score" is of type double: a text, whole number, boolean or date is needed'),
        (["all"], 'slices[0] is "all", which names the whole day: rename the column'),
        (["kind", ["kind"]], 'slices[1] is "kind" again: a slice is named once'),
        ([[]], "slices[0] is []: a column or several different ones are needed"),
        ([["kind", "kind"]], "slices[0] is ['kind', 'kind']: a column or several different ones are needed"),
    ):
        with pytest.raises(sr.SparkrankError, match=f"^{re.escape(sentence)}"):
            sr.evaluate(log(1), ["ap"], **COLUMNS, slices=slices)


@pytest.mark.parametrize("buckets", [1, 8])
def test_too_many_values_are_refused_whatever_the_buckets(buckets: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for most in (7, 8):
        monkeypatch.setattr(slicing, "MOST_SLICE_VALUES", most)
        sentence = r'the slice "user" has 8 values.*: at most 7 are allowed'
        with pytest.raises(sr.InputError, match=sentence) if most == 7 else contextlib.nullcontext():
            sr.evaluate(log(1), ["ap"], **COLUMNS, slices=["user"], buckets=buckets)


def test_a_value_that_is_no_text_is_refused(tmp_path: Path) -> None:
    latin = pa.Array.from_buffers(pa.string(), 1, pa.array([b"K\xf6ln"]).buffers())
    pq.write_table(log(1).slice(0, 1).append_column("city", latin), rows := tmp_path / "rows.parquet")
    with pytest.raises(sr.InputError, match=r'the slice "city" has a value that is not UTF-8 text: b\'K\\xf6ln\''):
        sr.evaluate(rows, ["ap"], **COLUMNS, slices=["city"])


def test_a_truth_needs_the_columns_of_slices() -> None:
    truth = log(1).select(["user", "item", "label"])
    with pytest.raises(sr.InputError, match='the slice column "country" is not in the truth'):
        sr.evaluate(log(1).drop_columns(["label"]), ["ap"], truth=truth, **COLUMNS, slices=["country"])
