"""CSV and JSON in the local lane: what every lane reads, what is left to Spark, what is refused, and bounded memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import sparkrank as sr
from sparkrank import checks
from sparkrank.config import Spec, load_spec
from sparkrank.engines.arrow import text_files, text_parts
from sparkrank.errors import FrameLaneNeededError, InputError, SpecError
from sparkrank.roles import Roles
from sparkrank.run import evaluate_day
from sparkrank.run.stages import Stages
from tests.cases.text_files import CASES, HEADED, SCHEMA, UNUSABLE, ZEROS, TextCase, case

DAY = "2026-01-01"
LOCAL = [pytest.param(each, id=each.name) for each in CASES if not each.is_sparks]
SPARKS = [pytest.param(each, id=each.name) for each in CASES if each.is_sparks]


def document_of(each: TextCase, folder: Path, lane: str, **quality: Any) -> dict[str, Any]:
    """The spec of a case whose files this writes."""
    (folder / "in").mkdir(exist_ok=True)
    for name, content in each.files.items():
        (folder / "in" / name).write_bytes(content)
    columns = each.columns or {"group": "u", "item": "i", "score": "s", "label": "y"}
    rows = {"path": f"{folder}/in", "format": each.format, "options": dict(each.options), "columns": dict(columns)}
    rows |= {key: text for key, text in (("schema", each.schema), ("where", each.where)) if text is not None}
    return {
        "input": rows,
        "metrics": ["rr"],
        "output": {"path": f"{folder}/out-{lane}"},
        "quality": quality or {"max_bad_fraction": 1.0},
        "engine": {"lane": lane, "buckets": 1},
    }


def found_by(each: TextCase, folder: Path, lane: str, spark: Any = None) -> tuple[dict[Any, float], int]:
    """Each group's value, and the rows that have a text that is no number."""
    result = evaluate_day(Spec.model_validate(document_of(each, folder, lane)), DAY, spark, Stages(spark))
    assert result.lane == lane
    key = each.columns.get("group", "u")
    groups = pq.read_table(f"{folder}/out-{lane}/groups/day={DAY}").to_pylist()
    counts = dict(zip(result.quality["check"].to_pylist(), result.quality["count"].to_pylist(), strict=True))
    rejected = counts[checks.NO_NUMBER]
    read = {row[key] if not hasattr(row[key], "isoformat") else row[key].isoformat(): row["rr"] for row in groups}
    return read, int(rejected)


@pytest.mark.parametrize("each", LOCAL)
def test_what_every_lane_reads(each: TextCase, tmp_path: Path) -> None:
    assert found_by(each, tmp_path, "local") == (each.groups, each.rejected)


@pytest.mark.parametrize("each", SPARKS)
def test_what_arrow_may_read_otherwise_is_left_to_spark(each: TextCase, tmp_path: Path) -> None:
    spec = Spec.model_validate(document_of(each, tmp_path, "local"))
    with pytest.raises(SpecError, match=r"lane is local, but .*: auto or frame is allowed"):
        evaluate_day(spec, DAY, None, Stages())


@pytest.mark.parametrize(("each", "told"), [pytest.param(*pair, id=pair[0].name) for pair in UNUSABLE])
def test_what_no_lane_reads(each: TextCase, told: str, tmp_path: Path) -> None:
    spec = Spec.model_validate(document_of(each, tmp_path, "local"))
    with pytest.raises((InputError, FrameLaneNeededError, SpecError)) as failed:
        evaluate_day(spec, DAY, None, Stages())
    assert told in str(failed.value)
    assert "\n" not in str(failed.value)


