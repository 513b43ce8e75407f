"""Gates through the command line: every kind passing, failing and undecided, by exit code and sentence."""

from __future__ import annotations

import datetime as dt
import math
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from sparkrank.config.gate_sections import HistorySettings, LeastGroups
from sparkrank.schemas.tables import ACCEPTED, GATES
from tests.support.commands import PROJECT, exit_code
from tests.support.nights import comparison, conf_of, metric, store, table_of
from tests.support.stored_files import one_file

DAY = "2026-11-19"
COUNTRY = {"slice": "country", "slice_value": "de"}
ASKED: dict[str, Any] = {"metric": "ndcg@10", "model": "production"}
LOSS: dict[str, Any] = {"metric": "logloss", "model": "candidate"}  # of which lower is better


def before(count: int, day: str = DAY, step: int = 1) -> list[str]:
    """So many days before ``day``, the earliest first."""
    last = dt.date.fromisoformat(day)
    return [str(last - dt.timedelta(step * number)) for number in range(count, 0, -1)]


Judging = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Judging:
    """Runs ``sparkrank gate`` on :data:`DAY`, and gives its exit code and the line of each check, with its gate."""

    def run(gates: list[dict[str, Any]], *words: str, **changes: Any) -> tuple[int, list[str]]:
        conf = conf_of(tmp_path, gates, **changes)
        capsys.readouterr()
        code = exit_code("gate", "--verbose", "--conf", conf, *(words or ("--date", DAY)))
        printed = capsys.readouterr()
        lines = (printed.out or printed.err).splitlines()
        if not printed.out or "--replay" in words:
            return code, [line.strip() for line in lines[1 if printed.out else 0 :]]
        assert lines[0] == lines[-1]
        assert lines[0].endswith(f"(exit {code}).")
        return code, list(with_gates([line for line in lines[1:-1] if not line.startswith("Look closer: ")]))

    return run


def with_gates(lines: list[str]) -> Iterator[str]:
    """The lines of checks; those below the line that counts the checks of a gate get the name of the gate."""
    name = ""
    for line in lines:
        counted = re.match(r"  [\w, ]+: (.*): (?:the gate|gate \d+ of \d+) .*, in \d+ of \d+ checks", line)
        if counted is not None:
            name = counted[1]
        elif line.startswith("    "):
            verdict, _, rest = line.strip().partition(": ")
            yield f"{verdict}: {name}: {rest}"
        else:
            yield line.strip()


VALUE = "ndcg@10, production: 0.35 (0.31 to 0.39)"
SIDES: list[tuple[dict[str, Any], int, str]] = [
    ({"min": 0.30}, 0, f"pass: ndcg@10 of production min 0.3: {VALUE} is not below 0.3"),
    ({"min": 0.31}, 0, "pass: "),  # an end on the bound is on the good side
    ({"min": 0.40}, 3, f"fail: ndcg@10 of production min 0.4: {VALUE} is below 0.4 by 0.05"),
    (
        {"min": 0.36},
        0,
        f"undecided: ndcg@10 of production min 0.36: {VALUE} could be below 0.36: the interval reaches 0.31",
    ),
    ({"min": 0.36, "undecided": "fail"}, 5, "undecided, which stops the day: "),
    ({"min": 0.36, "undecided": "pass"}, 0, "undecided, which passes: "),
    ({"max": 0.40}, 0, f"pass: ndcg@10 of production max 0.4: {VALUE} is not above 0.4"),
    ({"max": 0.30, "name": "not too good"}, 3, f"fail: not too good: {VALUE} is above 0.3 by 0.05"),
]


def test_a_bound_against_the_interval(tmp_path: Path, judged: Judging) -> None:
    store(tmp_path, DAY, [metric(0.35, 0.04)])
    for gate, code, beginning in SIDES:
        ended, (line,) = judged([{**ASKED, **gate}])
        assert ended == code, gate
        assert line.startswith(beginning)


