"""Groups that go together, as the sessions of a user: intervals are of users, values are those of sessions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.base.errors import InputError, SpecError, StateError
from sparkrank.config.loading import load_spec
from sparkrank.inputs.window import Window
from sparkrank.jobs import evaluate_day, merge_days
from sparkrank.numeric.key_hashes import hash_keys, parts_of
from sparkrank.run.stages import Stages
from tests.support.commands import local_conf
from tests.support.numbers import without_hash

POOLED = ["auc", "pr_auc", "logloss", "f1", "brier", "ks"]


def log_of(users: int, sessions: int, rows: int, seed: int = 5) -> pa.Table:
    draw = np.random.default_rng(seed)
    session = np.repeat(np.arange(users * sessions), rows)
    user = session // sessions
    liking = draw.normal(0, 1, users)[user]
    columns = {"user": np.char.add("u", user.astype(str)), "session": session}
    columns["score"] = 1 / (1 + np.exp(-liking - draw.normal(0, 1, len(user))))
    columns["other"] = draw.random(len(user))
    columns["label"] = (draw.random(len(user)) < 1 / (1 + np.exp(-liking))).astype(np.int32)
    return pa.table({**columns, "country": np.array(["de", "fr"])[user % 2]})


# Three users of three parts, with 3, 1 and 2 sessions; the first row of a session was clicked, or the second.
USERS, FIRST, OTHER_FIRST = [7, 7, 7, 8, 9, 9], [1, 1, 0, 0, 1, 0], [1, 0, 0, 0, 0, 0]
OLD = np.ravel([[2.0, 1.0] if first == OTHER_FIRST[n] else [1.0, 2.0] for n, first in enumerate(FIRST)])
SESSIONS = pa.table({"user": np.repeat(USERS, 2), "session": np.repeat(np.arange(6), 2), "new": [2.0, 1.0] * 6})
SESSIONS = SESSIONS.append_column("old", [OLD]).append_column("label", [np.ravel([[x, 1 - x] for x in FIRST])])


def test_the_standard_error_of_a_mean_by_hand() -> None:
    """Of 6 sessions, 3 have their click first: 2 of 3, 0 of 1, 1 of 2 by user.

    h = 6/3, 6/1, 6/2. Without each user the mean is 1/3, 3/5, 2/4; the jackknife's is 3/2 - (1/2·1/3 + 5/6·3/5 +
    2/3·2/4) = 1/2. Pseudo-values: 2/2 - 1/3 = 2/3, 6/2 - 5·3/5 = 0, 3/2 - 2·2/4 = 1/2. Variance: ((1/6)²/1 +
    (1/2)²/5 + 0) / 3 = 7/270. As of alike parts it is less: 2/3·(13² + 11² + 2²)/90² = 196/8100.
    """
    assert len(set(parts_of(hash_keys([pa.array([7, 8, 9])])))) == 3
    (row,) = asked(SESSIONS, ["p@1"], cluster="user").table.to_pylist()
    assert (row["value"], row["n_groups"]) == (1 / 2, 6)
    assert row["stderr"] == pytest.approx(math.sqrt(7 / 270), rel=1e-12)
    assert row["interval"] != "t"


def test_the_difference_of_two_models_by_hand() -> None:
    """The old model has the click first in one session of the first user alone: differences 1 of 3, 0 of 1, 1 of 2.

    The mean is 2/6. Without each user: 1/3, 2/5, 1/4; the jackknife's is 1 - (1/2·1/3 + 5/6·2/5 + 2/3·1/4) = 1/3.
    Pseudo-values: 2/3 - 1/3 = 1/3, 2 - 2 = 0, 1 - 2/4 = 1/2. Variance: (0/1 + (1/3)²/5 + (1/6)²/2) / 3 = 13/1080;
    of alike parts less, 2/3·(1² + 13² + 14²)/180² = 61/8100.
    Groups win and lose as they do without clusters: sessions 1 and 4 win.
    """
    models = {"score": {"new": "new", "old": "old"}, "compare": "old"}
    both = (asked(SESSIONS, ["p@1"], **models, cluster=cluster) for cluster in ("user", None))
    clustered, independent = (ev.compare("old").to_pylist()[0] for ev in both)
    assert clustered["difference"] == pytest.approx(independent["difference"], rel=1e-15) == 1 / 3
    assert clustered["stderr"] == pytest.approx(math.sqrt(13 / 1080), rel=1e-12)
    assert (clustered["interval"] != "paired t", independent["interval"]) == (True, "paired t")
    for name in ("wins", "ties", "losses", "n_groups", "n_unpaired"):
        assert clustered[name] == independent[name]
    assert (clustered["wins"], clustered["ties"], clustered["losses"]) == (2, 4, 0)


@pytest.mark.parametrize("kind", [pa.string(), pa.int16(), pa.date32(), pa.dictionary(pa.int32(), pa.string())])
def test_sessions_by_user_have_the_parts_of_users(kind: Any) -> None:
    """Metrics of all rows have the bits that they have where the user is the group: of as many sessions each."""
    log = log_of(40, 3, 5)
    codes = pc.cast(pc.utf8_slice_codeunits(log["user"], 1), pa.int32())
    user = codes.cast(kind) if kind in (pa.int16(), pa.date32()) else log["user"].cast(kind)
    log = log.set_column(0, "user", user)
    roles = {"score": {"score": "score", "other": "other"}, "label": "label", "slices": ["country"]}
    sessions = sr.evaluate(log, POOLED, group="session", cluster="user", **roles)
    users = sr.evaluate(log, POOLED, group="user", **roles)
    assert all(row["stderr"] is not None for row in users.table.to_pylist() if row["slice"] == "all")
    names = ["model", "slice_value", "metric", "value", "stderr", "n_rows", "weight", "error_bound"]
    assert repr(sessions.table.select(names).to_pylist()) == repr(users.table.select(names).to_pylist())
    one, other = (each.compare("other").select(["metric", "difference", "stderr"]) for each in (sessions, users))
    assert repr(one.to_pylist()) == repr(other.to_pylist())


def asked(log: pa.Table = SESSIONS, metrics: Sequence[str] = ("p@1", "auc"), **more: Any) -> sr.Evaluation:
    return sr.evaluate(log, metrics, **{"group": "session", "score": "new", "label": "label", **more})


def with_users(*users: Any) -> pa.Table:
    return SESSIONS.set_column(0, "user", pa.array(users))


def test_a_group_of_two_clusters_is_left_out_whole_and_counted() -> None:
    log = with_users(7, 7, 7, 7, 7, 9, 8, 8, 9, 9, 9, 9)
    sentence = r"^16.6667% of the rows cannot be evaluated \(2 cluster that is not the same in all rows of its group\)"
    with pytest.raises(InputError, match=sentence):
        asked(log, cluster="user")
    clustered = asked(log, cluster="user", max_bad_fraction=0.2)
    counts = {row["code"]: row["count"] for row in clustered.quality.to_pylist()}
    assert (counts["rejected_several_clusters"], counts["rows_rejected"], counts["rows_evaluated"]) == (2, 2, 10)
    rest = asked(log.filter(pc.not_equal(log["session"], 2)), cluster="user")
    assert repr(without_hash(clustered.table).to_pylist()) == repr(without_hash(rest.table).to_pylist())


@pytest.mark.parametrize(
    ("users", "count"),
    [
        ([7, 7, 7, 7, 7, 7, 8, None, 9, 9, 9, 9], 1),
        ([None] * 12, 12),
        ([7.0, 7.0, math.nan, math.nan, 7.0, 7.0, 8.0, 8.0, 9.0, 9.0, 9.0, None], 3),
    ],
    ids=["a null", "nulls alone", "NaN"],
)
def test_a_null_cluster_is_refused_whatever_share_may_be_bad(users: list, count: int) -> None:
    with pytest.raises(
        InputError, match=rf'^the cluster column "user" is null or NaN in {count} rows: give each row a '
    ):
        asked(with_users(*users), cluster="user", max_bad_fraction=1.0)


def test_without_parts_a_clustered_mean_has_no_interval() -> None:
    """Its exact moments would say that sessions are independent."""
    ev = asked(cluster="user", uncertainty=False)
    for row in ev.table.to_pylist():
        assert (row["stderr"], row["ci_low"], row["ci_high"]) == (None, None, None)
        assert row["interval"] != "t"
    assert asked(uncertainty=False)["p@1"] == ev["p@1"]


LISTS = pa.table(
    {"s": [1, 1, 2, 2, 3], "item": [*"xyxyx"], "score": [2.0, 1, 2, 1, 1], "user": ["a", "a", "b", "b", "a"]}
)
TRUTH = pa.table({"s": [1, 2, 2, 4], "item": [*"yxzx"], "by": ["a", "b", "b", "c"]})
JOINED = {"truth": TRUTH, "group": "s", "item": "item", "score": "score", "cluster": "user"}


def r_at_2(*users: str | None, **more: Any) -> sr.Evaluation:
    truth = TRUTH.set_column(2, "by", pa.array(users or TRUTH["by"].to_pylist()))
    return sr.evaluate(LISTS, ["r@2"], **{**JOINED, "truth": truth, **more})


def test_a_list_says_who_stands_behind_its_group() -> None:
    """Session 4 is in no list, and only the truth can say whose it is; r@2 is 1, 1/2 and 0 of sessions 1, 2 and 4."""
    sentence = r"^1 groups of score have no row in the lists, and so no value of the cluster"
    with pytest.raises(InputError, match=sentence):
        r_at_2()
    assert r_at_2(population="lists")["r@2"] == 3 / 4
    named = r_at_2(truth_columns={"cluster": "by"})
    assert named["r@2"] == 1 / 2
    assert {row["code"]: row["count"] for row in named.quality.to_pylist()}["groups_without_cluster"] == 0
    partly = r_at_2("a", None, None, "c", truth_columns={"cluster": "by"})
    assert repr(partly.table.to_pylist()) == repr(named.table.to_pylist())
    with pytest.raises(InputError, match=r"\(4 cluster that is not the same in all rows of its group\)"):
        r_at_2("a", "a", "b", "c", truth_columns={"cluster": "by"})


def test_a_cluster_that_says_nothing_or_does_not_fit_is_refused() -> None:
    for ask, more, error, sentence in (
        (asked, {"group": None}, SpecError, 'cluster="user" names the unit behind a group, but no group column'),
        (asked, {"group": "user"}, SpecError, 'cluster="user" is the group column: leave it out, because each group'),
        (asked, {"cluster": ["user"]}, SpecError, r"the cluster column is \['user'\]: a name, which is a text, is"),
        (r_at_2, {"truth_columns": {"cluster": "s"}}, InputError, "the cluster column is of type string in the lists"),
        (
            r_at_2,
            {"truth_columns": {"cluster": "by"}, "cluster": None},
            SpecError,
            'the truth has a cluster column, "b',
        ),
        (r_at_2, {"truth_columns": {"cluster": "yb"}}, InputError, 'the cluster column "yb" is not in the truth'),
    ):
        with pytest.raises(error, match=f"^{sentence}"):
            ask(**{"cluster": "user", **more})


OF = [{"user": user} for user in "aabc"]
LISTED, LIKED = [["x", "y"], ["z"], ["q"], ["r"]], [["y"], ["q", "z"], ["q"], ["x"]]
ARRAYS = pa.table({"s": [1, 1, 2, 3], "found": LISTED, "liked": LIKED, "user": [*"aabc"], "of": OF})


OF_ARRAYS = {"group": "s", "items": "found", "true_items": "liked"}


@pytest.mark.parametrize("column", ["user", "of", "of.user"])
def test_a_row_of_arrays_has_one_cluster(column: str) -> None:
    rows = sr.evaluate(ARRAYS, ["r@1", "p@1"], **OF_ARRAYS, cluster=column).table
    columns = {"session": [0, 0, 1, 1, 2, 3, 3], "new": [2.0, 1, 1, None, 1, 1, None], "user": [*"aaaabcc"]}
    single = pa.table({**columns, "label": [0, 1, 1, 1, 1, 0, 1]})
    wanted = asked(single, ["r@1", "p@1"], cluster="user").table
    names = ["value", "stderr", "ci_low", "ci_high"]
    assert rows.select(names).to_pylist() == wanted.select(names).to_pylist()


def test_lists_of_one_key_stay_apart_beside_a_bad_group_weight() -> None:
    log = ARRAYS.append_column("w", pa.array([1.0, 1.0, -1.0, 1.0]))
    ev = sr.evaluate(log, ["r(weight=w)@1"], **OF_ARRAYS, max_bad_fraction=0.5)
    assert ev.table["n_groups"].to_pylist() == [3]


DAYS = ["2026-11-01", "2026-11-02", "2026-11-03"]
SCORES = {"score": "score", "other": "other"}


def day_spec(folder: Path, *overrides: str, **columns: str) -> Any:
    roles, compared = {"group": "session", "score": SCORES, "label": "label", **columns}, {"baseline": "other"}
    metrics, path = ["ndcg@3", "auc", "ndcg(weight=rows)@3"], f"{folder}/log/{{date}}.parquet"
    return load_spec(local_conf(folder, path, roles, metrics, slices=["country"], compare=compared), overrides)


@pytest.fixture
def first_day(tmp_path: Path) -> pa.Table:
    """The log of the first of three days, which are evaluated by user."""
    (tmp_path / "log").mkdir()
    logs = [log_of(30, 3, 5, seed) for seed in range(3)]
    for day, log in zip(DAYS, logs, strict=True):
        pq.write_table(log, tmp_path / "log" / f"{day}.parquet")
        evaluate_day(day_spec(tmp_path, cluster="user"), day, None, Stages())
    return logs[0]


def test_days_of_other_clusters_do_not_merge(tmp_path: Path, first_day: pa.Table) -> None:
    def merged(*overrides: str, **columns: str) -> list[float]:
        spec = day_spec(tmp_path, *overrides, **columns)
        return merge_days(spec, Window.of(DAYS[0], DAYS[-1]), None, Stages()).metrics["value"].to_pylist()

    for columns, name in (({}, "of the group"), ({"cluster": "country"}, "of the cluster country")):
        sentence = rf'evaluated as ".*64 parts by hash 1 of the cluster user", .*"[^"]*{name}":'
        with pytest.raises(StateError, match=sentence):
            merged(**columns)
        # of values alone they do
        assert merged("uncertainty.off=true", "compare=null", **columns) == merged(cluster="user")


def test_group_tables_do_not_test_groups_that_go_together(tmp_path: Path, first_day: pa.Table) -> None:
    """They lack the cluster, and groups taken for independent would be certain of too much."""
    models = {"score": SCORES, "label": "label", "group": "session"}
    clustered, alone = (sr.evaluate(first_day, ["ndcg@3"], **models, **more) for more in ({"cluster": "user"}, {}))
    chosen = {"left_model": "other", "right_model": "score", "groups": "common"}
    of_days = {"left_day": DAYS[0], "right_day": DAYS[0], "metrics": ["ndcg@3"], **chosen}
    known = sr.compare_runs(alone, alone, **chosen).table.to_pylist()[0]
    assert known["p"] is not None
    for comparison in (
        sr.compare_runs(clustered, clustered, **chosen),
        sr.compare_runs(clustered, alone, **chosen),
        sr.compare_runs(f"{tmp_path}/out", f"{tmp_path}/out", **of_days),
    ):
        (row,) = comparison.table.to_pylist()
        assert any(text.startswith("groups with the same user depend on each other") for text in comparison.notes)
        assert {row[name] for name in ("p", "stderr", "ci_low", "ci_high", "p_adjusted")} == {None}
        for name in ("difference", "wins", "ties", "losses", "n_groups"):
            assert row[name] == known[name]
    (whole,) = sr.compare_runs(clustered, clustered, **{**chosen, "groups": "all"}).table.to_pylist()
    (other,) = clustered.compare("other").to_pylist()
    assert whole["interval"] == "jackknife"
    assert (whole["difference"], whole["stderr"]) == (other["difference"], other["stderr"])
    with pytest.raises(sr.InputError, match="clusters of groups are by user in the left evaluation, and by nothing in"):
        sr.compare_runs(clustered, alone, **{**chosen, "groups": "all"})
