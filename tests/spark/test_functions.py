"""Functions of Spark columns: over rows of groups, arrays, windows, and in SQL: the bits of ``sr.evaluate``."""

from __future__ import annotations

import ast
import doctest
import inspect
import math
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PythonException

import sparkrank as sr
from sparkrank import functions as srf
from sparkrank.base.errors import SpecError
from sparkrank.functions import spark_columns
from sparkrank.functions.function_examples import COLUMNS, VALUES
from sparkrank.functions.sql_functions import default_texts
from sparkrank.metrics import CATALOG, CatalogueMetric, GroupMetric, PooledMetric
from tests.conftest import PROJECT
from tests.functions.test_list_values import METRICS, POOLED, bits, known
from tests.spark.logs import groups_with_ties
from tests.support.strategies import needed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

GROUP, ROLES = "user_id", ("score", "label", "item")
SEVERAL = ("ndcg@10", "ap", "rr")


@pytest.fixture(scope="module")
def log() -> pa.Table:
    return groups_with_ties()


@pytest.fixture
def frame(log: pa.Table, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    path = tmp_path_factory.mktemp("log")
    for index, part in enumerate((log.slice(0, 250), log.slice(250))):
        pq.write_table(part, path / f"{index}.parquet")
    return spark.read.parquet(str(path))


@pytest.fixture
def lists(frame: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    rows = F.collect_list(F.struct(*ROLES)).alias("rows")
    arrays = (F.col(f"rows.{role}").alias(f"{role}s") for role in ROLES)
    return frame.groupBy(GROUP).agg(rows).select(GROUP, "rows", *arrays)


def expected(log: pa.Table, metrics: Iterable[str], **settings: str) -> dict[int, list[str]]:
    columns = {"group": GROUP, "score": "score", "label": "label", "item": "item"}
    table = sr.evaluate(log, list(metrics), **columns, **settings, lane="local").groups
    names = table.column_names[table.column_names.index("n_relevant") + 1 :]
    return {row[GROUP]: [bits(row[name]) for name in names] for row in table.to_pylist()}


def valued(frame: DataFrame) -> dict[int, list[str]]:
    return {row[0]: [bits(value) for value in row[1:]] for row in frame.collect()}


def test_rows_are_aggregated_and_lists_are_valued(frame: DataFrame, lists: DataFrame, log: pa.Table) -> None:
    from pyspark.sql import functions as F

    asked = expected(log, ["ndcg@10", "ap"])
    grouped = frame.groupBy(GROUP).agg(
        srf.ndcg("score", "label", k=10).alias("ndcg@10"), F.coalesce(srf.ap("score", "label"), F.lit(None)).alias("ap")
    )
    assert valued(grouped) == asked
    of_arrays = srf.ap(F.col("scores"), F.col("labels"), of="lists") * 2 / 2
    assert valued(lists.select(GROUP, srf.ndcg("rows", k=10), of_arrays)) == asked
    good = [user for user, (ndcg, _) in asked.items() if ndcg != "undefined" and float.fromhex(ndcg) > 0.5]
    assert lists.filter(srf.ndcg("scores", "labels", k=10, of="lists") > 0.5).count() == len(good)
    with pytest.raises(PythonException, match=r'the score column is list<.*of="lists" says that a row has the arrays'):
        lists.select(srf.ndcg("scores", "labels", k=10)).collect()


def test_every_group_metric_of_the_catalogue(frame: DataFrame, lists: DataFrame, log: pa.Table) -> None:
    asked = expected(log, METRICS)
    grouped = frame.groupBy(GROUP).agg(srf.metrics(METRICS, *ROLES[:2], item="item").alias("m"))
    assert valued(grouped.select(GROUP, "m.*")) == asked
    structs = lists.select(GROUP, srf.metrics(METRICS, "rows").alias("m"))
    assert valued(structs.select(GROUP, "m.*")) == asked
    arrays = lists.select(GROUP, srf.metrics(METRICS, "scores", "labels", item="items", of="lists").alias("m"))
    assert valued(arrays.select(GROUP, "m.*")) == asked


def test_definitions_are_those_of_evaluate(frame: DataFrame, log: pa.Table) -> None:
    given = {"ties": "worst", "unjudged": "drop"}
    column = srf.metric("ap(over=min_k_relevant)@3", "score", "label", **given)
    assert column is not None
    assert valued(frame.groupBy(GROUP).agg(column)) == expected(log, ["ap(over=min_k_relevant)@3"], **given)
    zero = frame.groupBy(GROUP).agg(srf.ndcg("score", "label", k=5, preset="mllib")).toPandas()
    assert zero.columns[1] == "ndcg(gain=binary)@5"
    assert not zero.iloc[:, 1].isna().any()


def test_pooled_metrics_of_all_rows_and_of_groups(frame: DataFrame, log: pa.Table) -> None:
    from pyspark.sql import functions as F

    metrics = [metric for metric in known(POOLED) if metric != "copc"]
    day = sr.evaluate(log, metrics, score="score", label="label", lane="local")
    for of in ("rows", "batches"):
        struct = frame.agg(srf.metrics(metrics, "score", "label", of=of).alias("m")).select("m.*").first()
        assert [bits(value) for value in struct] == [bits(day[metric]) for metric in metrics]
    halves = frame.groupBy((F.col(GROUP) % 2).alias("half"))
    of_half = {row: log.filter(pa.array(np.asarray(log[GROUP]) % 2 == row)) for row in (0, 1)}
    by_half = {
        row: bits(sr.evaluate(half, ["auc"], score="score", label="label")["auc"]) for row, half in of_half.items()
    }
    for columns in ([srf.auc("score", "label", of="batches")], [srf.auc("score", "label"), F.count("*")]):
        assert {row[0]: bits(row[1]) for row in halves.agg(*columns).collect()} == by_half
    assert frame.limit(0).agg(srf.auc("score", "label")).first()[0] is None


def test_in_plans_batches_are_folded_and_lists_are_shared(frame: DataFrame, capsys) -> None:
    frame.groupBy(GROUP).agg(srf.auc("score", "label", of="batches")).explain()
    assert "ArrowAggregatePython" in capsys.readouterr().out
    frame.groupBy(GROUP).agg(srf.ap("score", "label"), srf.rr("score", "label")).explain()
    assert capsys.readouterr().out.count("ArrowEvalPython") == 1


def test_over_a_window(frame: DataFrame, log: pa.Table) -> None:
    from pyspark.sql import Window

    window = Window.partitionBy(GROUP)
    columns = [srf.metric(text, "score", "label", over=window) for text in ("ap", "auc")]
    rows = frame.select(GROUP, *columns).distinct().collect()
    assert {row[0]: [bits(row[1])] for row in rows} == expected(log, ["ap"])
    of_rows = Window.partitionBy(GROUP).orderBy("item").rowsBetween(-1, 0)
    assert len(frame.select(srf.rr("score", "label", over=of_rows)).collect()) == len(log)


def test_nulls_behave_as_in_functions_of_spark(spark: SparkSession) -> None:
    rows = spark.sql(
        "select array(1.0D, null) s, array(0, 1) l union all select null, array(1) union all select array(), array() "
        "union all select array(double('nan')), array(1) union all select array(1.0D), array(null)"
    )
    values = [row[0] for row in rows.select(srf.rr("s", "l", of="lists")).collect()]
    assert values[:3] == [0.0, None, None]
    assert math.isnan(values[3])
    assert values[4] is None


def test_in_sql(spark: SparkSession, frame: DataFrame, log: pa.Table) -> None:
    names = srf.register(spark, SEVERAL)
    assert names == ("ndcg_at_10", "ap", "rr")
    srf.register(spark, {"my_map": "ap(over=min_k_relevant)@10"}, prefix="srf_")
    srf.register(spark, ["auc", "logloss"])
    frame.createOrReplaceTempView("impressions")
    lists = "collect_list(struct(score, label))"
    values = ", ".join(f"{name}({lists})" for name in ("ndcg_at_10", "ap", "srf_my_map"))
    query = f"SELECT {GROUP}, {values} FROM impressions GROUP BY {GROUP}"  # noqa: S608 - a query of this test
    assert valued(spark.sql(query)) == expected(log, ["ndcg@10", "ap", "ap(over=min_k_relevant)@10"])
    day = sr.evaluate(log, ["auc"], score="score", label="label", lane="local")
    assert spark.sql("SELECT auc(score, label), logloss(score, label) FROM impressions").first()[0] == day["auc"]
    assert spark.sql("SELECT rr(array(0.1D, 0.9D), array(1, 0)) AS rr").first()["rr"] == 0.5
    with pytest.raises(SpecError, match="'1st' is not a function name in SQL"):
        srf.register(spark, {"1st": "ap"})


def test_by_default_sql_has_every_metric_of_scores_and_labels() -> None:
    texts = default_texts()
    lists = {name for name, declared in CATALOG.items() if not isinstance(declared, CatalogueMetric)}
    # beside another list, a column of values or what the group had before
    of_scores = {name for name in lists if not needed(name)} - {"overlap", "unexpected", "serendipity", "new"}
    of_scores -= {"past_novelty", "past_serendipity"}
    assert {text.partition("@")[0] for text in texts} == of_scores
    assert {"ndcg", "ndcg@5", "ndcg@10", "ndcg@20", "auc"} <= set(texts)
    assert len({srf.sql_name(text) for text in texts}) == len(texts)


def test_a_metric_from_outside_travels(frame: DataFrame, lists: DataFrame) -> None:
    """It is known by name here alone: functions of this module are sent by value or by name, as in the lanes."""
    declared = {"title": "rows", "formula": "rows", "undefined": "never", "reference": "here", "highest": np.inf}
    sr.register(sr.GroupMetric("list_size", **declared, values=lambda ranking, _: ranking.length.astype(float)))
    assert "list_size" in dir(srf)
    assert "list_size" in inspect.getdoc(srf.list_size)
    from pyspark.sql import functions as F

    sizes = frame.groupBy(GROUP).agg(srf.list_size("score", "label").alias("a"), F.count("score").alias("b"))
    assert sizes.filter("a != b").count() == 0
    assert lists.filter(srf.list_size("scores", "labels", of="lists") > 0).count() == 40


def test_a_spark_without_functions_of_arrow_has_the_same_bits(
    frame: DataFrame, lists: DataFrame, log: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_columns, "has_arrow_functions", lambda: False)
    asked = expected(log, SEVERAL)
    grouped = frame.groupBy(GROUP).agg(srf.metrics(SEVERAL, "score", "label").alias("m"))
    assert valued(grouped.select(GROUP, "m.*")) == asked
    assert valued(lists.select(GROUP, *(srf.metric(text, "scores", "labels", of="lists") for text in SEVERAL))) == asked
    day = sr.evaluate(log, ["auc"], score="score", label="label", lane="local")
    assert frame.agg(srf.auc("score", "label")).first()[0] == day["auc"]


def test_each_function_is_described_by_its_declaration() -> None:
    sharing = ("precision", "recall", "f1", "fbeta")  # of which others have a cut-off
    for name in (name for name in dir(srf) if name in CATALOG):
        function, declared = getattr(srf, name), CATALOG[name]
        parameters = inspect.signature(function).parameters
        assert [*parameters][:2] == ["score", "label"], name
        assert {parameter.name for parameter in declared.parameters} <= set(parameters), name
        takes_k = declared.cutoff == "optional" or declared.at is not None or (name in sharing)
        assert ("k" in parameters) == takes_k, name
        assert declared.formula in inspect.getdoc(function), name
        shared = {each.name for each in declared.parameters} & set(inspect.signature(srf.metric).parameters)
        assert all(f"``{each}``" in inspect.getdoc(function) for each in shared), name
        assert function.__name__ == name
        assert isinstance(declared, (GroupMetric, PooledMetric)), name


@pytest.mark.tools
def test_the_example_of_each_function_is_what_it_gives(spark: SparkSession) -> None:
    """Each expression in one aggregate of the same rows, and one example as it stands."""
    types = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    rows = spark.createDataFrame(list(zip(*(values for _, values in COLUMNS.values()), strict=True)), types)
    shown, columns = {}, []
    for name in VALUES:
        *_, made, last = doctest.DocTestParser().get_examples(inspect.getdoc(getattr(srf, name)))
        (call,) = re.findall(r"^round\(rows\.agg\((.*)\)\.first\(\)\[0\], 6\)$", last.source, re.MULTILINE)
        columns.append(eval(call, {"srf": srf}).alias(name))  # noqa: S307 - our own docstring
        shown[name] = float(last.want)
        given, schema = ast.literal_eval(made.source.partition("createDataFrame")[2].strip())
        read = [field.partition(" ")[0] for field in schema.split(", ")]
        assert given == list(zip(*(COLUMNS[column][1] for column in read), strict=True)), name
        assert all(f"{column} {COLUMNS[column][0]}" in schema for column in read), name
    assert {name: round(value, 6) for name, value in rows.agg(*columns).first().asDict().items()} == shown
    whole = doctest.DocTestParser().get_doctest(inspect.getdoc(srf.err), {"spark": spark}, "err", None, None)
    assert doctest.DocTestRunner().run(whole).failed == 0


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: srf.ndgc, 'has no "ndgc", did you mean "ndcg"'),
        (lambda: srf.ndcg("s", "l", kk=5), 'ndcg has no argument "kk"'),
        (lambda: srf.ndcg("s", "l", k=0), "the cut-off of .* is 0"),
        (lambda: srf.ndcg("s", "l", k="5"), "k is '5': a whole number is needed"),
        (lambda: srf.ndcg("s", "l", of="list"), "of is 'list', did you mean"),
        (lambda: srf.ndcg("s", "l", of="batches"), "of=batches folds rows into score bins, and ndcg is a metric"),
        (lambda: srf.coverage("s", "l"), "coverage is a property of all lists together"),
        (lambda: srf.metrics(["ap"], "s", "l", tis="item"), 'metrics has no argument "tis", did you mean "ties"'),
        (lambda: srf.metrics("ap", "s", "l"), "metrics is"),
        (lambda: srf.metrics(["ap"], "s", ["l"]), r"label is \['l'\]: the name of a column, or a column, is needed"),
        (lambda: srf.register(None), "spark is None: a session of Spark is needed"),
        (lambda: srf.auc(label="l"), "neither score nor rank names a column"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(spark: SparkSession, ask, sentence: str) -> None:
    with pytest.raises((SpecError, AttributeError), match=sentence):
        ask()


def test_workers_that_lack_packages_are_found_before_the_work(spark: SparkSession, tmp_path, monkeypatch) -> None:
    bare = tmp_path / "python3"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(bare))
    for ask in (lambda: srf.rr("s", "l"), lambda: srf.metrics(["auc"], "s", "l"), lambda: srf.register(spark, ["rr"])):
        with pytest.raises(sr.SparkrankError, match=r"Spark's workers run .*which has no numpy, pyarrow"):
            ask()


def test_nothing_of_it_is_imported_by_the_package() -> None:
    script = """
import sys, sparkrank
print([module for module in sys.modules if module.endswith(".functions")])
from sparkrank import functions
print("pyspark" in sys.modules, "ndcg" in dir(functions))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "False True"]


@pytest.mark.tools
def test_the_page_of_functions_does_what_it_says(spark: SparkSession) -> None:
    """Each block goes on where the one before it ended."""
    page = (PROJECT / "docs" / "functions.md").read_text(encoding="utf-8")
    names: dict[str, object] = {"spark": spark}
    blocks = [block.partition("\n```")[0] for block in page.split("```python\n")[1:]]
    assert len(blocks) > 3
    for block in blocks:
        exec(compile(block, "docs/functions.md", "exec"), names)  # noqa: S102 - our own page