def test_a_value_that_has_no_interval_by_nature_decides_alone(tmp_path: Path, judged: Judging) -> None:
    columns = {"group": "user", "item": "item", "label": "clicked", "score": {"production": "s", "candidate": "t"}}
    for name in ("coverage", "gini@10", "novelty@10", "auc_up"):
        asked = {"metrics": [name], "input": {"path": "/log/dt={date}", "columns": columns}}
        store(tmp_path, DAY, [metric(0.35, metric=name)])
        for bound, code, side in ((0.3, 0, "is not below 0.3"), (0.4, 3, "is below 0.4 by 0.05")):
            gate = {"metric": name, "model": "production", "min": bound, "undecided": "fail"}
            ended, (line,) = judged([gate], **asked)
            assert ended == code
            assert line.endswith(f"0.35 {side} (the value alone decides: it has no interval by nature)")


DIFFERENCES: list[tuple[str, tuple[float, float | None], object, int, str]] = [
    # higher is better: 5 % of production's 0.4 is 0.02
    ("ndcg@10", (0.0, 0.015), "5%", 0, "is no worse than allowed: the margin is 0.02 (5% of 0.4)"),
    ("ndcg@10", (-0.05, 0.02), "5%", 3, "is worse than allowed: the margin is 0.02 (5% of 0.4)"),
    ("ndcg@10", (-0.01, 0.02), 0.02, 5, "-0.01 (-0.03 to 0.01), could be worse than allowed: the interval reaches -0."),
    ("ndcg@10", (-0.05, 0.02), 0.02, 3, "-0.05 (-0.07 to -0.03), is worse than allowed: the margin is 0.02"),
    ("ndcg@10", (-0.01, 0.02), 0.03, 0, "-0.01 (-0.03 to 0.01), is no worse than allowed: the margin is 0.03"),
    ("ndcg@10", (0.0, 0.0), None, 5, "0 (0 to 0), could be worse than allowed: its interval has no width"),
    # lower is better
    ("logloss", (0.05, 0.02), "5%", 3, "is worse than allowed: the margin is 0.02 (5% of 0.4)"),
    ("logloss", (-0.05, 0.02), "5%", 0, "is no worse than allowed: the margin is 0.02 (5% of 0.4)"),
    ("logloss", (0.01, 0.02), "5%", 5, "could be worse than allowed: the interval reaches 0.03"),
    # no interval
    ("ndcg@10", (-0.03, None), "5%", 5, "-0.03, could be worse than allowed: it has no interval"),
]


def test_not_worse_than_a_model(tmp_path: Path, judged: Judging) -> None:
    for name, difference, by, code, sentence in DIFFERENCES:
        rows = [metric(0.4, 0.1, metric=name, model=model) for model in ("production", "candidate")]
        store(tmp_path, DAY, rows, [comparison(*difference, metric=name)])
        gate = {"metric": name, "not_worse_than": "production", **({} if by is None else {"by": by})}
        ended, (line,) = judged([gate], undecided="fail")
        assert ended == code, sentence
        assert f"{name}, candidate: its difference to production, " in line
        assert sentence in line


def test_a_gates_own_policy_comes_first_and_a_failure_before_what_is_undecided(tmp_path: Path, judged: Judging) -> None:
    store(tmp_path, DAY, [metric(0.35, 0.04), metric(0.5, 0.1, **LOSS)])
    undecided = {**ASKED, "min": 0.36}
    assert judged([undecided], undecided="fail")[0] == 5
    assert judged([{**undecided, "undecided": "warn"}], undecided="fail")[0] == 0
    assert judged([{**undecided, "undecided": "fail"}], undecided="pass")[0] == 5
    passing, failing = {**LOSS, "max": 0.7}, {**LOSS, "max": 0.3}
    code, lines = judged([passing, undecided, failing], undecided="fail")
    assert code == 3
    assert [line.partition(":")[0] for line in lines] == ["fail", "undecided, which stops the day", "pass"]


