"""Values of policies beside the estimators of Open Bandit Pipeline, on its own data and on logs of a known truth.

`make test-peers` installs its package (obp 0.5.7, which is made for older versions of numpy and of Python, and runs on
these). Its formulas are tested everywhere: obp/ope/estimators.py and estimators_slate.py, with IPW and SNIPW by Strehl
et al. 2010 and Swaminathan, Joachims 2015, DR by Dudík et al. 2014, and SlateIndependentIPS by McInerney et al. 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
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
    # not SelfNormalizedSlateIndependentIPS, which divides by the mean weight of each slot
    "value(by=snips,per=group)": lambda log: _per_slate(log, _weights(log) / _weights(log).mean()),
}
COLUMNS = {"score": "action_dist", "label": "reward", "propensity": "pscore", "group": "slate_id"}
ESTIMATES = {"estimate": "estimated", "policy_estimate": "expected"}


@dataclass(frozen=True, eq=False)
class Logged:
    """What a policy logged, and for each action in each row how likely the other policy takes it and its reward."""

    policy: Any  # (rows, actions)
    guess: Any  # (rows, actions), a reward that is estimated
    action: Any
    reward: Any
    chance: Any  # of the action, by the policy that logged
    length: int  # rows of a slate
    earned: float  # by the other policy in each row

    @property
    def slate(self) -> Any:
        return np.arange(len(self.action)) // self.length

    @property
    def frame(self) -> pd.DataFrame:
        taken = np.arange(len(self.action)), self.action
        return pd.DataFrame(
            {
                "action_dist": self.policy[taken],
                "reward": self.reward,
                "pscore": self.chance,
                "slate_id": self.slate,
                "estimated": self.guess[taken],
                "expected": (self.policy * self.guess).sum(axis=1),
            }
        )


def bandits(folder: Path) -> Logged:
    """What the random policy logged, for a policy that shows at each position the items that bts showed there."""
    rows = pd.read_csv(folder / "open_bandit_men" / "impressions.csv")
    bts, log = rows[rows["policy"] == "bts"], rows[rows["policy"] == "random"]
    shares = bts.groupby("position")["item_id"].value_counts(normalize=True).unstack(fill_value=0.0)
    shares = shares.reindex(columns=range(34), fill_value=0.0)
    clicks = (bts.groupby("item_id")["click"].sum() + 0.1) / (bts.groupby("item_id")["click"].size() + 20)
    clicks = clicks.reindex(range(34), fill_value=0.005)
    return Logged(
        policy=shares.to_numpy()[log["position"].to_numpy() - 1],
        guess=np.tile(clicks, (len(log), 1)),
        action=log["item_id"].to_numpy(),
        reward=log["click"].to_numpy(float),
        chance=log["propensity_score"].to_numpy(),
        length=3,
        earned=float(bts["click"].mean()),
    )


def simulated(rows: int = 30_000) -> Logged:
    """Actions in contexts whose rewards are known."""
    rng = np.random.default_rng(8)
    context = rng.normal(size=(rows, 3))
    run, asked = (_softmax(context @ rng.normal(size=(3, 5)) * 0.7) for _ in range(2))
    reward = 1 / (1 + np.exp(-context @ rng.normal(size=(3, 5))))
    action = (rng.random((rows, 1)) > run.cumsum(axis=1)).sum(axis=1).clip(0, 4)
    taken = np.arange(rows), action
    guess = np.clip(reward + rng.normal(0, 0.1, reward.shape), 0, 1)
    given = (rng.random(rows) < reward[taken]).astype(float)
    return Logged(asked, guess, action, given, run[taken], 4, float((asked * reward).sum(axis=1).mean()))


def _softmax(logits: Any) -> Any:
    exponents = np.exp(logits)
    return exponents / exponents.sum(axis=1, keepdims=True)


LOGS: dict[str, Callable[[Path], Logged]] = {"open_bandit_men": bandits, "simulated": lambda folder: simulated()}


def evaluated(log: pd.DataFrame, **more: Any) -> sr.Evaluation:
    return sr.evaluate(pa.Table.from_pandas(log, preserve_index=False), [*ESTIMATORS], **COLUMNS, **ESTIMATES, **more)


@pytest.mark.parametrize("name", LOGS)
def test_values_are_those_of_the_formulas(data_folder: Path, name: str) -> None:
    log = LOGS[name](data_folder).frame
    found = evaluated(log)
    for metric, estimator in ESTIMATORS.items():
        assert found[metric] == pytest.approx(estimator({name: log[name].to_numpy() for name in log}), rel=1e-12), (
            metric
        )


@pytest.mark.parametrize("name", LOGS)
def test_values_are_those_of_open_bandit_pipeline(obp_ope: ModuleType, data_folder: Path, name: str) -> None:
    log = LOGS[name](data_folder)
    rows = {"reward": log.reward, "action": log.action, "pscore": log.chance}
    rows |= {"action_dist": log.policy[:, :, None], "estimated_rewards_by_reg_model": log.guess[:, :, None]}
    slots = {"reward": log.reward, "slate_id": log.slate, "position": np.arange(len(log.action)) % log.length}
    slots |= {"pscore_item_position": log.chance}
    slots |= {"evaluation_policy_pscore_item_position": log.frame["action_dist"].to_numpy()}
    theirs = {
        "value": (obp_ope.InverseProbabilityWeighting(), rows),
        "value(clip=2)": (obp_ope.InverseProbabilityWeighting(lambda_=2), rows),
        "value(by=snips)": (obp_ope.SelfNormalizedInverseProbabilityWeighting(), rows),
        "value(by=dr)": (obp_ope.DoublyRobust(), rows),
        "value(by=dr,clip=2)": (obp_ope.DoublyRobust(lambda_=2), rows),
        "value(per=group)": (obp_ope.SlateIndependentIPS(len_list=log.length), slots),
    }
    found = evaluated(log.frame)
    for metric, (estimator, given) in theirs.items():
        assert found[metric] == pytest.approx(estimator.estimate_policy_value(**given), abs=1e-9), metric
    # Its self-normalized slates divide by the mean weight of each slot, as a slice by slot does.
    slot = log.frame.assign(slot=slots["position"].astype(str))
    of_slots = [row for row in evaluated(slot, slices=["slot"]).metrics.to_pylist() if row["slice"] == "slot"]
    value = sum(row["value"] * row["n_rows"] for row in of_slots if row["metric"] == "value(by=snips)")
    estimator = obp_ope.SelfNormalizedSlateIndependentIPS(len_list=log.length)
    expected = estimator.estimate_policy_value(**slots)
    assert value / len(np.unique(log.slate)) == pytest.approx(expected, abs=1e-9)


def test_intervals_hold_what_the_policy_earns(data_folder: Path) -> None:
    """By the clicks that bts had where it ran itself; and, where rewards are simulated, by their expectation."""
    for made in LOGS.values():
        log = made(data_folder)
        for row in evaluated(log.frame).metrics.to_pylist():
            if "clip" not in row["metric"] and "per=group" not in row["metric"]:
                assert row["ci_low"] < log.earned < row["ci_high"], row
