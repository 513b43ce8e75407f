"""CSV and JSON in the local lane: what every lane reads, what Arrow refuses, and how large files are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import sparkrank as sr
from sparkrank.base.errors import InputError, SpecError
from sparkrank.config import Spec, load_spec
from sparkrank.config.sections import Input, Truth
from sparkrank.inputs.roles import Roles
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages
from sparkrank.sources import text_files
from sparkrank.sources.reader_options import LOSING, LosingOption, strict_options
from sparkrank.sources.side_rows import SideRows
from sparkrank.sources.text_files import TextInput
from tests.cases.text_files import CASES, HEADED, REFUSED, SCHEMA, UNUSABLE, ZEROS, TextCase, case
from tests.cases.text_values import documents, found_in

DAY = "2026-01-01"


def document_of(each: TextCase, folder: Path, lane: str, **quality: Any) -> dict[str, Any]:
    """The spec of a case whose files this writes."""
    for name, content in each.files.items():
        (folder / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "in" / name).write_bytes(content)
    columns = dict(each.columns) or {"group": "u", "item": "i", "score": "s", "label": "y"}
    rows = {"path": f"{folder}/in", "format": each.format, "options": dict(each.options), "columns": columns}
    return {
        "input": {**rows, "schema": each.schema, "where": each.where},
        "metrics": ["rr"],
        "output": {"path": f"{folder}/out-{lane}"},
        "quality": quality or {"max_bad_fraction": 1.0},
        "engine": {"lane": lane, "buckets": 1},
    }


def groups_at(folder: Path, lane: str = "local", key: str = "u") -> dict[Any, float]:
    groups = pq.read_table(f"{folder}/out-{lane}/groups/day={DAY}").to_pylist()
    return {row[key] if not hasattr(row[key], "isoformat") else row[key].isoformat(): row["rr"] for row in groups}


def found_by(each: TextCase, folder: Path, lane: str = "local", spark: Any = None) -> dict[Any, float]:
    """Each group's value."""
    folder.mkdir(exist_ok=True)
    result = evaluate_day(Spec.model_validate(document_of(each, folder, lane)), DAY, spark, Stages())
    assert result.lane == lane
    return groups_at(folder, lane, each.columns.get("group", "u"))


def test_what_every_lane_reads(tmp_path: Path) -> None:
    values = {each.name: found_by(each, tmp_path / str(index)) for index, each in enumerate(CASES)}
    assert values == {each.name: each.groups for each in CASES}


def test_what_is_refused_says_the_file_and_what_arrow_says(tmp_path: Path) -> None:
    wrong = []
    for index, each in enumerate([*REFUSED, *UNUSABLE]):
        with pytest.raises(InputError) as failed:
            found_by(each, tmp_path / str(index))
        sentence = str(failed.value)
        if each.told not in sentence or "\n" in sentence or "Could not open" in sentence:
            wrong.append((each.name, sentence))
    assert wrong == []


def test_each_kind_of_value_in_rows_and_in_a_catalog_with_a_schema_and_without(tmp_path: Path) -> None:
    wrong = [(doc, found) for doc, values in documents(tmp_path, "local") if (found := found_in(doc)) != values]
    assert wrong == []


def test_a_declared_type_is_the_one_that_is_read(tmp_path: Path) -> None:
    """A score that the schema calls a text is one."""
    document = document_of(case("texts", ZEROS, schema=SCHEMA.replace("s DOUBLE", "s STRING")), tmp_path, "local")
    with pytest.raises(InputError, match=r'^the score column "s" is of type string: a number is needed$'):
        evaluate_day(Spec.model_validate(document), DAY, None, Stages())


OF_SPARK: list[tuple[dict[str, Any], str]] = [
    ({"options": {"maxColumns": 4}}, "maxColumns is none of Arrow's reader of csv .*known: header, sep, .*lane: f"),
    ({"options": {"seperator": ";"}}, "options.seperator is none of Arrow's reader of csv.*lane: frame"),
    ({"options": {"sep": "||"}}, r"input\.options\.sep is '\|\|': a single letter of ASCII is needed"),
    ({"options": {"encoding": "utf-9"}}, "input.options.encoding is utf-9, which is not a known encoding"),
    ({"where": "upper(u) = 'A'"}, r"input\.where needs Spark's SQL \(.*\): lane: frame reads the input with Spark"),
    ({"schema": SCHEMA.replace("i STRING", "i TIMESTAMP")}, '"i" the type timestamp, .*: lane: frame'),
]


