"""Which files a path stands for, in any layout of folders: the listing by which every lane reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sparkrank.base.errors import InputError, SpecError
from sparkrank.sources.stored_files import StoredFiles

EMPTY = "(empty)"  # a file of 0 bytes
# Of each layout: its files; the path that is asked for; and the files that are read, or the sentence that refuses it.
LAYOUTS: dict[str, tuple[Sequence[str], str, Sequence[str] | str]] = {
    "a folder": (["in/a", "in/b"], "in", ["in/a", "in/b"]),
    "a file beside others": (["in/a", "in/b"], "in/a", ["in/a"]),
    "dots in the path": (["in/a", "b"], "in/../in/./", ["in/a"]),
    "a nested folder": (["in/a", "in/sub/b"], "in", "sub/b in a folder that is not named key=value"),
    "a pattern and folders": (["in/x/a", "in/y/b"], "in/*", ["in/x/a", "in/y/b"]),
    "a pattern and what is deeper": (["in/x/a", "in/y/z/b"], "in/*", "z/b in a folder that is not named key=value"),
    "a pattern that reaches it": (["in/x/a", "in/y/z/b"], "in/*/*", ["in/x/a", "in/y/z/b"]),
    "partitions": (["in/k=1/a", "in/k=2/b"], "in", ["in/k=1/a", "in/k=2/b"]),
    "partitions below a pattern": (["in/x/k=1/a", "in/y/k=1/b"], "in/*", ["in/x/k=1/a", "in/y/k=1/b"]),
    "files beside partitions": (["in/a", "in/k=1/b"], "in", "has a and k=1/b, in folders of different columns"),
    "partitions of two columns": (["in/k=1/a", "in/m=1/b"], "in", "has k=1/a and m=1/b, in folders of different"),
    "partitions in other case": (["in/k=1/a", "in/K=1/b"], "in", "in folders of different columns"),
    "a partition in itself": (["in/k=1/K=2/a"], "in", "k=1/K=2/a, in two folders of one column"),
    "a partition without a value": (["in/k=/a", "in/k=1/b"], "in", 'in the folder "k=", which has no value'),
    "a partition without a name": (["in/=1/a"], "in", 'in the folder "=1", which has no name'),
    "hidden files": (["in/a", "in/_b", "in/.c", "in/_metadata"], "in", ["in/a"]),
    "hidden folders": (["in/a", "in/_temporary/b", "in/.c/d", "in/_metadata/e"], "in", ["in/a"]),
    "hidden ones by a pattern": (["in/x/a", "in/_temporary/b", "in/.c/d", "in/_e"], "in/*", ["in/x/a"]),
    "hidden ones that a pattern names": (["in/x/_v2/a", "in/x/_v1/b"], "in/*/_v2/*", ["in/x/_v2/a"]),
    "a hidden folder that is named": (["_in/a"], "_in", ["_in/a"]),
    "a hidden file that is named": (["in/_a"], "in/_a", "in/_a is hidden from Spark by its name"),
    "a file of 0 bytes": (["in/a", f"in/b{EMPTY}"], "in", "in/b is a file of 0 bytes"),
    "a file that is being copied": (["in/a", "in/b._COPYING_"], "in", "in/b._COPYING_ is still being copied"),
    "it outside": (["in/a", "in/_x/b._COPYING_"], "in", ["in/a"]),
    "it hidden": (["in/a", f"in/_SUCCESS{EMPTY}", f"in/.b.crc{EMPTY}"], "in", ["in/a"]),
    "a folder of S3 by Hadoop": (["in/k=1/a", f"in/k=1_$folder${EMPTY}"], "in", ["in/k=1/a"]),
    "braces": (["in/a", "in/b", "in/c"], "in/{a,c}", ["in/a", "in/c"]),
    "braces in braces": (["in/ab", "in/ac", "in/d"], "in/{a{b,c},e}", ["in/ab", "in/ac"]),
    "braces with slashes": (["in/x/a", "in/y/b", "in/z/c"], "in/{x/a,y}", ["in/x/a", "in/y/b"]),
    "braces in the name": (["in/{a}", "in/a"], "in/\\{a\\}", ["in/{a}"]),
    "marks in names": (
        ["in/a[1]", "in/b*", "in/c{d", "in/e?", "in/f\\"], "in", ["in/a[1]", "in/b*", "in/c{d", "in/e?", "in/f\\"]
    ),
    "marks in names that match": (["in/a[1]", "in/ab*", "in/c"], "in/a*", ["in/a[1]", "in/ab*"]),
    "a mark taken as it is": (["in[1]/a", "in1/b"], "in\\[1\\]", ["in[1]/a"]),
    "a mark by a pattern": (["in[1]/k=1/a", "in1/b"], "in\\[1\\]/*", ["in[1]/k=1/a"]),
    "a bracket that does not close": (["in/a[", "in/b"], "in/a[", "is not a pattern"),
    "upper and lower case": (["in/A", "in/a"], "in/[a-z]", ["in/a"]),
    "blanks and marks of URLs": (
        ["in/a b", "in/c%20d", "in/e#f", "in/g+h", "in/i&j"], "in", ["in/a b", "in/c%20d", "in/e#f", "in/g+h", "in/i&j"]
    ),
    "a question mark": (["in/a?b", "in/acb"], "in/a\\?b", ["in/a?b"]),
    "other letters": (["ïn/ä", "ïn/水"], "ïn", ["ïn/ä", "ïn/水"]),
    "other letters by a pattern": (["ïn/ä", "ïn/水"], "?n/水", ["ïn/水"]),
    "partitions of such names": (
        ["in/k=a b/a", "in/k=c%2Fd/b", "in/k=ä/c"], "in", ["in/k=a b/a", "in/k=c%2Fd/b", "in/k=ä/c"]
    ),
    "nothing": (["in/a"], "on", "there is no parquet input at"),
    "nothing that matches": (["in/a"], "in/b*", "there is no parquet input at"),
    "nothing that is not hidden": (["in/_a"], "in", "there is no parquet input at"),
}  # fmt: skip


def write_file(file: Path, user: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"user": [user] * 2, "score": [0.5, 0.25], "label": [0, 1]}), file)


def write_files(folder: Path, files: Sequence[str]) -> None:
    for name in files:
        if name.endswith(EMPTY):
            file = folder / name.removesuffix(EMPTY)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        else:
            write_file(folder / name, name)


def test_the_files_of_each_layout(tmp_path: Path) -> None:
    wrong = []
    for number, (name, (files, path, wanted)) in enumerate(LAYOUTS.items()):
        folder = tmp_path / str(number)
        write_files(folder, files)
        try:
            listed: Sequence[str] | str = StoredFiles.at(f"{folder}/{path}").listing.files
        except (InputError, SpecError) as error:
            listed = str(error)
        if isinstance(wanted, str):
            matches = isinstance(listed, str) and wanted in listed and "\n" not in listed
        else:
            matches = sorted(listed) == sorted(f"{folder}/{file}" for file in wanted)
        if not matches:
            wrong.append((name, listed))
    assert wrong == []