GONE = "what has vanished never passes"
UNDEFINED = f"it is undefined on {DAY}, and what is undefined never passes"
VERSUS = {"metric": "ndcg@10", "not_worse_than": "production"}
BOTH_PLACES = [metric(0.4), metric(0.4, **COUNTRY)]
MODELS = [metric(0.4, model="candidate"), metric(0.4)]
ALL = [(name, model) for name in ("ndcg@10", "logloss", "copc") for model in ("production", "candidate")]
NO_BASELINE = [MODELS[0], metric(math.nan)]
NOT_THERE: list[tuple[list[dict[str, Any]], list[dict[str, Any]] | None, dict[str, Any], str]] = [
    ([metric(math.nan)], None, {**ASKED, "min": -1}, UNDEFINED),
    ([metric(None)], None, {**ASKED, "max": 9}, UNDEFINED),
    ([metric(math.nan)], None, {**ASKED, "not_worse_than": "history"}, UNDEFINED),
    (MODELS[:1], None, {**ASKED, "min": 0}, f"the model production is not in the tables of {DAY}: {GONE}"),
    ([metric(0.4)], None, {"metric": "logloss", "max": 9}, f"the metric logloss is not in the tables of {DAY}"),
    (BOTH_PLACES, None, {**ASKED, "slice": {"country": "fr"}, "min": 0}, f"country=fr is not in the tables of {DAY}"),
    (BOTH_PLACES, None, {**ASKED, "slice": {"country": None}, "min": 0}, "country=(null) is not in the tables of"),
    ([metric(0.4)], None, {**ASKED, "slice": {"country": "*"}, "min": 0}, "has no value of a slice that the gate"),
    (MODELS[:1], None, VERSUS, "no table comparisons"),
    (MODELS, [], VERSUS, f"{DAY} has no comparison of it with production"),
    (MODELS, [comparison(math.nan)], VERSUS, f"its difference to production is undefined on {DAY}"),
    (NO_BASELINE, [comparison(0.0, 0.1)], {**VERSUS, "by": "1%"}, f"production has no value on {DAY} of which"),
]


def test_what_is_not_there_or_undefined_never_passes(tmp_path: Path, judged: Judging) -> None:
    for kept, compared, gate, sentence in NOT_THERE:
        shutil.rmtree(tmp_path / "tables", ignore_errors=True)
        store(tmp_path, DAY, kept, compared)
        code, lines = judged([gate])
        assert (code, lines[0][:6]) == (3, "fail: "), sentence
        assert sentence in lines[0]


def test_a_day_or_a_window_without_tables_never_passes(tmp_path: Path, judged: Judging) -> None:
    gates = [{**ASKED, "min": 0}, {"metric": "*", "slice": {"country": "*"}, "max": 9}]
    for words in (("--date", DAY), ("--from", "2026-11-13", "--to", DAY)):
        code, lines = judged(gates, *words)
        assert (code, len(lines)) == (3, 2)
        assert all("has no tables, and what has no data never passes" in line for line in lines)


def test_wildcards_name_every_metric_model_and_value_that_they_match(tmp_path: Path, judged: Judging) -> None:
    places: list[dict[str, Any]] = [{}, COUNTRY, {"slice": "country", "slice_value": None}]
    rows = [metric(0.5, 0.1, metric=name, model=model, **place) for name, model in ALL for place in places]
    store(tmp_path, DAY, rows)

    def about(**gate: Any) -> set[str]:
        code, lines = judged([{"metric": "*", **gate, "min": 0}])
        assert code == 0
        return {line.split(": ", 2)[2].rpartition(":")[0].partition(":")[0] for line in lines}

    assert len(about()) == 6  # the whole day alone
    assert about(model="cand*", metric="ndcg@*") == {"ndcg@10, candidate"}
    by_country = {"ndcg@10, candidate, country=de", "ndcg@10, candidate, country=(null)"}
    assert about(model="candidate", metric="NDCG@10", slice={"country": "*"}) == by_country
    assert about(model="candidate", metric="ndcg@10", slice={"*": "*"}) == by_country
    assert about(model="candidate", metric="ndcg@10", slice={"country": "d?"}) == {"ndcg@10, candidate, country=de"}
    assert about(model="candidate", metric="ndcg@10", slice={"country": None}) == {"ndcg@10, candidate, country=(null)"}


def test_not_worse_than_leaves_out_the_baseline_and_what_has_no_better_side(tmp_path: Path, judged: Judging) -> None:
    rows = [metric(0.5, 0.1, metric=name, model=model) for name, model in ALL]
    store(tmp_path, DAY, rows, [comparison(0.0, 0.0, metric=name) for name, _ in ALL[::2]])
    store(tmp_path, before(1)[0], rows)  # nor are they missed
    code, lines = judged([{"metric": "*", "not_worse_than": "production"}])
    assert code == 0
    assert [line.split(": ")[2] for line in lines] == ["ndcg@10, candidate", "logloss, candidate"]


