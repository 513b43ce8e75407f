"""The compiled loops over blocks of CSV give what Arrow's reader and the patterns give, and numbers as Python does."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sparkrank.engines.arrow import csv_files, text_parts
from sparkrank.engines.arrow.conditions import UntranslatableError, pushed_down
from sparkrank.engines.arrow.csv_records import Letters, count, line_ends
from sparkrank.engines.arrow.text_files import open_texts
from sparkrank.engines.arrow.text_schema import NO_NUMBER, fields_of
from sparkrank.errors import FrameLaneNeededError, InputError
from sparkrank.roles import Roles
from tests.extent import examples
from tests.unit.native.with_and_without import bits, both, calls
from tests.unit.strategies import PATIENT, csv_texts

COMMA = Letters(b",", b'"', False, False)
PIECES = st.lists(
    st.sampled_from([b'"', b'""', b",", b"\n", b"\r", b"\r\n", b" ", b"\t", b"a", b"b" * 20, b"\0", b"\xc3"])
)
BLOCKS = PIECES.map(b"".join).filter(len)


@pytest.mark.parametrize("doubled", [False, True])
@pytest.mark.parametrize("multi_line", [False, True])
@pytest.mark.parametrize("separator", [b",", b"\t", b" "])
@given(block=BLOCKS)
def test_quotes_that_enclose_no_field(block: bytes, separator: bytes, multi_line: bool, doubled: bool) -> None:
    letters = Letters(separator, b'"', doubled, multi_line)
    with calls() as called:
        compiled, plain = both(lambda: letters.has_loose_quote(block))
    assert called["records.loose_quote"] == (b'"' in block)
    assert compiled == plain


@pytest.mark.parametrize(
    ("block", "is_loose", "is_loose_doubled"),
    [
        (b'"a","b"\n"c"', False, False),
        (b'5" tv,a\n', True, True),
        (b'"a"b,c\n', True, True),
        (b'"a""b",c\n', True, False),
        (b'"a,b\n', True, True),
        (b'"a\nb"\n', True, True),
        (b'""', False, False),
    ],
)
def test_quotes_by_hand(block: bytes, is_loose: bool, is_loose_doubled: bool) -> None:
    assert COMMA.has_loose_quote(block) == is_loose
    assert Letters(b",", b'"', True, False).has_loose_quote(block) == is_loose_doubled


@given(block=BLOCKS)
@example(block=b"a\n \t\r\nb")
@example(block=b"a\n\x1f")
def test_ends_of_lines(block: bytes) -> None:
    """-1 where a line is of blanks alone."""
    compiled, plain = both(lambda: line_ends(block))
    assert compiled == plain


@pytest.mark.parametrize(
    ("block", "ends"),
    [(b"a\nb\r\nc\rd", 3), (b"\n\n", 2), (b"a\n  \nb\n", -1), (b" a\n", 1), (b"a\n \r\n", -1), (b"a", 0), (b"\t", -1)],
)
def test_ends_of_lines_by_hand(block: bytes, ends: int) -> None:
    assert both(lambda: line_ends(block)) == (ends, ends)


@given(block=BLOCKS, letter=st.sampled_from([b"a", b"b", b"\n", b'"', b"\xc3"]), times=st.sampled_from([1, 300]))
def test_letters_are_counted(block: bytes, letter: bytes, times: int) -> None:
    assert both(lambda: count(memoryview(block * times), letter)) == (block.count(letter) * times,) * 2


def read_as(kind: str, texts: list[str]) -> list[Any]:
    """The ``texts`` as values of a column of ``kind``, beside a column that keeps lines from being empty."""
    block = "".join(f"{text},a\n" for text in texts).encode()
    found = COMMA.read(block, {"x": kind, "y": None}, {"x"}, header=False)
    assert found is not None
    table, spoiled = found
    values: list[Any] = table["x"].to_pylist()
    for text, value, bad in zip(texts, values, [False] * len(texts) if spoiled is None else spoiled, strict=True):
        assert bad == (value is None and text != "")
    return values


DECIMALS = st.from_regex(r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][+-]?[0-9]{1,2})?", fullmatch=True)


@given(text=st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False).map(repr) | DECIMALS)
@example(text="9007199254740993")  # between two doubles: to the even one
@example(text="9007199254740993e-22")
@example(text="1e23")
@example(text="0.1")
@example(text="-0.0")
@example(text="123456789012345678901234567890")
@example(text="0.00000000000000000000012345678901234567890")
@settings(max_examples=examples(500))
def test_decimals_are_rounded_as_python_rounds_them(text: str) -> None:
    for kind in ("double", "label"):
        (found,) = read_as(kind, [text])
        assert found.hex() == float(text).hex()


@pytest.mark.parametrize("kind", ["double", "label"])
def test_words_and_blanks_of_numbers(kind: str) -> None:
    texts = ["inf", "-Infinity", "+INF", " 1\t", "\t.5", "1.", "+1e+2", "1E-1", ""]
    expected = [math.inf, -math.inf, math.inf, 1.0, 0.5, 1.0, 100.0, 0.1, None]
    assert read_as(kind, texts) == expected
    assert math.isnan(read_as(kind, ["nan"])[0])
    none = [
        "-nan",
        "e1",
        ".",
        "+",
        "1e",
        "1e+",
        "1 2",
        "0x1",
        "1_0",
        "1d",
        "infinit",
        "infinityx",
        "--1",
        "1.2.3",
        "  ",
    ]
    assert read_as(kind, none) == [None] * len(none)
    words = ["true", "FALSE", " True ", "truth"]
    assert read_as(kind, words) == ([1.0, 0.0, 1.0, None] if kind == "label" else [None] * 4)


LIMITS = [sign * 2**width + by for sign in (1, -1) for width in (7, 15, 31, 63) for by in (-1, 0, 1)]


@given(number=st.integers(-(2**70), 2**70) | st.sampled_from(LIMITS))
@settings(max_examples=examples(300))
def test_whole_numbers_have_the_limits_of_their_kind(number: int) -> None:
    for kind, width in (("tinyint", 8), ("smallint", 16), ("int", 32), ("bigint", 64)):
        expected = number if -(2 ** (width - 1)) <= number < 2 ** (width - 1) else None
        padded = f" {'-' if number < 0 else '+'}000{abs(number)}\t"
        assert read_as(kind, [str(number), padded]) == [expected] * 2
    none = ["", "1.0", "1e3", "+", "-", "0x1", "1 2", "inf"]
    assert read_as("bigint", none) == [None] * len(none)


SCHEMAS = (
    None,
    "u STRING, i STRING, s DOUBLE, y INT",
    "u BIGINT, i STRING, s FLOAT, y BOOLEAN",
    "u TINYINT, i SMALLINT, s INT, y BIGINT",
)


def read_whole(path: Path, options: dict[str, str], schema: str | None, where: str | None) -> Any:
    """All that is read of the file at ``path``, or what is wrong with it."""
    fields = None if schema is None else fields_of(schema)
    try:
        texts = open_texts(str(path), "csv", options, fields, None, Roles.of("u", "y", "s"), "input")
        condition = None if where is None else pushed_down(where, texts.schema)
        [split] = texts.splits(["u", "i", "s", "y"], condition, 5)
        tables = list(split())
        return texts.rows, bits(pa.concat_tables(tables).combine_chunks()) if tables else None
    except (FrameLaneNeededError, InputError, UntranslatableError) as error:
        return str(error)


@pytest.mark.parametrize(
    "options",
    [{}, {"escape": '"'}, {"quote": ""}, {"multiLine": "true"}, {"nullValue": "1"}, {"encoding": "latin1"}],
    ids=str,
)
@given(data=st.data())
@settings(PATIENT, max_examples=examples(150))
def test_files_are_read_as_arrow_and_the_patterns_read_them(
    data: st.DataObject, options: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """In several blocks and in one, as whatever types, with texts that are no numbers, or the sentence of a refusal."""
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_bytes(data.draw(csv_texts()))
    schema = data.draw(st.sampled_from(SCHEMAS))
    where = data.draw(st.sampled_from([None, None, "s > 0"]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_parts, "BLOCK", data.draw(st.sampled_from([200, 333, 1 << 20])))
        compiled, plain = both(lambda: read_whole(path, {"header": "true", **options}, schema, where))
    assert compiled == plain


def test_plain_blocks_are_read_by_the_loops_and_others_by_arrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the second, the block with a doubled quote."""
    monkeypatch.setattr(text_parts, "BLOCK", 20)
    rows = [f"u{row},x,{row}.5,1\n" for row in range(9)]
    for rest in ("", '"a""b",x,9.5,1\n'):
        path = tmp_path / "x.csv"
        path.write_text("".join(["u,i,s,y\n", *rows, rest]))
        with monkeypatch.context() as patch:
            read: list[Any] = []
            arrow = csv_files._read_by_arrow
            patch.setattr(csv_files, "_read_by_arrow", lambda *given, **more: read.append(1) or arrow(*given, **more))  # noqa: B023
            texts = open_texts(
                str(path), "csv", {"header": "true", "escape": '"'}, None, None, Roles.of("u", "y", "s"), "input"
            )
            [split] = texts.splits(["u", "s", "y"], None, 1_000)
            found = pa.concat_tables(split())
        assert found["s"].to_pylist() == [row + 0.5 for row in range(9 + bool(rest))]
        assert found["u"].to_pylist() == [*(f"u{row}" for row in range(9)), *(['a"b'] if rest else [])]
        assert len(read) == bool(rest)
        assert found[NO_NUMBER].to_pylist() == [False] * len(found)
