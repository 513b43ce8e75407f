"""Files of CSV and JSON as people write them, and what every lane reads there: worked by hand.

Columns are ``u`` (group), ``i`` (item), ``s`` (score) and ``y`` (label), where a case says nothing else. ``groups`` has
each user's reciprocal rank; ``rejected`` is how many rows have a text that is no number.
"""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from json import dumps, loads
from typing import Any

HEADED = {"header": True}
SCHEMA = "u STRING, i STRING, s DOUBLE, y INT"


@dataclass(frozen=True)
class TextCase:
    """Files by name, how they are read, and what is found. ``is_sparks``: the local lane leaves them to Spark."""

    name: str
    files: Mapping[str, bytes]
    groups: Mapping[Any, float]
    rejected: int = 0
    options: Mapping[str, Any] = field(default_factory=lambda: HEADED)
    schema: str | None = None
    where: str | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    is_sparks: bool = False

    @property
    def format(self) -> str:
        return "json" if next(iter(self.files)).startswith("json") else "csv"


# Of 007 the second of two is clicked, of 7 the first.
ZEROS = "007,x,3.0,0\n007,y,2.0,1\n7,x,2.0,1\n7,y,1.0,0\n"
TWO = {"007": 1 / 2, "7": 1.0}
ONE = {"a": 1 / 2}


def case(name: str, rows: str, groups: Mapping[Any, float], rejected: int = 0, **more: Any) -> TextCase:
    """A case of one CSV file with a header."""
    return TextCase(name, {"x.csv": ("u,i,s,y\n" + rows).encode()}, groups, rejected, **more)


def json(name: str, text: str, groups: Mapping[Any, float], rejected: int = 0, **more: Any) -> TextCase:
    """A case of one file of JSON lines."""
    return TextCase(name, {"json.json": text.encode()}, groups, rejected, **{"options": {}, **more})


def json_files(name: str, *rows: str, **more: Any) -> TextCase:
    """A case of several files of JSON lines, each with one of ``rows``."""
    files = {f"json{index}.json": f"{row}\n".encode() for index, row in enumerate(rows)}
    return TextCase(name, files, {}, **{"options": {}, **more})


def without(row: str, key: str) -> str:
    """A record of JSON without ``key``."""
    return dumps({name: value for name, value in loads(row).items() if name != key})


