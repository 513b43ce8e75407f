"""The document of a job: its defaults, what is refused and in which words, and what is shown of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from sparkrank.base.errors import SpecError
from sparkrank.config import Spec, load_spec
from sparkrank.config.places import among
from sparkrank.config.sections import Columns
from sparkrank.run.provenance import is_same_question
from sparkrank.tables.rows.outputs import table_names
from tests.support.commands import PROJECT, exit_code


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    """A least spec."""
    path = tmp_path / "spec.yaml"
    path.write_text(WHOLE, encoding="utf-8")
    return path


@pytest.mark.parametrize("conf", sorted((PROJECT / "conf").glob("*.yaml")), ids=lambda path: path.name)
def test_validate_writes_out_every_default_of_a_shipped_spec(conf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("validate", "--conf", str(conf), "--set", "definitions.undefined=zero") == 0
    resolved = yaml.safe_load(capsys.readouterr().out)
    written = {
        "preset": None, "ties": None, "undefined": "zero", "unretrieved": "zero", "unjudged": "nonrelevant",
        "duplicates": "keep", "population": "all", "positions": "dense",
    }  # fmt: skip
    if conf.name == "recommendations.yaml":  # what its preset sets is written out, too
        written |= {"preset": "replay", "duplicates": "once", "population": "truth"}
    assert resolved["definitions"] == written
    assert resolved["quality"]["max_bad_fraction"] in (0.0, 0.0001)
    assert resolved["input"]["columns"]["group"] == ["user_id"]


def test_a_preset_in_a_spec_is_in_the_names_of_the_metrics_and_in_no_hash(tmp_path: Path) -> None:
    """The same numbers said in two ways are the same question."""
    conf = PROJECT / "conf" / "recommendations.yaml"
    by_preset = load_spec(conf)
    texts = [str(metric) for metric in by_preset.plan().metrics]
    assert texts[:2] == ["ndcg(gain=binary)@10", "ap(over=min_k_relevant)@10"]
    written_out = [
        "definitions={undefined: skip, population: truth, duplicates: once}",
        "metrics=['ndcg(gain=binary)@10', 'ap(over=min_k_relevant)@10', r@10, hit@10, rr]",
    ]
    assert load_spec(conf, written_out).hash() == by_preset.hash()
    assert load_spec(conf, ["definitions.preset=ranx"]).hash() != by_preset.hash()
    several, apart = (load_spec(conf, [f"metrics={texts}"]) for texts in ("['p@{1,5}', rr]", "[p@1, p@5, rr]"))
    assert several.plan().metrics == apart.plan().metrics
    assert several.hash() == apart.hash()
    with pytest.raises(SpecError, match=r'recommendations.yaml: preset is "relay", did you mean "replay"'):
        load_spec(conf, ["definitions.preset=relay"])


NO_SPECS: list[tuple[str | None, list[str], str]] = [
    (None, [], "cannot read the spec"),
    ("a: [", [], "is not YAML"),
    ("input: {path: /log/dt={date}}", [], "(line 1, column 23); within { } a path with a mark needs quotes, as in {pa"),
    ("day: 2026-02-30", [], "is not YAML: day is out of range for month"),
    ("- a", [], "is not a document with keys"),
    ("input: {}", ["--set", "day=2026-13-01"], "the value is not YAML: month must be in 1..12"),
    ("day: 20260101", [], "day is 20260101: a day of the form YYYY-MM-DD is needed"),
    ("metrics: p@1", [], "metrics is 'p@1': a list is needed"),
    ("engine: local", [], "engine is 'local': keys are needed"),
    ("engine: {buckets: x}", [], "engine.buckets is 'x': a whole number is needed"),
    ("quality: {max_bad_fraction: yes}", [], "quality.max_bad_fraction is True: a number is needed"),
    ("output: {path: x, groups: 7}", [], "output.groups is 7: true or false is needed"),
    ("output: {path: ~/x}", [], "output.path is '~/x': only a shell replaces ~: write the full path of the folder"),
    ("output: {path: 'x/{day}'}", [], "output.path is 'x/{day}': {day} is not a mark"),
    ("? [a]\n: b", [], "is not YAML: found unhashable key (line 1, column 3)"),
    ("metrics: [rr]\nmetrics: [ap]", [], 'is not YAML: the key "metrics" occurs twice (line 2, column 1)'),
    ("input: {}", ["--set", "metrics"], "--set metrics is not of the form key.key=value"),
    ("input: 3", ["--set", "input.path=x"], "--set input.path=x: input is a value, not a part with keys"),
    ("metrics: [p@1]", [], "input is missing"),
    ("metrics: [p@1]", ["--set", "output={path: x, path: y}"], "--set output={path: x, path: y}: the value is not"),
]


def test_a_spec_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf, failed = tmp_path / "spec.yaml", []
    for document, arguments, sentence in NO_SPECS:
        if document is not None:
            conf.write_text(document, encoding="utf-8")
        code, error = exit_code("validate", "--conf", str(conf), *arguments), capsys.readouterr().err
        if code != 2 or not error.startswith("sparkrank: ") or error.count("\n") != 1 or sentence not in error:
            failed.append((document, arguments, code, error))
    assert failed == []


def test_a_key_with_comments_alone_below_it_has_its_defaults(tmp_path: Path) -> None:
    conf = tmp_path / "spec.yaml"
    least = "input: {path: x, columns: {group: u, score: s, label: y}}\nmetrics: [p@1]\noutput: {path: z}\n"
    conf.write_text(least)
    expected = load_spec(conf)
    conf.write_text(f"{least}engine:\n  # lane: local\nquality:\ndefinitions:\n  # ties: item\n")
    assert load_spec(conf) == expected
    assert load_spec(conf, ["engine.lane=local", "definitions.undefined=zero"]) == load_spec(
        conf, ["engine={lane: local}", "definitions={undefined: zero}"]
    )


def test_keys_are_texts_that_yaml_takes_for_true_or_false(tmp_path: Path) -> None:
    """Written by hand: programs that write YAML put them in quotes."""
    conf = tmp_path / "conf.yaml"
    rest = (
        "input: {path: in, columns: {group: u, label: y, score: {no: a, Yes: b}}}\nmetrics: [rr]\noutput: {path: out}"
    )
    for uncertainty in ("{off: true}", "\n  off: on\n", "{'off': yes}"):
        conf.write_text(f"{rest}\nuncertainty: {uncertainty}\n")
        spec = load_spec(conf)
        assert spec.uncertainty.off
        assert spec.input.columns.score == {"no": "a", "Yes": "b"}


def test_what_looks_like_a_password_is_shown_to_nobody(conf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``runs`` holds the spec as text, and whoever may read it need not know the database's password."""
    urls = "url: 'jdbc:x://db:5432/y?user=a&Password=tiger&ssl=1', host: 'a://b:tiger@c/d'"
    options = f"{{user: reader, password: tiger, {urls}, other: 'jdbc:x://db:5432/y@z'}}"

    def loaded(changed: str) -> Spec:
        return load_spec(conf, ["input.format=jdbc", f"input.options={changed}"])

    spec = loaded(options)
    assert "tiger" in spec.input.options.values()
    shown = {"user": "***", "password": "***", "url": "jdbc:x://db:5432/y?***&ssl=1", "host": "a://***@c/d"}
    shown["other"] = "***"
    assert json.loads(spec.as_text())["input"]["options"] == shown
    assert exit_code("validate", "--conf", str(conf), "--set", f"input.options={options}") == 0
    assert yaml.safe_load(capsys.readouterr().out)["input"]["options"] == shown
    assert loaded(options.replace("tiger", "lion")).hash() == spec.hash()  # it changes no number
    assert loaded(options.replace("//db:", "//db2:")).hash() != spec.hash()


