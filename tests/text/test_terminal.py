"""What a terminal shows, drawn by hand; names and texts of strangers reach it without anything that it obeys."""

from __future__ import annotations

import json
import math
from pathlib import Path
from textwrap import dedent
from typing import Any
from unicodedata import category

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from docs.printers.markdown import declarations_markdown
from sparkrank.metrics.metric import Declaration, NeedsOrder
from sparkrank.metrics.parameters import Choice, Flag, Number
from sparkrank.metrics.presets import Default, Preset
from sparkrank.text.terminal import as_json_text, in_lines
from sparkrank.text.text import declaration_text, metrics_text, preset_text, quality_text
from tests.support.commands import exit_code, write_spec

# The title of the window, colours, C1, marks of direction, ends of lines, and a line that looks like a verdict.
FORGED = "  pass: forged"
CONTROLS = f"\x1b]0;pwned\x07\x1b[31m\x9b2J\x85\x7f\x08\u202e\u2066\u200f\u2028\u2029\ufeff\r\n{FORGED}\n"
DAYS = ["2026-01-30", "2026-01-31"]


def named(word: str) -> str:
    return f"{word}{CONTROLS}{word}"


def folder_named(word: str) -> str:
    """A name that is no pattern of paths."""
    return named(word).replace("[", "(").replace("]", ")")


def obeyed(text: str) -> set[str]:
    spaces = {letter for letter in text if category(letter) == "Zs"}
    return {letter for letter in text if not letter.isprintable()} - spaces - {"\n"}


def rows(day: int) -> pa.Table:
    places = [(group, place) for group in range(24) for place in range(3)]
    columns = {
        "user": [named(f"u{group}") for group, _ in places],
        "item": [named(f"i{(group + place) % 7}") for group, place in places],
        "s": [float((group * 7 + place * 5 + day) % 11) for group, place in places],
        "t": [float((group * 5 + place * 3 + day) % 13) for group, place in places],
        "y": [int((group + place) % 3 == 0) for group, place in places],
        "country": [named("de" if group % 2 else "fr") for group, _ in places],
    }
    return pa.table({named(name): values for name, values in columns.items()})


