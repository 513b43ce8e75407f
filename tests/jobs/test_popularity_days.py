"""Popularity from what stored days have counted: the same as from their rows, and what is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.comparison.run_states import RunStates
from sparkrank.config import load_spec
from sparkrank.doors.stored_states import stored_states
from sparkrank.run.day_request import places_of
from tests.support.commands import exit_code, write_spec

pytestmark = pytest.mark.job

DAYS = ("2026-11-17", "2026-11-18", "2026-11-19")
# What users did on each day. x is had three times on the first two days, 7 twice, and z once, which is not relevant.
DID = {
    DAYS[0]: [("a", "x", 1), ("b", "x", 2), ("b", "7", 1), ("c", "z", 0)],
    DAYS[1]: [("a", "x", 1), ("c", "7", 1)],
    DAYS[2]: [("a", "q", 1), ("b", "x", 1)],
}
LISTS = pa.table({"user": ["a", "a", "b", "b"], "item": ["x", "q", "7", "x"], "score": [2.0, 1.0, 2.0, 1.0]})
READ = ["shown(of=interactions.rows)@2", "shown(of=tier,is=new)@2", "r@2"]


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., int]:
    """Write the logs, and return a function that evaluates a day by a spec with changes of its sections."""
    pq.write_table(LISTS, tmp_path / "lists.parquet")
    for day, rows in DID.items():
        columns = dict(zip(("user", "item", "label"), map(list, zip(*rows, strict=True)), strict=True))
        pq.write_table(pa.table(columns), tmp_path / f"truth-{day}.parquet")

    def evaluated(day: str, **sections: Any) -> int:
        output = {"path": f"{tmp_path}/tables", "popularity": True, **sections.pop("output", {})}
        document = {
            "input": {
                "path": f"{tmp_path}/lists.parquet",
                "columns": {"group": "user", "item": "item", "score": "score"},
            },
            "truth": {"path": f"{tmp_path}/truth-{{date}}.parquet", "columns": {"label": "label"}},
            "metrics": ["rr", "gini@1"],
            "output": output,
            "engine": {"lane": "local"},
            **sections,
        }
        return exit_code("evaluate", "--conf", write_spec(tmp_path, document), "--date", day)

    return evaluated


def stored(folder: Path, **asked: Any) -> dict[str, Any]:
    return {"states": f"{folder}/tables", "days": 2, **asked}


def of_day(folder: Path, table: str, day: str = DAYS[2]) -> pa.Table:
    (file,) = (folder / f"tables/{table}/day={day}").glob("*.parquet")
    return pq.read_table(file, partitioning=None)


def test_stored_days_say_what_their_rows_say(run: Callable[..., int], tmp_path: Path) -> None:
    """z, whose label is 0, was not had. Values by hand: a is shown x and q, had 3 and 0 times, and b 7 and x."""
    rows = [row for day in DAYS[:2] for row in DID[day] if row[2]]
    pq.write_table(
        pa.table({"user": [row[0] for row in rows], "item": [row[1] for row in rows]}), tmp_path / "had.parquet"
    )
    assert [run(day) for day in DAYS[:2]] == [0, 0]
    asked = {"metrics": READ, "slices": ["tier", {"column": "interactions.rows", "edges": [1, 3]}]}
    assert run(DAYS[2], interactions={"path": f"{tmp_path}/had.parquet"}, **asked) == 0
    expected = of_day(tmp_path, "metrics")
    assert run(DAYS[2], interactions=stored(tmp_path), **asked) == 0
    found = of_day(tmp_path, "metrics")
    own = ["metric", "slice", "slice_value", "value", "n_groups", "ci_low"]
    assert repr(found.select(own).to_pylist()) == repr(expected.select(own).to_pylist())  # some are NaN
    assert found["value"].to_pylist()[:2] == [((3 + 0) / 2 + (2 + 3) / 2) / 2, (1 / 2 + 0) / 2]
    meant = zip(found["definition"].to_pylist()[:2], expected["definition"].to_pylist()[:2], strict=True)
    assert all(own == f"{other}; popularity of 2 stored days" for own, other in meant)
    counts = {row["check"]: row["count"] for row in of_day(tmp_path, "quality").to_pylist()}
    assert counts["rows of the interactions"] == 5
    assert counts["stored days of the interactions that are missing"] == 0
    (run_row,) = of_day(tmp_path, "runs").to_pylist()
    assert run_row["input"].endswith(f"with interactions of {DAYS[0]}..{DAYS[1]} under {tmp_path}/tables")


def test_a_window_merges_days_that_count_popularity(run: Callable[..., int], tmp_path: Path) -> None:
    assert [run(day) for day in DAYS[:2]] == [0, 0]
    items = of_day(tmp_path, "items", DAYS[0])
    counted = items.filter(pc.equal(items["exposure"], "popularity")).select(["model", "item", "shown", "relevant"])
    assert [tuple(row.values()) for row in counted.to_pylist()] == [("", "7", 2**32, 1), ("", "x", 2 * 2**32, 2)]
    conf = str(tmp_path / "spec.yaml")
    assert exit_code("merge", "--conf", conf, "--from", DAYS[0], "--to", DAYS[1]) == 0
    (file,) = (tmp_path / f"tables/windows/items/window={DAYS[0]}..{DAYS[1]}").glob("*.parquet")
    assert set(pq.read_table(file, partitioning=None)["exposure"].to_pylist()) == {"k=1"}


REFUSED: list[tuple[dict[str, Any], dict[str, Any], int, str]] = [
    ({"days": 4}, {}, 4, "2026-11-15..2026-11-16 under {0}/tables has no popularity of items: evaluate those days"),
    (
        {"days": "2026-11-18..2026-11-19"},
        {},
        4,
        "2026-11-19 under {0}/tables has no popularity of items: evaluate that",
    ),
    ({"states": "{0}/none", "days": 1}, {}, 4, "2026-11-18 under {0}/none has no popularity of items"),
    ({}, {"metrics": ["new@2"]}, 2, "new@2 reads the pairs of group and item, but stored days have counts of items"),
    ({}, {"exclude": "interactions"}, 2, "exclude is interactions, but stored days have no pairs of group and item"),
    ({}, {"slices": [{"column": "interactions.items", "edges": [1]}]}, 2, "a slice by interactions.items reads the pa"),
    ({}, {"metrics": ["shown(of=interactions.users)@2"]}, 2, "shown(of=interactions.users)@2 counts the groups that h"),
    (
        {"tiers": {"of": "users"}},
        {},
        2,
        "tiers.of counts the groups that had an item, but stored days count a group of",
    ),
    ({}, {"metrics": ["rr"]}, 2, "interactions are given, but no metric and no slice reads the popularity of items"),
    ({"path": "/had"}, {}, 2, "has states and path: stored days take the place of a table"),
    ({"days": None}, {}, 2, "has states, but no days: a number of days, or first..last, is needed"),
    (
        {"days": "a week"},
        {},
        2,
        "interactions.days is 'a week': days from the first to the last, first..last, are needed",
    ),
    ({"states": None, "path": "/had"}, {}, 2, "has days, but no states: name the output whose days have counted items"),
    ({"states": "{0}/none", "optional": True}, {}, 0, ""),
    (
        {"days": 4, "optional": True},
        {"quality": {"limits": {"stored days of the interactions that are missing": 1}}},
        4,
        '"stored days of the interactions that are missing" is 2, and limits allows 1',
    ),
]


def test_what_stored_days_are_refused_for(
    run: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [run(day) for day in DAYS[:2]] == [0, 0]
    missed = []
    for changed, others, code, sentence in REFUSED:
        section = stored(tmp_path, **changed)
        section["states"] = None if section["states"] is None else section["states"].format(tmp_path)
        capsys.readouterr()
        ended = run(DAYS[2], **{"metrics": READ, "interactions": section, **others})
        told = capsys.readouterr().err
        if ended != code or sentence.format(tmp_path) not in told:
            missed.append((changed, others, ended, told))
    assert missed == []


def test_days_that_count_something_else_are_refused(
    run: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second day takes only some rows of its truth; then it is one without popularity, which states name."""
    truth = {"path": f"{tmp_path}/truth-{{date}}.parquet", "columns": {"label": "label"}, "where": "label < 9"}
    assert [run(DAYS[0]), run(DAYS[1], truth=truth)] == [0, 0]
    asked: dict[str, Any] = {"metrics": READ, "interactions": stored(tmp_path)}
    assert run(DAYS[2], **asked) == 4
    told = capsys.readouterr().err
    assert f"the popularity of items of {DAYS[0]} is of source " in told
    assert f", and that of {DAYS[1]} of source " in told
    assert run(DAYS[1], output={"popularity": False}) == 0
    assert run(DAYS[2], **asked) == 4
    assert f"{DAYS[1]} under {tmp_path}/tables has no popularity of items" in capsys.readouterr().err