WHOLE = "input: {path: log, columns: {group: user, score: s, label: l}}\nmetrics: [rr]\noutput: {path: tables}"
SIZE = "a size is needed, such as 2.5GB, 500MiB or a whole number of bytes"
PARTS = "input, metrics, output, slices, disparities, truth, catalog, interactions, exclude, day, name, owner, "
PARTS += "definitions, quality, engine, "
PARTS += "uncertainty, compare, plugins, gates, report, undecided, history, least_groups, track, notify"
TEXT, BY_MODEL = "a text is needed", "a column, or models with a column each, are needed"
POINTS = "a whole number from 10, or false, is needed"
NO_MARK = (
    "is not a mark (allowed: {date}, {date_nodash}, {date-1}, {date+7}, {date:%Y%m%d}, and in paths {date}..{date+7})"
)
FORMATS = "(allowed: parquet, csv, json, delta, iceberg, orc, text, avro, hudi, paimon, deltasharing, xml, binaryfile, "
FORMATS += "tfrecord, jdbc, bigquery, snowflake, redshift, clickhouse, mongodb, kudu, es, or the class of a source)"
AT_LEAST, AT_MOST = "a number of at least", "a number of at most"
NO_HOST = "a file has no host, and its path begins with a slash: file:///folder"
BESIDE = "under output.path tables: rows and tables would be in one folder"
SCORE = "a column, or a mapping with its column and label, is needed"
AS_ROWS = "tables would be read as rows"
A_DAY = "a day of the form YYYY-MM-DD is needed"
SHOWN = "a path with a password, which the table runs would show: put it into the environment"