def test_what_only_spark_knows_is_refused_in_a_sentence(tmp_path: Path) -> None:
    for changes, told in OF_SPARK:
        document = document_of(case("rows", ZEROS), tmp_path, "auto")
        document["input"] |= changes
        with pytest.raises(SpecError, match=told):
            evaluate_day(Spec.model_validate(document), DAY, None, Stages())


def text_input(path: Path, kind: str = "csv") -> TextInput:
    rows = SideRows("input", path=str(path), format=kind, options={"header": "true"} if kind == "csv" else {})
    return TextInput.open(rows, Roles.of("u", "y", "s"))


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_files_larger_than_a_block_are_read_block_by_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Of each of 3,000 users the second of two is clicked, unless a row is lost or torn between two blocks.

    A record longer than a block is refused.
    """
    monkeypatch.setattr(text_files, "BLOCK", 1000)
    users = [f"{user:04}" for user in range(3000)]
    pairs = [(user, item, 2 - item, item) for user in users for item in (0, 1)]
    if kind == "csv":
        text = "u,i,s,y\n" + "".join(f'{u},"{i}",{s},{y}\n' for u, i, s, y in pairs)
    else:
        text = "".join(f'{{"u":"{u}","i":"{i}","s":{s},"y":{y}}}\n' for u, i, s, y in pairs)
    each = TextCase("large", {f"{kind}.{kind}": text.encode()}, {}, options=HEADED if kind == "csv" else {})
    assert found_by(each, tmp_path) == dict.fromkeys(users, 1 / 2)
    assert text_input(tmp_path / "in", kind).rows((), {}) == pytest.approx(6000, rel=0.02)  # by the first of them
    endless = TextCase("endless", {"x.csv": b"u,i,s,y\n" + b"a" * 10_000}, {})
    with pytest.raises(InputError, match=r"x\.csv .*cannot be read.*straddling"):
        found_by(endless, tmp_path / "endless")


def test_small_files_share_a_task_and_the_largest_come_first(tmp_path: Path) -> None:
    for index, rows in enumerate([10] * 4 + [100] * 2):
        (tmp_path / f"{index}.csv").write_text("u,s,y\n" + "a,0.5,1\n" * rows, encoding="utf-8")
    shares = text_input(tmp_path).file_splits(60)
    assert ["".join(Path(file.path).stem for file in share.fragments) for share in shares] == ["4", "5", "0123"]


def test_a_file_too_large_for_one_task_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    each = TextCase("two", {"1.csv": b"u,i,s,y\n" + b"a,x,2,0\n" * 20, "2.csv": b"u,i,s,y\na,y,1,1\n"}, {})
    monkeypatch.setattr(text_files, "LARGE", 100)
    result = evaluate_day(Spec.model_validate(document_of(each, tmp_path, "local")), DAY, None, Stages())
    (told,) = (each for each in result.warnings if getattr(each, "code", None) == "large_text_file")
    assert "in/1.csv is read from its beginning to its end by one task: store it in pieces below" in told


def test_lists_of_one_format_and_truth_of_another(tmp_path: Path) -> None:
    """Of the list x, y the truth has y: 1/2; the ids keep their zeros on both sides."""
    document = document_of(case("lists", "007,01,2,\n007,02,1,\n"), tmp_path, "local", max_bad_fraction=0.0)
    del document["input"]["columns"]["label"]
    (tmp_path / "truth.json").write_text('{"u":"007","i":"02"}\n{"u":"7","i":"01"}\n', encoding="utf-8")
    document["truth"] = {"path": f"{tmp_path}/truth.json", "format": "json"}
    assert evaluate_day(Spec.model_validate(document), DAY, None, Stages()).lane == "local"
    assert groups_at(tmp_path) == {"007": 1 / 2, "7": 0.0}


WHOLE = f"""
input:
  path: log
  format: csv
  schema: {SCHEMA}
  options: {{header: true, samplingRatio: 0.5, maxColumns: 30}}
  columns: {{group: u, item: i, score: s, label: y}}