@pytest.mark.parametrize("role", ["score", "rank", "label", "weight", "reference_rank"])
@pytest.mark.parametrize("side", ["input", "truth"])
def test_a_text_that_is_no_number_is_counted_in_every_role(tmp_path: Path, role: str, side: str) -> None:
    """Above max_bad_fraction nothing is written, and the sentence names the reason."""
    if side == "truth" and role != "label":
        pytest.skip("a truth has a label alone")
    names = {"score": "s", "rank": "s", "label": "y", "weight": "w", "reference_rank": "r"}
    columns = {"group": "u", "item": "i", "score": "s", "label": "y", "weight": "w", "reference_rank": "r"}
    if role == "rank":
        columns["rank"] = columns.pop("score")
    rows = [{"u": "a", "i": item, "s": place, "y": 1, "w": 1, "r": place} for item, place in (("x", 1), ("y", 2))]
    bad = {**rows[0], names[role]: "n/a"}
    document: dict[str, Any] = {
        "input": {"path": f"{tmp_path}/in", "format": "csv", "options": HEADED, "columns": columns},
        "metrics": ["rr", "kendall_tau(ref=reference_rank)", "auc"] if side == "input" else ["rr"],
        "output": {"path": f"{tmp_path}/out"},
        "engine": {"lane": "local"},
    }
    if side == "truth":
        document["truth"] = {"path": f"{tmp_path}/truth", "format": "csv", "options": HEADED, "columns": {"label": "y"}}
        document["input"]["columns"] = {"group": "u", "item": "i", "score": "s"}
        _write(tmp_path / "in", rows)
        _write(tmp_path / "truth", [*rows, bad])
    else:
        _write(tmp_path / "in", [*rows, bad])
    with pytest.raises(InputError, match=r"1 text that is no number\): max_bad_fraction allows 0"):
        evaluate_day(Spec.model_validate(document), DAY, None, Stages())
    document["quality"] = {"max_bad_fraction": 0.5}
    result = evaluate_day(Spec.model_validate(document), DAY, None, Stages())
    counts = dict(zip(result.quality["check"].to_pylist(), result.quality["count"].to_pylist(), strict=True))
    assert counts[checks.NO_NUMBER] == counts[checks.ROWS_REJECTED] == 1
    assert counts[checks.ROWS_READ] == len(rows) * (2 if side == "truth" else 1) + 1


@pytest.mark.parametrize("role", ["score", "label", "weight"])
def test_a_type_that_is_sparks_is_told_as_it_is_written(tmp_path: Path, role: str) -> None:
    column = {"score": "s", "label": "y", "weight": "w"}[role]
    schema = "u STRING, i STRING, s DOUBLE, y DOUBLE, w DOUBLE".replace(f"{column} DOUBLE", f"{column} DECIMAL(3,1)")
    each = TextCase("decimal", {"x.csv": b"u,i,s,y,w\na,x,2.0,1.0,1.0\n"}, {}, schema=schema)
    document = document_of(each, tmp_path, "local")
    document["input"]["columns"]["weight"], document["metrics"] = "w", ["rr", "auc"]
    told = rf"the {role} column {column} is of type decimal\(3,1\) in input.schema, which is left to Spark"
    with pytest.raises((FrameLaneNeededError, SpecError), match=told):
        evaluate_day(Spec.model_validate(document), DAY, None, Stages())


def test_a_number_that_is_not_of_the_type_of_the_schema_is_told(tmp_path: Path) -> None:
    each = case("INT", "a,x,2,1.7\na,y,1,1\n", {}, schema=SCHEMA)
    document = document_of(each, tmp_path, "local", max_bad_fraction=0.0)
    told = "1 text that is no number.* not of the type that the schema names, as 1.7 of INT"
    with pytest.raises(InputError, match=told):
        evaluate_day(Spec.model_validate(document), DAY, None, Stages())


def test_that_nothing_infers_the_type_of_a_name_is_told(tmp_path: Path) -> None:
    """On the terminal; where a schema says all of them, or nobody asks, there is nothing to say."""
    options = {"header": True, "InferSchema": True}
    told = (
        "input.options.inferSchema infers no type of u, i: groups, items and slices are the texts that stand there, "
        "007 as 007, unless input.schema says another type"
    )
    for schema, asked, expected in (
        (None, options, [told]),
        ("u STRING, i INT, s DOUBLE, y INT", options, []),
        (None, HEADED, []),
    ):
        each = case("ids", "007,7,3.0,0\n007,8,2.0,1\n", {}, options=asked, schema=schema)
        result = evaluate_day(Spec.model_validate(document_of(each, tmp_path, "local")), DAY, None, Stages())
        assert [each for each in result.warnings if each.code == "types_not_inferred"] == expected


