"""Values of policies beside the estimators of Open Bandit Pipeline, on its own data and on logs of a known truth.

Its package needs torch for policies that are learned, which are not tested here. The estimators are its published
formulas, as obp 0.4.1 computes them (obp/ope/estimators.py and estimators_slate.py): IPW and SNIPW by Strehl et al.
2010 and Swaminathan, Joachims 2015, DR by Dudík et al. 2014, and SlateIndependentIPS by McInerney et al. 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sparkrank as sr

Log = Mapping[str, Any]


def _weights(log: Log, clip: float = np.inf) -> Any:
    return np.minimum(log["action_dist"] / log["pscore"], clip)


def _doubly_robust(log: Log, clip: float = np.inf) -> float:
    rewards = log["expected"] + _weights(log, clip) * (log["reward"] - log["estimated"])
    return float(rewards.mean())


def _per_slate(log: Log, weights: Any) -> float:
    return float((log["reward"] * weights).sum() / len(np.unique(log["slate_id"])))


ESTIMATORS: dict[str, Callable[[Log], float]] = {
    "value": lambda log: float((log["reward"] * _weights(log)).mean()),  # IPW
    "value(clip=2)": lambda log: float((log["reward"] * _weights(log, 2)).mean()),  # IPW(lambda_=2)
    "value(by=snips)": lambda log: float((log["reward"] * _weights(log) / _weights(log).mean()).mean()),  # SNIPW
    "value(by=dr)": _doubly_robust,  # DR
    "value(by=dr,clip=2)": lambda log: _doubly_robust(log, 2),  # DR(lambda_=2)
    "value(per=group)": lambda log: _per_slate(log, _weights(log)),  # SlateIndependentIPS
    # SelfNormalizedSlateIndependentIPS
    "value(by=snips,per=group)": lambda log: _per_slate(log, _weights(log) / _weights(log).mean()),
}
COLUMNS = {"score": "action_dist", "label": "reward", "propensity": "pscore", "group": "slate_id"}
ESTIMATES = {"estimate": "estimated", "policy_estimate": "expected"}


def bandits(folder: Path) -> pd.DataFrame:
    """What the random policy logged, for a policy that shows at each position the items that bts showed there."""
    rows = pd.read_csv(folder / "open_bandit_men" / "impressions.csv")
    bts, log = rows[rows["policy"] == "bts"], rows[rows["policy"] == "random"].reset_index(drop=True)
    shares = bts.groupby("position")["item_id"].value_counts(normalize=True).unstack(fill_value=0.0)
    shares = shares.reindex(columns=range(34), fill_value=0.0)
    clicks = (bts.groupby("item_id")["click"].sum() + 0.1) / (bts.groupby("item_id")["click"].size() + 20)
    clicks = clicks.reindex(range(34), fill_value=0.005)
    chosen = shares.to_numpy()[log["position"].to_numpy() - 1]
    return pd.DataFrame(
        {
            "action_dist": chosen[np.arange(len(log)), log["item_id"]],
            "reward": log["click"].astype(float),
            "pscore": log["propensity_score"],
            "slate_id": np.arange(len(log)) // 3,
            "estimated": clicks.to_numpy()[log["item_id"]],
            "expected": chosen @ clicks.to_numpy(),
            "bts": float(bts["click"].mean()),
        }
    )


def simulated(rows: int = 30_000) -> tuple[pd.DataFrame, float]:
    """A log of contexts whose rewards are known, and the true value of the policy."""
    rng = np.random.default_rng(8)
    context = rng.normal(size=(rows, 3))
    run, asked = (_softmax(context @ rng.normal(size=(3, 5)) * 0.7) for _ in range(2))
    reward = 1 / (1 + np.exp(-context @ rng.normal(size=(3, 5))))
    action = (rng.random((rows, 1)) > run.cumsum(axis=1)).sum(axis=1).clip(0, 4)
    at = np.arange(rows), action
    guess = np.clip(reward + rng.normal(0, 0.1, reward.shape), 0, 1)
    columns = {"action_dist": asked[at], "pscore": run[at], "estimated": guess[at], "slate_id": np.arange(rows) // 4}
    log = pd.DataFrame({**columns, "expected": (asked * guess).sum(axis=1)})
    log["reward"] = (rng.random(rows) < reward[at]).astype(float)
    return log, float((asked * reward).sum(axis=1).mean())


def _softmax(logits: Any) -> Any:
    exponents = np.exp(logits)
    return exponents / exponents.sum(axis=1, keepdims=True)


def evaluated(log: pd.DataFrame) -> sr.Evaluation:
    return sr.evaluate(pa.Table.from_pandas(log, preserve_index=False), [*ESTIMATORS], **COLUMNS, **ESTIMATES)


@pytest.mark.parametrize("name", ["open_bandit_men", "simulated"])
def test_values_are_those_of_open_bandit_pipeline(data_folder: Path, name: str) -> None:
    log = bandits(data_folder) if name == "open_bandit_men" else simulated()[0]
    found = evaluated(log)
    for metric, estimator in ESTIMATORS.items():
        assert found[metric] == pytest.approx(estimator({name: log[name].to_numpy() for name in log}), rel=1e-12), (
            metric
        )


def test_intervals_hold_what_the_policy_earns(data_folder: Path) -> None:
    """By the clicks that bts had where it ran itself; and, where rewards are simulated, by their expectation."""
    log, true = simulated()
    for rows, earned in ((bandits(data_folder), None), (log, true)):
        expected = float(rows["bts"].iloc[0]) if earned is None else earned
        for row in evaluated(rows).metrics.to_pylist():
            if "clip" not in row["metric"] and "per=group" not in row["metric"]:
                assert row["ci_low"] < expected < row["ci_high"], row
