"""The libraries that sparkrank is compared with; a test that needs one skips where it is not installed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType

import pytest


def library(module: str, reason: str) -> Callable[[], ModuleType]:
    """A fixture of the same name, its dot as a line."""

    @pytest.fixture(scope="module", name=module.replace(".", "_"))
    def imported() -> ModuleType:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return pytest.importorskip(module, reason=reason)

    return imported


pytrec_eval = library("pytrec_eval", "pytrec_eval is the reference for trec_eval's numbers")
ir_measures = library("ir_measures", "ir_measures gives the metrics their names")
ranx = library("ranx", "ranx is a second opinion on lists without ties")
sklearn_metrics = library("sklearn.metrics", "scikit-learn is the reference for averaged ties and AUC")
pyndeval = library("pyndeval", "pyndeval is the reference for relevance by subtopic")
scipy_stats = library("scipy.stats", "scipy is another way to AUC and to rank correlations")
scipy_distances = library("scipy.spatial.distance", "scipy forms the pairs of a list")