CASES = [
    # ids are texts, numbers are numbers
    case("without a schema", ZEROS, TWO),
    case("options as texts", ZEROS, TWO, options={"header": "true"}),
    case("types inferred", ZEROS, TWO, options={"header": True, "inferSchema": True}),
    case("a schema", ZEROS, TWO, schema=SCHEMA),
    case("a schema in another order, of some columns", ZEROS, TWO, schema="y INT, u STRING, s DOUBLE, `i` STRING"),
    # of one user, 7: 3.0 is not clicked, and both at 2.0 are
    case("ids that the schema calls numbers", ZEROS, {7: 1 / 2}, schema="u BIGINT, i STRING, s DOUBLE, y INT"),
    case("blanks around numbers", "a,x, 2 ,\t0\na,y,1.0\t, 1 \n", ONE),
    case("blanks around ids", "a,x,2,0\n a,y,2,1\na,y,1,1\n", {"a": 1 / 2, " a": 1.0}),
    case("exponents, signs and points", "a,x,+1e5,0\na,y,1.e-1,1\na,z,-.5,0\n", ONE),
    case("infinities", "a,x,inf,0\na,y,1e308,1\na,z,-Infinity,1\n", ONE),
    case("beyond doubles", "a,x,1e999,0\na,y,1e308,1\na,z,1e-999,0\n", ONE),
    TextCase(
        "bytes that are no UTF-8", {"x.csv": b"u,i,s,y\n\xe9,x,2,0\n\xe9,y,1,1\n"}, {"\ufffd": 1 / 2}, is_sparks=True
    ),
    json(
        "columns inside others",
        '{"n":{"u":"a"},"i":"x","s":2,"y":0}\n{"n":{"u":"a"},"i":"y","s":1,"y":1}\n',
        ONE,
        columns={"group": "n.u", "item": "i", "score": "s", "label": "y"},
        is_sparks=True,
    ),
    case("negative zero ties zero", "a,x,-0.0,1\na,y,0,1\n", {"a": 1.0}),
    case("booleans", "a,x,2,false\na,y,1,TRUE\n", ONE),
    case("booleans inferred", "a,x,2,false\na,y,1,true\n", ONE, options={"header": True, "inferSchema": True}),
    case("a boolean schema", "a,x,2,false\na,y,1,true\n", ONE, schema="u STRING, i STRING, s FLOAT, y BOOLEAN"),
    # two tied rows of which one is clicked: (1 + 1/2) / 2
    case(
        "the decimals of float32",
        "a,x,0.1,0\na,y,0.10000000001,1\n",
        {"a": 3 / 4},
        schema="u STRING, i STRING, s FLOAT, y INT",
    ),
    case("nulls", "a,x,2,\na,y,,1\na,z,1,1\n,z,9,1\n", ONE),
    case("quotes", '"a","x, or y","2","0"\n"a",y,"1",1\n', ONE),
    case("empty within quotes", 'a,x,2,""\na,y,1,1\n"",y,1,1\n', ONE),
    case("doubled quotes", '"a""b",x,2,0\n"a""b",y,1,1\n', {'a"b': 1 / 2}, options={"header": True, "escape": '"'}),
    case("a word for null", "a,x,2,NA\na,y,1,1\nNA,y,1,1\n", ONE, options={"header": True, "nullValue": "NA"}),
    TextCase(
        "line ends of Windows, and a byte order mark", {"x.csv": b"\xef\xbb\xbfu,i,s,y\r\na,x,2,0\r\na,y,1,1\r\n"}, ONE
    ),
    TextCase("tabs", {"x.tsv": b"u\ti\ts\ty\na\tx\t2\t0\na\ty\t1\t1\n"}, ONE, options={"header": True, "sep": "\\t"}),
    TextCase("semicolons", {"x.csv": b"u;i;s;y\na;x;2;0\na;y;1;1"}, ONE, options={"header": True, "delimiter": ";"}),
    TextCase(
        "another quote", {"x.csv": b"u,i,s,y\n'a',x,2,0\n'a','y,z',1,1"}, ONE, options={"header": True, "quote": "'"}
    ),
    TextCase(
        "latin",
        {"x.csv": "u,i,s,y\né,x,2,0\né,y,1,1".encode("latin-1")},
        {"é": 1 / 2},
        options={"header": True, "encoding": "ISO-8859-1"},
    ),
    TextCase("empty lines", {"x.csv": b"u,i,s,y\n\na,x,2,0\n\n\na,y,1,1\n\n"}, ONE),
    TextCase(
        "lines in quotes",
        {"x.csv": b'u,i,s,y\n"a\nb",x,2,0\n"a\nb",y,1,1\n'},
        {"a\nb": 1 / 2},
        options={"header": True, "multiLine": True},
    ),
    TextCase("a column without a name", {"x.csv": b",u,i,s,y\n0,a,x,2,0\n1,a,y,1,1\n"}, ONE),
    TextCase(
        "no header",
        {"x.csv": b"a,x,2,0\na,y,1,1\n"},
        ONE,
        options={},
        columns={"group": "_c0", "item": "_c1", "score": "_c2", "label": "_c3"},
    ),
    TextCase("no header, a schema", {"x.csv": b"a,x,2,0\na,y,1,1\n"}, ONE, options={}, schema=SCHEMA),
    TextCase(
        "several files, two of a header alone",
        {"1.csv": b"u,i,s,y\na,x,2,0\n", "2.csv": b"u,i,s,y\na,y,1,1", "3.csv": b"u,i,s,y\n", "4.csv": b"u,i,s,y"},
        ONE,
    ),
    TextCase(
        "packed",
        {"1.csv.gz": gzip.compress(b"u,i,s,y\na,x,2,0\n"), "2.csv.bz2": bz2.compress(b"u,i,s,y\na,y,1,1")},
        ONE,
    ),
    # texts that are no numbers
    case("bad scores", "a,x,2,0\na,y,1,1\na,z,high,0\na,z,1d,0\na,z,0x1p3,0\na,z,1_0,0\n", ONE, 4),
    case("bad labels", "a,x,2,0\na,y,1,1\na,z,9,yes\na,z,9,1e\n", ONE, 2),
    case(
        "bad scores under inference",
        "a,x,2,0\na,y,1,1\na,z,1d,0\n",
        ONE,
        1,
        options={"header": True, "inferSchema": True},
    ),
    case("no whole numbers", "a,x,2,0\na,y,1,1\na,z,9,1.5\na,z,9,3000000000\n", ONE, 2, schema=SCHEMA),
    case(
        "ids that are none",
        "7,x,2,0\n7,y,1,1\nseven,x,1,1\n99999999999999999999,x,1,1\n",
        {7: 1 / 2},
        2,
        schema="u BIGINT, i STRING, s DOUBLE, y INT",
    ),
    case("rejected for NaN, which is a number", "a,x,2,0\na,y,1,1\na,z,NaN,0\n", ONE, 0),
    case("a blank that is no number", 'a,x,2,0\na,y,1,1\na,z,"  ",0\n', ONE, 1),
    # conditions
    case("a condition on a text", "a,x,2,0\na,y,1,1\nb,y,1,1\n", ONE, where="u = 'a'"),
    case("a condition on a number", "a,x,9,1\na,x,2,0\na,y,1,1\nb,y,5,1\n", ONE, where="s < 3", schema=SCHEMA),
    case("a condition on a number without a schema", "a,x,9,1\na,x,2,0\na,y,1,1\n", ONE, where="s < 3.0"),
    case("a condition on NaN", "a,x,nan,1\na,x,2,0\na,y,1,1\n", ONE, where="s <= 2.5"),
    case("a condition of SQL", "a,x,2,0\na,y,1,1\nb,y,5,1\n", ONE, where="upper(u) = 'A'", is_sparks=True),
    case(
        "a condition on what is inferred",
        "a,x,2,0\na,y,1,1\nb,y,5,1\n",
        ONE,
        where="s < 3",
        options={"header": True, "inferSchema": True},
        is_sparks=True,
    ),
    # what Arrow reads otherwise
    case("escapes", '"a\\"b",x,2,0\n"a\\"b",y,1,1\n', {'a"b': 1 / 2}, is_sparks=True),
    case("quotes that enclose no field", '5" tv,x,2,0\n5" tv,y,1,1\n', {'5" tv': 1 / 2}, is_sparks=True),
    case("a line of blanks", "a,x,2,0\n   \na,y,1,1\n", ONE, is_sparks=True),
    TextCase(
        "comments",
        {"x.csv": b"u,i,s,y\n#a,x,9,1\na,x,2,0\na,y,1,1\n"},
        ONE,
        options={"header": True, "comment": "#"},
        is_sparks=True,
    ),
    case(
        "a type of Spark's",
        "2026-01-01,x,2,0\n2026-01-01,y,1,1\n",
        {"2026-01-01": 1 / 2},
        schema="u DATE, i STRING, s DOUBLE, y INT",
        is_sparks=True,
    ),
    # JSON
    json(
        "ids of JSON",
        '{"u":"007","i":"x","s":3,"y":0}\n{"u":"007","i":"y","s":2.5,"y":1}\n\n{"u":"7","i":"x","s":1,"y":1}',
        TWO,
    ),
    json("numbers of JSON", '{"u":7,"i":1,"s":1e5,"y":0}\n{"u":7,"i":2,"s":-0.5,"y":1}\n', {7: 1 / 2}),
    # 9 is not judged, 2 is no click, so the click at 1 is third
    json(
        "booleans, nulls and what is not there",
        '{"u":"a","s":2,"y":false}\n{"u":"a","s":1,"y":true}\n{"u":"a","s":9,"y":null}\n{"s":1}\n{"u":"a","y":true}\n',
        {"a": 1 / 3},
        columns={"group": "u", "score": "s", "label": "y"},
    ),
    json(
        "days are texts",
        '{"u":"2026-01-01","s":2,"y":0}\n{"u":"2026-01-01","s":1,"y":1}\n',
        {"2026-01-01": 1 / 2},
        columns={"group": "u", "score": "s", "label": "y"},
    ),
    json(
        "numbers in texts",
        '{"u":"a","i":"x","s":"2.0","y":"0"}\n{"u":"a","i":"y","s":" 1e0","y":"true"}\n'
        '{"u":"a","i":"y","s":"high","y":"0"}\n',
        ONE,
        1,
    ),
    json(
        "a schema of JSON",
        '{"u":"007","i":"x","s":3,"y":0, "z": [1]}\n{"u":"007","i":"y","s":2.5,"y":1}\n'
        '{"u":"7","i":"x","s":1,"y":1}\n{"u":"7","i":"x","s":9,"y":3000000000}',
        TWO,
        1,
        schema=SCHEMA,
    ),
    json(
        "texts under a schema of numbers",
        '{"u":"7","i":"x","s":"3","y":0}\n{"u":"007","i":"y","s":"2.5","y":1}\n{"u":"x","i":"y","s":"2.5","y":1}\n',
        {7: 1 / 2},
        1,
        schema="u INT, i STRING, s DOUBLE, y INT",
    ),
    json(
        "NaN and infinity",
        '{"u":"a","i":"x","s":Infinity,"y":0}\n{"u":"a","i":"y","s":1.5,"y":1}\n{"u":"a","i":"z","s":NaN,"y":1}\n',
        ONE,
    ),
    json(
        "a condition on JSON",
        '{"u":"a","i":"x","s":2,"y":0,"c":1}\n{"u":"a","i":"y","s":1.5,"y":1,"c":2}\n{"u":"a","i":"z","s":9,"y":1,"c":3}\n',
        ONE,
        where="c < 3",
    ),
    TextCase(
        "keys that some records of each file lack, or that are null",
        {
            "json0.json": b'{"u":"a","i":"x","s":2,"y":null}\n{"u":"a","i":"y","s":1,"y":1}\n{"u":"a","i":"z"}\n',
            "json1.json": b'{"u":"a","i":"v","s":null,"y":null}\n{"u":"a","i":"w","y":null,"s":null}\n',
            "json2.json": b"\n",
        },
        ONE,
        options={},
    ),
    json(
        "texts and numbers",
        '{"u":"a","i":"x","s":2,"y":0}\n{"u":"a","i":"y","s":1,"y":1}\n{"u":7,"i":"z","s":9,"y":1}\n',
        {"a": 1 / 2, "7": 1.0},
        is_sparks=True,
    ),
    json(
        "numbers that the schema calls texts",
        '{"u":7,"i":"x","s":2,"y":0}\n{"u":7,"i":"y","s":1,"y":1}\n',
        {"7": 1 / 2},
        schema=SCHEMA,
        is_sparks=True,
    ),
    json(
        "whole numbers beyond 64 bits",
        '{"u":"a","i":12345678901234567890,"s":2,"y":0}\n{"u":"a","i":12345678901234567891,"s":1,"y":1}\n',
        ONE,
        is_sparks=True,
    ),
    TextCase(
        "packed JSON",
        {"json.json.gz": gzip.compress(b'{"u":"a","i":"x","s":2,"y":0}\n{"u":"a","i":"y","s":1,"y":1}\n')},
        ONE,
        options={},
    ),
    TextCase(
        "JSON with a byte order mark",
        {"json.json": b'\xef\xbb\xbf{"u":"a","i":"x","s":2,"y":0}\r\n{"u":"a","i":"y","s":1,"y":1}\r\n'},
        ONE,
        options={},
    ),
]

