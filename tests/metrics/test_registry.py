"""Metrics from outside the package: known when they are registered, refused with a sentence, carried by their plan."""

from __future__ import annotations

import itertools
import math
import pickle
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from pyspark import cloudpickle

import sparkrank as sr
from sparkrank.bucket import bucket_columns, evaluate_bucket
from sparkrank.histogram.bins import BinRule
from sparkrank.metrics import (
    CATALOG,
    REL,
    Choice,
    Count,
    Declaration,
    Metric,
    PooledValue,
    RowSum,
    Terms,
    plan_of,
)
from sparkrank.metrics.registry import register
from tests.support.commands import PROJECT, exit_code

EXAMPLE = PROJECT / "examples" / "outside_metric.py"
ROLES = {"group": "user", "score": "score", "label": "label"}
# a: hits at 1 and 3; b: tied at 1 and 2, one of them a hit: 1.5 in expectation; c: no hit
ROWS = pa.table(
    {"user": list("aaabbc"), "score": [3.0, 2.0, 1.0, 1.0, 1.0, 1.0], "label": [1, 0, 2, 1, 0, 0], "item": range(6)}
)
BY_HAND = {
    "mean_position": [(1 + 3) / 2, (1 + 2) / 2, math.nan],
    "mean_position@2": [1.0, (1 + 2) / 2, math.nan],
    "mean_position(rel=2)": [3.0, math.nan, math.nan],
}


TEXTS = {"title": "one", "formula": "1", "undefined": "never", "reference": "ours"}


def declared(name: str = "ones", **fields) -> sr.GroupMetric:
    return sr.GroupMetric(name, **{**TEXTS, "values": lambda ranking, metric: np.ones(ranking.groups), **fields})


def test_the_example_is_evaluated_as_by_hand() -> None:
    assert len(EXAMPLE.read_text("utf-8").splitlines()) <= 25
    runpy.run_path(str(EXAMPLE))
    ev = sr.evaluate(ROWS, [*BY_HAND, "median(mean_position)"], **ROLES)
    groups = ev.groups.sort_by("user")
    for text, values in BY_HAND.items():
        np.testing.assert_allclose(groups[text].to_numpy(), values, rtol=1e-12)
        assert ev.value(text) == pytest.approx(np.nanmean(values))
    assert ev.metrics["definition"][0].as_py().startswith("mean_position; ties=expected")


def test_a_registered_metric_is_known_by_name_and_alias() -> None:
    register(declared(aliases=("unity", "uno@"), parameters=(Choice("how", "plain", "how", choices=("plain",)),)))
    assert [str(Metric.parse(text)) for text in ("ONES(how=plain)@5", "unity", "uno_3")] == ["ones@5", "ones", "ones@3"]
    with pytest.raises(sr.MetricError, match=r'did you mean "ones"\?'):
        Metric.parse("onse")
    with pytest.raises(sr.MetricError, match='unknown parameter "who" in "ones'):
        Metric.parse("ones(who=plain)")


def test_registering_the_same_again_is_fine_and_with_another_constant_it_is_another() -> None:
    def constant(number: float) -> sr.GroupMetric:
        return declared("sum", values=lambda ranking, metric: np.full(ranking.groups, number))

    first, second = (runpy.run_path(str(EXAMPLE))["MEAN_POSITION"] for _ in range(2))
    assert register(first) is register(second) is CATALOG["mean_position"] is first
    assert register(constant(1.0)) == register(constant(1.0))
    with pytest.raises(sr.MetricError, match=r"is taken: .* give it another name, or start Python anew to change it$"):
        register(constant(2.0))


TAKEN = {
    "ndcg": "it means ndcg",
    "map": "it means ap",  # an alias
    "hitrate": "it means hit",  # a name of another program
    "p_10": "it means p ",  # as trec_eval prints p@10
    "ones": "it means ones",
}


