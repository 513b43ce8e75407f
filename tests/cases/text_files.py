"""Files of CSV and JSON as people write them, and what every lane reads there: worked by hand.

Columns are ``u`` (group), ``i`` (item), ``s`` (score) and ``y`` (label), where a case says nothing else. ``groups`` has
each user's reciprocal rank.
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
    """Files by name, how they are read, and what the groups get, or a part of the sentence that refuses them."""

    name: str
    files: Mapping[str, bytes]
    groups: Mapping[Any, float]
    options: Mapping[str, Any] = field(default_factory=lambda: HEADED)
    schema: str | None = None
    where: str | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    told: str = ""

    @property
    def format(self) -> str:
        return "json" if "json" in next(iter(self.files)) else "csv"


# Of 007 the second of two is clicked, of 7 the first.
ZEROS = "007,x,3.0,0\n007,y,2.0,1\n7,x,2.0,1\n7,y,1.0,0\n"
TWO = {"007": 1 / 2, "7": 1.0}
ONE = {"a": 1 / 2}
PLAIN = b"a,x,2,0\na,y,1,1\n"


def case(name: str, rows: str, groups: Mapping[Any, float] = ONE, **more: Any) -> TextCase:
    """A case of one CSV file with a header; of ``more``, ``options`` are beside that."""
    options = {**HEADED, **more.pop("options", {})}
    return TextCase(name, {"x.csv": ("u,i,s,y\n" + rows).encode()}, groups, options, **more)


def files(name: str, contents: Mapping[str, bytes], groups: Mapping[Any, float] = ONE, **more: Any) -> TextCase:
    """A case of several files, or of one whose bytes matter."""
    return TextCase(name, contents, groups, **more)


def json(name: str, *rows: str, groups: Mapping[Any, float] = ONE, **more: Any) -> TextCase:
    """A case of files of JSON lines, each with one of ``rows``."""
    contents = {f"json{index}.json": f"{row}\n".encode() for index, row in enumerate(rows)}
    return TextCase(name, contents, groups, options={}, **more)


def without(row: str, key: str) -> str:
    """A record of JSON without ``key``."""
    return dumps({name: value for name, value in loads(row).items() if name != key})


CASES = [
    # ids are texts, numbers are numbers
    case("without a schema", ZEROS, TWO),
    case("a schema in another order, of some columns", ZEROS, TWO, schema="y INT, u STRING, s DOUBLE, `i` STRING"),
    # of one user, 7: 3.0 is not clicked, and both at 2.0 are
    case("ids that the schema calls numbers", ZEROS, {7: 1 / 2}, schema="u BIGINT, i STRING, s DOUBLE, y INT"),
    case("blanks around ids", "a,x,2,0\n a,y,2,1\na,y,1,1\n", {"a": 1 / 2, " a": 1.0}),
    case("exponents, signs and points", "a,x,+1e5,0\na,y,1.0e-1,1\na,z,-0.5,0\n"),
    case("words that are null to others", "NA,x,2,0\nNA,y,1,1\nnull,y,1,1\n", {"NA": 1 / 2, "null": 1.0}),
    case("nulls and NaN", "a,x,2,\na,y,,1\na,z,1,1\n,z,9,1\na,v,NaN,0\n"),
    case("a word for null", "a,x,2,NA\na,y,1,1\nNA,y,1,1\n", options={"nullValue": "NA"}),
    case("days and booleans", "2026-01-01,x,2,false\n2026-01-01,y,1,true\n", {"2026-01-01": 1 / 2},
         schema="u DATE, i STRING, s FLOAT, y BOOLEAN"),
    case("whole numbers", PLAIN.decode(), schema="u STRING, i STRING, s SMALLINT, y LONG"),
    case("decimals", "a,x,2.50,0\na,y,1.25,1\n", schema="u STRING, i STRING, s DECIMAL(5, 2), y NUMERIC"),
    # two tied rows of which one is clicked: (1 + 1/2) / 2
    case("float32", "a,x,0.1,0\na,y,0.10000000001,1\n", {"a": 3 / 4}, schema="u STRING, i STRING, s FLOAT, y INT"),
    case("quotes", '"a","x, or y","2","0"\n"a",y,"1",1\n'),
    case("doubled quotes", '"a""b",x,2,0\n"a""b",y,1,1\n', {'a"b': 1 / 2}, options={"escape": '"'}),
    case("escapes", '"a\\"b",x,2,0\n"a\\"b",y,1,1\n', {'a"b': 1 / 2}, options={"escape": "\\"}),
    case("lines in quotes", '"a\nb",x,2,0\n"a\nb",y,1,1\n', {"a\nb": 1 / 2}, options={"multiLine": True}),
    case("empty lines", "\na,x,2,0\n\n\na,y,1,1\n\n"),
    files("line ends of Windows, and a byte order mark", {"x.csv": b"\xef\xbb\xbfu,i,s,y\r\na,x,2,0\r\na,y,1,1\r\n"}),
    files("tabs", {"x.tsv": b"u\ti\ts\ty\na\tx\t2\t0\na\ty\t1\t1\n"}, options={"header": True, "sep": "\\t"}),
    files("semicolons and another quote", {"x.csv": b"u;i;s;y\n'a';x;2;0\n'a';'y;z';1;1"},
          options={"header": True, "delimiter": ";", "quote": "'"}),
    files("latin", {"x.csv": "u,i,s,y\né,x,2,0\né,y,1,1".encode("latin-1")}, {"é": 1 / 2},
          options={"header": True, "encoding": "ISO-8859-1"}),
    files("no header", {"x.csv": PLAIN}, options={},
          columns={"group": "_c0", "item": "_c1", "score": "_c2", "label": "_c3"}),
    files("no header, a schema", {"x.csv": PLAIN}, options={}, schema=SCHEMA),
    files("several files, two of them packed, one of a header alone",
          {"1.csv.gz": gzip.compress(b"u,i,s,y\na,x,2,0\n"), "2.csv.bz2": bz2.compress(b"u,i,s,y\na,y,1,1"),
           "3.csv": b"u,i,s,y\n"}),
    *(
        files(f"columns of folders, {schema}", {"u=007/x.csv": b"i,s,y\nx,2,0\ny,1,1\n",
              f"u={other}/x.csv": b"i,s,y\nx,2,1\ny,1,0\n"}, {"007": 1 / 2, other: 1.0}, schema=schema)
        for other, schema in (("a", None), ("8", SCHEMA))
    ),
    # conditions
    case("a condition on a text", "a,x,2,0\na,y,1,1\nb,y,1,1\n", where="u = 'a'"),
    case("a condition on a number", "a,x,9,1\na,x,2,0\na,y,1,1\nb,y,5,1\n", where="s < 3", schema=SCHEMA),
    case("a condition without a schema, and NaN", "a,x,NaN,1\na,x,9,1\na,x,2,0\na,y,1,1\n", where="s < 3.0"),
    # JSON
    *(
        json(f"ids of JSON, {schema}", '{"u":"007","i":"x","s":3,"y":0, "z": [1]}\n'
             '{"u":"007","i":"y","s":2.5,"y":1}\n\n{"u":"7","i":"x","s":1,"y":1}', groups=TWO, schema=schema)
        for schema in (None, SCHEMA)
    ),
    json("numbers of JSON", '{"u":7,"i":1,"s":1e5,"y":0}\n{"u":7,"i":2,"s":-0.5,"y":1}', groups={7: 1 / 2}),
    # 9 is not judged, 2 is no click, so the click at 1 is third
    json("booleans, nulls and what is not there", '{"u":"a","s":2,"y":false}\n{"u":"a","s":1,"y":true}\n'
         '{"u":"a","s":9,"y":null}\n{"s":1}\n{"u":"a","y":true}', groups={"a": 1 / 3},
         columns={"group": "u", "score": "s", "label": "y"}),
    json("days and instants are texts", '{"u":"2026-01-01","i":"2026-01-01 10:00:00","s":2,"y":0}\n'
         '{"u":"2026-01-01","i":"y","s":1,"y":1}', groups={"2026-01-01": 1 / 2}),
    json("a condition on JSON", '{"u":"a","i":"x","s":2,"y":0,"c":1}\n{"u":"a","i":"y","s":1.5,"y":1,"c":2}\n'
         '{"u":"a","i":"z","s":9,"y":1,"c":3}', where="c < 3"),
    *(
        json(f"columns inside others, {score}", f'{{"n":{{"u":"a","s":{score}}},"i":"x","y":0}}\n'
             '{"n":{"u":"a","s":1.5},"i":"y","y":1}',
             columns={"group": "n.u", "item": "i", "score": "n.s", "label": "y"})
        for score in (2, 2.5)
    ),
    *(
        json(f"arrays, {schema}", '{"u":"a","l":["x","y"],"t":["y"]}\n{"u":"b","l":["y"],"t":["y","z"]}',
             groups={"a": 1 / 2, "b": 1.0}, columns={"group": "u", "items": "l", "true_items": "t"}, schema=schema)
        for schema in (None, "u STRING, l ARRAY<STRING>, t array<string>")
    ),
    json("keys that some records of each file lack, or that are null",
         '{"u":"a","i":"x","s":2,"y":null}\n{"u":"a","i":"y","s":1,"y":1}\n{"u":"a","i":"z"}',
         '{"u":"a","i":"v","s":null,"y":null}\n{"u":"a","i":"w","y":null,"s":null}'),
    json("keys that one file lacks, which a schema declares", '{"u":"a","i":"x","s":2}',
         '{"u":"a","i":"y","s":1,"y":1}', schema=SCHEMA),
    files("packed JSON, with a byte order mark and line ends of Windows", {"json.json.gz": gzip.compress(
          b'\xef\xbb\xbf{"u":"a","i":"x","s":2,"y":0}\r\n{"u":"a","i":"y","s":1,"y":1}\r\n')}, options={}),
]  # fmt: skip

ROW = '{"u":"a","i":"x","s":2,"y":1,"c":1}'
NUMBERED, WORDED = '{"u":7,"i":"x","s":2,"y":0}', '{"u":"a","i":"x","s":2,"y":0}'
# What Arrow refuses. Spark's readers may make something of it.
REFUSED = [
    case("a row too short", "a,x,2,0\na,y,1\n",
         told="x.csv of the input cannot be read as csv: CSV parse error: Row #3: "),
    case("a row too long", "a,x,2,0\na,y,1,1,1\n", told="Row #3: Expected 4 columns, got 5: a,y,1,1,1"),
    case("a bad score", "a,x,2,0\na,y,high,1\n",
         told='x.csv cannot be read: in the column "s", row 3: CSV conversion error to double: invalid value'),
    case("a comma for a point", 'a,x,"2,5",0\n', told="row 2: CSV conversion error to double: invalid value '2,5'"),
    files("names that nobody asked to be read", {"x.csv": b"u,i,s,y\na,x,2,0\n"}, options={},
          told='group column "u" is not in the input (_c0, _c1, _c2, _c3); options: {header: true} takes names from'),
    files("names that are read as values", {"x.csv": b"u,i,s,y\na,x,2,0\n"}, options={}, schema=SCHEMA,
          told="invalid value 's'; options: {header: true} takes names from the first line"),
    case("a word for a label", "a,x,2,0\na,y,1,true\n", told="CSV conversion error to double: invalid value 'true'"),
    case("no whole number", "a,x,2,0\na,y,1,1.5\n", schema=SCHEMA,
         told="CSV conversion error to int32: invalid value '1.5'"),
    files("bytes that are no UTF-8", {"x.csv": b"u,i,s,y\n\xe9,x,2,0\n"}, told="invalid UTF8 data"),
    files("bytes of JSON that are no UTF-8", {"json.json": b'{"u":"\xe9","i":"x","s":2,"y":0}\n'}, options={},
          told="json.json cannot be read: In column 0: Invalid: Invalid UTF8 sequence"),
    files("packed bytes under a name that says nothing of it",  # the time is a part of them, and here ends a line
          {"x.csv": gzip.compress(b"u,i,s,y\na,x,2,0\n", mtime=1795882320)},
          told="x.csv of the input cannot be read as csv: 'utf-8' codec can't decode"),
    files("a packed file that is cut", {"x.csv.gz": gzip.compress(b"u,i,s,y\na,x,2,0\n")[:-8]},
          told="Truncated compressed stream"),
    case("a quote that does not close", '"a,x,2,0\na,y,1,1\n', told="Expected 4 columns, got 1"),
    files("blank lines alone", {"x.csv": b"\n\n"},
          told="x.csv of the input cannot be read as csv: CSV parse error: Empty"),
    files("a column twice", {"x.csv": b"u,i,s,y,u\na,x,2,0,a\n"}, told="multiple columns named u"),
    json("numbers that the schema calls texts", NUMBERED, schema=SCHEMA, told="Column(/u) changed from string"),
    json("numbers in texts", '{"u":"a","i":"x","s":"2.0","y":0}', told='score column "s" is of type string'),
    json("texts and numbers", f"{WORDED}\n{NUMBERED}", told="Column(/u) changed from string to number"),
    json("texts in one file and numbers in another", WORDED, NUMBERED,
         told="the files of the input differ: Unable to merge: Field u has incompatible types"),
    json("a blank file", "", told="json0.json of the input cannot be read as json: Empty JSON"),
    *(
        files(f"{name} without a line end", {"json.json": text.encode()}, options={}, schema=schema,
              told="json.json of the input has no line end")
        for name, text in (("a record", WORDED), ("records", WORDED * 2)) for schema in (None, SCHEMA)
    ),
    *(
        json(f"a file begins without {key}, {where}", ROW, without(ROW, key), where=where,
             told=f'lacks the {role} column "{key}", which other files have')
        for key, role, where in (("s", "score", None), ("y", "label", None), ("u", "group", None),
                                 ("c", "input.where", "c IS NULL"), ("c", "input.where", "s > 0 AND c <= 3"))
    ),
    json("whole numbers that doubles do not hold", *[NUMBERED.replace("7", str(2**63 + user)) for user in range(2)],
         told='json0.json cannot be read: the column "u" has whole numbers near 9223372036854775808, of which doubles '
         "keep the first digits alone: write its numbers as texts"),
    json("a whole number beyond 64 bits in the schema", NUMBERED.replace("7", str(2**63)),
         schema=SCHEMA.replace("u STRING", "u BIGINT"),
         told="json0.json cannot be read: a column among u has 9223372036854775808, beyond 64 bits: write its numbers"),
    json("JSON without a label of the schema", *[without(ROW, "y")] * 2, schema=SCHEMA,
         told='the column "y" of input.schema is not in the input (u, i, s, c)'),
]  # fmt: skip

# What no lane reads.
UNUSABLE = [
    files("other headers", {"1.csv": b"u,i,s,y\na,x,2,0\n", "2.csv": b"u,i,s\na,y,1"}),
    files("no label", {"1.csv": b"u,i,s\na,x,2\n"}, told='the label column "y" is not in the input'),
    files("no label of the schema", {"1.csv": b"u,i,s\na,x,2\n"}, schema=SCHEMA,
          told='the column "y" of input.schema is not in the input'),
    json("no JSON", f'{WORDED}\n{{"u":"a",'),
    json("a nested label", '{"u":"a","i":"x","s":2,"y":[0]}'),
]  # fmt: skip