REFUSED: list[tuple[str, str]] = [
    ("metrcs=[rr]", f'unknown key "metrcs", did you mean "metrics"? (known here: {PARTS})'),
    (
        "truth.columns.lable=x",
        (
            'unknown key "truth.columns.lable", did you mean "label"? '
            "(known here: group, item, propensity, cluster, title, time, label)"
        ),
    ),
    ("name=42", f"name is 42: {TEXT}"),
    (f"owner={'x' * 81}", f"owner is '{'x' * 81}': a text of 1 to 80 characters is needed"),
    (
        "input.columns.score={cvr: {column: b, labl: pay}}",
        'unknown key "input.columns.score.cvr.labl", did you mean "label"? (known here: column, label, among)',
    ),
    ("quality.xyz=1", 'unknown key "quality.xyz" (known here: max_bad_fraction, limits)'),
    ("output={}", "output.path is missing"),
    ("metrics=[]", "metrics is empty: name at least one, for example ndcg@10"),
    ("input.columns.label=user", 'column "user" is both group and label: in a group all rows have the same'),
    ("truth={}", "truth names neither a path nor a table: give one of the two"),
    ("input.table=t", "input names a path and a table: give one of the two"),
    ("input.path=log/dt={day}", f"input.path is 'log/dt={{day}}': {{day}} {NO_MARK}"),
    ("input.path=s3://key:secret@logs/day", f"input has {SHOWN}"),
    ("output.path=s3://key:secret@tables", f"output has {SHOWN}"),
    ("metrics=[rr, 3]", f"metrics.1 is 3: {TEXT}"),
    ("slices={a: b}", "slices: a list is needed"),
    (
        "truth.path=<folder>/x",
        "truth.path is '<folder>/x': <folder> is a placeholder: write the name of the folder",
    ),
    ("input.format=parqet", f"input.format is 'parqet': no such format is known, did you mean \"parquet\"? {FORMATS}"),
    ("truth={path: x, format: foo}", f"truth.format is 'foo': no such format is known {FORMATS}"),
    ("input.where=a = 1 and", "input.where is 'a = 1 and': it is not an SQL condition: a value is missing at the end"),
    ("input.path=file://logs/day", f"input.path is 'file://logs/day': {NO_HOST}"),
    ("output.path=file://tables", f"output.path is 'file://tables': {NO_HOST}"),
    ("output.path=log/tables", f"the document has output.path log/tables within input.path log: {AS_ROWS}"),
    ("truth.path=tables", f"the document has output.path tables within truth.path tables: {AS_ROWS}"),
    *(
        (
            f"input.path=tables/{own}",
            f"the document has input.path tables/{own} inside {own.partition('/')[0]}, a folder of sparkrank {BESIDE}",
        )
        for own in ("_runs", "_days/x", *(f"{table}/other" for table in table_names()))
    ),
    ("engine.buckets=0", f"engine.buckets is 0: {AT_LEAST} 1 is needed"),
    ("engine.row_memory=2GB", "engine has row_memory, but lane auto: only the lane local holds rows"),
    ("engine={lane: local, row_memory: 2 XB}", f"engine.row_memory is '2 XB': {SIZE}"),
    ("engine={lane: local, row_memory: true}", f"engine.row_memory is True: {SIZE}"),
    # read to the end, or not at all
    ("engine={lane: local, row_memory: 2GB or so}", f"engine.row_memory is '2GB or so': {SIZE}"),
    ("engine={lane: local, row_memory: '2.5'}", f"engine.row_memory is '2.5': {SIZE}"),
    ("engine.buckets=1:30", "engine.buckets is '1:30': a whole number is needed"),
    ("day=2026-W01-1", f"day is '2026-W01-1': {A_DAY}"),
    ("engine.buckets=1000000", f"engine.buckets is 1000000: {AT_MOST} 65536 is needed"),
    ("quality.max_bad_fraction=1.5", f"quality.max_bad_fraction is 1.5: {AT_MOST} 1 is needed"),
    ("engine.lane=lokal", "engine.lane is 'lokal', did you mean \"local\"? (allowed: auto, scan, local, frame)"),
    (
        "compare={baseline: int, correction: holms}",
        "compare.correction is 'holms', did you mean \"holm\"? (allowed: holm, benjamini-hochberg, none)",
    ),
    ("output.path=' '", "output.path is ' ': a text that is not empty is needed"),
    ("day=2026-11-30 12:00:00", f"day is 2026-11-30 12:00:00: {A_DAY}"),
    ("input.columns.score={'': s}", "score names a model '': a text that is not empty is needed"),
    # a value may be of two kinds
    ("input.columns.score=3", f"input.columns.score is 3: {BY_MODEL}"),
    ("input.columns.score={int: 3}", f"input.columns.score.int is 3: {SCORE}"),
    ("input.columns.group=3", "input.columns.group is 3: a text or a list of texts is needed"),
    ("output.curves=5", f"output.curves is 5: {AT_LEAST} 10 is needed"),
    ("output.positions=0", f"output.positions is 0: {AT_LEAST} 1 is needed"),
    ("output.positions=many", "output.positions is 'many': a whole number from 1 to 1000, true or false is needed"),
    ("output.gains=5", "output.gains is 5: true or false is needed"),
    ("output.curves=yes", f"output.curves is True: {POINTS}"),
    ("output.curves=many", f"output.curves is 'many': {POINTS}"),
]