def test_a_name_that_is_taken_is_refused() -> None:
    register(declared("ones"))
    before = dict(CATALOG)
    for name, sentence in TAKEN.items():
        for other in (declared("other", title="another", aliases=(name,)), declared(name, title="another")):
            assert refused(lambda other=other: register(other), sentence), name
    assert before == CATALOG
    assert not CATALOG.is_known("other")


def pooled(**fields) -> sr.PooledMetric:
    return sr.PooledMetric("odd", **{**TEXTS, "value": lambda totals, metric: PooledValue(0.5), **fields})


def binned(**fields) -> sr.HistogramMetric:
    given = {"value": lambda totals, metric: PooledValue(0.5), "terms": lambda sweep: Terms.of((sweep.pos,))}
    return sr.HistogramMetric("odd", **{**TEXTS, **given, **fields})


def catalogued(**fields) -> sr.CatalogueMetric:
    return sr.CatalogueMetric("odd", **TEXTS, **fields)


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "no declaration": (lambda: "ndcg", "not 'ndcg'"),
    "a class": (lambda: sr.GroupMetric, "takes a GroupMetric"),
    "no kind": (lambda: Declaration("ones", **TEXTS), "takes a GroupMetric"),
    "a capital": (lambda: declared("Ones"), "is not a name of a metric"),
    "a median": (lambda: declared("ones", aliases=("median",)), "asks for a summary of the values of groups"),
    "a geometric mean": (lambda: declared("gm_map"), "asks for a summary of the values of groups"),
    "no name": (lambda: declared(""), "a text is needed"),
    "no title": (lambda: declared("ones", title=None), "title of the metric ones is None"),
    "a name twice": (lambda: declared("ones", aliases=("ones",)), "has one name twice"),
    "no values": (lambda: sr.GroupMetric("ones", **TEXTS), "has no values"),
    "no value": (lambda: sr.PooledMetric("ones", **TEXTS), "has no value,"),
    "no terms": (lambda: sr.HistogramMetric("ones", **TEXTS, value=lambda *_: PooledValue(1)), "no terms"),
    "a parameter twice": (lambda: declared("ones", parameters=(REL, REL)), "'rel' of ones is there twice"),
    "a parameter of no name": (lambda: declared("ones", parameters=(Count("a b", None, "", most=5),)), "is not a name"),
    "a default": (lambda: declared("ones", parameters=(Count("n", 7, "", most=5),)), "n of ones is 7 by default"),
    "an unknown parameter": (
        lambda: declared("ones", exclusive=("a", "b")),
        "ones refers to 'a', and has no such parameter",
    ),
    "rates without the rows of a bin": (lambda: binned(by_rate=True), "odd is by_rate and has no parameter min_rows"),
    "no function": (lambda: declared("ones", values=3), "values of the metric ones is 3: a function is needed"),
    "no function of sums": (lambda: pooled(sums=None), "sums of the metric odd is None: a function is needed"),
    "one alias": (lambda: declared("ones", aliases="unity"), "aliases of the metric ones is 'unity': a tuple of texts"),
    "one parameter": (lambda: declared("ones", parameters=REL), "a tuple of parameters is needed"),
    "a word for the cut-off": (lambda: declared("ones", cutoff="maybe"), "is 'maybe': optional or none is needed"),
    "a word for a choice": (lambda: declared("ones", higher_is_better="yes"), "is 'yes': True, False or None"),
    "a reason alone": (lambda: declared("ones", needs_order="ties"), "is 'ties': a NeedsOrder or None is needed"),
    "a text for a number": (lambda: declared("ones", lowest="0"), "lowest of the metric ones is '0': a number"),
    "NaN": (lambda: declared("ones", highest=math.nan), "highest of the metric ones is nan: a number is needed"),
    "no range": (lambda: declared("ones", lowest=2.0), "lowest of the metric ones is 2, above its highest, 1"),
}


def refused(action: Callable[[], object], sentence: str) -> bool:
    """Whether ``action`` raises one sentence that holds ``sentence``, a pattern."""
    try:
        action()
    except sr.MetricError as error:
        return re.search(sentence, str(error)) is not None
    return False