def test_lists_of_numbers_and_stored_texts(run: Callable[..., int], tmp_path: Path) -> None:
    assert run(DAYS[0]) == 0
    lists = pa.table({"user": ["a"], "item": [7], "score": [1.0], "label": [1]})
    roles: dict[str, Any] = {"group": "user", "item": "item", "score": "score", "label": "label"}
    had = {"states": f"{tmp_path}/tables", "days": f"{DAYS[0]}..{DAYS[0]}"}
    with pytest.raises(sr.InputError, match="the item column is of type int64 in the lists, and the stored days of"):
        sr.evaluate(lists, READ[:1], interactions=had, **roles)


def test_days_of_calls(tmp_path: Path) -> None:
    """Calls store days as jobs do, and name days from the first to the last."""
    log = LISTS.append_column("label", pa.array([1, 0, 2, None]))
    roles: dict[str, Any] = {"group": "user", "item": "item", "score": "score", "label": "label"}
    for day in DAYS[:2]:
        sr.evaluate(log, ["rr"], popularity=True, **roles).write(str(tmp_path / "tables"), day=day)
    had = {"states": str(tmp_path / "tables"), "days": f"{DAYS[0]}..{DAYS[1]}"}
    again = sr.evaluate(log, ["shown(of=interactions.rows)@1"], interactions=had, **roles)
    assert again["shown(of=interactions.rows)@1"] == 2.0  # x and 7 are relevant once on each day
    again.write(str(tmp_path / "again"), day=DAYS[2])
    (spec,) = pq.read_table(next((tmp_path / "again/runs").glob("*/*.parquet")), partitioning=None)["spec"].to_pylist()
    assert f'"days": "{had["days"]}"' in spec
    assert isinstance(stored_states("one", str(tmp_path / "again"), DAYS[2], None), RunStates)  # for comparisons
    for wrong, sentence in [
        ({**had, "day": 1}, 'interactions has the key "day", did you mean "days"?'),
        ({**had, "days": 28}, "interactions.days is 28: a call does not name a day, so first..last is needed"),
        ({**had, "states": None}, "interactions.states is None: the folder of the tables of days is needed"),
        ({**had, "optional": "no"}, "interactions.optional is 'no': true or false is needed"),
    ]:
        with pytest.raises(sr.SpecError) as raised:
            sr.evaluate(log, READ[:1], interactions=wrong, **roles)
        assert str(raised.value).startswith(sentence)
    with pytest.raises(sr.SpecError, match="popularity counts the items that groups had, but no group column is named"):
        sr.evaluate(log, ["auc"], popularity=True, item="item", score="score", label="label")


def test_a_spec_says_where_its_popularity_is_from(tmp_path: Path) -> None:
    document = {
        "input": {"path": "/in", "columns": {"group": "user", "item": "item", "score": "score", "label": "label"}},
        "interactions": {"states": "/out/{date}", "days": 3},
        "metrics": ["shown(of=tier,is=new)@2"],
        "output": {"path": "/out/{date}"},
    }
    spec = load_spec(write_spec(tmp_path, document))
    assert places_of(spec, DAYS[2])[-2] == "interactions.states: /out/{date} of 2026-11-16..2026-11-18"
    assert (
        spec.plan()
        .definition(spec.plan().metrics[0])
        .endswith("; tiers of rows, head 0.8, tail 0.95; popularity of 3 stored days")
    )
    other = load_spec(write_spec(tmp_path, {**document, "interactions": {"states": "/out/{date}", "days": 28}}))
    assert spec.hash() != other.hash()
