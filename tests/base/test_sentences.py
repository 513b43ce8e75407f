"""What is refused is told in one line that a terminal does not obey, however long the value is, with the word meant."""

from __future__ import annotations

import inspect
import os
import pickle
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.base import errors
from sparkrank.base.errors import did_you_mean
from sparkrank.config import load_spec
from sparkrank.config.loading import MOST_BYTES, MOST_DEPTH
from sparkrank.metrics import CATALOG, PRESETS, Metric
from sparkrank.metrics.definitions import ALLOWED
from sparkrank.sources.conditions import UntranslatableError, pushed_down
from tests.support.commands import exit_code, write_spec

LONG = "\x1b]0;title\x07" + "long name\n" * 1_000 + "\u202e\u2028"
ROWS = {"u": [1, 1, 2, 2], "i": [1, 2, 1, 2], "s": [2.0, 1.0, 1.0, 2.0], "y": [0, 1, 1, 0], "c": list("aabb")}
ASKED: dict[str, Any] = {"metrics": ["rr"], "group": "u", "score": "s", "label": "y", "lane": "local"}
DEEP: dict[str, Any] = {}
for _ in range(500):
    DEEP = {"a": DEEP}


def _holds(sentence: str) -> None:
    assert sentence.isprintable(), sentence
    assert len(sentence) < 1_600
    assert sentence.count("long name") <= 60, sentence  # of each value 200 letters, and no sentence has more than three


def _refused(asked: dict[str, Any], rows: object = None) -> str:
    """The sentence by which ``sr.evaluate`` refuses."""
    with pytest.raises(sr.SparkrankError) as refused:
        sr.evaluate(pa.table(ROWS) if rows is None else rows, **asked)
    return str(refused.value)


VALUES = [[LONG] * 40, {LONG: LONG}, 10**9_999, LONG.encode(), DEEP]
KEYS = [key for key in inspect.signature(sr.evaluate).parameters if key not in ("impressions", "score_sums")]


@pytest.mark.parametrize("key", KEYS)
def test_what_evaluate_refuses_is_told_in_one_line(key: str) -> None:
    more: dict[str, Any] = {"items": {"true_items": "c"}, "truth_columns": {"truth": pa.table(ROWS), "label": None}}
    for value in VALUES:
        asked = {**ASKED, key: value, **more.get(key, {})}
        if key in ("rank", "items"):
            del asked["score"]
        _holds(_refused(asked))


def test_what_is_no_input_is_told_in_one_line() -> None:
    for rows in (LONG, LONG.encode(), [LONG], "hdfs://" + LONG, 10**9_999, Path("x" * 10_000)):
        _holds(_refused(ASKED, rows))


def test_long_names_of_columns_values_and_models_are_told_in_one_line() -> None:
    for role in ("group", "score", "label", "item", "weight", "reference_rank", "slices"):
        others = 12 if role == "group" else 2  # far more than one sentence lists; each takes long to be compared
        columns = pa.table({**ROWS, LONG: [[1]] * 4, **{f"{LONG}{n}": [0] * 4 for n in range(others)}})
        for name in (LONG, LONG + "x"):  # one of a type that plays no role, and one that is not there
            _holds(_refused({**ASKED, role: [name] if role == "slices" else name}, columns))
    one_class = pa.table({**ROWS, "y": [0, 0, 0, 1], LONG: [LONG, LONG, "b", "b"]})
    asked = {**ASKED, "score": {LONG: "s"}}
    _holds(_refused({**asked, "slices": [LONG], "undefined": "error"}, one_class))
    _holds(_refused({**asked, "item": "i", "duplicates": "error"}, pa.table({**ROWS, "i": [1, 1, 1, 1]})))


def _document(tmp_path: Path) -> dict[str, Any]:
    pq.write_table(pa.table(ROWS), tmp_path / "rows.parquet")
    columns = {"group": "u", "item": "i", "score": "s", "label": "y", "weight": None, "relevance": "membership"}
    source = {"path": str(tmp_path / "rows.parquet"), "format": "parquet", "where": "u = 1", "columns": columns}
    return {
        "input": {**source, "options": {}, "table": None},
        "truth": {**source, "columns": {"group": "u", "item": "i", "label": "y"}},
        "metrics": ["rr"],
        "slices": [],
        "day": "2026-01-01",
        "quality": {"max_bad_fraction": 0},
        "definitions": dict.fromkeys(("preset", *inspect.signature(sr.Definitions).parameters)),
        "output": {"path": str(tmp_path / "out"), "groups": True, "blocks": True, "curves": 10},
        "engine": {"lane": "local", "bucket_rows": 1, "buckets": 1, "row_memory": "1GB"},
    }


