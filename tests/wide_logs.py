"""Wide logs, each with all metrics of its shape: what every lane evaluates once, for the same bits.

``tests/spark/test_matrix.py`` has the lanes of a classic session as columns, and ``tests/connect/test_matrix.py`` those
of Spark Connect. What the bits should be is no matter here: hand-worked cases and oracles say that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import sparkrank as sr
from sparkrank.states.items import items_table
from tests.spark.logs import log_rows, rows_of

GROUP_METRICS = ["ndcg@3", "ap", "rr", "p@2", "group_auc", "gauc", "kendall_tau(ref=b)", "spearman(ref=reference_rank)"]
GROUP_METRICS += ["pair_auc", "rbo(ref=b)", "err@5", "filled@5", "overlap(ref=b)@3"]
GROUP_METRICS += ["judged@3", "unj(ties=worst)@3", "ndcg(unjudged=drop)@3", "rbp(unjudged=best)"]
GROUP_METRICS += ["calibration_gap(weight=rows)", "group_rmse", "group_mae(weight=rows)"]
GROUP_METRICS += ["unexpected(over=union,ties=item)@3", "serendipity(ref=reference_rank)@5"]
DISTRIBUTIONS = [
    "p90(ap)",
    "gmean(ap)",
    "median(spearman)",
    "median(err(ties=item)@5)",
    "gini@3",
    "gini(ties=worst)@3",
    "novelty",
]
DISTRIBUTIONS += ["gini(discount=log2)@3", "personalization(ties=item)@3", "entropy(scale=unit)@3"]
THRESHOLDS = ["accuracy", "precision(threshold=0.25)", "recall", "specificity", "fpr", "f1", "fbeta(beta=2)", "mcc"]
THRESHOLDS += ["balanced_accuracy", "recall_at_precision", "precision_at_recall", "tpr_at_fpr", "partial_auc", "lift"]
POOLED = ["auc", "auc_up(digits=1)", "pr_auc", "ks", "bep", *THRESHOLDS, "logloss", "ne", "brier", "ece", "copc"]
POOLED += ["rmse", "mae", "bias", "r2", "rig", "mce", "ece(mass=5)", "mcb", "dsc(bits=2)", "unc"]
EXACT = ["auc(exact)", "pr_auc(exact)", "ks(exact)", "bep(exact)", "auc_up(exact)", "auc(exact,rel=3)", "auc", "brier"]
EXACT += ["partial_auc(exact)", "recall_at_precision(precision=0.5,exact)", "tpr_at_fpr(fpr=0.2,exact)", "lift(exact)"]
EXACT += ["ece_by_mass(mass=5,exact)", "mcb(exact)", "dsc(exact)"]
WRITTEN = ("metrics", "table", "quality", "blocks", "curves", "groups", "positions", "gains")
OF_LISTS = ["ndcg@3", "ap", "rr", "p@2", "r@5", "gauc", "auc(exact)", "list_length"]
VECTOR = pa.struct(
    [("type", pa.int8()), ("size", pa.int32()), ("indices", pa.list_(pa.int32())), ("values", pa.list_(pa.float64()))]
)


@dataclass(frozen=True)
class WideLog:
    """Rows in files, the metrics and the arguments of :func:`sparkrank.evaluate`."""

    files: list[pa.Table]
    metrics: list[str]
    arguments: dict[str, Any]
    truth: list[pa.Table] = field(default_factory=list)
    baseline: str | None = None
    catalog: pa.Table | None = None
    past: dict[str, list[pa.Table]] = field(default_factory=dict)

    def written(self, folder: Path) -> tuple[str, str | None]:
        """The folders of the input and of the truth, if there is one."""
        for name, tables in {"input": self.files, "truth": self.truth, **self.past}.items():
            for number, table in enumerate(tables):
                (folder / name).mkdir(exist_ok=True)
                pq.write_table(table, folder / name / f"{number}.parquet", row_group_size=(300, 70)[number % 2])
        self.write_catalog(folder)
        return str(folder / "input"), str(folder / "truth") if self.truth else None

    def write_catalog(self, folder: Path) -> None:
        """Write the catalog, if there is one, beside the folders of rows."""
        if self.catalog is not None:
            pq.write_table(self.catalog, folder / "catalog.parquet")

    def bits(
        self, impressions: object, truth: object = None, *, buckets: int, spark: Any = None, **how: Any
    ) -> dict[str, list[dict[str, str]]]:
        """Every table of the result by name, its floats as their exact texts, and the lane."""
        settings: dict[str, Any] = how if truth is None else {"truth": truth, **how}
        settings |= {"buckets": buckets} if "group" in self.arguments else {}
        settings |= {} if self.catalog is None else {"catalog": self.catalog_beside(impressions)}
        settings |= {name: self.past_beside(impressions, name) for name in self.past}
        with sr.evaluate(impressions, self.metrics, spark=spark, **settings, **self.arguments) as evaluation:
            tables = {name: getattr(evaluation, name) for name in WRITTEN}
            tables["comparison"] = None if self.baseline is None else evaluation.compare(self.baseline)
            if self.arguments.get("popularity"):
                tables["items"] = items_table(evaluation.solved.stored.partials.items)
            rows = {name: rows_of(table) for name, table in tables.items() if table is not None}
            return {"lane": [{"lane": evaluation.lane}], **rows}

    def catalog_beside(self, impressions: Any) -> object:
        """The catalog as the ``impressions`` are given: as a path, a table or a DataFrame."""
        if isinstance(impressions, str):
            return str(Path(impressions).parent / "catalog.parquet")
        return (
            self.catalog
            if isinstance(impressions, pa.Table)
            else impressions.sparkSession.createDataFrame(self.catalog)
        )

    def past_beside(self, impressions: Any, name: str) -> object:
        """What groups had before, as the ``impressions`` are given: as a path, a table or a DataFrame."""
        if isinstance(impressions, str):
            return str(Path(impressions).parent / name)
        table = shuffled(self.past[name])
        return table if isinstance(impressions, pa.Table) else impressions.sparkSession.createDataFrame(table)

    def frames(self, spark: Any, folder: str, truth: str | None) -> list[Any]:
        """DataFrames of the files, or of the rows where files differ in types, which Spark's reader refuses."""
        if len({table.schema for table in self.files}) > 1:
            return [spark.createDataFrame(rows) for rows in self.in_memory() if rows is not None]
        return [spark.read.parquet(side) for side in (folder, truth) if side is not None]

    def in_memory(self) -> tuple[pa.Table, pa.Table | None]:
        """Input and truth as tables, their rows in another order."""
        return shuffled(self.files), shuffled(self.truth) if self.truth else None