@pytest.fixture(scope="module")
def conf(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A spec with two days of names that no terminal should get as they are."""
    folder = tmp_path_factory.mktemp("terminal")
    for place, day in enumerate(DAYS):
        log = folder / folder_named("log") / f"dt={day}"
        log.mkdir(parents=True)
        pq.write_table(rows(place), log / "0.parquet")
    columns = {role: named(name) for role, name in {"group": "user", "item": "item", "label": "y"}.items()}
    scores = {named("a"): named("s"), named("b"): named("t")}
    gate = {"metric": "rr", "min": 5}
    path = write_spec(
        folder,
        {
            "input": {
                "path": f"{folder}/{folder_named('log')}/dt={{date}}",
                "columns": {**columns, "score": scores},
            },
            "metrics": ["rr", "ndcg@2", "auc", "coverage"],
            "slices": [[named("country")]],
            "compare": {"baseline": named("a")},
            "gates": [{**gate, "name": named("gate"), "model": named("b")}, gate],
            "output": {"path": f"{folder}/{folder_named('out')}"},
            "engine": {"lane": "local"},
        },
    )
    for day in DAYS:
        assert exit_code("evaluate", "--conf", path, "--date", day) == 3
    return path


TWO_DAYS = ["--left-date", DAYS[0], "--right-date", DAYS[1]]
MOVERS = ["movers", "--date", DAYS[1], "--metric", "rr"]
COMMANDS: list[tuple[list[str], int]] = [
    (["evaluate", "--date", DAYS[1]], 3),
    (["evaluate", "--from", DAYS[0], "--to", DAYS[1], "--again"], 3),
    (["merge", "--from", DAYS[0], "--to", DAYS[1]], 3),
    (["gate", "--date", DAYS[1]], 3),
    (["gate", "--date", DAYS[1], "--replay", "2d"], 0),
    (["accept", "--date", DAYS[0], "--reason", named("seen")], 0),
    (["compare", "--date", DAYS[1]], 0),
    (["compare", "--date", DAYS[1], "--json"], 0),
    (["compare", "--date", DAYS[1], "--metric", "rr"], 0),
    (["compare", *TWO_DAYS, "--decompose", named("country"), "--model", named("a")], 0),
    (MOVERS, 0),
    ([*MOVERS, "--json"], 0),
    (["validate", "--date", DAYS[1]], 0),
    ([*MOVERS, "--model", named("c")], 2),
    (["evaluate", "--date", named("2026")], 2),
    (["movers", "--date", DAYS[1], "--metric", named("rr")], 2),
    (["validate", "--set", f"{named('x')}.y={named('z')}"], 2),
    (["evaluate", "--date", "2026-02-01", "--debug"], 4),
    (["validate", named("--what")], 2),
    (["tables", named("metrics")], 2),
    (["metrics", named("rr")], 2),
    (["metrics", "--preset", named("ranx")], 2),
    (["metrics", "--plugin", named("plugin")], 2),
]


def assert_clean(printed: Any, words: list[str]) -> None:
    assert printed.out or printed.err, words
    for text in printed:
        assert obeyed(text) == set(), words
        assert FORGED not in text.split("\n"), words


def test_no_command_prints_what_a_terminal_obeys(conf: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words, code in COMMANDS:
        more = [] if words[0] in ("tables", "metrics") else ["--conf", conf]
        assert exit_code(words[0], *more, *words[1:]) == code, words
        printed = capsys.readouterr()
        assert_clean(printed, words)
        if "--json" in words:
            assert "\\u001b" in printed.out
            assert json.loads(printed.out)
        if words[0] == "validate" and code == 0:
            assert yaml.safe_load(printed.out)["input"]["columns"]["group"] == [named("user")]


def test_a_damaged_file_of_such_a_name_is_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / f"{CONTROLS}.parquet").write_bytes(b"PAR1 no parquet PAR1")
    columns = {"group": "u", "score": "s", "label": "y"}
    document = {"input": {"path": str(folder), "columns": columns}, "metrics": ["rr"], "engine": {"lane": "local"}}
    path = write_spec(tmp_path, {**document, "output": {"path": str(tmp_path / "out")}})
    sides = ["--left", str(folder), "--right", str(folder), "--metric", "rr"]
    evaluate = ["evaluate", "--conf", path, "--date", DAYS[0]]
    for words in (evaluate, ["compare", *sides], ["movers", *sides]):
        for more in ([], ["--debug"]):
            assert exit_code(*words, *more) == 4
            assert_clean(capsys.readouterr(), words)


def test_every_letter_that_is_none_is_escaped() -> None:
    letters = "".join(map(chr, (*range(0x20), *range(0x7F, 0xA0), *range(0x2000, 0x2070), 0xFEFF, 0xE0001, 0xD800)))
    assert obeyed(in_lines(letters)) == set()
    told = as_json_text({letters: [letters, {"x": letters}]})
    assert obeyed(told) == set()
    assert json.loads(told) == {letters: [letters, {"x": letters}]}
    assert in_lines("a\nb") == "a\nb"


COLUMNS = ("model", "slice", "slice_value", "metric", "value", "ci_high", "n_groups", "n_undefined", "error_bound")


def _metrics(*rows: tuple) -> pa.Table:
    """Some columns of the table ``metrics``."""
    table = pa.Table.from_pylist([dict(zip(COLUMNS, row, strict=True)) for row in rows])
    ends = zip(*(table[name].to_pylist() for name in ("value", "ci_high")), strict=True)
    low = pa.array([None if end is None else 2 * value - end for value, end in ends], pa.float64())
    intervals = pa.array([None if end is None else "t" for end in table["ci_high"].to_pylist()], pa.string())
    return table.append_column("ci_low", low).append_column("interval", intervals)


def test_metrics_stand_in_a_line_each_with_their_models_beside_each_other() -> None:
    """Numbers to the right, the half-width of an interval (0.5625 - 0.5) or the bound of blocks, and no slice."""
    of_day = ("all", "all")
    found = _metrics(
        ("production", "kind", "film", "ndcg@10", 0.875, 0.9, 12, 0, None),
        ("candidate", *of_day, "ndcg@10", 0.5, 0.5625, 1_234_567, 2_000, None),
        ("production", *of_day, "ndcg@10", math.nan, None, 1_234_567, 2_000, None),
        ("candidate", *of_day, "auc", 0.75, None, None, 1, 0.0001),
        ("production", *of_day, "auc", None, None, None, 1, None),
        ("candidate", *of_day, "auc(exact)", 0.25, None, None, 0, 0.0),
        ("production", "country", "de", "ndcg@10", 0.875, 0.9, 7, 0, None),
        ("candidate", "country", "de", "ndcg@10", 0.875, 0.9, 7, 0, None),
        ("candidate", "country", "fr", "ndcg@10", 0.875, 0.9, 5, 0, None),
    )
    drawn = """
        metric                   candidate  production     groups  undefined
        ----------  ----------------------  ----------  ---------  ---------
        ndcg@10            0.5000 ± 0.0625   undefined  1,234,567      2,000
        auc         0.7500 ± 0.0001 (bins)   undefined                     1
        auc(exact)                  0.2500                                 0

        Also by country (values: 2), kind (values: 1): see the table metrics
    """
    assert metrics_text(found) == dedent(drawn).strip()


def test_without_slices_and_without_rows_there_is_a_head() -> None:
    found = _metrics(("m", "all", "all", "ap", 0.5, 0.625, 9, 0, None))
    drawn = """
        metric                m  groups  undefined
        ------  ---------------  ------  ---------
        ap      0.5000 ± 0.1250       9          0
    """
    assert metrics_text(found) == dedent(drawn).strip()
    assert metrics_text(found[:0]) == "metric  groups  undefined\n------  ------  ---------"


def test_checks_beyond_their_limit_are_told() -> None:
    """A share of what, or a number that has a limit itself; what is within its limit, or has none, is not told."""
    names = ("check", "model", "count", "of", "fraction", "limit", "ok")
    rows = [
        ("rows read", None, 4_000.0, None, None, None, None),
        ("rows rejected", None, 0.0, "rows read", 0.0, 0.0, True),
        ("rows per block", "candidate", 6.25, None, None, 20.0, False),
        ("without probability", "production", 1_234_000.0, "scored rows", 0.25, 0.0, False),
    ]
    told = """
        Not within its limit (table quality)
          candidate: 6.25 rows per block (limit 20)
          production: 1,234,000 without probability (25.0000% of scored rows, limit 0.0000%)
    """
    quality = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])
    assert quality_text(quality) == dedent(told).strip()
    assert quality_text(quality[:2]) == ""


def test_a_declaration_is_written_out_whole() -> None:
    declaration = Declaration(
        name="gain",
        title="the gain",
        formula="g / k",
        undefined="k = 0",
        reference="Nobody 2001",
        parameters=(
            Choice("over", "hits", "what is divided by", choices=("hits", "rows")),
            Number("rel", None, "least relevant label", above=0),
            Flag("exact", False, "one block for each score"),
        ),
        aliases=("cg@", "cumulated"),
    )
    written = """
        gain[@k]  the gain
          = g / k
          over=hits|rows (default hits): what is divided by
          rel=a number above 0 (default none): least relevant label
          exact: one block for each score
          label=<label> (default none): the label that is read, of several; without it, the first
          among=<label> (default none): a label: rows for which it is not above 0 are left out before all else
          undefined: k = 0
          range: 0 to 1
          better: higher
          also: cg@k, cumulated
          reference: Nobody 2001
    """
    assert declaration_text(declaration) == dedent(written).strip()
    short = Declaration(
        "day_gain", "the gain of a day", "G", "never", "N", cutoff="none", needs_order=NeedsOrder("of it", "@k")
    )
    written = """
        day_gain  the gain of a day
          = G
          label=<label> (default none): the label that is read, of several; without it, the first
          among=<label> (default none): a label: rows for which it is not above 0 are left out before all else
          undefined: never
          range: 0 to 1
          better: higher
          ties with @k: item, worst, best or block; default item (worst without an item column); expected is \
allowed only with a column of ranks without ties (of it)
          reference: N
    """
    assert declaration_text(short) == dedent(written).strip()
    row = "| `day_gain` | the gain of a day: G; `@k` uses `ties=item` by default | none | never | N |"
    assert declarations_markdown([short]).splitlines()[-1] == row


def test_a_preset_is_written_out_whole() -> None:
    """A default holds with a cut-off, without one, or with both; auc has none, and exact is a bare word."""
    defaults = (
        Default("ap", "over", "k", cutoff=True),
        Default("ndcg", "gain", "exp2", cutoff=False),
        Default("p", "over", "retrieved"),
        Default("auc", "exact", ""),
    )
    preset = Preset("other", "the library Other", {"ties": "item"}, defaults, ("its names",))
    written = """
        other  as the library Other
          definitions (the others keep their defaults)
            ties=item
          metrics (a parameter in the text of a metric overrides this)
            ap@k is ap(over=k)@k
            ndcg is ndcg(gain=exp2)
            p[@k] is p(over=retrieved)[@k]
            auc is auc(exact)
          not reproduced, or written in another way
            its names
    """
    assert preset_text(preset) == dedent(written).strip()
    written = """
        same  as Same
          definitions (the others keep their defaults)
          metrics (a parameter in the text of a metric overrides this)
            none: sparkrank's own defaults are the same
          not reproduced, or written in another way
    """
    assert preset_text(Preset("same", "Same")) == dedent(written).strip()