def test_what_the_last_accepted_day_had_and_a_wildcard_matches_must_be_there(tmp_path: Path, judged: Judging) -> None:
    older = {"slice": "country", "slice_value": "gone"}
    yesterday, day_before = before(2)[1], before(2)[0]
    store(tmp_path, day_before, [metric(0.4), metric(0.4, **older)])
    store(tmp_path, yesterday, [metric(0.4), metric(0.4, **COUNTRY), metric(0.4, model="old")])
    store(tmp_path, DAY, [metric(0.4, 0.1), metric(0.4, 0.1, slice="country", slice_value="fr")])
    code, lines = judged([{**ASKED, "slice": {"country": "*"}, "min": 0}])
    assert code == 3
    had = f"is not in the tables of {DAY}, but was in those of {yesterday}, the last accepted one: {GONE}"
    assert f"country=de {had}" in lines[0]
    assert [line[:6] for line in lines[1:]] == ["pass: "]  # what was gone yesterday is gone
    assert judged([{"metric": "ndcg@10", "model": "o*", "min": 0}])[0] == 2  # of the models of this spec none matches
    code, lines = judged([{"metric": "ndcg@10", "min": 0}])
    assert (code, any(f"the model old {had}" in line for line in lines)) == (3, True)


def test_what_has_been_gone_for_many_nights_still_does_not_pass(tmp_path: Path, judged: Judging) -> None:
    first, *nights = before(30)
    gate = {**ASKED, "slice": {"country": "*"}, "min": 0}
    store(tmp_path, first, [metric(0.4), metric(0.4, **COUNTRY), metric(0.4, slice="country", slice_value="fr")])
    failed = {"gate": "countries", "kind": "min", "metric": "ndcg@10", "verdict": "fail", "accepted": False}
    for night in nights:
        gates = pa.Table.from_pylist([failed], GATES.schema)
        store(tmp_path, night, [metric(0.4), metric(0.4, **COUNTRY)], gates=gates)
    store(tmp_path, DAY, [metric(0.4), metric(0.4, **COUNTRY)])
    for asked in ([gate], [gate, {**ASKED, "not_worse_than": "history"}]):
        code, lines = judged(asked)
        assert code == 3
        assert any(f"country=fr is not in the tables of {DAY}, but was in those of {first}" in line for line in lines)
    assert "stops 2 of 2 nights" in " ".join(judged([gate], "--replay", "2", "--date", DAY)[1])
    exit_code("accept", "--conf", conf_of(tmp_path, [gate]), "--date", nights[-1], "--reason", "no longer sold")
    assert judged([gate])[0] == 0


VALUES = [0.40, 0.42, 0.38, 0.41, 0.39, 0.40, 0.40]  # mean 0.40, squares 0, 4, 4, 1, 1, 0, 0 of 1e-4


def test_only_the_days_before_count_and_only_so_many(tmp_path: Path, judged: Judging) -> None:
    """A repaired day is compared with the days before it, whatever came after."""
    repaired = "2026-11-10"
    for day, value in zip(before(3, repaired), VALUES[1:], strict=False):
        store(tmp_path, day, [metric(value)])
    for day in before(9, "2026-11-20"):
        store(tmp_path, day, [metric(0.9)])
    store(tmp_path, repaired, [metric(0.4)])
    gates, history = [{**ASKED, "not_worse_than": "history"}], {"least_days": 3, "days": 3}
    assert judged(gates, "--date", repaired, history=history)[0] == 0
    assert judged(gates, "--date", "2026-11-14", history=history)[0] == 0
    assert judged(gates, "--date", "2026-11-15", history={**history, "least_days": 2})[0] == 0
    store(tmp_path, repaired, [metric(-0.3)])  # with 2 degrees 3 deviations are 19.2, and 0.0205 is one
    assert judged(gates, "--date", repaired, history=history)[0] == 3


