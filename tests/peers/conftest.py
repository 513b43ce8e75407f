"""The libraries that sparkrank is compared with; a test that needs one skips where it is not installed."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from unittest.mock import MagicMock

import pytest


def library(module: str, reason: str) -> Callable[[], ModuleType]:
    """A fixture that imports the module."""

    @pytest.fixture(scope="module")
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
scipy_spatial_distance = library("scipy.spatial.distance", "scipy forms the pairs of a list")

# Those that `make test-peers` installs, and `make test-peers-large` the last two.
rectools_metrics = library("rectools.metrics", "RecTools has popularity, diversity and the intersection of lists")
replay_metrics = library("replay.metrics", "RePlay has what users had not before, and the unexpected")
recommenders_python = library(
    "recommenders.evaluation.python_evaluation", "recommenders has novelty and errors of ratings"
)
recommenders_spark = library(
    "recommenders.evaluation.spark_evaluation", "recommenders has diversity and errors of ratings on Spark"
)
evidently_metrics = library("evidently.legacy.metrics", "Evidently has personalization")
jurity_recommenders = library("jurity.recommenders", "jurity has diversity between lists and within them")
recpack_metrics = library("recpack.metrics", "recpack has diversity by Jaccard distances")
lenskit_ranking = library("lenskit.metrics.ranking", "LensKit has Gini's coefficient of exposure")
recbole_metrics = library("recbole.evaluator.metrics", "RecBole has an entropy of items")


@pytest.fixture(scope="module")
def obp_ope() -> ModuleType:
    """Open Bandit Pipeline. It imports torch for policies that it learns, which no test needs: a name stands for it."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if importlib.util.find_spec("torch") is None:
            torch = MagicMock(Tensor=type("Tensor", (), {}), **{"utils.data.Dataset": object})
            parts = {"nn": torch.nn, "nn.functional": torch.nn.functional, "optim": torch.optim}
            for name, module in {"torch": torch, **{f"torch.{name}": part for name, part in parts.items()}}.items():
                patch.setitem(sys.modules, name, module)
        return pytest.importorskip("obp.ope", reason="Open Bandit Pipeline has the values of policies")


@pytest.fixture(scope="module")
def tensorflow_ranking_metrics() -> Iterator[ModuleType]:
    """Its formulas alone: the package imports estimators, which TensorFlow has no longer."""
    spec = importlib.util.find_spec("tensorflow_ranking")
    if spec is None or spec.submodule_search_locations is None:
        pytest.skip("TF-Ranking has relevance by subtopic")
    (folder,) = spec.submodule_search_locations
    with pytest.MonkeyPatch.context() as patch:
        for name, path in (("tensorflow_ranking", folder), ("tensorflow_ranking.python", f"{folder}/python")):
            package = ModuleType(name)
            package.__path__ = [path]
            patch.setitem(sys.modules, name, package)
        yield importlib.import_module("tensorflow_ranking.python.metrics_impl")