def test_what_is_wrong_in_a_spec_is_told_by_its_path(conf: Path) -> None:
    load_spec(conf)
    failed = []
    for override, sentence in REFUSED:
        try:
            load_spec(conf, [override])
            failed.append((override, "taken"))
        except SpecError as error:
            if str(error) != f"{conf}: {sentence}":
                failed.append((override, str(error)))
    assert failed == []


AMONG = [
    ("/log/dt={date}", "file:///log/dt={date}/x", True), ("file:/log/dt={date}", "/log/dt=2026-11-13", True),
    ("/log/dt={date}", "/log/dt=x", False), ("/log/{date}", "/log/tables", False), ("/log/*", "/log/tables", True),
    ("/log/*/*", "/log/tables", True), ("/log/*/*.parquet", "/log/tables", False), ("/log/*", "/log/_tables", False),
    ("/_log", "/_log/tables", True), ("s3a://lake/log/", "s3://lake/log/tables", True),
    ("s3://lake/log", "s3://lake/logs", False), ("s3://lake/log", "/lake/log", False),
]  # fmt: skip


def test_tables_among_the_rows_are_found_however_the_paths_are_written(tmp_path: Path) -> None:
    assert [case for case in AMONG if among(case[1], case[0]) != case[2]] == []
    (tmp_path / "log").mkdir()
    (tmp_path / "link").symlink_to("log")
    assert among(f"{tmp_path}/link/tables", f"{tmp_path}/log")