def test_the_same_weekday_alone(tmp_path: Path, judged: Judging) -> None:
    for day in before(21):
        store(tmp_path, day, [metric(0.9, 0.002)])
    for day, value in zip(before(3, step=7), (0.40, 0.41, 0.39), strict=True):
        store(tmp_path, day, [metric(value, 0.002)])
    store(tmp_path, DAY, [metric(0.9, 0.002)])
    gates = [{**ASKED, "not_worse_than": "history"}]
    for history, code, sentence in (
        ({"rhythm": "none"}, 0, "is within the band of the 21 days before"),
        ({"same_weekday": True, "days": 3, "least_days": 3}, 3, "is above the band of the 3 days before"),
        ({"same_weekday": True}, 0, "its history has 3 days of the same weekday before, and 7 are needed"),
    ):
        ended, (line,) = judged(gates, history=history)
        assert (ended, sentence in line) == (code, True), line


def test_a_damaged_day_of_the_history_is_left_out_and_counted(tmp_path: Path, judged: Judging) -> None:
    for day, value in zip(before(8), [*VALUES, 0.4], strict=True):
        store(tmp_path, day, [metric(value)])
    one_file(tmp_path / f"tables/metrics/day={before(8)[3]}").write_bytes(b"damaged")
    store(tmp_path, DAY, [metric(0.4)])
    code, (line,) = judged([{**ASKED, "not_worse_than": "history"}])
    assert code == 0
    assert "is within the band of the 7 days before, " in line
    assert line.endswith(" (left out: 1 day that cannot be read)")
    one_file(tmp_path / f"tables/metrics/day={DAY}").write_bytes(b"damaged")
    assert judged([{**ASKED, "min": 0}])[0] == 4


