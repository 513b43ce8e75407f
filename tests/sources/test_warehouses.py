"""What databases hand out, by the drivers of DuckDB and of ADBC for SQLite, and what docs/warehouses.md says of it."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sparkrank as sr
from sparkrank.sources import stream_file
from tests.support.commands import PROJECT
from tests.support.examples import blocks

duckdb = pytest.importorskip("duckdb", reason="the dev extra has it")

PAGE = PROJECT / "docs" / "warehouses.md"
COLUMNS = ("u", "i", "s", "y", "c", "made")
AT = dt.datetime(2026, 11, 19, 9, tzinfo=dt.timezone.utc)
# One null in each column, and one row without. The true item of 1 is second: rr is 1/2. That of 2 is first: 1.
ROWS = [
    (1, "a", Decimal("0.9"), 0, "de", AT), (1, "b", Decimal("0.8"), 1, None, AT), (1, "c", None, 1, "de", AT),
    (2, "a", Decimal("0.7"), 1, "fr", None), (2, "b", Decimal("0.6"), None, "fr", AT),
    (2, "c", Decimal("0.5"), 0, "fr", AT), (None, "a", Decimal("0.4"), 1, "de", AT),
]  # fmt: skip
ROLES: dict[str, Any] = {"group": "u", "item": "i", "score": "s", "label": "y"}
TYPES = "u BIGINT, i VARCHAR, s DECIMAL(9, 3), y SMALLINT, c country, made TIMESTAMPTZ"


def _duckdb(*settings: str) -> Any:
    database = duckdb.connect()
    for setting in ("SET TimeZone = 'Europe/Berlin'", *settings):
        database.execute(setting)
    database.execute("CREATE TYPE country AS ENUM ('de', 'fr')")
    database.execute(f"CREATE TABLE log ({TYPES})")
    database.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)", ROWS)
    return database


def _answers(rows: Any, **more: Any) -> dict[str, Any]:
    """What the rows say, for each of what a null may be."""
    ev = sr.evaluate(rows, ["rr"], **ROLES, slices=["c"], max_bad_fraction=0.2, **more)
    counts = {row["check"]: row["count"] for row in ev.quality.to_pylist()}
    found = {str(row["slice_value"]): row["value"] for row in ev.table.to_pylist()}
    return {**found, "read": counts["rows read"], "keyless": counts["rejected: null or NaN group key"]}


# The slice of null has the true item of 1 alone, first. The true item of de has no score, so that it is not retrieved.
EXPECTED = {"all": (1 / 2 + 1) / 2, "None": 1.0, "fr": 1.0, "read": len(ROWS), "keyless": 1}


@pytest.mark.parametrize(
    ("settings", "texts", "codes"),
    [
        ((), pa.string(), pa.dictionary(pa.uint8(), pa.string())),
        (
            ("SET arrow_output_version = '1.4'", "SET produce_arrow_string_view = true"),
            pa.string_view(),
            pa.dictionary(pa.uint8(), pa.string()),
        ),
    ],
    ids=["plain", "views"],
)
def test_types_and_nulls_of_duckdb(settings: tuple[str, ...], texts: pa.DataType, codes: pa.DataType) -> None:
    with _duckdb(*settings) as database:
        rows = database.sql("FROM log")
        kinds = dict(zip(COLUMNS, pa.RecordBatchReader.from_stream(rows).schema.types, strict=True))
        assert kinds["i"] == texts
        assert pa.types.is_dictionary(kinds["c"])
        assert kinds["s"] == pa.decimal128(9, 3)
        assert pa.types.is_timestamp(kinds["made"])
        assert kinds["made"].tz == "Europe/Berlin"
        assert _answers(rows).items() >= EXPECTED.items()


def test_times_of_duckdb_are_instants() -> None:
    """The action of 1 came an hour before its list, whatever zone the database shows times in."""
    with _duckdb() as database:
        lists = database.sql("FROM log WHERE u IS NOT NULL AND s IS NOT NULL")
        actions = "SELECT 1::BIGINT AS u, 'b' AS i, TIMESTAMPTZ '2026-11-19 08:00:00+00' AS seen"
        roles = {**ROLES, "label": None, "time": "made", "truth_columns": {"time": "seen"}}
        ev = sr.evaluate(lists, ["rr"], **roles, truth=database.sql(actions))
    counts = {row["check"]: row["count"] for row in ev.quality.to_pylist()}
    assert counts["rows of the truth before the list"] == 1
    assert {row["u"]: row["rr"] for row in ev.groups.to_pylist()}[1] == 1 / 2


def test_a_query_that_outgrows_memory_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is long, so that its models are found first. Of 200 groups each has a true item, at place 1 or 2."""
    monkeypatch.setattr(stream_file, "MOST_BYTES", 100_000)
    with duckdb.connect() as database:
        database.execute("CREATE SEQUENCE asked")
        rows = database.sql("""
            SELECT n % 200 AS u, n AS i, 1 - n / 20000 AS s, n // 200 = n % 2 AS y,
                if(nextval('asked') > 0, 'a', 'b') AS m
            FROM range(20000) t(n)
        """)
        ev = sr.evaluate(rows, ["rr"], group="u", item="i", score="s", label="y", model="m")
        assert database.execute("SELECT nextval('asked')").fetchone() == (20_001,)
    assert {row["u"]: row["rr"] for row in ev.groups.to_pylist()} == {u: 1 / (1 + u % 2) for u in range(200)}


FAILING = """
SELECT CASE WHEN n = 1200000 THEN error('the warehouse is suspended') ELSE n END AS u, n AS s, 1 AS y
FROM range(1500000) t(n)
"""