SIZES = [
    ("0", 0), ("17", 17), ("17B", 17), ("17 kB", 17_000), ("2.5GB", 2_500_000_000), ("2g", 2_000_000_000),
    ("500MiB", 500 * 1024 * 1024), ("1TiB", 1024**4), ("'0100'", 100), ("0100", 100),
]  # fmt: skip


def test_sizes_with_units_and_paths_with_users_are_taken(conf: Path) -> None:
    for size, number in SIZES:
        spec = load_spec(conf, [f"engine={{lane: local, row_memory: {size}}}"])
        assert spec.engine.row_memory == number, size
    for path in ("hdfs://me@host:8020/log", "s3://logs/a:b@c", "file:///log"):  # a user and a port are no password
        assert load_spec(conf, [f"input.path={path}"]).input.path == path


def test_a_key_is_a_column_or_several() -> None:
    """A program may write a tuple, as YAML cannot."""
    keys = [Columns(group=group, score="s", label="l").group for group in ("u", ["u"], ["u", "q"], ("u", "q"))]
    assert keys == [["u"], ["u"], ["u", "q"], ["u", "q"]]


def test_a_spec_in_another_encoding_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf = tmp_path / "spec.yaml"
    conf.write_text("metrics: [p@1]  # café", encoding="latin-1")  # 14 bytes of the list, 7 of the comment
    assert exit_code("validate", "--conf", str(conf)) == 2
    assert capsys.readouterr().err == f"sparkrank: {conf} is not UTF-8 text: byte 21 is invalid\n"


def test_names_an_owner_and_titles_are_shown_and_change_no_number() -> None:
    conf = str(PROJECT / "conf/demo.yaml")
    spec = load_spec(conf)
    other = spec.model_copy(update={"name": "another", "owner": "me@example.org"})
    assert (other.hash(), other.resolved()["owner"]) == (spec.hash(), "me@example.org")
    assert load_spec(conf, ["input.columns.title=name"]).hash() == spec.hash()  # only explanations read it
    assert is_same_question(other, spec.as_text())  # a backfill does not evaluate its days again


def test_a_copy_with_other_metrics_asks_for_these() -> None:
    spec = load_spec(PROJECT / "conf" / "demo.yaml")
    before = spec.plan().metrics
    copied = spec.model_copy(update={"metrics": ["new@3"]})
    assert list(map(str, copied.plan().metrics)) == ["new@3"]
    assert spec.plan().metrics == before
    assert spec.plan() is spec.plan()


@pytest.mark.parametrize(
    "override",
    [
        "gates=[{metric: rr, not_worse_than: history, by: 1e-3}]", "output.keep_runs=1e1", "output.curves=1e3",
        "engine={bucket_rows: 1e6, buckets: 1e2}", "engine={lane: local, row_memory: 1e9}",
        "least_groups={gates: 3e1}", "quality.max_bad_fraction=1e-4",
    ],
)  # fmt: skip
def test_numbers_that_yaml_reads_as_texts_are_numbers(conf: Path, override: str) -> None:
    """YAML 1.1 wants a point before the exponent."""
    plain = re.sub(r"\b\d+e-?\d+", lambda number: f"{float(number[0]):.12g}", override)
    assert load_spec(conf, [override]) == load_spec(conf, [plain])
    for wrong in (re.sub(r"\b\d+e-?\d+", word, override) for word in ("1e", "true")):
        with pytest.raises(SpecError, match="needed"):
            load_spec(conf, [wrong])
