"""The libraries that sparkrank is compared with; a test that needs one skips where it is not installed."""

from __future__ import annotations

import warnings
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def pytrec_eval() -> ModuleType:
    return pytest.importorskip("pytrec_eval", reason="pytrec_eval is the reference for trec_eval's numbers")


@pytest.fixture(scope="module")
def ir_measures() -> ModuleType:
    return pytest.importorskip("ir_measures", reason="ir_measures gives the metrics their names")


@pytest.fixture(scope="module")
def ranx() -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("ranx", reason="ranx is a second opinion on lists without ties")


@pytest.fixture(scope="module")
def sklearn_metrics() -> ModuleType:
    return pytest.importorskip("sklearn.metrics", reason="scikit-learn is the reference for averaged ties and AUC")


@pytest.fixture(scope="module")
def scipy_stats() -> ModuleType:
    return pytest.importorskip("scipy.stats", reason="scipy is another way to AUC and to rank correlations")
