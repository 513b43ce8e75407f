"""Holm and Benjamini-Hochberg, against statsmodels and by hand."""

from __future__ import annotations

import math
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkrank.base.errors import SpecError
from sparkrank.stats.corrections import METHODS, adjusted
from tests.extent import examples
from tests.support.strategies import PATIENT

THEIRS = {"holm": "holm", "benjamini-hochberg": "fdr_bh"}
chances = st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.05, 1.0]) | st.none(), max_size=30)


@pytest.fixture(scope="module")
def multitest() -> ModuleType:
    return pytest.importorskip("statsmodels.stats.multitest", reason="statsmodels adjusts p-values too")


@pytest.mark.peer
@pytest.mark.tools
@pytest.mark.parametrize("method", THEIRS)
@settings(PATIENT, max_examples=examples(25))  # their Holm collects garbage each time, which takes 0.2 s
@given(chances)
def test_it_is_what_statsmodels_gives(multitest: ModuleType, method: str, p: list[float | None]) -> None:
    """What is undefined stays so, and the others are adjusted as if it were not there."""
    found = adjusted(p, method)
    assert np.isnan(found).tolist() == [each is None for each in p]
    if known := [each for each in p if each is not None]:
        expected = multitest.multipletests(known, method=THEIRS[method])[1]
        assert found[~np.isnan(found)] == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_holm_by_hand() -> None:
    """In order: 0.01·4 = 0.04; 0.02·3 = 0.06; 0.03·2 = 0.06; 0.9·1 = 0.9."""
    assert adjusted([0.9, 0.02, 0.01, 0.03], "holm") == pytest.approx([0.9, 0.06, 0.04, 0.06], rel=1e-12)
    assert adjusted([0.5, 0.6, 0.7], "holm").tolist() == [1.0, 1.0, 1.0]


def test_benjamini_hochberg_by_hand() -> None:
    """From the last: 0.9·4/4; 0.03·4/3 = 0.04; 0.02·4/2 = 0.04; 0.015·4/1 = 0.06 is lowered to 0.04."""
    found = adjusted([0.9, 0.02, 0.015, 0.03], "benjamini-hochberg")
    assert found == pytest.approx([0.9, 0.04, 0.04, 0.04], rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
@given(chances, st.randoms())
def test_laws_of_every_method(method: str, p: list[float | None], shuffled: object) -> None:
    """Never below p nor above 1, in the order of p, whatever the order in which they come."""
    found = adjusted(p, method)
    places = list(range(len(p)))
    shuffled.shuffle(places)
    again = adjusted([p[place] for place in places], method)
    assert np.array_equal(again, found[places], equal_nan=True)
    known = sorted((each, float(found[place])) for place, each in enumerate(p) if each is not None)
    assert all(each <= more <= 1 for each, more in known)
    assert [more for _, more in known] == sorted(more for _, more in known)


@pytest.mark.parametrize("method", METHODS)
def test_a_family_of_one_or_none(method: str) -> None:
    assert adjusted([0.03], method).tolist() == [0.03]
    assert adjusted([], method).tolist() == []
    assert all(map(math.isnan, adjusted([None, math.nan], method)))


def test_an_unknown_method_is_refused_with_the_nearest() -> None:
    sentence = r"""correction is 'hlom', did you mean "holm"\?: holm, benjamini-hochberg, none are allowed"""
    with pytest.raises(SpecError, match=sentence):
        adjusted([0.1], "hlom")