def _paths(part: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in part.items() if isinstance(part, dict) else ():
        yield (*above, key)
        yield from _paths(value, (*above, key))


def test_every_key_of_the_spec_is_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = _document(tmp_path)
    for path in _paths(whole):
        for value in ({LONG: [LONG]}, ["\x1b" * 250] * 20):
            document = _document(tmp_path)
            place = document
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = value
            ended = exit_code("evaluate", "--conf", write_spec(tmp_path, document), "--date", "2026-01-01")
            told = capsys.readouterr().err
            assert ended in (1, 2, 4), (path, told)
            assert "--debug" not in told, (path, told)
            _holds(told.removesuffix("\n"))


UNKNOWN = [[LONG], ["evaluate", LONG], ["evaluate", f"--{LONG}"]]  # click tells of these, after a line of usage
WRONG_WORDS = [
    *UNKNOWN,
    ["evaluate", "--conf", LONG],
    ["evaluate", "--conf", "{spec}", "--date", LONG],
    *(
        ["evaluate", "--conf", "{spec}", "--set", override]
        for override in (LONG, f"{LONG}=1", f"output.path.{LONG}=1", f"metrics={'[' * 10_000}", f"{'a.' * 10_000}a=1")
    ),
    ["merge", "--conf", "{spec}", "--from", LONG, "--to", "2026-01-01"],
    ["validate", "--conf", "{spec}", "--set", f"metrics=[{LONG!r}]"],
    ["metrics", LONG],
    ["metrics", "--preset", LONG],
]


def test_every_argument_is_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = write_spec(tmp_path, _document(tmp_path))
    for words in WRONG_WORDS:
        assert exit_code(*(spec if word == "{spec}" else word for word in words)) == 2
        *usage, told = capsys.readouterr().err.removesuffix("\n").split("\n")
        assert told.startswith("sparkrank: ")
        asked = " ".join(["sparkrank", *words[:-1]])
        assert [line.partition(" [")[0] for line in usage] == [f"Usage: {asked}"] * (words in UNKNOWN)
        _holds(told)


def test_a_sentence_keeps_its_beginning_and_its_end() -> None:
    assert errors.shorten("a" * 200) == "a" * 200
    assert errors.shorten("a" * 150 + "b" * 150) == "a" * 100 + "…" + "b" * 99
    assert errors.quote("a" * 300).startswith("'aaa")
    assert errors.quote(["a\n"]) == r"['a\n']"
    assert errors.shorten("für\u3000uns \x9b\ud800") == "für\u3000uns \\x9b\\ud800"
    told = str(sr.SparkrankError("begin " + "x" * 10_000 + "\nend"))
    assert len(told) == errors.MOST_SENTENCE
    assert told.startswith("begin x")
    assert told.endswith(r"x\nend")
    assert str(sr.SparkrankError(told)) == told == str(pickle.loads(pickle.dumps(sr.SparkrankError(told))))  # noqa: S301
    assert errors.itemize("abc") == "a, b, c"
    names = [f"name{n:03}" for n in range(100)]
    assert errors.itemize(names) == f"{', '.join(names[:66])} and 34 more"


# Each would take hours where a regular expression tries every way to match it, or end the process in a recursion.
ADVERSARIAL = [
    *(mark * 100_000 for mark in " \t (),@=['\"-1.a"),
    *(f"{head}{' ' * 50_000}{tail}" for head in ("", "rr", "rr(", "rr()", "p9", "median(rr") for tail in ("", *"!@)")),
    "median(" * 100_000,
    "median(" * 100_000 + "rr" + ")" * 100_000,
    "p" + "9" * 100_000 + "(rr)",
    "p9." + "9" * 100_000 + "(rr)",
    "ndcg(" + ",[" * 50_000,
    "ndcg(" + "ideal=judged," * 10_000 + ")@10",
    "ndcg@" + "9" * 100_000,
]


@pytest.mark.parametrize(
    "text", [*ADVERSARIAL, *(text[:990] for text in ADVERSARIAL)], ids=lambda text: f"{text[:8]!r}"
)
def test_a_metric_s_text_is_read_or_refused_at_once(text: str) -> None:
    started = time.process_time()
    try:
        Metric.parse(text)
    except errors.MetricError as error:
        _holds(str(error))
    assert time.process_time() - started < 1  # it takes some milliseconds


@pytest.mark.parametrize(
    "text", [*ADVERSARIAL, "s = 1 AND " * 20_000 + "s = 1", "(" * 100_000, "s IN (" + "1," * 50_000]
)
def test_a_condition_is_read_or_refused_at_once(text: str) -> None:
    started = time.process_time()
    with pytest.raises(UntranslatableError) as refused:
        pushed_down(text, pa.schema({"s": pa.int64()}))
    assert len(str(refused.value)) < 600
    assert time.process_time() - started < 5


def test_a_hundred_comparisons_are_joined_and_long_lists_read() -> None:
    schema = pa.schema({"s": pa.int64()})
    for text in (" AND ".join(["s = 1"] * 100), f"s IN ({','.join(map(str, range(10_000)))})"):
        pushed_down(text, schema)
    with pytest.raises(UntranslatableError, match="more than 100"):
        pushed_down(" AND ".join(["s = 1"] * 101), schema)


REFERENCES = "with its references (*name) it has more than 10000 values"


def _bomb(levels: int) -> str:
    lines = ["b0: &b0 [a, a, a, a, a, a, a, a, a, a]"]
    lines += [f"b{n}: &b{n} [{', '.join([f'*b{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (_bomb(60), REFERENCES),
        ("a: &a [*a]", REFERENCES),
        ("a: &a {b: *a}", REFERENCES),
        ("a: &a {x: 1}\nb: &b {<<: [" + "*a," * 5_000 + "]}\nc: {<<: [" + "*b," * 10 + "]}", REFERENCES),
        ("[" * 100_000, f"more than {MOST_DEPTH} parts within parts"),
        ("metrics:" + "\n- rr" * 20_000, "is not YAML: it has more than 10000 values"),
        ("\n".join(f"k{n}: 1" for n in range(4_000)), 'unknown key "k0"'),
        ("{a: " * 50_000, f"more than {MOST_DEPTH} parts within parts"),
        ("#" * (MOST_BYTES + 1), "more than 256 KiB"),
        (f"? {'k' * 900}\n: 1\n? {'k' * 900}\n: 2", "occurs twice"),
        ("1: a", "the key 1 is not a text"),
        ("? {a: b}\n: c", "unhashable key"),
        ("day: " + "9" * 10_000, "is not YAML: a whole number has 10000 letters: at most 400 are allowed (line 1, "),
        ("engine: {bucket_rows: 0x" + "f" * 100_000 + "}", "is not YAML: a whole number has 100002 letters"),
        ("a: !!python/object/apply:os.system [ls]", "could not determine a constructor"),
        ("a\x00b", "special characters are not allowed"),
        ("", "is not a document with keys"),
    ],
    ids=lambda text: text[:12],
)
def test_a_document_that_is_no_spec_is_refused_at_once(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(text)
    started = time.process_time()
    with pytest.raises(sr.SpecError) as refused:
        load_spec(tmp_path / "spec.yaml")
    sentence = str(refused.value)
    assert told in sentence
    _holds(sentence)
    assert time.process_time() - started < 15  # a large one takes a second to be looked at


def test_references_of_a_spec_are_followed_where_they_are_few(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(
        "input: {path: a, columns: {group: u, score: {a: &s s, b: *s}, label: y}}\nmetrics: [rr]\noutput: {path: /o}\n"
    )
    assert load_spec(tmp_path / "spec.yaml").input.columns.score == {"a": "s", "b": "s"}


def test_a_spec_that_is_no_text_or_no_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_bytes(os.urandom(10) + b"\xff\xfe" * 100)
    for path in (tmp_path / "spec.yaml", tmp_path, tmp_path / ("n" * 5_000), "a\x00b"):
        with pytest.raises(sr.SpecError) as refused:
            load_spec(path)
        _holds(str(refused.value))


HUGE = 10**5_000  # of which Python writes no digits


def test_numbers_beyond_any_are_refused() -> None:
    for key in ("buckets", "curve_points", "position_depth", "row_memory", "max_bad_fraction", "limits"):
        for number in (HUGE, -HUGE, *([10**19] if key != "limits" else [])):  # a limit of a count may have 20 digits
            sentence = _refused({**ASKED, key: {"groups": number} if key == "limits" else number})
            assert sentence.startswith(key)


@pytest.mark.parametrize("digits", ["9" * 5_000, "0x" + "f" * 100_000, "0x" + "f" * 330, "9" * 400, "9" * 20])
def test_numbers_beyond_any_are_refused_in_a_spec(digits: str, tmp_path: Path) -> None:
    """Never more than 200 letters of them for each time that the sentence names the value."""
    conf = tmp_path / "spec.yaml"
    conf.write_text(
        "input: {path: in, columns: {group: u, score: s, label: y}}\nmetrics: [rr]\noutput: {path: /o}\n"
        "engine: {lane: local}\n"
    )
    keys = ("engine.row_memory", "engine.bucket_rows", "engine.buckets", "output.curves", "quality.max_bad_fraction")
    overrides = {f"{key}={digits}": key for key in keys} | {f"metrics=[ndcg@{digits}]": "metrics[0]"}
    overrides |= dict.fromkeys([f"engine.row_memory='{digits}'", f"engine.row_memory={digits}.5PiB"], keys[0])
    if digits != "9" * 20:  # a count
        overrides[f"quality.limits={{groups: {digits}}}"] = "quality.limits"
    for override, place in overrides.items():
        with pytest.raises(sr.SpecError) as refused:
            load_spec(conf, [override])
        sentence = str(refused.value)
        assert place in sentence
        assert sentence.count("9") + sentence.count("f") < 300
        _holds(sentence)


METRICS = list(CATALOG)
NAMES_OF_COLUMNS = ["user_id", "item_id", "score", "label", "country", "device", "ts"]
KEYS_OF_SPECS = ["input", "metrics", "output", "slices", "truth", "day", "definitions", "quality", "engine"]
TIES = ALLOWED["ties"]

# A slip, the word that was meant, and those that there are.
TYPOS = {
    "ndgc": ("ndcg", METRICS),
    "presision": ("precision", METRICS),
    "specifity": ("specificity", METRICS),
    "GAUCC": ("gauc", METRICS),
    "user-id": ("user_id", NAMES_OF_COLUMNS),
    "Label": ("label", NAMES_OF_COLUMNS),
    "metric": ("metrics", KEYS_OF_SPECS),
    "defintions": ("definitions", KEYS_OF_SPECS),
    "bets": ("best", TIES),
    "trec-eval": ("trec_eval", PRESETS),
}

OTHERS = {
    **dict.fromkeys(
        ("map_at_n", "roc", "wer", "bleu", "diversity", "usefulness", "iou", "x", "42"),
        METRICS,
    ),
    **dict.fromkeys(("price", "click", "query", "timestamp", "model", "category", "id"), NAMES_OF_COLUMNS),
    **dict.fromkeys(("models", "spark", "format", "where", "gates", "lane"), KEYS_OF_SPECS),
    **dict.fromkeys(("random", "mean", "first", "average", "last", "min"), TIES),
    **dict.fromkeys(("evidently", "lenskit", "surprise", "trec"), PRESETS),
    "": METRICS,
}


def test_a_slip_is_understood_and_another_word_is_none() -> None:
    assert {typed: did_you_mean(typed, known) for typed, (_, known) in TYPOS.items()} == {
        typed: f', did you mean "{meant}"?' for typed, (meant, _) in TYPOS.items()
    }
    assert {typed: near for typed, known in OTHERS.items() if (near := did_you_mean(typed, known))} == {}
    assert did_you_mean("ndcg", []) == ""


def letters(word: str) -> list[str]:
    """Every word that one slip makes of ``word``: a letter left out, doubled, or two that changed places."""
    left_out = [word[:place] + word[place + 1 :] for place in range(len(word))]
    doubled = [word[: place + 1] + word[place:] for place in range(len(word))]
    turned = [word[:place] + word[place : place + 2][::-1] + word[place + 2 :] for place in range(len(word) - 1)]
    return [*left_out, *doubled, *turned]


def test_each_slip_of_a_letter_suggests_a_word_as_near() -> None:
    """The word itself, or one that is as few slips away: ndg is ndcg or dcg."""
    for name in METRICS:
        for typed in set(letters(name)) - set(METRICS) if len(name) >= 4 else ():
            assert did_you_mean(typed, [name]) == f', did you mean "{name}"?'
            assert did_you_mean(typed, METRICS) != "", typed