def test_what_can_be_no_metric_is_refused() -> None:
    before = dict(CATALOG)
    taken = [what for what, (made, why) in REFUSED.items() if not refused(lambda made=made: register(made()), why)]
    assert taken == []
    assert before == CATALOG


SHAPES = (
    lambda ranking, metric: 1.0,
    lambda ranking, metric: np.ones(ranking.groups + 1),
    lambda ranking, metric: np.ones(ranking.groups, np.int64),
)
RESULTS: dict[str, tuple[Declaration, str]] = {
    **{
        f"{field} {number}": (declared("odd", **{field: shape}), f"the {field} of odd are .* an array of 3 float64 is")
        for field in ("values", "weights")
        for number, shape in enumerate(SHAPES)
    },
    **{
        f"a weight of {weight}": (
            declared("odd", weights=lambda ranking, metric, weight=weight: np.full(ranking.groups, weight)),
            f"a weight of odd is {weight:g}: a number from 0",
        )
        for weight in (-1.0, np.nan, np.inf)
    },
    "a number for a value": (pooled(value=lambda *_: 0.5), r"the value of odd is 0\.5: a PooledValue is needed"),
    "a sum": (pooled(sums=lambda _: RowSum("rows")), "the sums of odd are RowSum.*: a tuple of RowSum is needed"),
    "names of sums": (pooled(sums=lambda _: ("rows",)), "a sum of odd is 'rows': a RowSum is needed"),
    "an unknown sum": (pooled(sums=lambda _: (RowSum("row"),)), r"a sum of odd is of 'row' \(allowed: rows, weight, "),
    "no threshold": (pooled(sums=lambda _: (RowSum("predicted"),)), "has threshold None: a number is needed"),
    "an idle threshold": (pooled(sums=lambda _: (RowSum("rows", threshold=0.5),)), "threshold 0.5: None is needed"),
    "a text for rel": (pooled(sums=lambda _: (RowSum("positives", rel="1"),)), "rel '1': a number or None is needed"),
    "a word for a rule": (binned(rule=lambda _: "exact"), "the rule of odd is 'exact': a BinRule is needed"),
    "an unknown rule": (binned(rule=lambda _: BinRule("edges", 3)), r"kind 'edges' \(allowed: bits, digits, bins"),
    "a large rule": (binned(rule=lambda _: BinRule("bits", 99)), "has size 99: a whole number from 1 to 52 is needed"),
    "half a bin": (binned(rule=lambda _: BinRule("bins", 1.5)), "has size 1.5: a whole number from 1 to 1000000"),
    "a rule of a text": (binned(rule=lambda _: BinRule("exact", rel="1")), "rel '1': a number or None is needed"),
    "a number for terms": (binned(terms=lambda _: 1.0), r"the terms of odd are 1.0: Terms.of\(...\) is needed"),
    "a text for a value": (pooled(value=lambda *_: PooledValue("x")), "the value of odd is 'x': a number is needed"),
    "a text for a bound": (pooled(value=lambda *_: PooledValue(1, "x")), "the error_bound of odd is 'x': a number"),
    "an array": (catalogued(value=lambda *_: np.ones(2)), r"the value of odd is array\(.*: a number is needed"),
    "a number for sums": (declared("odd", sums=lambda *_: 1), "the sums of odd are 1: sums over lists"),
}


def evaluated(declaration: Declaration, *, text: str = "odd") -> None:
    """Register a metric, evaluate it, and forget it."""
    register(declaration)
    try:
        sr.evaluate(ROWS, [text], **ROLES, item="item", ties="item")
    finally:
        CATALOG.remove("odd")


def test_what_a_function_gives_is_refused_where_nothing_can_use_it() -> None:
    taken = [what for what, (own, why) in RESULTS.items() if not refused(lambda own=own: evaluated(own), why)]
    assert taken == []