def shuffled(files: list[pa.Table]) -> pa.Table:
    rows = pa.concat_tables(files, promote_options="permissive")
    return rows.take(np.random.default_rng(1).permutation(len(rows)))


def written_whole(log: WideLog, folder: Path, grouped: str) -> tuple[str, str | None]:
    """Write the rows of ``log`` in files of whole groups, as ``grouped`` says, for the input and the truth."""
    of_key = log.arguments["group"]
    names = [of_key] if isinstance(of_key, str) else list(of_key)
    past = {name: shuffled(tables) for name, tables in log.past.items()}
    folder.mkdir(exist_ok=True)
    log.write_catalog(folder)
    for side, rows in {**dict(zip(("input", "truth"), log.in_memory(), strict=True)), **past}.items():
        if rows is None:
            continue
        keys = [column_at(rows, name).to_pylist() for name in names]
        order = sorted(range(len(rows)), key=lambda row: [str(key[row]) for key in keys])
        placed = rows.take(order) if grouped == "sorted" else rows
        number = [hash(key) % 3 for key in zip(*keys, strict=True)]
        number = [number[row] for row in order] if grouped == "sorted" else number
        for file in set(number):
            place = folder / side / (f"bucket={file}" if grouped == "folders" else "") / f"part-0000{file}.parquet"
            place.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(placed.filter(pa.array([own == file for own in number])), place, row_group_size=70)
    return str(folder / "input"), str(folder / "truth") if log.truth else None


def column_at(rows: pa.Table, name: str) -> pa.ChunkedArray:
    """A column, or a field of a struct."""
    outer, _, field = name.partition(".")
    return pc.struct_field(rows[outer], field) if field else rows[outer]


def differences(expected: dict[str, list], tables: dict[str, list]) -> list[str]:
    """The names of the tables that differ; whatever the lane."""
    return [name for name in {**expected, **tables} if name != "lane" and expected.get(name) != tables.get(name)]


