"""Conditions that no SQL is are refused where the spec is read; what might be SQL is left to Spark."""

from __future__ import annotations

import re

import pytest

from sparkrank.sources.condition_syntax import validate_condition

SQL = """
surface = 'home' and kind != "it""s" and name <> 'it''s'
click < 3 or not (click > 4) and !e
id % 2 = 0 and dt = '{date}' and month = {date:%Y}{date:%m} and week = w{date:%V}
date >= DATE '2026-01-01' - INTERVAL 3 DAYS 2 HOURS and day = 'x' and hour > 3
count(*) > 1 and now() > ts and cast(a as map<string, array<int>>) is not null
x in ('a', 'b') and y not like '%a' escape '!' and z between 1 and 2 and s rlike 'a{2}'
case when a = 1 then 'x' else 'y' end = 'x' or case kind when 'a' then 1 end = 1
exists(arr, (x, y) -> x > 1) and arr[0] = 1 and m['a'].b = 2.5 and c = -1e-3 and d = .5
a is distinct from b and c IS NOT TRUE and isnotnull(d) and island is  not  null
zero >= 0 -- all of them
extract(year from d) = 2026 and id in (select id from t where x = 1) /* and ' more */
`a b` = 1 and t.`c d` <=> 2 and v:a.b::int = 3 and f(a => 1) and größe > 3 and s = 'a' 'b'
u
"""
NO_SQL = {
    "u = = 'a'": "a value is missing before \"= 'a'\"",
    "a >< 3": "a value is missing before '< 3'",
    "id =": "a value is missing at the end",
    "zero >= 0 and": "a value is missing at the end",
    "and": "a value is missing before 'and'",
    "a = 1 and (or b)": "a value is missing before 'or b)'",
    "f(a,)": "a value is missing before ')'",
    "a in (": "a value is missing at the end",
    "zero >= 0 anything": "an operator is missing before 'anything'",
    "surface 'home'": "an operator is missing before \"'home'\"",
    "a = 1, b = 2": "an operator is missing before ', b = 2'",
    "(a = 1) b": "an operator is missing before 'b'",
    "surface is home": "IS takes NULL, TRUE or FALSE, but is before 'home'",
    "this is not sql": "IS NOT takes NULL, TRUE or FALSE, but is before 'sql'",
    "zero > 0) or (u = 'a'": ") closes nothing before",
    "f(a] = 1": "] closes nothing before",
    "(a = 1": "( is not closed",
    "surface = 'home": '"\'home" is not understood',
    "a = 1;": "';' is not understood",
}


@pytest.mark.parametrize("condition", SQL.strip().splitlines())
def test_what_may_be_sql_passes(condition: str) -> None:
    validate_condition(condition)


@pytest.mark.parametrize("condition", NO_SQL)
def test_what_is_no_sql_is_refused_with_the_place(condition: str) -> None:
    with pytest.raises(ValueError, match=f"^it is not an SQL condition: {re.escape(NO_SQL[condition])}"):
        validate_condition(condition)