def test_what_functions_may_give_is_taken() -> None:
    """Lists for tuples, whole numbers, and numbers of numpy."""
    sums = lambda _: [RowSum("predicted", rel=1, threshold=np.float64(0.5)), RowSum("positives", rel=2)]  # noqa: E731
    register(pooled(sums=sums, value=lambda totals, _: PooledValue(int(totals.sum(RowSum("positives", rel=2))))))
    assert sr.evaluate(ROWS, ["odd"], **ROLES)["odd"] == 1.0  # one label of 2
    CATALOG.remove("odd")
    register(binned(rule=lambda _: BinRule("bins", 4), value=lambda totals, _: PooledValue(np.float32(0.25), 0)))
    assert sr.evaluate(ROWS, ["odd"], **ROLES)["odd"] == 0.25


def fails(*_: object, error: Exception | None = None) -> Any:
    raise error or RuntimeError("no such thing\nand more of it")


RAISES: dict[str, Declaration] = {
    "values": declared("odd", values=fails),
    "weights": declared("odd", weights=fails),
    "sums": declared("odd", sums=fails),
    "sums of rows": pooled(sums=fails),
    "value": pooled(value=fails),
    "value of lists": catalogued(value=fails),
    "rule": binned(rule=fails),
    "terms": binned(terms=fails),
    "check": declared("odd", check=fails),
}


def test_an_exception_of_a_function_becomes_a_sentence() -> None:
    for what, declaration in RAISES.items():
        function = what.split(maxsplit=1)[0]
        sentence = f"{function}, a function of the metric odd, raised RuntimeError: no such thing$"
        assert refused(lambda own=declaration: evaluated(own), sentence), what
    mute = declared("odd", values=partial(fails, error=NotImplementedError()))
    sentence = r"^values, a function of the metric odd@2, raised NotImplementedError$"
    assert refused(lambda: evaluated(mute, text="odd@2"), sentence)
    told = "grades above 9 are not known here"
    with pytest.raises(sr.InputError, match=f"^{told}$"):  # what a function refuses itself stays as it is
        evaluated(declared("odd", values=partial(fails, error=sr.InputError(told))))