def _write(folder: Path, rows: list[dict[str, Any]]) -> None:
    folder.mkdir(exist_ok=True)
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    (folder / "x.csv").write_text("\n".join(lines), encoding="utf-8")


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_files_larger_than_a_block_are_read_block_by_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Of each of 3,000 users the second of two is clicked, unless a row is lost or torn between two blocks."""
    monkeypatch.setattr(text_parts, "BLOCK", 1000)
    users = [f"{user:04}" for user in range(3000)]
    pairs = [(user, item, 2 - item, item) for user in users for item in (0, 1)]
    if kind == "csv":
        text = "u,i,s,y\n" + "".join(f'{u},"{i}",{s},{y}\n' for u, i, s, y in pairs)
    else:
        text = "".join(f'{{"u":"{u}","i":"{i}","s":{s},"y":{y}}}\n' for u, i, s, y in pairs)
    each = TextCase("large", {f"{kind}.{kind}": text.encode()}, {}, options=HEADED if kind == "csv" else {})
    groups, rejected = found_by(each, tmp_path, "local")
    assert (groups, rejected) == (dict.fromkeys(users, 1 / 2), 0)


def test_a_record_without_an_end_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_parts, "BLOCK", 1000)
    monkeypatch.setattr(text_parts, "MOST_RECORD", 5000)
    each = TextCase("endless", {"x.csv": b"u,i,s,y\n" + b"a" * 10_000}, {})
    with pytest.raises(InputError, match=r"x\.csv has a record of more than"):
        found_by(each, tmp_path, "local")


def test_folders_that_give_columns_are_left_to_spark(tmp_path: Path) -> None:
    each = case("below", ZEROS, {})
    document = document_of(each, tmp_path, "local")
    (tmp_path / "in/c=1").mkdir()
    (tmp_path / "in/x.csv").rename(tmp_path / "in/c=1/x.csv")
    with pytest.raises(SpecError, match=r"has columns in the names of folders \(c\): Spark reads these"):
        evaluate_day(Spec.model_validate(document), DAY, None, Stages())


def test_lists_of_one_format_and_truth_of_another(tmp_path: Path) -> None:
    """Of the list x, y the truth has y: 1/2; the ids keep their zeros on both sides."""
    each = case("lists", "007,01,2,\n007,02,1,\n", {})
    document = document_of(each, tmp_path, "local", max_bad_fraction=0.0)
    del document["input"]["columns"]["label"]
    (tmp_path / "truth.json").write_text('{"u":"007","i":"02"}\n{"u":"7","i":"01"}\n', encoding="utf-8")
    document["truth"] = {"path": f"{tmp_path}/truth.json", "format": "json"}
    result = evaluate_day(Spec.model_validate(document), DAY, None, Stages())
    groups = pq.read_table(f"{tmp_path}/out-local/groups/day={DAY}").to_pylist()
    assert {row["u"]: row["rr"] for row in groups} == {"007": 1 / 2, "7": 0.0}
    assert result.lane == "local"


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


def test_options_are_texts_to_spark_whatever_they_are_in_yaml(tmp_path: Path) -> None:
    conf = tmp_path / "spec.yaml"
    conf.write_text(WHOLE, encoding="utf-8")
    spec = load_spec(conf)
    assert spec.input.options == {"header": "true", "samplingRatio": "0.5", "maxColumns": "30"}
    assert load_spec(conf, ["input.options.header=false"]).input.options["header"] == "false"
    written = yaml.safe_load(spec.as_text())["input"]
    assert (written["schema"], written["format"]) == (SCHEMA, "csv")  # by its name in the document
    assert Spec.model_validate(spec.resolved()) == spec


def test_a_schema_is_part_of_the_hash_and_of_the_source(tmp_path: Path) -> None:
    conf = tmp_path / "spec.yaml"
    conf.write_text(WHOLE, encoding="utf-8")
    spec, other = load_spec(conf), load_spec(conf, ["input.schema='u INT, i STRING, s DOUBLE, y INT'"])
    assert spec.hash() != other.hash()
    assert spec.source() != other.source()
    spelled = load_spec(conf, ["input.schema='u string,i string , s: double, y integer'"])
    assert spelled.source() == spec.source()


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("input.schema='u STRNG'", 'gives "u" the unknown type STRNG, did you mean "string"? (known: string, '),
        ("input.schema='u'", '"u" is not a column with its type'),
        ("input.schema='u STRING, U INT'", 'names the column "u" twice'),
        ("input.schema='u STRING, i STRING, s DOUBLE'", 'input.schema lacks the label column "y" (u, i, s)'),
        ("input.format=parquet", "has a schema, but is of format parquet: csv and json have no types of their own"),
        ("input.options.mode=PERMISSIVE", "has another options.mode, by which rows are dropped or lose values"),
        ("input.options.MODE=dropMalformed", "has another options.mode"),
        ("input.options.nanValue=x", "has options.nanValue, but numbers are read by one rule"),
        ("input.options.header=[true]", "input.options.header: a text is needed"),
        ("slices=[y]", None),
        ("slices=[s]", None),
        ("truth={path: t, format: json, schema: 'u STRING, i STRING'}", None),
        ("truth={path: t, format: json, schema: 'u STRING, j STRING'}", 'truth.schema lacks the item column "i"'),
        ("input.schemata=x", 'unknown key "input.schemata", did you mean "schema"?'),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_read(tmp_path: Path, override: str, told: str | None) -> None:
    conf = tmp_path / "spec.yaml"
    conf.write_text(WHOLE, encoding="utf-8")
    changes = [override, "input.columns.label=null"] if override.startswith("truth") else [override]
    if told is None:
        load_spec(conf, changes)
        return
    with pytest.raises(SpecError) as refused:
        load_spec(conf, changes)
    assert told in str(refused.value)


def test_a_column_that_is_a_name_and_a_number_needs_a_schema(tmp_path: Path) -> None:
    conf = tmp_path / "spec.yaml"
    conf.write_text(WHOLE.replace(f"  schema: {SCHEMA}\n", ""), encoding="utf-8")
    with pytest.raises(SpecError, match=r'the label column "y" is also a name, as a text is: input\.schema says which'):
        load_spec(conf, ["slices=[y]"])


@pytest.mark.parametrize(
    ("name", "kind"),
    [("x.csv", "csv"), ("x.TSV", "csv"), ("x.json.gz", "json"), ("dt=1/x.jsonl", "json"), ("x.csv/", "csv")],
)
@pytest.mark.parametrize("side", ["impressions", "truth"])
def test_a_path_of_text_says_what_to_do(name: str, kind: str, side: str) -> None:
    rows = pa.table({"u": ["a"], "i": ["x"], "s": [1.0]})
    told = f"'{name}', but a path is read as Parquet: .* or by the job \\(format: {kind}\\)"
    sides = (name, rows) if side == "impressions" else (rows, name)
    with pytest.raises(SpecError, match=f"the {side} (is|are) {told}"):
        sr.evaluate(sides[0], ["rr"], group="u", item="i", score="s", truth=sides[1])


def test_of_several_bad_files_the_first_is_named(tmp_path: Path) -> None:
    """They are looked through side by side, and the second shows at once what is wrong with it."""
    good = b"u,s,y\n" + b"a,0.5,1\n" * 400_000
    (tmp_path / "1.csv").write_bytes(good + b"a,0.5\0,1\n")
    (tmp_path / "2.csv").write_bytes(b"u,s,y\n \n")
    roles = Roles.of("u", "y", "s")
    for _ in range(3):
        with pytest.raises(FrameLaneNeededError, match=r"1\.csv of the input has bytes of 0"):
            text_files.open_texts(str(tmp_path), "csv", {"header": "true"}, None, None, roles, "input")
