"""Hand-worked cases: rows, a metric and its definitions, and the values with their arithmetic in sight.

The tables are data: the kernels run them, and Spark runs them. The order of a case's rows means nothing.
"""

from __future__ import annotations

from tests.cases.binary import BINARY, THRESHOLDS
from tests.cases.calibrated import CALIBRATED, CALIBRATED_IN_GROUPS
from tests.cases.case import Case, Row, ranking
from tests.cases.classified import CLASSIFIED, DAYS
from tests.cases.comparisons import COMPARISONS
from tests.cases.diversity import DIVERSITY
from tests.cases.earlier import EARLIER
from tests.cases.fairness import FAIRNESS, GAPS, HAD, KINDS
from tests.cases.grades import GRADES
from tests.cases.lists import LISTS
from tests.cases.logged_actions import LOGGED_ACTIONS
from tests.cases.means import MEANS
from tests.cases.numbers import PREDICTED_IN_GROUPS, PREDICTED_NUMBERS
from tests.cases.operating_points import OPERATING_POINTS
from tests.cases.propensities import PROPENSITIES
from tests.cases.retrieval import RETRIEVAL
from tests.cases.sampled import SAMPLED
from tests.cases.subtopics import SUBTOPICS
from tests.cases.surprise import SURPRISE
from tests.cases.ties import TIES
from tests.cases.unjudged import UNJUDGED_ROWS
from tests.cases.values import VALUES

GROUPED = (
    *BINARY,
    *THRESHOLDS,
    *GRADES,
    *TIES,
    *MEANS,
    *RETRIEVAL,
    *COMPARISONS,
    *VALUES,
    *DIVERSITY,
    *EARLIER,
    *FAIRNESS,
    *SUBTOPICS,
    *SURPRISE,
    *UNJUDGED_ROWS,
    *PROPENSITIES,
    *CALIBRATED_IN_GROUPS,
    *PREDICTED_IN_GROUPS,
)
CASES: tuple[Case, ...] = (
    *GROUPED,
    *DAYS,
    *CLASSIFIED,
    *OPERATING_POINTS,
    *CALIBRATED,
    *PREDICTED_NUMBERS,
    *LOGGED_ACTIONS,
    *LISTS,
    *SAMPLED,
    *GAPS,
)

__all__ = ["CASES", "GROUPED", "HAD", "KINDS", "Case", "Row", "ranking"]