class TestAccept:
    GATES = ({**ASKED, "min": 0.3},)

    def accept(self, folder: Path, reason: str = "a holiday", day: str = DAY) -> int:
        return exit_code("accept", "--conf", conf_of(folder, [*self.GATES]), "--date", day, "--reason", reason)

    def test_it_is_stored_and_holds(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], judged: Judging) -> None:
        store(tmp_path, DAY, [metric(0.1, 0.01)], [comparison(0.0)])
        assert self.accept(tmp_path) == 0
        assert 'is below 0.3 by 0.2 (accepted: "a holiday")' in capsys.readouterr().out
        row = table_of(tmp_path, "gates", DAY).iloc[0]
        assert (row["verdict"], row["accepted"], row["accepted_reason"]) == ("fail", True, "a holiday")
        run = table_of(tmp_path, "runs", DAY).iloc[0]
        assert run["accepted_reason"] == "a holiday"
        assert {file["table"]: file["rows"] for file in run["files"]} == {"metrics": 1, "gates": 1, "comparisons": 1}
        code, (line,) = judged([*self.GATES])
        assert code == 0
        assert line.endswith('(accepted: "a holiday")')
        # the same again is the same
        assert self.accept(tmp_path) == 0
        assert table_of(tmp_path, "runs", DAY).iloc[0]["accepted_at"] == run["accepted_at"]
        # a gate that it was not accepted by stops the day all the same
        assert judged([*self.GATES, {**ASKED, "min": 0.2}])[0] == 3

    def test_of_nothing_is_refused(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.accept(tmp_path) == 4
        assert "has no tables under" in capsys.readouterr().err
        assert not (tmp_path / "tables").exists()
        store(tmp_path, DAY, [metric(0.5)])
        assert self.accept(tmp_path) == 4
        assert f"no gate stops {DAY}: there is nothing to accept" in capsys.readouterr().err
        assert self.accept(tmp_path, " ") == 2


class TestChoice:
    """Acceptances of some verdicts of a day, and new beginnings."""

    AS_BEFORE: ClassVar[dict[str, Any]] = {"metric": "ndcg@10", "not_worse_than": "history", "name": "as before"}
    GATES = (AS_BEFORE, {**ASKED, "min": 0.3, "name": "least"})

    def stored(self, folder: Path, nights: int = 1, usual: int = 8) -> list[str]:
        """So many usual days, and so many nights up to :data:`DAY` on which both models are far lower."""
        days = [*before(usual + nights - 1), DAY]
        for number, day in enumerate(days):
            level = 0.4 if number < usual else 0.1
            models = (("production", number), ("candidate", number + 3))
            rows = [metric(level + 0.001 * (at * at % 11), 0.004, model=model) for model, at in models]
            store(folder, day, rows)
        return days

    def accept(self, folder: Path, *words: str, day: str = DAY, reason: str = "why") -> int:
        conf = conf_of(folder, [*self.GATES])
        return exit_code("accept", "--conf", conf, "--date", day, "--reason", reason, *words)

    def test_of_some_verdicts(self, tmp_path: Path) -> None:
        both, least = {("as before", "production"), ("as before", "candidate")}, {("least", "production")}
        for number, (words, accepted) in enumerate(
            {
                "": both | least,
                "--gate 'as before'": both,
                "--gate 'as*' --model=candidate": {("as before", "candidate")},
                "--model=production --metric=ndcg*": {("as before", "production")} | least,
                "--slice=all --model=candidate": {("as before", "candidate")},
            }.items()
        ):
            folder = tmp_path / str(number)
            self.stored(folder)
            assert self.accept(folder, *shlex.split(words)) == 0
            gates = table_of(folder, "gates", DAY)
            taken = gates[gates["accepted"]]
            assert set(zip(taken["gate"], taken["model"], strict=True)) == accepted, words
            assert not gates["from_now_on"].any()
            run = table_of(folder, "runs", DAY).iloc[0]
            assert (run["accepted_reason"], run["from_now_on"]) == ("why", False)

    def test_one_after_the_other(self, tmp_path: Path, judged: Judging) -> None:
        self.stored(tmp_path)
        assert self.accept(tmp_path, "--model", "candidate") == 0
        assert judged([*self.GATES])[0] == 3
        assert self.accept(tmp_path, "--model", "production", reason="other") == 0
        assert judged([*self.GATES])[0] == 0
        gates = table_of(tmp_path, "gates", DAY)
        reasons = dict(zip(gates["model"], gates["accepted_reason"], strict=True))
        assert reasons == {"production": "other", "candidate": "why"}

    def test_what_nothing_is_about_is_refused(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.stored(tmp_path)
        assert self.accept(tmp_path, "--model", "other") == 4
        told = f"{DAY} has no verdict that --model other is about: there is nothing to accept"
        assert told in capsys.readouterr().err
        assert self.accept(tmp_path, "--slice", "country=de") == 4
        assert self.accept(tmp_path) == 0
        store(tmp_path, DAY, [metric(0.405, 0.004), metric(0.405, 0.004, model="candidate")])
        assert self.accept(tmp_path, "--model", "production") == 4
        assert f"no gate that --model production is about stops {DAY}" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("words", "anew"), [((), {"production", "candidate"}), (("--model", "candidate"), {"candidate"})]
    )
    def test_from_now_on(self, tmp_path: Path, judged: Judging, words: tuple[str, ...], anew: set[str]) -> None:
        days = self.stored(tmp_path, nights=3)
        assert self.accept(tmp_path, "--from-now-on", *words, day=days[-3]) == 0
        run, gates = (table_of(tmp_path, table, days[-3]) for table in ("runs", "gates"))
        assert bool(run.iloc[0]["from_now_on"]) == (not words)
        assert set(gates[gates["from_now_on"]]["model"]) == anew
        _, lines = judged([self.AS_BEFORE], history={"least_days": 3})
        begun = f"its history has 2 days since it began anew on {days[-3]}, and 3 are needed for a band"
        assert {line.split(", ")[1].split(":")[0] for line in lines if begun in line} == anew
        _, lines = judged([self.AS_BEFORE], "--replay", "11d")
        assert f"stops {1 if not words else 3} of 11 nights" in lines[0]

    def test_a_change_that_no_gate_has_seen_may_begin_anew(self, tmp_path: Path) -> None:
        self.stored(tmp_path, nights=0)
        store(tmp_path, DAY, [metric(0.405, 0.004), metric(0.405, 0.004, model="candidate")])
        assert self.accept(tmp_path) == 4
        assert self.accept(tmp_path, "--from-now-on") == self.accept(tmp_path, "--from-now-on") == 0
        assert bool(table_of(tmp_path, "runs", DAY).iloc[0]["from_now_on"])


def test_a_replay_says_which_nights_a_gate_would_have_stopped(tmp_path: Path, judged: Judging) -> None:
    """By chance: at 0.4 ± 0.02 with a standard error of 0.01, what is 0.01 lower is below 0.41: 15.87 % of a night."""
    days = before(10)
    for day in days:
        store(tmp_path, day, [metric(0.3 if day == days[4] else 0.4, 0.02)])
    gates = [{**ASKED, "min": 0.41}, {**ASKED, "not_worse_than": "history", "name": "as before"}]
    code, lines = judged(gates, "--replay", "20d", history={"least_days": 3})
    assert code == 0
    stopped = f"ndcg@10 of production min 0.41: stops 1 of 10 nights ({days[4]}), undecided on 9; by chance, "
    assert lines[0] == f"{stopped}if nothing had changed, 1.59"
    # a night that stops is no standard for the next; with fewer than 3 days before, nothing is known
    assert lines[1].startswith(f"as before: stops 1 of 10 nights ({days[4]}), undecided on 3; by chance, if nothing ")
    lines = judged(gates, "--replay", "1", "--date", days[4])[1]
    assert lines[0].startswith(f"ndcg@10 of production min 0.41: stops 1 of 1 nights ({days[4]})")
    for words in (("--replay", "x"), ("--replay", "0d"), ("--replay", "9d", "--from", DAY, "--to", DAY)):
        assert judged(gates, *words)[0] == 2
    assert judged(gates, "--replay", "2d", "--date", "2020-01-01")[0] == 4


def test_an_acceptance_holds_for_the_numbers_that_were_seen(tmp_path: Path, judged: Judging) -> None:
    """The same metrics with other comparisons, as of a run whose groups changed places."""
    gate = {"metric": "ndcg@10", "not_worse_than": "production", "name": "g"}
    rows = [metric(0.4), metric(0.4, model="candidate")]
    store(tmp_path, DAY, rows, [comparison(-0.1, 0.01)])
    assert exit_code("accept", "--conf", conf_of(tmp_path, [gate]), "--date", DAY, "--reason", "seen") == 0
    assert judged([gate])[0] == 0
    kept = {name: pq.read_table(tmp_path / f"tables/{name}/day={DAY}", partitioning=None) for name in ("gates", "runs")}
    times = {each.name: kept["runs"][each.name][0].as_py() for each in ACCEPTED}
    store(tmp_path, DAY, rows, [comparison(-0.2, 0.01)], times, gates=kept["gates"])
    assert judged([gate])[0] == 3
    store(tmp_path, DAY, rows, [comparison(-0.1, 0.01)], times, gates=kept["gates"])
    assert judged([gate])[0] == 0


def test_the_example_of_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (PROJECT / "docs/gates.md").read_text(encoding="utf-8")
    gates, least, history = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL))
    assert LeastGroups(**least["least_groups"]) == LeastGroups()
    assert HistorySettings(**history["history"]) == HistorySettings()
    metrics, compared, half_of = [], [], lambda low, high: (high - low) / 2
    for line in re.findall(r"^\| (ndcg@10|logloss) \| (.*) \|$", page, re.MULTILINE):
        name, (model, where, value, ends, difference, its) = line[0], [each.strip() for each in line[1].split("|")]
        place = {} if where == "all" else {"slice": "country", "slice_value": where.removeprefix("country=")}
        half, of_difference = (half_of(*map(float, (text or ends).split(" to "))) for text in (ends, its))
        metrics.append(metric(float(value), half, metric=name, model=model, stderr=half / 1.96, **place))
        if difference:
            more = {"metric": name, "stderr": of_difference / 1.96, **place}
            compared.append(comparison(float(difference), of_difference, **more))
    store(tmp_path, DAY, metrics, compared)
    conf = conf_of(tmp_path, gates["gates"], metrics=["ndcg@10", "logloss"])
    assert exit_code("gate", "--conf", conf, "--date", DAY) == 3
    out = capsys.readouterr().out.replace(conf, "conf/nightly.yaml")
    printed = "".join(f"    {line}\n" for line in out.splitlines())
    assert printed in page
