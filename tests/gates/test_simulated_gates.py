"""How often gates stop a night without a reason, and find one: nights of a job, simulated through the command."""

from __future__ import annotations

import logging

import pytest
from scipy.stats import binom

from tests.extent import IS_LONG
from tests.simulations.nights import CHAINS, stops

BY_CHANCE = 1e-4  # how rarely a gate that does as it promises fails here
SHORT = {"not worse than an equal model, 50 shops": 10}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHAINS if IS_LONG else SHORT)
def test_gates_stop_as_rarely_as_they_say_and_find_what_is_there(name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "sparkrank")  # that groups are few
    result = stops(name, nights=None if IS_LONG else SHORT[name])
    assert result.good_stopped <= binom.ppf(1 - BY_CHANCE, result.good, result.chain.nominal)
    assert result.bad_stopped >= binom.ppf(BY_CHANCE, result.bad, result.chain.least_found)