metrics: [rr]
output: {{path: tables}}
"""


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    (tmp_path / "spec.yaml").write_text(WHOLE, encoding="utf-8")
    return tmp_path / "spec.yaml"


def test_options_are_texts_to_spark_whatever_they_are_in_yaml(conf: Path) -> None:
    spec = load_spec(conf)
    assert spec.input.options == {"header": "true", "samplingRatio": "0.5", "maxColumns": "30"}
    assert load_spec(conf, ["input.options.header=false"]).input.options["header"] == "false"
    written = yaml.safe_load(spec.as_text())["input"]
    assert (written["schema"], written["format"]) == (SCHEMA, "csv")  # by its name in the document
    assert Spec.model_validate(spec.resolved()).resolved() == spec.resolved()


def test_a_schema_is_part_of_the_hash_and_of_the_source(conf: Path) -> None:
    spec, other = load_spec(conf), load_spec(conf, ["input.schema='u INT, i STRING, s DOUBLE, y INT'"])
    assert (spec.hash(), spec.source()) != (other.hash(), other.source())
    spelled = load_spec(conf, ["input.schema='u string,i string , s: double, y integer'"])
    assert spelled.source() == spec.source()


OVERRIDES = [
    ("input.schema='u STRNG'", 'gives "u" the unknown type STRNG, did you mean "string"? (known: string, '),
    ("input.schema='u'", '"u" is not a column with its type'),
    ("input.schema='u STRING, U INT'", 'names the column "u" twice'),
    ("input.schema='u STRING, i STRING, s DOUBLE'", 'input.schema lacks the label column "y" (u, i, s)'),
    (
        "input.format=parquet",
        "has a schema, but reads format parquet: csv and json need one, because they have no types",
    ),
    ("input.options.mode=PERMISSIVE", "has options.mode, with which rows are dropped or lose values"),
    ("input.options.MODE=dropMalformed", "has options.MODE"),
    ("input.options.nanValue=x", "has options.nanValue, with which numbers are read by another rule"),
    ("input.options.inferSchema=true", "has options.inferSchema, with which types are not those of the roles"),
    ("input.options.inferSchema=false", ""),
    ("truth={table: t, options: {versionAsOf: 3}}", "truth has options, but a table is read without: versionAsOf"),
    ("input.options.header=[true]", "input.options.header: a text is needed"),
    ("slices=[y, s]", ""),
    ("truth={path: t, format: json, schema: 'u STRING, i STRING'}", ""),
    ("truth={path: t, format: json, schema: 'u STRING, j STRING'}", 'truth.schema lacks the item column "i"'),
    (
        "input.schema='u STRING, i STRING, s DOUBLE, y ARRAY<INT>'",
        'input.schema gives the label column "y" the type array<INT>, but CSV has no arrays: json or parquet is needed',
    ),
    ("input.schemata=x", 'unknown key "input.schemata", did you mean "schema"?'),
]


def test_what_is_wrong_is_told_before_anything_is_read(conf: Path) -> None:
    wrong = []
    for override, told in OVERRIDES:
        changes = [override, "input.columns.label=null"] if override.startswith("truth") else [override]
        try:
            load_spec(conf, changes)
            sentence = ""
        except SpecError as error:
            sentence = str(error)
        if told not in sentence or bool(told) != bool(sentence):
            wrong.append((override, sentence))
    assert wrong == []


@pytest.mark.parametrize("losing", LOSING, ids=lambda losing: losing.name)
def test_no_option_loses_anything_uncounted(losing: LosingOption) -> None:
    """On either side, in any spelling, and under the name of a reader's class."""
    for kind in losing.formats or ("parquet", "orc", "csv", "delta", "jdbc"):
        for name in (losing.name, losing.name.upper()):
            source = {"path": "x", "format": f"com.databricks.spark.{kind}" if name.isupper() else kind}
            for side, columns in ((Input, {"group": "u"}), (Truth, {})):
                with pytest.raises(ValueError, match=f"options.{name}, with which {losing.loss[:9]}"):
                    side(**source, columns=columns, options={name: "another"})
                if losing.strict:
                    side(**source, columns=columns, options={name: losing.strict.upper()})
        assert strict_options(kind).get(losing.name) == (losing.strict if losing.is_sent else None)


def test_a_column_that_is_a_name_and_a_number_needs_a_schema(conf: Path) -> None:
    with pytest.raises(SpecError, match=r'the label column "y" is also a key, item or name, which are texts: give its'):
        load_spec(conf, ["input.schema=null", "slices=[y]"])


def test_a_path_of_text_says_what_to_do() -> None:
    rows = pa.table({"u": ["a"], "i": ["x"], "s": [1.0]})
    names = {"x.csv": "csv", "x.TSV": "csv", "x.json.gz": "json", "dt=1/x.jsonl": "json", "x.csv/": "csv"}
    for name, kind in names.items():
        told = f"'{name}', but a path is read as Parquet: .* or by the job \\(format: {kind}\\)"
        for side, (lists, truth) in {"impressions": (name, rows), "truth": (rows, name)}.items():
            with pytest.raises(SpecError, match=f"the {side} (is|are) {told}"):
                sr.evaluate(lists, ["rr"], group="u", item="i", score="s", truth=truth)