def test_a_plan_carries_what_another_process_does_not_know(tmp_path: Path) -> None:
    """Functions of the script that runs by value, those of the package by name."""
    runpy.run_path(str(EXAMPLE))
    plan = plan_of(["mean_position@2", "ndcg", "median(mean_position)"], ["score"], ["user"], group_table=True)
    plan.group_metrics  # noqa: B018 - what is worked out of it travels too
    table = pa.table([ROWS[name] for name in ("user", "label", "score")], bucket_columns(plan, 1))
    there = tmp_path / "there.pickle"
    there.write_bytes(cloudpickle.dumps((plan, table)))
    script = """
import pickle, sys
plan, rows = pickle.load(open(sys.argv[1], "rb"))
from sparkrank.metrics import CATALOG
assert "mean_position" not in CATALOG
from sparkrank.bucket import evaluate_bucket
print(evaluate_bucket(rows, plan).groups["mean_position@2"].to_pylist())
"""
    done = subprocess.run([sys.executable, "-c", script, str(there)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == str(evaluate_bucket(table, plan).groups["mean_position@2"].to_pylist()).split()


def test_what_is_built_in_travels_by_name() -> None:
    plan = plan_of(["ndcg@10", "auc"], ["score"], ["user"])
    plan.group_metrics  # noqa: B018
    assert len(pickle.dumps(plan)) < 1500
    assert all(metric.outside is None for metric in plan.metrics)
    runpy.run_path(str(EXAMPLE))
    metric = Metric.parse("mean_position@3")
    assert metric.outside is CATALOG["mean_position"]
    assert replace(metric, k=None).outside is metric.outside
    assert metric == Metric("mean_position", k=3)


# Plugins


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of a package, as an installed one."""
    (tmp_path / "outside_package").mkdir()
    text = EXAMPLE.read_text("utf-8")
    modules = {"__init__": "", "metrics": text, "broken": "1 / 0", "needy": "import no_such_module"}
    modules["taken"] = text.replace('name="mean_position"', 'name="ndcg"')
    for name, text in modules.items():
        (tmp_path / "outside_package" / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield "outside_package.metrics"
    for name in [name for name in sys.modules if name.startswith("outside_package")]:
        del sys.modules[name]


@pytest.fixture
def spec(tmp_path: Path) -> Callable[..., str]:
    pq.write_table(ROWS, tmp_path / "rows.parquet")

    def written(**parts) -> str:
        document = {
            "input": {"path": str(tmp_path / "rows.parquet"), "columns": dict(ROLES)},
            "metrics": ["mean_position", "ndcg"],
            "output": {"path": str(tmp_path / "out")},
            "engine": {"lane": "local"},
            "day": "2026-11-19",
            **parts,
        }
        path = tmp_path / "spec.yaml"
        path.write_text(yaml.safe_dump(document))
        return str(path)

    return written


def test_a_spec_imports_its_plugins(plugin: str, spec, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf = spec(plugins=[plugin])
    assert exit_code("validate", "--conf", conf) == 0
    assert yaml.safe_load(capsys.readouterr().out)["plugins"] == [plugin]
    assert exit_code("evaluate", "--conf", conf) == 0
    assert exit_code("merge", "--conf", conf, "--from", "2026-11-19", "--to", "2026-11-19") == 0
    tables = [tmp_path / "out" / "metrics" / "day=2026-11-19"]
    tables += list((tmp_path / "out" / "windows" / "metrics").iterdir())
    for folder in tables:
        rows = {row["metric"]: row["value"] for row in pq.read_table(folder, partitioning=None).to_pylist()}
        assert rows["mean_position"] == pytest.approx((2.0 + 1.5) / 2)


def test_plugins_are_part_of_the_hash(plugin: str, spec) -> None:
    ways = ({}, {"plugins": []}, {"plugins": [plugin]})
    plain, without, with_one = (sr.config.load_spec(spec(metrics=["ndcg"], **parts)).hash() for parts in ways)
    assert plain == without != with_one


UNUSABLE: list[tuple[object, str]] = [
    (["no_such_module.metrics"], "plugins[0] is no_such_module.metrics, and there is no module no_such_module: "),
    (["outside_package.no"], "plugins[0] is outside_package.no, and there is no module outside_package.no: "),
    (["outside_package.metrics", "no_such"], "plugins[1] is no_such, and there is no module no_such: "),
    (["outside_package.needy"], "plugins[0] is outside_package.needy, which imports no_such_module, which is not"),
    (["outside_package.broken"], "which fails when it is imported (ZeroDivisionError: division by zero)"),
    (["outside_package.taken"], 'plugins[0] is outside_package.taken: "ndcg" of the metric ndcg is taken'),
    (["../metrics.py"], "plugins[0] is ../metrics.py: the name of a module is needed, as my_package.metrics"),
    ([""], "the name of a module is needed"),
    ("outside_package.metrics", "plugins is 'outside_package.metrics': a list is needed"),
]


def test_a_plugin_that_cannot_be_imported(plugin: str, spec, capsys: pytest.CaptureFixture[str]) -> None:
    window = ("--from", "2026-11-19", "--to", "2026-11-19")
    commands = itertools.chain([("evaluate",), ("merge", *window)], itertools.repeat(("validate",)))
    for (plugins, sentence), (command, *options) in zip(
        UNUSABLE, commands, strict=False
    ):  # the spec is read in one way
        assert exit_code(command, "--conf", spec(plugins=plugins), *options) == 2, sentence
        error = capsys.readouterr().err
        assert sentence in error
        assert error.count("\n") == 1


def test_the_command_line_shows_what_a_plugin_declares(plugin: str, capsys: pytest.CaptureFixture[str]) -> None:
    for code, text, *options in (
        (2, 'unknown metric "mean_position"', "mean_position"),
        (0, "mean_position[@k]  mean position of the hits", "--plugin", plugin, "mean_position"),
        (0, "\nmean_position[@k]", "--plugin", plugin),
        (2, "--plugin is no_such_module, and there is no module", "--plugin", "no_such_module"),
    ):
        assert exit_code("metrics", *options) == code
        assert text in capsys.readouterr()[code > 0]
