"""Parts of text files: each line is in one of them, and what is read of a file does not depend on how it is cut."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import fs

from sparkrank.engines import reading
from sparkrank.engines.arrow import text_files, text_parts
from sparkrank.engines.arrow.csv_files import _RecordEnds
from sparkrank.engines.arrow.text_files import TextInput, open_texts
from sparkrank.engines.arrow.text_parts import Part, blocks, end_of_line, parts_of
from sparkrank.errors import FrameLaneNeededError, InputError
from sparkrank.metrics import Plan
from sparkrank.roles import Roles
from tests.extent import examples
from tests.unit.strategies import PATIENT, csv_texts

STORE = fs.LocalFileSystem()
ROLES = Roles.of("u", "y", "s")
PLAN = Plan.of(["rr"], ["s"], ["u"])
COLUMNS = ["u", "i", "s", "y"]
TEXTS = st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r\n", b"\r", b"\xef\xbb\xbf"]), max_size=30).map(b"".join)


def lines_of(text: bytes) -> list[bytes]:
    """The lines of ``text`` with their ends, where a line ends by any of three ends."""
    return text.splitlines(keepends=True)  # of bytes, which know no other ends


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Parts and blocks of some bytes."""
    with monkeypatch.context() as patch:
        patch.setattr(text_parts, "PART", 7)
        patch.setattr(text_parts, "BLOCK", 3)
        yield patch


