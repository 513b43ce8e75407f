"""Values inside of columns: fields of structs, elements of arrays and of Spark ML's vectors, what ALS recommends."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparkrank as sr
from sparkrank.inputs.field_paths import Place, StructField, VectorElement
from sparkrank.sources.conditions import pushed_down
from sparkrank.sources.nested import taken
from sparkrank.sources.parquet import ParquetInput, read_split
from tests.support.joined import values_of
from tests.support.parquet_files import write
from tests.support.rotten import pages_of
from tests.support.strategies import PATIENT

VECTOR = pa.struct(
    [("type", pa.int8()), ("size", pa.int32()), ("indices", pa.list_(pa.int32())), ("values", pa.list_(pa.float64()))]
)
USERS, LABELS = ["a", "a", "a", "b", "b"], [0, 1, 0, 1, 0]
SCORES = [3.0, 2.0, 1.0, 2.0, 1.0]
# pairs of a relevant and another row of both users: (2, 3), (2, 1), (2, 1) for each of the two relevant ones
AUC = (0 + 1 + 1 + 0 + 1 + 1) / 6


def dense(*values: float) -> dict:
    return {"type": 1, "size": None, "indices": None, "values": list(values)}


def sparse(size: int, **values: float) -> dict:
    places = sorted(values, key=int)
    return {"type": 0, "size": size, "indices": [int(each) for each in places], "values": [values[p] for p in places]}


def log(**columns: pa.Array | list) -> pa.Table:
    return pa.table({"u": USERS, "y": LABELS, **columns})


def held_or_stored(rows: pa.Table, folder: Path | None) -> pa.Table | Path:
    if folder is None:
        return rows
    pq.write_table(rows, folder / "rows.parquet", row_group_size=2)
    return folder / "rows.parquet"


STRUCT = pa.array([{"prob": x, "name": "n", "deep": {"er": {"x.y": -x}}} for x in SCORES])
KEYS = ["p", "other key", "a.b", "x[1]"]
MAPS = pa.array([[("no", -x), *((key, x) for key in KEYS)] for x in SCORES], pa.map_(pa.string(), pa.float32()))
STRUCTS = pa.array([[("p", {"q": x})] for x in SCORES], pa.map_(pa.string(), pa.struct([("q", pa.float64())])))
FORMS: dict[str, tuple[str, dict[str, pa.Array]]] = {
    "field": ("m.prob", {"m": STRUCT}),
    "field of fields": ("m.deep.er.x.y", {"m": pa.array([{"deep": {"er": {"x.y": x}}} for x in SCORES])}),
    "the only number of a struct": ("m", {"m": pa.array([{"prob": x, "name": "n"} for x in SCORES])}),
    "element": ("s[2]", {"s": pa.array([[9.0, 9.0, x] for x in SCORES])}),
    "element of a large list": ("s[0]", {"s": pa.array([[x, 9.0] for x in SCORES], pa.large_list(pa.float32()))}),
    "element of a fixed list": ("s[1]", {"s": pa.array([[0, x] for x in SCORES], pa.list_(pa.float64(), 2))}),
    "field of an element": ("s[1].p", {"s": pa.array([[{"p": 0.0}, {"p": x}] for x in SCORES])}),
    "element of a field": ("m.s[1]", {"m": pa.array([{"s": [0.0, x]} for x in SCORES])}),
    "vector": ("v", {"v": pa.array([dense(1 - x, x) for x in SCORES], VECTOR)}),
    "element of a vector": ("v[2]", {"v": pa.array([dense(9.0, 9.0, x) for x in SCORES], VECTOR)}),
    "sparse": ("v", {"v": pa.array([sparse(2, **{"0": 5.0, "1": x}) for x in SCORES], VECTOR)}),
    "vector in a struct": ("m.v", {"m": pa.array([{"v": dense(0, x)} for x in SCORES], pa.struct([("v", VECTOR)]))}),
    "real name with a dot": ("m.prob", {"m": pa.array([{"prob": -x} for x in SCORES]), "m.prob": pa.array(SCORES)}),
    "real name with a bracket": ("s[1]", {"s": pa.array([[9.0, -x] for x in SCORES]), "s[1]": pa.array(SCORES)}),
    "name with a dot": ("a.b.c", {"a.b": pa.array([{"c": x} for x in SCORES]), "a": pa.array([{"b": 1}] * 5)}),
    **{f"key: {path}": (path, {"m": MAPS}) for path in ("m.p", "m.other key", "m.a.b", "m.x[1]", "m['p']", "m['a.b']")},
    "key in double quotes": ('m["other key"]', {"m": MAPS}),
    "key of large texts": ("m.p", {"m": MAPS.cast(pa.map_(pa.large_string(), pa.float64()))}),
    "key of a struct": ("m.p.q", {"m": STRUCTS}),
    "key of the only number": ("m.p", {"m": STRUCTS}),
    "key in a struct": (
        "m.n.p",
        {"m": pa.array([{"n": [("p", x)]} for x in SCORES], pa.struct([("n", MAPS.type)]))},
    ),
}


@pytest.mark.parametrize("stored", [False, True], ids=["in memory", "Parquet"])
def test_a_score_inside_of_a_column(tmp_path: Path, stored: bool) -> None:
    """Each form by its own: the same name may be a column in one and lie inside of another in the next."""
    for form, (name, columns) in FORMS.items():
        rows = held_or_stored(log(**columns), tmp_path if stored else None)
        table = sr.evaluate(rows, ["auc(exact)"], group="u", score=name, label="y").table
        assert (table["value"].to_pylist(), table["model"].to_pylist()) == ([AUC], [name]), form


@pytest.mark.parametrize("stored", [False, True], ids=["in memory", "Parquet"])
def test_every_role_may_lie_inside_of_a_column(tmp_path: Path, stored: bool) -> None:
    plain = log(i=list("pqqst"), s=SCORES, w=[1.0, 2.0, 3.0, 4.0, 5.0], r=[3, 1, 2, 1, 2], c=list("xyxyy"))
    names = {"group": "u", "label": "y", "item": "i", "weight": "w", "reference_rank": "r"}
    metrics = ["ap", "auc(exact)", "spearman(ref=reference_rank)", "novelty"]
    texts = []
    for rows, prefix in ((pa.table({"row": plain.to_struct_array()}), "row."), (plain, "")):
        roles = {role: f"{prefix}{name}" for role, name in names.items()}
        roles |= {"score": {"m": f"{prefix}s"}, "slices": [f"{prefix}c"], "duplicates": "first"}
        evaluation = sr.evaluate(held_or_stored(rows, tmp_path if stored else None), metrics, **roles)
        tables = (evaluation.groups.drop_columns([f"{prefix}u"]), evaluation.table.drop_columns(["slice", "spec_hash"]))
        texts.append([sorted(map(repr, table.to_pylist())) for table in tables])
    assert texts[0] == texts[1]


def test_a_null_on_the_way_and_a_key_that_a_map_lacks_are_null() -> None:
    entries = [[("p", 1.0)], [], None, [("q", 5.0)], [("p", 0.5), ("q", 2.0)]]
    structs = pa.array([{"p": 1.0}, {"p": None}, None, None, {"p": 0.5}])
    for column in (structs, pa.array(entries, pa.map_(pa.string(), pa.float64()))):
        groups = sr.evaluate(log(m=column), ["rr"], group="u", score="m.p", label="y").groups
        assert dict(zip(groups["u"].to_pylist(), groups["n_retrieved"].to_pylist(), strict=True)) == {"a": 1, "b": 1}


OF = [[0.0, 1.0, 2.0], [0.0, 1.0], [5.0, 6.0, 7.0], [], [0.0, 0.0, 0.0]]  # of which two have no third element
BEYOND = {
    "v[2]": pa.array([dense(*each) for each in OF], VECTOR),
    "s[2]": pa.array(OF),
    "n[2]": pa.array(OF, pa.list_(pa.int32())),
    "l[2]": pa.array(OF, pa.large_list(pa.float32())),
    "t[2].p": pa.array([[{"p": x} for x in each] for each in OF]),
    "m.s[2]": pa.array([{"s": each} for each in OF]),
    "k['x'][2]": pa.array([[("x", each)] for each in OF], pa.map_(pa.string(), pa.list_(pa.float64()))),
}


@pytest.mark.parametrize("role", ["score", "label", "weight", "rank"])
def test_what_stands_beyond_the_end_is_a_bad_row(role: str) -> None:
    """A null score would say "not retrieved", a null label "not judged"; the sentence says what is not there."""
    for name, column in BEYOND.items():
        rows = log(s0=pa.array(SCORES)).append_column(re.split(r"[.\[]", name)[0], column)
        roles = {"group": "u", "label": "y", role: name} | ({} if role in ("score", "rank") else {"score": "s0"})
        place = re.escape(f"an array or a vector that has no element at its place in {name} gives NaN")
        with pytest.raises(sr.InputError, match=rf"^40.0000% of the rows cannot be evaluated \(2 .*, and {place}"):
            sr.evaluate(rows, ["rr" if role == "rank" else "auc(exact)"], **roles)
    whole = log(s=pa.array([*SCORES[:4], math.nan]))
    with pytest.raises(sr.InputError, match=r"^(?!.*element).*\(1 NaN score\)(?!.*element)"):
        sr.evaluate(whole, ["rr"], group="u", score="s", label="y")


@given(st.lists(st.none() | st.lists(st.sampled_from([0.0, -0.0, 1.5, -2.0]), max_size=5), max_size=8), st.data())
@PATIENT
def test_elements_of_vectors_however_they_are_stored(vectors: list[list[float] | None], data: st.DataObject) -> None:
    """Against a loop over rows."""
    stored = []
    for vector in vectors:
        named = None if vector is None else [i for i, x in enumerate(vector) if x or data.draw(st.booleans())]
        as_dense = data.draw(st.booleans())
        if vector is None or named is None:
            stored.append(None)
        else:
            stored.append(dense(*vector) if as_dense else sparse(len(vector), **{str(i): vector[i] for i in named}))
    place = data.draw(st.integers(0, 5))
    start = data.draw(st.integers(0, len(vectors)))
    found = taken(pa.chunked_array([pa.array(stored, VECTOR).slice(start)]), [VectorElement(place)]).to_pylist()
    expected = [None if v is None else v[place] if place < len(v) else math.nan for v in vectors[start:]]
    assert [None if x is None else x + 0.0 for x in found] == pytest.approx(expected, nan_ok=True)


NESTED = {
    "v": pa.array([dense(0.1, 0.2, 0.7)] * 5, VECTOR),
    "m": pa.array([{"prob": 1.0, "raw": 2.0, "name": "n"}] * 5),
    "s": pa.array([[1.0, 2.0]] * 5),
    "t": pa.array([["x"]] * 5),
    "k": pa.array([{"id": 1, "name": "n"}] * 5),
    "p": pa.array([0.5] * 5),
    "mp": pa.array([[("p", 0.5)]] * 5, pa.map_(pa.string(), pa.float64())),
    "numbered": pa.array([[(1, 0.5)]] * 5, pa.map_(pa.int32(), pa.float64())),
}


REFUSED = [
    ({"score": "v"}, r'"v" has a vector of another size than 2: name the element .*, as v\[2\]'),
    ({"score": {"a": "p", "b": "v"}}, r'the b score column "v" has a vector of another size than 2'),
    ({"rank": "v"}, r'the rank column "v" is of type vector: a number is needed, as v\[0\]'),
    ({"label": "v"}, r'the label column "v" is of type vector: a number is needed, as v\[0\]'),
    ({"score": "m"}, r'"m" is of type struct<.*: a number is needed, as m.prob \(it has .*m.prob, m.raw'),
    ({"score": "m.prop"}, r'"m.prop" is not in the input, did you mean "m.prob"\? \(m has .*m.prob, m.raw'),
    ({"score": "m.name"}, r'the score column "m.name" is of type string: a number is needed'),
    ({"score": "m[0]"}, r'the score column "m\[0\]" is not in the input'),
    ({"score": "v.values"}, r'the score column "v.values" is not in the input.* \(v has v\[0\]\)'),
    ({"score": "s"}, r'the score column "s" is of type list<.*: a number is needed, as s\[0\]'),
    ({"score": "s[x]"}, r'the score column "s\[x\]" is not in the input'),
    ({"score": "t"}, r'the score column "t" is of type list<.*: a number is needed$'),
    ({"score": "t[0]"}, r'the score column "t\[0\]" is of type string: a number is needed$'),
    ({"score": "p.q"}, r'the score column "p.q" is not in the input'),
    ({"group": "k"}, r'"k" is of type struct<.*: a plain value is needed, as k.id \(it has k.id, k.n'),
    ({"score": "mp"}, r"the score column \"mp\" is of type map<.*: a number is needed, as mp\['key'\], with a key"),
    ({"score": "mp[0]"}, r"the score column \"mp\[0\]\" is not in the input.* \(mp has mp\['key'\]\)"),
    ({"score": "numbered"}, r'the score column "numbered" is of type map<.*: a number is needed$'),
    ({"group": "t"}, r'the group column "t" is of type list<.*: a plain value is needed, as t\[0\]'),
]


def test_what_is_not_plain_is_refused_with_the_remedy() -> None:
    rows, wrong = log(**NESTED), []
    for roles, sentence in REFUSED:
        asked = {"group": "u", "label": "y", **({} if "rank" in roles else {"score": "p"}), **roles}
        with pytest.raises(sr.InputError) as refused:
            sr.evaluate(rows, ["auc"], **asked)
        if not re.search(sentence, str(refused.value)):
            wrong.append((roles, str(refused.value)))
    assert wrong == []


def test_lists_may_be_elements_of_an_array(tmp_path: Path) -> None:
    """b stands at place 2 of the first list of u, and in the second one f stands at place 2 of v."""
    lists = pa.array([[["a", "b"], ["c"]], [["d"], ["e", "f"]]])
    rows = held_or_stored(pa.table({"u": ["u", "v"], "lists": lists, "act": [["b"], ["f"]]}), tmp_path)
    for place, expected in ((0, {"u": 1 / 2, "v": 0.0}), (1, {"u": 0.0, "v": 1 / 2})):
        found = sr.evaluate(rows, ["rr"], group="u", items=f"lists[{place}]", true_items="act")
        assert values_of(found, "rr", "u") == expected


# What Spark ML's ALS recommends: an array of structs for each user, in the order of the rating.
ALS = {
    "as it comes": [("item", 1, 0.9), ("item", 2, 0.8)],
    "named after another column": [("movieId", 1, 0.9), ("movieId", 2, 0.8)],
    "the highest rating last": [("item", 2, 0.8), ("item", 1, 0.9)],
    "a tie": [("item", 1, 0.9), ("item", 2, 0.9)],
    "no rating": [("item", 1, 0.9), ("item", 2, None)],
    "no rating before one": [("item", 2, None), ("item", 1, -5.0)],
    "a rating that is NaN": [("item", 1, 0.5), ("item", 2, math.nan)],
}


def test_what_als_recommends(tmp_path: Path) -> None:
    """Item 1 stands first, of which nothing is true: 2 is found at place 2. A rating that is NaN is refused."""
    act = pa.array([[2], [2], [2], [7]], pa.list_(pa.int32()))
    for case, rated in ALS.items():
        name = rated[0][0]
        structs = [{name: item, "rating": rating} for name, item, rating in rated]
        for kind, folder in ((pa.float32(), None), (pa.float64(), tmp_path)):
            of = pa.list_(pa.struct([(name, pa.int32()), ("rating", kind)]))
            lists = pa.array([structs, None, [], [{name: 7, "rating": 0.0}]], of)
            rows = held_or_stored(pa.table({"u": list("abcd"), "recommendations": lists, "act": act}), folder)
            asked = {"group": "u", "items": "recommendations", "true_items": "act"}
            if case.endswith("NaN"):
                with pytest.raises(sr.InputError, match="a rating of recommended items is NaN"):
                    sr.evaluate(rows, ["ap"], **asked)
                continue
            values = values_of(sr.evaluate(rows, ["ap"], **asked), "ap", "u")
            assert values == {"a": 1 / 2, "b": 0.0, "c": 0.0, "d": 1.0}, case


def test_a_named_field_of_recommendations_keeps_their_order() -> None:
    pred = pa.array([[{"item": 2, "rating": 0.8}, {"item": 1, "rating": 0.9}]])
    act = pa.array([[{"item": 2, "grade": 3}, {"item": 5, "grade": 1}]])
    roles = {"group": "u", "items": {"m": "pred.item"}, "true_items": "act.item", "label": "act.grade"}
    found = sr.evaluate(pa.table({"u": [1], "pred": pred, "act": act}), ["rr", "cg"], **roles)
    assert found.table["value"].to_pylist() == [1.0, 3.0]
    roles |= {"true_items": "act", "label": None}
    with pytest.raises(sr.InputError, match=r'the true items column "act" is .*: name the field, as act.a') as told:
        sr.evaluate(pa.table({"u": [1], "pred": pred, "act": pa.array([[{"a": 1, "b": 2}]])}), ["rr"], **roles)
    assert "it has a, b" in str(told.value)


GRADED = {
    "rating": ("rating", r"label=t\.rating takes them as grades, and true_items=t\.item takes each item as relevant"),
    "grade": ("grade", r"label=t\.grade takes them as grades"),
    "a text": ("note", None),
}


@pytest.mark.parametrize("case", GRADED)
def test_grades_beside_true_items_are_not_lost(case: str, tmp_path: Path) -> None:
    """5 at place 1 and 0 at place 2 of two true items, by dcg@2: 5 by their grades, else 1 + 1/log2(3)."""
    field, refused = GRADED[case]
    kind = pa.list_(pa.struct([("item", pa.int32()), (field, pa.float64() if refused else pa.string())]))
    true = pa.array([[{"item": 1, field: 5.0 if refused else "x"}, {"item": 2, field: 0.0 if refused else "y"}]], kind)
    log = pa.table({"u": [1], "p": [[1, 2]], "t": true})
    for folder in (None, tmp_path):
        asked = {"group": "u", "items": {"m": "p"}}
        rows = held_or_stored(log, folder)
        if refused is None:
            assert sr.evaluate(rows, ["dcg@2"], true_items="t", **asked)["dcg@2"] == 1 + 1 / math.log2(3)
            continue
        with pytest.raises(sr.InputError, match=refused):
            sr.evaluate(rows, ["dcg@2"], true_items="t", **asked)
        graded = sr.evaluate(rows, ["dcg@2"], true_items="t", label=f"t.{field}", **asked)
        plain = sr.evaluate(rows, ["dcg@2"], true_items="t.item", **asked)
        assert (graded["dcg@2"], plain["dcg@2"]) == (5.0, 1 + 1 / math.log2(3))


def test_only_the_leaves_that_are_needed_are_read(tmp_path: Path) -> None:
    """All other bytes of the columns are spoilt. Conditions may ask for a column that has no role."""
    much = list(enumerate("x" * 1_000 + str(n) for n in range(400)))
    columns = {
        "m": pa.array([{"much": text, "prob": float(n % 7), "y": n % 2} for n, text in much]),
        "rec": pa.array([[{"note": text, "item": n % 5, "rating": 1.0}] for n, text in much]),
    }
    rows = pa.table({"u": [n // 4 for n, _ in much], "act": [[n % 3] for n, _ in much], **columns})
    path = tmp_path / "rows.parquet"
    pq.write_table(rows, path, use_dictionary=False, compression="none", row_group_size=100)
    asked = [
        (["auc(exact)"], {"group": "u", "score": "m.prob", "label": "m.y"}),
        (["ap"], {"group": "u", "items": "rec", "true_items": "act"}),
        (["ap"], {"group": "u", "items": "rec.item", "true_items": "act"}),
    ]
    data = bytearray(path.read_bytes())
    for name, (first, end) in pages_of(path).items():
        if name.split()[0].endswith(("much", "note")):
            data[first:end] = b"\xff" * (end - first)
    path.write_bytes(data)
    for metrics, roles in asked:
        assert sr.evaluate(path, metrics, **roles).table.equals(sr.evaluate(rows, metrics, **roles).table)
    with pytest.raises(sr.InputError, match="cannot be read"):
        sr.evaluate(path, ["auc(exact)"], **asked[0][1], slices=["m.much"])
    source = ParquetInput.at(str(path))
    where = pushed_down("u >= 98", source.schema)
    inside = {"prob": Place("m", (StructField("prob"),))}
    [split] = source.file_splits(where=where)
    tables = list(read_split(split, source.schema, inside, where))
    assert pa.concat_tables(tables)["prob"].to_pylist() == [float(n % 7) for n in range(392, 400)]


def test_files_that_hold_a_struct_in_several_ways(tmp_path: Path) -> None:
    """Fields beside that some lack, other widths, a column of folders. One that has a role is in all files or none."""
    kinds = {"x": pa.int8(), "z": pa.string()}
    for place, (kind, fields) in enumerate([(pa.float32(), {"x": 1}), (pa.float64(), {}), (pa.float64(), {"z": "t"})]):
        of = pa.struct([*((name, kinds[name]) for name in fields), ("prob", kind)])
        structs = pa.array([{**fields, "prob": score} for score in SCORES], of)
        write(tmp_path / f"day={place}/rows.parquet", u=USERS, y=LABELS, m=structs)
    roles = {"group": ["u"], "score": "m.prob", "label": "y"}
    table = sr.evaluate(tmp_path, ["auc(exact)", "ap"], slices=["day"], **roles).table.to_pylist()
    rows = {(row["slice"], row["slice_value"], row["metric"]): row for row in table}
    assert rows["day", "1", "auc(exact)"]["value"] == AUC
    assert rows["all", "all", "auc(exact)"]["n_rows"] == 15
    with pytest.raises(sr.InputError, match=r'day=1/rows.parquet of the input lacks the slice column "m.x"'):
        sr.evaluate(tmp_path, ["ap"], slices=["m.x"], **roles)


def test_many_recommendations_in_any_order() -> None:
    """Against a stable sort of each list by a loop."""
    rng = np.random.default_rng(3)
    users, lists, plain = list(range(60)), [], []
    for size in rng.integers(0, 9, 60):
        items = rng.permutation(9)[:size].tolist()
        ratings = [None if rating == 3 else float(rating) for rating in rng.integers(0, 4, size)]
        pairs = list(zip(items, ratings, strict=True))
        lists.append([{"item": item, "rating": rating} for item, rating in pairs])
        plain.append([item for item, _ in sorted(pairs, key=lambda pair: math.inf if pair[1] is None else -pair[1])])
    act = [[int(i) for i in rng.permutation(9)[:2]] for _ in lists]
    rated, expected = (
        sr.evaluate(pa.table({"u": users, "p": p, "a": act}), ["ap", "ndcg@3"], group="u", items="p", true_items="a")
        for p in (lists, plain)
    )
    assert rated.groups.sort_by("u").equals(expected.groups.sort_by("u"))
