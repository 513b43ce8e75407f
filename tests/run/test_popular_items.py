"""The popularity of items as columns: what metrics and slices read of the interactions, and what is refused."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.config.loading import spec_of

# Before, x was had four times by three users, y twice by one, z once; nobody had q.
HAD = pa.table({"user": ["a", "a", "c", "d", "e", "e", "c"], "item": ["x", "x", "x", "x", "y", "y", "z"]})
LISTS = pa.table(
    {
        "user": ["a", "a", "a", "b", "b"],
        "item": ["x", "y", "q", "z", "x"],
        "score": [3.0, 2.0, 1.0, 2.0, 1.0],
        "label": [1, 0, 1, 1, 1],
    }
)
# The same as columns of the rows. By rows, 0/7 are before x, 4/7 before y, and 6/7 before z.
OWN = {
    "users": pa.array([3.0, 1, 0, 1, 3]),
    "rows": pa.array([4.0, 2, 0, 1, 4]),
    "rank": ["head", "head", "new", "torso", "head"],
}
ROLES: dict[str, Any] = {"group": "user", "item": "item", "score": "score", "label": "label"}


def by_value(evaluation: sr.Evaluation) -> list[tuple[Any, ...]]:
    return [(row["slice_value"], row["value"], row["n_groups"]) for row in evaluation.metrics.to_pylist()]


def test_popularity_is_read_as_if_the_rows_had_it() -> None:
    rows = LISTS
    for name, values in OWN.items():
        rows = rows.append_column(name, pa.array(values))
    metrics = ["shown(of={})@2", "shown(of={},by=sum,discount=zipf)"]
    metrics = [text.format(f"{{{name}}}") for name in ("users", "rows") for text in metrics]
    metrics += ["shown(of={tier},is=head)@2", "shown(of={tier},is=new)"]
    slices = [["tier"], [{"column": "tier", "of": "relevant"}], [{"column": "rows", "edges": [1, 3]}], ["users"]]

    def named(users: str, of_rows: str, tier: str) -> dict[str, Any]:
        names = {"users": users, "rows": of_rows, "tier": tier}
        parts = [[part if isinstance(part, dict) else {"column": part} for part in columns] for columns in slices]
        sliced = [[{**part, "column": names[part["column"]]} for part in columns] for columns in parts]
        return {"metrics": [text.format(**names) for text in metrics] + ["r@2", "rr"], "slices": sliced}

    texts = rows.set_column(rows.column_names.index("users"), "users", pa.array(["3", "1", "0", "1", "3"]))
    found = named("interactions.users", "interactions.rows", "tier")
    expected = named("users", "rows", "rank")
    # the slice by users has values as texts
    for own, table in (("values", rows), ("texts", texts)):
        keep = slice(0, 3) if own == "values" else slice(3, 4)
        read = slice(None) if own == "values" else slice(-2, None)
        result = sr.evaluate(LISTS, found["metrics"][read], interactions=HAD, slices=found["slices"][keep], **ROLES)
        same = sr.evaluate(table, expected["metrics"][read], slices=expected["slices"][keep], **ROLES)
        assert by_value(result) == by_value(same)


def test_values_by_hand() -> None:
    found = sr.evaluate(LISTS, ["shown(of=interactions.rows)@2", "shown(of=tier,is=head)@2"], interactions=HAD, **ROLES)
    assert found["shown(of=interactions.rows)@2"] == ((4 + 2) / 2 + (1 + 4) / 2) / 2
    assert found["shown(of=tier,is=head)@2"] == (1 + 1 / 2) / 2
    counts = {row["check"]: row["count"] for row in found.quality.to_pylist()}
    assert counts["rows of the interactions"] == 7
    others = {"tiers": {"of": "users", "head": 0.2, "tail": 0.7}}  # before x are 0/5 users, y 3/5, z 4/5
    found = sr.evaluate(LISTS, ["p@2"], interactions=HAD, slices=["tier"], **others, **ROLES)
    assert {row["slice_value"] for row in found.metrics.to_pylist()} == {"all", "head", "torso", "tail", "new"}
    assert found.metrics.filter(pa.compute.equal(found.metrics["slice_value"], "tail"))["value"].to_pylist() == [1 / 2]


def test_groups_are_sliced_by_how_many_items_they_had() -> None:
    """a had x, twice; e, who had y alone, has no list; b had nothing; c had x and z."""
    lists = pa.concat_tables([LISTS, pa.table({"user": ["c"], "item": ["x"], "score": [1.0], "label": [1]})])
    had = {"column": "interactions.items", "edges": [1, 2]}
    for buckets in (1, 3):
        found = sr.evaluate(lists, ["p@1", "new@1"], interactions=HAD, slices=[had], buckets=buckets, **ROLES)
        groups = [(row["slice_value"], row["n_groups"]) for row in found.metrics.to_pylist() if row["metric"] == "p@1"]
        assert groups == [("all", 3), ("(-inf, 1)", 1), ("[1, 2)", 1), ("[2, inf)", 1)]
    found = sr.evaluate(lists, ["p@1"], interactions=HAD, exclude="interactions", slices=[had], **ROLES)
    # x of a and of c are left out: y, which is not relevant, is then the first of a, and c has an empty list
    values = {row["slice_value"]: row["value"] for row in found.metrics.to_pylist()}
    assert values == {"all": 1 / 3, "(-inf, 1)": 1.0, "[1, 2)": 0.0, "[2, inf)": 0.0}


def test_a_column_tier_of_the_rows_stays_one_without_interactions() -> None:
    rows = LISTS.append_column("tier", pa.array(["gold"] * 5))
    assert by_value(sr.evaluate(rows, ["p@1"], slices=["tier"], **ROLES))[1:] == [("gold", 1.0, 2)]


def test_a_spec_says_what_a_tier_is() -> None:
    spec = {
        "input": {"path": "/in", "columns": ROLES},
        "interactions": {"path": "/had", "optional": True, "tiers": {"of": "items"}},
        "metrics": ["shown(of=tier,is=new)@1"],
        "output": {"path": "/out"},
    }
    plan = spec_of(spec, "a spec").plan()
    assert plan.tiers.of == "items"
    assert plan.definition(plan.metrics[0]).endswith("; tiers of items, head 0.8, tail 0.95")


CASES: list[tuple[dict[str, Any], str]] = [
    (
        {"interactions": None},
        "shown(of=interactions.rows) reads interactions.rows of an item, but there are no interac",
    ),
    ({"metrics": ["shown(of=interactions.row)"]}, "shown(of=interactions.row) reads interactions.row, did you mean"),
    ({"metrics": ["shown(of=tier)"]}, "shown(of=tier) reads tier as a number, but a tier is head, torso, tail or new"),
    (
        {"metrics": ["shown(of=tier,is=tial)"]},
        'shown(of=tier,is=tial) counts items of the tier tial, did you mean "tail"? (known: head, torso, tail, new)',
    ),
    (
        {"metrics": ["shown(of=tier,is=tail)"], "interactions": None},
        'the value column "tier" is not in the input (user, item, score, label): name interactions, of which',
    ),
    ({"metrics": ["p@1"], "slices": [{"column": "tier", "edges": [1]}]}, "a slice reads tier as a number"),
    ({"metrics": ["ndcg(weight=interactions.users)"]}, "weight=interactions.users is a column of items, but a weight"),
    ({"metrics": ["p@1"]}, "interactions are given, but no metric reads them"),
    ({"metrics": ["shown(of=interactions.items)"]}, "shown(of=interactions.items) reads interactions.items, did you"),
    (
        {"metrics": ["p@1"], "slices": ["interactions.items"]},
        "a slice reads interactions.items, which is a number: give edges",
    ),
    (
        {"metrics": ["p@1"], "slices": [{"column": "interactions.items", "edges": [1]}], "interactions": None},
        "a slice reads interactions.items of a group, but there are no interactions",
    ),
    ({"tiers": {"of": "rows"}}, "tiers defines the column tier of interactions, but no metric and no slice"),
    ({"metrics": ["shown(of=tier,is=new)"], "tiers": {"of": "row"}}, "tiers.of is 'row', did you mean"),
    ({"metrics": ["shown(of=tier,is=new)"], "tiers": {"head": 1.5}}, "tiers.head is 1.5: a share above 0 and up to 1"),
    (
        {"metrics": ["shown(of=tier,is=new)"], "tiers": {"tail": 0.5}},
        "tiers.head is 0.8, above tiers.tail, which is 0.5",
    ),
    ({"metrics": ["shown(of=tier,is=new)"], "tiers": {"torso": 0.5}}, 'tiers has the key "torso"'),
]


@pytest.mark.parametrize(("given", "sentence"), CASES)
def test_what_is_wrong_before_anything_is_read(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(sr.SpecError) as raised:
        sr.evaluate(LISTS, **{"metrics": ["shown(of=interactions.rows)"], "interactions": HAD, **ROLES, **given})
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize(
    ("had", "sentence"),
    [
        (HAD[:0], "the table interactions has no rows"),
        (
            HAD.set_column(1, "item", pa.array(range(7))),
            "the item column is of type string in the lists and of type int64 in the interactions",
        ),
    ],
)
def test_interactions_that_cannot_be_used(had: pa.Table, sentence: str) -> None:
    with pytest.raises(sr.InputError) as raised:
        sr.evaluate(LISTS, ["shown(of=interactions.rows)"], interactions=had, **ROLES)
    assert str(raised.value).startswith(sentence)


def test_an_explanation_shows_the_popularity() -> None:
    explained = sr.explain(LISTS, "shown(of=interactions.users)", interactions=HAD, **{**ROLES, "group": {"user": "a"}})
    (metric,) = explained
    assert metric.tables[0].columns["value"] == (3.0, 1.0, 0.0)