@given(text=TEXTS, part=st.integers(1, 9), block=st.integers(3, 7), window=st.integers(1, 4))
@example(text=b"a\r\nb\r\n", part=2, block=3, window=1)  # a part that begins between the letters of a line end
@example(text=b"a\rb\r", part=2, block=3, window=1)
@settings(PATIENT, max_examples=examples(300))
def test_each_line_is_in_one_part_that_its_first_byte_is_in(
    text: bytes, part: int, block: int, window: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("parts") / "x.csv"
    path.write_bytes(text)
    with pytest.MonkeyPatch.context() as patch:
        for name, size in (("PART", part), ("BLOCK", block), ("_WINDOW", window)):
            patch.setattr(text_parts, name, size)
        parts = parts_of([str(path)], {str(path): (len(text), 0)}, by_line=True)
        found = [b"".join(map(bytes, blocks(STORE, each, end_of_line))) for each in parts]
    ends = [each.end for each in parts if each.end is not None]
    assert len(parts) == max(1, -(-len(text) // part))
    expected: list[bytes] = [b""] * len(parts)
    at = 0
    for line in lines_of(text):
        expected[sum(end <= at for end in ends)] += line
        at += len(line)
    expected[0] = expected[0].removeprefix(b"\xef\xbb\xbf")
    assert found == expected


def test_packed_files_and_those_of_records_over_several_lines_are_one_part(small: pytest.MonkeyPatch) -> None:
    names = ["a.csv", "b.csv.gz", "c.csv.bz2", "d.csv.zst", "e.csv"]
    stamps = dict.fromkeys(names[:-1], (20, 0))  # nobody knows how long the last is
    found = parts_of(names, stamps, by_line=True)
    assert [(each.file, each.start, each.end) for each in found] == [
        ("a.csv", 0, 6),
        ("a.csv", 6, 13),
        ("a.csv", 13, 20),
        *((name, 0, None) for name in names[1:]),
    ]
    assert parts_of(names, stamps, by_line=False) == tuple(Part(name, stamp=stamps.get(name)) for name in names)


def test_a_line_without_an_end_is_not_sought_for_ever(small: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"a\n" + b"b" * 300_000)
    small.setattr(text_parts, "MOST_RECORD", 100_000)
    with pytest.raises(InputError, match=r"x\.csv has a record of more than"):
        list(blocks(STORE, Part(str(path), 150, 200), end_of_line))


def read(texts: TextInput, columns: Sequence[str] = COLUMNS) -> list[dict[str, Any]]:
    tables = [table for split in texts.splits(columns, None, 5) for table in split()]
    rows: list[dict[str, Any]] = pa.concat_tables(tables).to_pylist() if tables else []
    return rows


def read_or_refused(path: Path, kind: str, options: dict[str, str]) -> Any:
    """All rows of ``path``, or what is wrong with it; NaN as a text."""
    try:
        rows = read(open_texts(str(path), kind, options, None, None, ROLES, "input"))
        return [{name: repr(value) for name, value in row.items()} for row in rows]
    except (FrameLaneNeededError, InputError) as error:
        return str(error)


@pytest.mark.parametrize(
    "options", [{}, {"escape": '"'}, {"quote": ""}, {"multiLine": "true"}, {"encoding": "latin1"}], ids=str
)
@given(data=st.data())
@settings(PATIENT, max_examples=examples(80))
def test_files_of_csv_are_read_alike_however_they_are_cut(
    data: st.DataObject, options: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Or refused, by whichever part is looked at first that has something wrong."""
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_bytes(data.draw(csv_texts()))
    whole = read_or_refused(path, "csv", {"header": "true", **options})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_parts, "PART", data.draw(st.sampled_from([11, 50, 333])))
        patch.setattr(text_parts, "BLOCK", data.draw(st.sampled_from([7, 40, 1 << 20])))
        cut = read_or_refused(path, "csv", {"header": "true", **options})
    assert isinstance(cut, str) if isinstance(whole, str) else cut == whole


@pytest.mark.parametrize("part", [11, 50, 333])
def test_files_of_json_are_read_alike_however_they_are_cut(
    part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user of a row, its score and its label stand in the row's number; a key may be in some parts alone."""
    monkeypatch.setattr(text_parts, "PART", part)
    rows_written = [{"u": f"u{n}", "s": n + 0.5, "y": n % 2, **({} if n % 9 else {"z": 1})} for n in range(40)]
    lines = [json.dumps(row) for row in rows_written]
    (tmp_path / "x.json").write_text("\n".join(lines))
    found = open_texts(str(tmp_path), "json", {}, None, None, ROLES, "input")
    assert len(found.parts) == -(-(tmp_path / "x.json").stat().st_size // part)
    assert (found.rows, len(found.splits(COLUMNS, None, 5))) == (40, pytest.approx(8, abs=4))
    rows = read(found, ["u", "s", "y"])
    assert [(row["u"], row["s"], row["y"]) for row in rows] == [(f"u{n}", n + 0.5, n % 2) for n in range(40)]


def test_the_columns_of_a_header_hold_for_all_parts_of_its_file(small: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("u,i,s,y\n" + "".join(f"u{n},x,{n},1\n" for n in range(9)))
    (tmp_path / "2.csv.gz").write_bytes(gzip.compress(b"u,i,s,y\nlast,x,9,0\n"))
    found = open_texts(str(tmp_path), "csv", {"header": "true"}, None, None, ROLES, "input")
    assert [row["u"] for row in read(found)] == [*(f"u{n}" for n in range(9)), "last"]
    (tmp_path / "3.csv").write_text("u,s,i,y\nu,1,x,1\nv,1,x,1\n")
    with pytest.raises(
        InputError, match=r"3\.csv of the input has the columns u, s, i, y, and .*1\.csv has u, i, s, y"
    ):
        open_texts(str(tmp_path), "csv", {"header": "true"}, None, None, ROLES, "input")


def test_small_files_share_a_split(tmp_path: Path) -> None:
    """Of three rows each: three are within ten rows, four are not."""
    for file in range(7):
        (tmp_path / f"{file}.csv").write_text("u,i,s,y\n" + "a,x,1,1\n" * 3)
    found = open_texts(str(tmp_path), "csv", {"header": "true"}, None, None, ROLES, "input")
    assert len(found.splits(COLUMNS, None, 10)) == 3
    assert len(found.splits(COLUMNS, None, 1)) == 7
    assert [len(pa.concat_tables(split())) for split in found.splits(COLUMNS, None, 10)] == [9, 9, 3]


PIECES = st.lists(st.sampled_from([b"a", b'"', b'""', b"\n", b"b,c"]), max_size=12).map(b"".join)


@given(pieces=st.lists(PIECES, max_size=6))
def test_records_of_several_lines_end_behind_an_even_number_of_quotes(pieces: list[bytes]) -> None:
    """Asked as ``blocks`` asks: of a buffer that grows until a record ends in it, and then loses that record."""
    ends, room = _RecordEnds(b'"'), bytearray()
    for piece in pieces:
        room += piece
        places = [place + 1 for place, letter in enumerate(room) if letter == ord("\n")]
        expected = [place for place in places if room.count(b'"', 0, place) % 2 == 0]
        found = ends(room, len(room))
        assert found == max(expected, default=0)
        room = room[found:]


class CountedBytes(bytearray):
    """Bytes that know how many of them were looked at."""

    looked_at = 0

    def count(self, sub: bytes, start: int = 0, end: int | None = None) -> int:  # type: ignore[override]
        CountedBytes.looked_at += (len(self) if end is None else end) - start
        return super().count(sub, start, len(self) if end is None else end)


def test_a_quote_that_is_never_closed_is_sought_once() -> None:
    """In a buffer that grows by a hundred lines at a time, each byte is counted twice: in all lines, and in its own."""
    ends, room = _RecordEnds(b'"'), CountedBytes(b'a,5" tv\n')
    for _ in range(50):
        room += b"aaa,bbb,1,0\n" * 100
        assert ends(room, len(room)) == 0
    assert len(room) <= CountedBytes.looked_at <= 2 * len(room)


@pytest.mark.parametrize(
    ("kind", "content", "told"),
    [
        ("json", b'{"u":"\xe9","s":1,"y":1}\n', "has bytes that are no UTF-8"),
        ("json", b'{"u":"a","s":1,"y":1}\n{"u":"b","s":1,"y":1,"z":"\xff"}\n', "has bytes that are no UTF-8"),
        ("json", b'{"u":"a","s":1,"y":1}{"u":"a","s":2,"y":0}\n\n', "has lines that are not one record each"),
        ("json", b'{"u":"a","s":1,\n"y":1}{"u":"a","s":2,"y":0}\n', "has lines that are not one record each"),
        ("json", b'{"u":"a","s":1,"y":1}\nnull\n', "has lines that are not one record each"),
        ("json", b'{"u":"a","s":1,\r"y":1}\n', "has lines that are not one record each"),
        ("json", b'{"u":"a","s":Inf,"y":1}\n', "has the number Inf"),
        ("json", b'{"u":"a","s":1,"y":1}\n{"u":1,\n', r"is left to Spark: JSON parse error: [^0-9]*$"),
        ("json", b'{"n":{"u":"a"},"u":"a","s":1,"y":1}\n', None),
        ("json", b'{"u":"Inf","s":1,"y":1,"z":"a Infinity"}\n', None),
        ("json", '{"u":"\u00e9","s":1,"y":1}\r\n  {"u":"b","s":1,"y":1} \n'.encode(), None),
        ("csv", b"u,s,y\n\xe9,1,1\n", r"has bytes that are none of utf-8 \(options.encoding\)"),
        ("csv", b"\xe9,u,s,y\n1,a,1,1\n", r"has bytes that are none of utf-8 \(options.encoding\)"),
        ("csv", "u,s,y\n\u00e9,1,1\n".encode(), None),
    ],
)
def test_what_arrow_reads_otherwise_than_spark_is_left_to_it(
    kind: str, content: bytes, told: str | None, tmp_path: Path
) -> None:
    (tmp_path / f"x.{kind}").write_bytes(content)
    options = {"header": "true"} if kind == "csv" else {}
    if told is None:
        assert open_texts(str(tmp_path), kind, options, None, None, ROLES, "input").rows > 0
        return
    with pytest.raises(FrameLaneNeededError, match=rf"x\.{kind} of the input {told}"):
        open_texts(str(tmp_path), kind, options, None, None, ROLES, "input")


def test_a_column_inside_another_is_left_to_spark(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"n":{"u":"a"},"s":1,"y":1}\n')
    with pytest.raises(FrameLaneNeededError, match=r"the group column n\.u of the input lies inside another"):
        open_texts(str(tmp_path), "json", {}, None, None, Roles.of("n.u", "y", "s"), "input")
    with pytest.raises(InputError, match=r'the group column "m\.u" is not in the input'):
        open_texts(str(tmp_path), "json", {}, None, None, Roles.of("m.u", "y", "s"), "input")


def test_us_ascii_has_no_other_letters(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"u,s,y\na,1,1\n\xe9,1,1\n")
    for encoding, told in (("US-ASCII", "us-ascii"), ("utf8", "utf8")):
        with pytest.raises(FrameLaneNeededError, match=f"bytes that are none of {told}"):
            open_texts(str(tmp_path), "csv", {"header": "true", "encoding": encoding}, None, None, ROLES, "input")
    options = {"header": "true", "encoding": "iso-8859-1"}
    found = open_texts(str(tmp_path), "csv", options, None, None, ROLES, "input")
    assert [row["u"] for row in read(found, ["u", "s", "y"])] == ["a", "\u00e9"]


def test_a_condition_that_needs_spark_is_told_before_all_is_looked_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.csv").write_text("u,s,y\na,1,1\n")
    source = reading.text_source(str(tmp_path), "csv", {"header": "true"}, None, "s > 0", ROLES, PLAN)
    assert (source.rows, source.where is None) == (1, False)

    def nobody(*_: Any) -> Any:
        raise AssertionError

    for condition in ("upper(u) = 'A'", "s > 0 or s < 0"):
        with pytest.raises(FrameLaneNeededError, match=r"input\.where needs Spark's SQL"):
            reading.text_source(str(tmp_path), "csv", {"header": "true"}, None, condition, ROLES, PLAN, lookers=nobody)


@pytest.mark.parametrize(("name", "is_left"), [("x.csv.gz", False), ("x.csv.GZ", True), ("x.csv.lz4", True)])
def test_packed_files_are_known_by_their_names(tmp_path: Path, name: str, is_left: bool) -> None:
    (tmp_path / name).write_bytes(gzip.compress(b"u,s,y\na,1,1\n"))
    if not is_left:
        assert open_texts(str(tmp_path), "csv", {"header": "true"}, None, None, ROLES, "input").rows == 1
        return
    with pytest.raises(FrameLaneNeededError, match="is packed as Spark alone unpacks it"):
        open_texts(str(tmp_path), "csv", {"header": "true"}, None, None, ROLES, "input")


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_rows_are_counted_without_the_header(tmp_path: Path, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_parts, "BLOCK", 20)
    (tmp_path / "x.csv").write_text("\n".join(["u,s,y", *(f"u{n},1,1" for n in range(30))]) + end)
    assert open_texts(str(tmp_path), "csv", {"header": "true"}, None, None, ROLES, "input").rows == 30
    assert open_texts(str(tmp_path), "csv", {}, None, None, ROLES, "input").rows == 31


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for n in range(3):
        (tmp_path / f"{n}.csv.gz").write_bytes(gzip.compress(b"u,s,y\na,1,1\n")[: 40 if n < 2 else 12])
    with pytest.raises(InputError, match=r"2\.csv\.gz of the input cannot be read as csv"):
        open_texts(str(tmp_path), "csv", {"header": "true"}, None, None, ROLES, "input")


def test_many_small_files_are_shared_by_several_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "SHARED_FILES", 3)
    for file in range(7):
        (tmp_path / f"{file}.csv").write_text("u,s,y\na,1,1\n")
    found = open_texts(str(tmp_path), "csv", {"header": "true"}, None, None, ROLES, "input")
    assert [len(pa.concat_tables(split())) for split in found.splits(["u", "s", "y"], None, 100)] == [3, 3, 1]
