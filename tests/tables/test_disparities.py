"""Disparities: how far apart the values of a slice are, with intervals by parts, and gates that judge them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.numeric.key_hashes import hash_keys, parts_of
from tests.oracles import jackknife
from tests.support.commands import exit_code
from tests.windows.week import DAYS, spec_of

COLUMNS = {"group": "user", "score": "score", "label": "label"}


def log_of(hits: dict[str | None, tuple[int, int]]) -> pa.Table:
    """Lists of two rows: of each country, so many users with the first row relevant, and so many with the second."""
    users = [(country, place) for country, counts in hits.items() for place in (0, 1) for _ in range(counts[place])]
    return pa.table(
        {
            "user": [user for user in range(len(users)) for _ in range(2)],
            "country": pa.array([country for country, _ in users for _ in range(2)], pa.string()),
            "score": [0.9, 0.4] * len(users),
            "label": [int(row == place) for _, place in users for row in range(2)],
        }
    )


# hit@1 of de is 3/4, of fr 1/2, of it 1/4; whoever has no country is no value of the slice
HITS: dict[str | None, tuple[int, int]] = {"it": (10, 30), "de": (30, 10), "fr": (20, 20), None: (0, 9)}


def test_the_ends_of_a_slice_their_difference_and_their_quotient() -> None:
    evaluation = sr.evaluate(log_of(HITS), ["hit@1", "rr"], **COLUMNS, slices=["country"], disparities=["country"])
    assert evaluation.disparities is not None
    hit, rr = evaluation.disparities.to_pylist()
    names = ("model", "slice", "metric", "n_values", "lowest", "lowest_value", "highest", "highest_value")
    assert [hit[name] for name in names] == ["score", "country", "hit@1", 3, "it", 0.25, "de", 0.75]
    assert (hit["difference"], hit["ratio"]) == (0.5, pytest.approx(1 / 3))
    assert (rr["difference"], rr["ratio"]) == (0.25, pytest.approx(0.625 / 0.875))
    assert hit["ci_low"] < 0.5 < hit["ci_high"]
    assert hit["ratio_low"] < 1 / 3 < hit["ratio_high"]
    assert (hit["interval"], hit["n_groups"]) == ("jackknife", 40)
    # the groups are independent, so the error by parts is near that of two shares
    assert hit["stderr"] == pytest.approx(np.sqrt(0.75 * 0.25 / 40 + 0.25 * 0.75 / 40), rel=0.5)


def test_its_error_is_the_jackknife_of_the_difference_over_16_parts() -> None:
    rows = log_of(HITS)
    evaluation = sr.evaluate(rows, ["hit@1"], **COLUMNS, slices=["country"], disparities=["country"])
    assert evaluation.disparities is not None
    (row,) = evaluation.disparities.to_pylist()
    first = rows.filter(pa.array([place % 2 == 0 for place in range(len(rows))]))  # one row a user: whether it hits
    part = parts_of(hash_keys([first["user"].combine_chunks()])) // 4
    hit, country = np.array(first["label"]), np.array(first["country"].to_pylist(), object)
    best, worst = country == "de", country == "it"
    without = [hit[best & (part != own)].mean() - hit[worst & (part != own)].mean() for own in range(16)]
    sizes = [int(np.count_nonzero((best | worst) & (part == own))) for own in range(16)]
    assert row["stderr"] == pytest.approx(jackknife.standard_error(0.5, without, sizes), rel=1e-12)


def test_fewer_than_two_values_have_no_difference() -> None:
    evaluation = sr.evaluate(log_of({"de": (3, 1)}), ["hit@1"], **COLUMNS, slices=["country"], disparities=["country"])
    assert evaluation.disparities is not None
    (row,) = evaluation.disparities.to_pylist()
    assert (row["n_values"], row["lowest"], row["highest"]) == (1, "de", "de")
    assert row["difference"] is row["ratio"] is row["ci_low"] is None


def test_a_slice_that_is_not_there_is_refused() -> None:
    rows = log_of(HITS)
    for asked, sentence in (
        (["contry"], 'disparities names "contry", which is not a slice, did you mean "country"?'),
        ("country", 'disparities is "country", one text: a list of slices is needed'),
    ):
        with pytest.raises(sr.SpecError, match=sentence.replace("?", r"\?")):
            sr.evaluate(rows, ["rr"], **COLUMNS, slices=["country"], disparities=asked)


def conf_of(folder: Path, **changes: Any) -> str:
    asked: dict[str, Any] = {"metrics": ["hit@1", "rr"], "slices": ["country"], "disparities": ["country"], **changes}
    return spec_of(folder, input={"path": f"{folder}/log/dt={{date}}", "columns": COLUMNS}, **asked)


def write_days(folder: Path, *hits: dict[str | None, tuple[int, int]]) -> None:
    for day, own in zip(DAYS, hits, strict=False):
        (folder / f"log/dt={day}").mkdir(parents=True, exist_ok=True)
        pq.write_table(log_of(own), folder / f"log/dt={day}/0.parquet")


@pytest.mark.parametrize(("most", "code", "verdict"), [(0.9, 0, "pass"), (0.1, 3, "fail")])
def test_a_gate_judges_a_disparity_of_a_day_and_again_from_its_table(
    tmp_path: Path, most: float, code: int, verdict: str
) -> None:
    write_days(tmp_path, HITS)
    conf = conf_of(tmp_path, gates=[{"metric": "hit@1", "disparity": "country", "max": most}])
    assert exit_code("evaluate", "--conf", conf, "--date", DAYS[0]) == code
    (row,) = pq.read_table(tmp_path / "tables/gates").to_pylist()
    assert (row["slice"], row["slice_value"], row["value"]) == ("disparity of country", "max - min", 0.5)
    assert row["verdict"] == verdict
    assert exit_code("gate", "--conf", conf, "--date", DAYS[0]) == code


def test_no_wildcard_is_about_a_disparity(tmp_path: Path) -> None:
    write_days(tmp_path, HITS)
    every = {"metric": "*", "slice": {"*": "*"}, "min": 0}
    conf = conf_of(tmp_path, gates=[every, {"metric": "rr", "disparity": "country", "max": 0.9}], least_groups=1)
    assert exit_code("evaluate", "--conf", conf, "--date", DAYS[0]) == 0
    rows = pq.read_table(tmp_path / "tables/gates").to_pylist()
    assert len(rows) == 2 * 4 + 1


def test_a_window_has_the_disparities_of_its_days_together(tmp_path: Path) -> None:
    """de has 30 of 40 and then 10 of 40, fr 20 of 40 each day: half of both countries in two days."""
    write_days(tmp_path, {"de": (30, 10), "fr": (20, 20)}, {"de": (10, 30), "fr": (20, 20)})
    conf = conf_of(tmp_path)
    for day in DAYS[:2]:
        assert exit_code("evaluate", "--conf", conf, "--date", day) == 0
    assert exit_code("merge", "--conf", conf, "--from", DAYS[0], "--to", DAYS[1]) == 0
    row = pq.read_table(tmp_path / "tables/windows/disparities").to_pylist()[0]
    assert (row["difference"], row["ratio"], row["highest"], row["lowest"]) == (0.0, 1.0, "de", "de")


def test_a_gate_that_makes_no_sense_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for gate, sentence in (
        ({"disparity": "contry", "max": 1}, 'gates[0].disparity "contry" is not in disparities of this spec, did you'),
        ({"disparity": "country", "not_worse_than": "history"}, "has disparity and not_worse_than: a disparity is"),
        ({"disparity": "country", "slice": {"country": "de"}, "max": 1}, "has disparity and slice: a disparity is"),
    ):
        conf = conf_of(tmp_path, gates=[{"metric": "rr", **gate}])
        assert exit_code("validate", "--conf", conf) == 2
        assert sentence in capsys.readouterr().err
