"""Names, values and texts of strangers reach a terminal, or its log, without anything that it obeys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unicodedata import category

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from sparkrank.text.terminal import as_json_text, in_lines
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