def halves(rows: pa.Table) -> list[pa.Table]:
    return [rows[: len(rows) // 3], rows[len(rows) // 3 :]]


def impressions(rows: int = 1_200) -> pa.Table:
    """The log of ``tests/spark/logs.py``: ties, nulls, fractions, labels below 0, and three kinds of keys."""
    return log_rows()[:rows]


MODELS = {"score": {"a": "score", "b": "other"}, "label": "label"}


def types() -> WideLog:
    """Keys of two types, scores of half the width, texts by a dictionary, decimals as databases export numbers."""
    rows = impressions()
    for name, kind in (
        ("weight", pa.decimal128(12, 4)),
        ("shown", pa.decimal128(38, 0)),
        ("label", pa.decimal128(5, 2)),
    ):
        rows = rows.set_column(rows.column_names.index(name), name, pc.round(rows[name], 2).cast(kind))
    rows = rows.set_column(4, "score", rows["score"].cast(pa.float32()))
    rows = rows.set_column(1, "name", rows["name"].combine_chunks().dictionary_encode())
    shop = pa.array(rows["user_id"].to_numpy() % 3).cast(pa.decimal128(38, 0))
    rows = rows.append_column("shop", shop)
    settings = {"group": ["name", "born", "shop"], "item": "item", "reference_rank": "shown", "group_table": True}
    settings |= {"weight": "weight", "score_sums": True, "position_depth": 3, "gains": True}
    return WideLog(halves(rows), [*GROUP_METRICS, *DISTRIBUTIONS, *POOLED], {**MODELS, **settings})


def nulls() -> WideLog:
    """Keys, scores and labels that are null, NaN or infinite, in files that differ in types and columns."""
    rows = impressions()
    user = rows["user_id"].to_pylist()
    user[5] = user[700] = None
    label = rows["label"].to_pylist()
    label[8], label[9] = float("inf"), float("nan")
    score = rows["score"].to_pylist()
    score[11] = float("nan")
    for name, values in (("user_id", user), ("label", label), ("score", score)):
        place = rows.column_names.index(name)
        rows = rows.set_column(place, name, pa.array(values, rows.schema.field(name).type))
    narrow = rows.schema.set(0, pa.field("user_id", pa.int32()))
    files = [rows[:1].cast(narrow), rows[1:1].drop_columns(["other"]), rows[1:800], rows[800:]]
    settings = {"group": "user_id", "item": "item", "ties": "item", "group_table": False, "max_bad_fraction": 0.1}
    metrics = [*GROUP_METRICS, *DISTRIBUTIONS, *POOLED]
    return WideLog(files, metrics, {**MODELS, **settings, "reference_rank": "shown"})


def slices() -> WideLog:
    """A slice that the group decides, those that divide groups, of which one has rows without a value, and pairs."""
    rows = impressions(240)
    rows = rows.append_column("odd", pa.array(rows["user_id"].to_numpy() % 2 == 1))
    values = [None, "null", "", "(null)"]
    rows = rows.append_column("where", pa.array([values[row % 4] for row in range(len(rows))]))
    names = ["odd", "born", ["born", "odd"], "where", ["odd", "where"]]
    settings: dict[str, Any] = {"position_depth": 3, "gains": True}
    settings |= {"group": "user_id", "item": "item", "weight": "weight", "slices": names, "reference_rank": "shown"}
    metrics = ["ndcg@3", "gauc", "auc(exact)", "p90(ap)", "gini@3", "logloss", "f1"]
    return WideLog(halves(rows), metrics, {**MODELS, **settings})


def slice_rules() -> WideLog:
    """Slices by edges, of a group and of rows, of which some have no number, alone and beside a column."""
    rows = impressions(240)
    user = rows["user_id"].to_numpy()
    rows = rows.append_column("age", pa.array((user / 7).astype(np.float32), mask=user % 5 == 0))
    price = [float("nan") if row % 9 == 0 else row % 7 - 2.5 for row in range(len(rows))]
    rows = rows.append_column("price", pa.array(price))
    ages, prices = ({"column": column, "edges": [0, 1.5, 3]} for column in ("age", "price"))
    names: list[Any] = [ages, prices, ["born", prices], {"column": "item", "top": 3}]
    names += [{"column": "born", "of": "relevant"}, {**prices, "of": "relevant"}]
    settings = {"group": "user_id", "item": "item", "slices": names}
    return WideLog(halves(rows), ["ndcg@3", "r@2", "p90(ap)", "gini@3", "auc", "logloss"], {**MODELS, **settings})


def weights() -> WideLog:
    """Groups that weigh by columns of three types, some badly, rules for ties of metrics, and two models compared."""
    rows = impressions()
    user = rows["user_id"].to_numpy()
    of_user = np.random.default_rng(5).uniform(0, 3, 200)
    of_user[[3, 4]] = -1.0, np.nan
    weight = of_user[user]
    weight[np.flatnonzero(user == 7)[0]] += 1.0
    columns = {"w": pa.array(weight, mask=user == 9), "whole": (user % 5).astype(np.int16), "odd": user % 2 == 1}
    columns |= {"narrow": (user / 7).astype(np.float32), "near": np.arange(len(user)) % 3 == 0}
    for name, values in columns.items():
        rows = rows.append_column(name, pa.array(values))
    metrics = ["ndcg(weight=w)@3", "ap(weight=w,ties=item)", "err(ties=worst,weight=whole)@3", "rr(weight=relevant)"]
    metrics += ["gauc(weight=narrow)", "fitness(weight=rows)", "spearman(weight=w,ref=b)", "gini(ties=block)@2", "auc"]
    metrics += ["ap"]  # of all groups alike, so that groups are paired
    settings = {"group": "user_id", "item": "item", "slices": ["odd", "near"], "max_bad_fraction": 0.5}
    settings |= {"reference_rank": "shown", "compare": "a"}
    return WideLog(halves(rows), metrics, {**MODELS, **settings}, baseline="a")


def arrays() -> WideLog:
    """Lists in arrays of texts, two models that are compared, labels too few or too many, users with two lists."""
    rng = np.random.default_rng(31)

    def items() -> pa.Array:
        lists = [[f"{item}" for item in rng.integers(0, 12, rng.integers(0, 9))] for _ in range(300)]
        return pa.array([None if rng.random() < 0.05 else one for one in lists], pa.list_(pa.string()))

    columns = {
        "user": [None if n == 7 else f"u{n % 200}" for n in range(300)],
        **{name: items() for name in ("first", "second", "actual")},
        "family": [n % 10 for n in range(300)],
        "born": pa.array(rng.integers(0, 3, 300).astype(np.int32)).cast(pa.date32()),
        "labels": pa.array([[n % 5 / 2 for n in range(rng.integers(0, 9))] for _ in range(300)]),
    }
    settings = {"group": "user", "items": {"a": "first", "b": "second"}, "true_items": "actual", "label": "labels"}
    settings |= {"popularity": True, "cluster": "family", "slices": ["born"], "max_bad_fraction": 0.5}
    return WideLog(halves(pa.table(columns)), OF_LISTS, {**settings, "compare": "a"}, baseline="a")


def labels_of_arrays() -> WideLog:
    """Lists in arrays with two arrays of labels, and a model with a label of its own."""
    log = arrays()
    rows = shuffled(log.files)
    paid = [[n % 3 for n in range(length)] for length in np.random.default_rng(5).integers(0, 9, len(rows)).tolist()]
    rows = rows.append_column("paid", pa.array(paid, pa.list_(pa.int8())))
    settings = {**log.arguments, "label": {"grade": "labels", "pay": "paid"}, "compare": None, "position_depth": 3}
    settings["items"] = {"a": "first", "b": {"column": "second", "label": "pay", "among": "grade"}}
    metrics = ["ndcg@3", "ap", "auc(exact)", "ndcg(label=pay)@3", "p90(ap(among=pay))"]
    return WideLog(halves(rows), metrics, settings)


def nested() -> WideLog:
    """Scores in structs, arrays and vectors of Spark ML, and a key inside of a column."""
    rng = np.random.default_rng(3)
    score = rng.random(400).round(2)

    def vector(row: int) -> dict[str, Any] | None:
        if row % 17 == 0:
            return None
        if row % 2:
            return {"type": 0, "size": 2, "indices": [1], "values": [score[row]]}
        return {"type": 1, "size": None, "indices": None, "values": [1 - score[row], score[row]]}

    columns = {
        "who": pa.array([{"id": int(user), "name": "n"} for user in rng.integers(0, 30, 400)]),
        "label": rng.integers(0, 3, 400),
        "m": pa.array([{"prob": x, "deep": {"er": -x}} for x in score]),
        "s": pa.array([[9.0, x, 9.0] for x in score]),
        "v": pa.array([vector(row) for row in range(400)], VECTOR),
        "k": pa.array([[("no", -x), ("a.b", x)] for x in score], pa.map_(pa.string(), pa.float64())),
        "t": pa.array([[{"p": 0.0}, {"p": x}] for x in score]),
    }
    scores = {"field": "m.prob", "deeper": "m.deep.er", "element": "s[1]", "vector": "v", "of vector": "v[1]"}
    scores |= {"of a map": "k['a.b']", "of an element": "t[1].p"}
    settings = {"group": "who.id", "label": "label", "score": scores}
    return WideLog(halves(pa.table(columns)), ["ndcg@3", "ap", "gauc", "auc(exact)"], settings)


def recommendations() -> WideLog:
    """What ALS recommends: arrays of structs, in any order, one rating null, one array null."""
    rng = np.random.default_rng(5)
    lists = [[{"item": int(i), "rating": float(rng.integers(0, 4))} for i in rng.permutation(9)[:5]] for _ in range(60)]
    lists[3][1]["rating"] = None
    kind = pa.list_(pa.struct([("item", pa.int32()), ("rating", pa.float32())]))
    actual = pa.array([[int(i) for i in rng.permutation(9)[:3]] for _ in range(60)], pa.list_(pa.int32()))
    rows = pa.table({"u": np.arange(60) // 2, "rec": pa.array([*lists[:-1], None], kind), "act": actual})
    settings = {"group": "u", "items": {"m": "rec", "n": "rec.item"}, "true_items": "act", "max_bad_fraction": 0.5}
    return WideLog(halves(rows), ["ap", "ndcg@3", "rr"], settings)


def sides(kind: pa.DataType) -> tuple[pa.Table, pa.Table]:
    """Listed rows and fewer of truth, items repeated on both sides, with nulls wherever they may be."""
    rng = np.random.default_rng(23)

    def keys(rows: int, kind: pa.DataType) -> dict[str, Any]:
        return {
            "user": pa.array(rng.integers(0, 60, rows)).cast(kind),
            "name": np.char.add("user-", rng.integers(0, 3, rows).astype("U4")),
            "item": pa.array(rng.integers(0, 40, rows)).cast(kind),
            "sku": np.char.add("s", rng.integers(0, 40, rows).astype("U4")),
        }

    columns = {
        **keys(1_000, pa.int64()),
        "score": rng.integers(0, 30, 1_000).astype(np.float32) / 10,
        "other": pa.array(rng.normal(size=1_000), mask=rng.random(1_000) < 0.2),
        "rank": rng.integers(0, 60, 1_000).astype(np.int32),
    }
    grades = pa.array(rng.choice([-1.0, 0.0, 0.1, 1.0, 3.0], 400), mask=rng.random(400) < 0.1)
    return pa.table(columns), pa.table({**keys(400, kind), "grade": grades})


def truth() -> WideLog:
    """Two models beside a truth whose integers are narrower."""
    lists, labels = sides(pa.int32())
    settings = {"group": ["user", "name"], "item": "sku", "score": MODELS["score"], "label": "grade"}
    settings |= {"duplicates": "first", "population": "both", "cluster": "name", "position_depth": 5}
    metrics = [*OF_LISTS, "overlap(ref=b)@3", "personalization(ties=item)@3"]
    metrics += ["r(propensity=snips)@3", "ndcg(propensity=best,clip=0.2)@3", "arhr(propensity=ips,ties=worst)"]
    labels = labels.append_column("chance", pa.array(np.random.default_rng(61).uniform(0.1, 1, len(labels))))
    settings |= {"truth_columns": {"propensity": "chance"}}
    return WideLog(halves(lists), metrics, settings, halves(labels))


def labels() -> WideLog:
    """Metrics of two labels, of which the second has nulls and another type, and among the rows of one or the other."""
    rows = impressions(600)
    paid = np.random.default_rng(11).random(len(rows))
    rows = rows.append_column("paid", pa.array((paid * 4).astype(np.int16), mask=paid > 0.9))
    settings = {"group": "user_id", "item": "item", "weight": "weight", "slices": ["born"], "group_table": True}
    settings |= {"score": MODELS["score"], "label": {"click": "label", "pay": "paid"}, "popularity": True}
    settings |= {"position_depth": 5, "gains": True}
    metrics = ["ndcg@3", "ndcg(label=pay)@3", "p90(ap(label=pay))", "gauc(label=pay,among=click)", "auc(exact)"]
    metrics += ["auc(exact,label=pay)", "auc(exact,label=pay,among=click)", "logloss(among=pay)", "rmse(label=pay)"]
    metrics += ["novelty(label=pay)", "cg(gain={click:1,pay:0.5})@5"]
    metrics += ["ap(checked_by=pay)", "ndcg(label=pay,checked_by=click)@3"]
    return WideLog(halves(rows), metrics, {**settings, "max_bad_fraction": 0.5})


def own_labels() -> WideLog:
    """Two models with labels of their own and one without, whose rows are those of one label or the other."""
    log = labels()
    paid = {"column": "other", "label": "pay", "among": "click"}
    scores = {"a": "score", "b": paid, "c": {"column": "score", "label": "pay"}}
    metrics = ["ndcg@3", "p90(ap)", "gauc", "auc(exact)", "logloss", "novelty", "ndcg(label=pay)@3", "coverage@3"]
    return WideLog(log.files, metrics, {**log.arguments, "score": scores, "compare": "a"}, baseline="a")


def labels_of_truth() -> WideLog:
    """Two labels of a truth that repeats items, and lists with two models of their own rows."""
    lists, truth = sides(pa.int32())
    rng = np.random.default_rng(43)
    truth = truth.append_column("paid", pa.array(rng.random(400) < 0.4, mask=rng.random(400) < 0.1))
    settings = {"group": ["user", "name"], "item": "sku", "score": MODELS["score"]}
    settings |= {"label": {"grade": "grade", "pay": "paid"}, "population": "truth", "duplicates": "once"}
    metrics = [metric for own in ("ndcg{}@3", "ap{}", "auc{}") for metric in map(own.format, ("", *OTHER_LABELS))]
    return WideLog(halves(lists), metrics, settings, halves(truth))


OTHER_LABELS = ("(label=pay)", "(among=pay)", "(label=pay,among=grade)")


def values() -> pa.Table:
    """A catalog of most items of :func:`sides`, with nulls in every column."""
    rng = np.random.default_rng(41)
    keys = [f"s{item}" for item in range(36)]
    return pa.table(
        {
            "sku": rng.permutation(keys),
            "price": pa.array(rng.normal(size=36), mask=rng.random(36) < 0.1),
            "kind": pa.array([f"kind-{n % 4}" for n in range(36)], mask=rng.random(36) < 0.1),
            "year": pa.array(rng.integers(2000, 2003, 36).astype(np.int16), mask=rng.random(36) < 0.1),
            "new": pa.array(rng.random(36) < 0.5),
            "tags": arrays_of_tags(rng, 36),
            "vector": pa.array([*rng.normal(size=(36, 5))], mask=rng.random(36) < 0.1),
            "worth": pa.array(rng.random(36), mask=rng.random(36) < 0.1),
        }
    )


def arrays_of_tags(rng: np.random.Generator, rows: int) -> pa.Array:
    """Arrays of some of five texts, empty or null now and then, with a null among them."""
    drawn = [
        [None if tag == 5 else f"tag {tag}" for tag in rng.integers(0, 6, size)] for size in rng.integers(0, 4, rows)
    ]
    return pa.array(drawn, pa.list_(pa.string()), mask=rng.random(rows) < 0.1)


def catalog() -> WideLog:
    """Two models beside a truth, with values of rows and of items, slices of items and the catalogue of all lists."""
    lists, labels = sides(pa.int32())
    rng = np.random.default_rng(43)
    lists = lists.append_column("margin", pa.array(rng.normal(size=len(lists)), mask=rng.random(len(lists)) < 0.2))
    lists = lists.append_column("tags", arrays_of_tags(rng, len(lists)))
    lists = lists.append_column(
        "vector", pa.array([*rng.normal(size=(len(lists), 3))], mask=rng.random(len(lists)) < 0.1)
    )
    settings = {"group": ["user", "name"], "item": "sku", "score": MODELS["score"], "label": "grade"}
    lists = lists.append_column("brand", pa.array([f"brand-{n}" for n in rng.integers(0, 5, len(lists))]))
    settings |= {"slices": ["catalog.kind", "catalog.year"], "compare": "a", "group_table": True}
    metrics = ["shown(of=catalog.price)@3", "shown(of=margin)@2", "shown(of=catalog.kind,is=kind-1)@3", "coverage@3"]
    metrics += ["shown(of=catalog.new,by=sum,discount=log2)@4", "median(shown(of=catalog.price,discount=zipf)@3)"]
    metrics += ["shown(of=catalog.year,ties=best)@1", "gini@2", "ndcg@3", "ild(by=[catalog.kind,catalog.year])@3"]
    metrics += ["distinct(by=catalog.kind,over=catalog)@3", "category_entropy(by=margin,ties=worst)@3"]
    metrics += [f"ild(by={table}tags,distance=jaccard)@4" for table in ("", "catalog.")]
    metrics += [f"ild(by={table}vector,distance=cosine)@4" for table in ("", "catalog.")]
    metrics += [
        "alpha_ndcg(by=catalog.tags)@4",
        "alpha_ndcg(by=catalog.tags,alpha=0.3,ties=block)",
        "strecall(by=catalog.tags)@2",
    ]
    metrics += [
        "ndcg(gain=catalog.worth)@3",
        "cg(gain=catalog.worth,ties=worst)@2",
        "ndcg(gain=paid)@3",
        "cg(gain=margin)",
    ]
    labels = labels.append_column(
        "paid", pa.array(rng.random(len(labels)).round(1), mask=rng.random(len(labels)) < 0.1)
    )
    labels = labels.append_column("margin", pa.array(rng.integers(0, 4, len(labels)) / 2))
    metrics += ["awrf(by=catalog.kind)@3", "awrf(by=catalog.year,against=catalog,distance=js,ties=block)@3"]
    metrics += ["exposure_gap(by=catalog.kind,against=catalog)@3"]
    metrics += ["exposure_gap(by=brand,discount=zipf,distance=js,ties=best)@2"]
    return WideLog(halves(lists), metrics, settings, halves(labels), "a", values())


def catalog_of_arrays() -> WideLog:
    """Lists in arrays, whose items alone have values."""
    log, rng = arrays(), np.random.default_rng(47)
    items = pa.table({"id": [f"{item}" for item in range(11)], "price": rng.normal(size=11).round(3)})
    settings = {**log.arguments, "catalog_columns": {"item": "id"}}
    return WideLog(log.files, [*OF_LISTS, "shown(of=catalog.price)@3"], settings, catalog=items)


def pairs(lists: pa.Table, names: list[str], times: int) -> pa.Table:
    """Some pairs of ``lists``, and many of other groups and items; one has no group, one no item.

    ``names`` are the columns of the group, and that of the item.
    """
    rng = np.random.default_rng(times)
    some = lists.select(names).take(rng.integers(0, len(lists), len(lists) // 4))
    kinds = some.schema.types
    numbers = rng.integers(0, times * len(lists), times * len(lists))
    others = [[f"other {n}" if pa.types.is_string(kind) else 1_000 + int(n) for n in numbers] for kind in kinds]
    first = [column[0].as_py() for column in some.columns]
    lacking = [[None, *first[1:]], [*first[:-1], None]]
    rows = [[*own, *row] for own, row in zip(others, zip(*lacking, strict=True), strict=True)]
    return pa.concat_tables([some, pa.table([pa.array(*own) for own in zip(rows, kinds, strict=True)], names)])


def past() -> WideLog:
    """Two models beside a truth and ten times as many rows of interactions; other pairs are left out."""
    lists, labels = sides(pa.int32())
    country = pa.array(np.array(["de", "fr", "no"])[lists["user"].to_numpy() % 3])
    lists = lists.append_column("country", country).append_column("half", pa.array(lists["user"].to_numpy() % 2 / 2))
    labels = labels.append_column("country", pa.array(np.array(["de", "fr", "no"])[labels["user"].to_numpy() % 3]))
    settings = {"group": ["user", "name"], "item": "sku", "score": MODELS["score"], "label": "grade"}
    settings |= {"slices": ["country"], "cluster": "name", "duplicates": "first", "population": "lists"}
    names = ["user", "name", "sku"]
    tables = {"interactions": halves(pairs(lists, names, 10)), "exclude": halves(pairs(lists, names, 1))}
    metrics = [*OF_LISTS, "new@3", "new(over=retrieved,weight=half)@2", "gini@3"]
    return WideLog(halves(lists), metrics, {**settings, "group_table": True}, halves(labels), past=tables)


def times() -> WideLog:
    """Two models, a truth, interactions and a catalog with instants, some null; rows of one list differ in time."""
    lists, labels = sides(pa.int32())
    names = ["user", "name", "sku"]
    rng = np.random.default_rng(41)

    def instants(rows: pa.Table, column: str) -> pa.Table:
        seconds = pa.array(rng.integers(0, 9, len(rows)), mask=rng.random(len(rows)) < 0.1)
        return rows.append_column(column, seconds.cast(pa.timestamp("s")).cast(pa.timestamp("us", "UTC")))

    had = instants(pairs(lists, names, 3), "bought")
    items = values()
    settings = {"group": ["user", "name"], "item": "sku", "score": MODELS["score"], "label": "grade", "time": "at"}
    settings |= {"truth_columns": {"time": "wanted"}, "interactions_columns": {"time": "bought"}}
    settings |= {"slices": [{"column": "interactions.items", "edges": [1, 2, 3]}, "interactions.users"]}
    settings |= {"exclude": "interactions", "group_table": True}
    metrics = ["ndcg@3", "r@5", "new@3", "gini@3", "auc", "shown(of=catalog.price)@3"]
    files = [halves(instants(lists, "at")), halves(instants(labels, "wanted"))]
    return WideLog(files[0], metrics, settings, files[1], None, items, {"interactions": halves(had)})


def times_of_arrays() -> WideLog:
    """Lists in arrays, some of one user with days of their own, beside what the users had by each day."""
    log = past_of_arrays()
    days = [
        table.append_column("on", pa.array(np.arange(len(table)) % 5, pa.int32()).cast(pa.date32()))
        for table in log.files
    ]
    had = [
        table.append_column("day", pa.array(np.arange(len(table)) % 4, pa.int32()).cast(pa.date32()))
        for table in log.past["interactions"]
    ]
    settings = {**log.arguments, "time": "on", "interactions_columns": {"item": "sku", "time": "day"}}
    since = pa.array(np.arange(12) % 6, pa.int32(), mask=np.arange(12) == 7).cast(pa.date32())
    items = pa.table({"id": [f"{item}" for item in range(12)], "since": since})
    settings |= {"catalog_columns": {"item": "id", "since": "since"}}
    return WideLog(days, log.metrics, settings, catalog=items, past={"interactions": had})


def past_of_labels() -> WideLog:
    """Pairs that are left out of a log with two labels of its own, by whole numbers, with metrics of all rows."""
    lists, _ = sides(pa.int64())
    for name, parts in (("label", 3), ("paid", 2), ("kind", 5)):
        lists = lists.append_column(name, pa.array(lists["item"].to_numpy() % parts))
    settings = {"group": "user", "item": "item", "score": MODELS["score"], "exclude": "interactions"}
    settings |= {"label": {"click": "label", "pay": "paid"}, "slices": [{"column": "kind", "of": "relevant"}]}
    settings |= {"popularity": True}
    narrow = pa.schema({name: pa.int32() for name in ("user", "item")})
    had = [table.cast(narrow) for table in halves(pairs(lists, ["user", "item"], 3))]
    metrics = ["ndcg@3", "gauc", "auc(exact)", "ap", "p(label=pay,among=click)@1"]
    return WideLog(halves(lists), metrics, settings, past={"interactions": had})


def past_of_arrays() -> WideLog:
    """Lists in arrays, some of one user, which travel to the pairs that they leave out."""
    log = arrays()
    user, listed = (pa.concat_tables(log.files)[name].to_pylist() for name in ("user", "first"))
    rows = [(key, item) for key, items in zip(user, listed, strict=True) for item in items or [] if int(item) % 3 == 0]
    had = pa.table({"user": [key for key, _ in rows], "sku": [item for _, item in rows]})
    settings = {**log.arguments, "exclude": "interactions", "interactions_columns": {"item": "sku"}}
    return WideLog(log.files, [*OF_LISTS, "new@3"], settings, past={"interactions": halves(had)})


def popularity() -> WideLog:
    """The popularity of items beside a truth, of which some nobody had, as values, as slices and beside a catalog."""
    lists, labels = sides(pa.int32())
    names = ["user", "name", "sku"]
    had = pairs(lists.filter(pc.not_equal(lists["sku"], "s7")), names, 2)
    settings = {"group": ["user", "name"], "item": "sku", "score": MODELS["score"], "label": "grade"}
    settings |= {"slices": ["tier", {"column": "tier", "of": "relevant"}, "interactions.users"], "group_table": True}
    settings["slices"] += [{"column": "interactions.rows", "edges": [1, 9, 11.5]}, "catalog.kind"]
    settings["slices"] += [{"column": "interactions.items", "edges": [1, 2, 4]}]
    settings |= {"tiers": {"of": "users", "head": 0.05, "tail": 0.09}, "popularity": True}
    metrics = ["shown(of=interactions.rows)@3", "shown(of=interactions.users,by=sum,discount=log2)@4"]
    metrics += ["awrf(by=catalog.kind,against=interactions)@3", "exposure_gap(by=tier,against=interactions)@3"]
    metrics += ["exposure_gap(by=catalog.year,against=interactions,distance=js)@2"]
    metrics += ["shown(of=tier,is=tail)@3", "shown(of=tier,is=new)@9", "shown(of=catalog.price)@3", "r@3", "gini@2"]
    metrics += ["novelty(of=users)@3", "novelty(of=rows,over=lists,scale=unit)", "serendipity(of=rows)@4", "novelty@3"]
    return WideLog(halves(lists), metrics, settings, halves(labels), None, values(), {"interactions": halves(had)})


def ranks() -> WideLog:
    """Ranks that the log gives, beside a truth, where neither groups nor parts are asked for."""
    lists, labels = sides(pa.int32())
    settings = {"group": "user", "item": "item", "rank": "rank", "positions": "given_from_0", "label": "grade"}
    settings |= {"unretrieved": "skip", "group_table": False, "uncertainty": False}
    return WideLog(halves(lists), OF_LISTS, settings, halves(labels))


def exact() -> WideLog:
    """Every score is a bin of its own, with weights; keys of two whole numbers."""
    rows = impressions()
    rows = rows.append_column("tenant", pa.array(rows["user_id"].to_numpy() % 3))
    settings = {"group": ["user_id", "tenant"], "weight": "weight", "gains": True, "curve_points": 20}
    return WideLog(halves(rows), EXACT, {**MODELS, **settings})


def text_keys() -> WideLog:
    """Sessions of users by texts, longer than 255 bytes or empty, compared in every slice."""
    rng = np.random.default_rng(23)
    session = rng.permutation(np.repeat(np.arange(120), 6))
    user = session % 40
    columns = {
        "session": [f"{'x' * 300}{n}" if n % 5 == 0 else f"ü{n}" if n else "" for n in session],
        "user": [f"user-{n}" for n in user],
        "score": rng.random(len(session)).round(2),
        "other": pa.array(rng.random(len(session)), mask=rng.random(len(session)) < 0.1),
        "label": rng.integers(0, 2, len(session)),
        "country": np.array(["de", "fr", "no"])[rng.integers(0, 3, len(session))],
    }
    settings = {**MODELS, "group": "session", "cluster": "user", "compare": "a", "slices": ["country"]}
    metrics = ["ndcg@3", "p@1", "gauc", "auc", "pr_auc(exact)", "logloss", "median(ap)"]
    columns["chance"] = rng.uniform(0.1, 1, len(session))
    settings["propensity"] = "chance"
    metrics += [
        "value(by=snips,clip=2)",
        "value(per=group)",
        "r(propensity=snips)@3",
        "ndcg(propensity=best,clip=0.3)@2",
        "hit(sampled=5,items=60)@20",
        "rr(sampled=5,items=60,by=minimal_bias)@9",
    ]
    return WideLog(halves(pa.table(columns)), metrics, settings, baseline="a")


def no_groups() -> WideLog:
    """Rows without a group, of which pooled metrics alone are asked."""
    metrics = [*POOLED, "auc(exact)", "auc_up(exact)"]
    return WideLog(halves(impressions(900)), metrics, {**MODELS, "weight": "weight", "slices": ["born"]})


_OF_ROWS = (types, nulls, slices, slice_rules, weights, nested, exact, text_keys, no_groups, labels, own_labels)
_OF_SIDES = (
    arrays,
    labels_of_arrays,
    recommendations,
    truth,
    labels_of_truth,
    ranks,
    past,
    past_of_labels,
    past_of_arrays,
    times,
    times_of_arrays,
    catalog,
    popularity,
    catalog_of_arrays,
)
LOGS: dict[str, Callable[[], WideLog]] = {log.__name__: log for log in (*_OF_ROWS, *_OF_SIDES)}