def test_a_query_that_fails_halfway_is_a_sentence_and_exit_code_1() -> None:
    call = "sr.evaluate(duckdb.sql(sys.argv[1]), ['rr'], group='u', score='s', label='y')"
    script = f"import sys, duckdb, sparkrank as sr; {call}"
    done = subprocess.run(
        [sys.executable, "-c", script, FAILING], capture_output=True, text=True, check=False, cwd=PROJECT
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "the impressions are a DuckDBPyRelation that cannot be read: " in last
    assert last.endswith("the warehouse is suspended")


def _page(word: str) -> str:
    (code,) = [block for block in blocks(PAGE, "python") if word in block]
    return code


def test_what_the_page_says_of_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The click of 1 is second, that of a robot is not seen, and neither is the other day."""
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("events.duckdb") as database:
        database.execute(
            "CREATE TABLE impressions (user_id INT, score DOUBLE, clicked BOOL, country TEXT, is_robot BOOL, day DATE)"
        )
        rows = [
            (1, 0.9, False, False, "19"),
            (1, 0.8, True, False, "19"),
            (1, 1.0, True, True, "19"),
            (1, 1.0, True, False, "18"),
        ]
        for user, score, clicked, robot, day in rows:
            database.execute(
                "INSERT INTO impressions VALUES (?, ?, ?, 'de', ?, ?)", [user, score, clicked, robot, f"2026-11-{day}"]
            )
    space: dict[str, Any] = {}
    exec(_page("import duckdb"), space)  # noqa: S102 - the page's own code
    assert space["ev"].quality.to_pylist()[0]["count"] == 2
    assert 0.6 < space["ev"]["ndcg@10"] < 0.64  # 1 / log2(3)


def test_batches_of_the_clients_of_snowflake_and_bigquery() -> None:
    """Each batch of Snowflake has the types that its own values need."""
    space: dict[str, Any] = {}
    exec(_page("fetch_arrow_batches"), space)  # noqa: S102 - the page's own code
    scores = [pa.array([0.5, 0.4]), pa.array([Decimal("0.5")]), pa.array([1], pa.int16())]
    users = [pa.array([1, 1], pa.int8()), pa.array([70_000], pa.int32()), pa.array([70_000])]
    tables = [
        pa.table({"DAY": ["19"] * len(user), "USER_ID": user, "SCORE": score, "CLICKED": clicked})
        for user, score, clicked in zip(users, scores, [[False, True], [None], [True]], strict=True)
    ]

    class Cursor:
        def fetch_arrow_batches(self) -> Any:
            return iter(tables)

    class Rows:
        def to_arrow_iterable(self, max_queue_size: int) -> Any:
            return (batch for table in tables for batch in table.to_batches())

    for rows in (space["of_snowflake"](Cursor()), space["of_bigquery"](Rows())):
        ev = sr.evaluate(rows, ["rr"], group="USER_ID", score="SCORE", label="CLICKED")
        assert {row["USER_ID"]: row["rr"] for row in ev.groups.to_pylist()} == {1: 1 / 2, 70_000: 1.0}


def _sqlite(path: str) -> Any:
    adbc = pytest.importorskip("adbc_driver_sqlite.dbapi", reason="the dev extra has it")
    return adbc.connect(path)


def test_types_and_nulls_of_sqlite_by_adbc() -> None:
    with _sqlite(":memory:") as database, database.cursor() as cursor:
        cursor.execute("CREATE TABLE log (u INTEGER, i TEXT, s REAL, y INTEGER, c TEXT)")
        cursor.executemany(
            "INSERT INTO log VALUES (?, ?, ?, ?, ?)", [(*row[:2], row[2] and float(row[2]), *row[3:5]) for row in ROWS]
        )
        cursor.execute("SELECT * FROM log")
        assert _answers(cursor.fetch_record_batch()).items() >= EXPECTED.items()
        cursor.execute("SELECT * FROM log")
        assert _answers(cursor.fetch_arrow()).items() >= EXPECTED.items()


def test_a_driver_of_adbc_that_fails_halfway() -> None:
    """SQLite has types of values: a text after 5,000 numbers is none of the column's."""
    with _sqlite(":memory:") as database, database.cursor() as cursor:
        cursor.execute(
            "WITH RECURSIVE t(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM t WHERE n < 9000) "
            "SELECT n % 10 AS u, CASE WHEN n = 5000 THEN 'high' ELSE n END AS s, n % 2 AS y FROM t"
        )
        told = r"^the impressions are a RecordBatchReader that cannot be read: .*expected INT64 but got STRING"
        with pytest.raises(sr.InputError, match=told) as refused:
            sr.evaluate(cursor.fetch_record_batch(), ["rr"], group="u", score="s", label="y")
    assert "\n" not in str(refused.value)


def test_what_the_page_says_of_adbc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with _sqlite("events.sqlite") as database, database.cursor() as cursor:
        cursor.execute("CREATE TABLE impressions (user_id, score, clicked, is_robot, day)")
        rows = [(1, 0.9, 0, 0, "2026-11-19"), (1, 0.8, 1, 0, "2026-11-19"), (1, 1.0, 1, 0, "2026-11-18")]
        cursor.executemany("INSERT INTO impressions VALUES (?, ?, ?, ?, ?)", rows)
        database.commit()
    space: dict[str, Any] = {}
    exec(_page("adbc_driver_sqlite"), space)  # noqa: S102 - the page's own code
    assert space["ev"].quality.to_pylist()[0]["count"] == 2
    assert 0.6 < space["ev"]["ndcg@10"] < 0.64  # 1 / log2(3)