# What no lane reads, with a part of the sentence.
UNUSABLE = [
    (case("a row too short", "a,x,2,0\na,y,1\n", {}), ""),
    (case("a row too long", "a,x,2,0\na,y,1,1,1\n", {}), ""),
    (TextCase("other headers", {"1.csv": b"u,i,s,y\na,x,2,0\n", "2.csv": b"u,i,y,s\na,y,1,1"}, {}), ""),
    (
        TextCase("a column that is not there", {"1.csv": b"u,i,s\na,x,2\n"}, {}),
        'the label column "y" is not in the input',
    ),
    (
        TextCase("none of the schema", {"1.csv": b"u,i,s\na,x,2\n"}, {}, schema=SCHEMA),
        'the column "y" of input.schema is not in the input',
    ),
    *(
        (
            json_files(f"JSON of which a file lacks {name}", row, without(row, name), **more),
            f"lacks the {told}, which other files have",
        )
        for row in ['{"u":"a","i":"x","s":2,"y":1,"c":1}']
        for more in ({}, {"schema": f"{SCHEMA}, c INT"})
        for name, told in (("s", 'score column "s"'), ("y", 'label column "y"'), ("u", 'group column "u"'))
    ),
    *(
        (
            json_files(
                f"JSON of which a file lacks what where asks: {where}",
                '{"u":"a","i":"x","s":2,"y":1,"c":1}',
                '{"u":"a","i":"y","s":1,"y":0}',
                where=where,
            ),
            'lacks the input.where column "c", which other files have',
        )
        for where in ("c = 1", "C IS NULL", "s > 0 AND c <= 3")
    ),
    *(
        (
            json_files(
                f"JSON of which no record has {name} of the schema",
                row,
                row,
                schema=f"{SCHEMA}, c INT",
                where="c IS NULL",
            ),
            f'no record of the input has the column "{name}", which input.schema names',
        )
        for name in ("s", "y", "c")
        for row in [without('{"u":"a","i":"x","s":2,"y":1,"c":1}', name)]
    ),
    (json("no JSON", '{"u":"a","i":"x","s":2,"y":0}\n{"u":"a",\n', {}), ""),
    (json("a nested label", '{"u":"a","i":"x","s":2,"y":[0]}\n', {}), ""),
]
