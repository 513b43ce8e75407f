"""The declaration of the metric of who gets the attention of all lists together: exposure_gap."""

from __future__ import annotations

from sparkrank.metrics.attention_metric import AttentionMetric
from sparkrank.metrics.fairness import FAIRNESS_PARAMETERS, why_no_shares

DECLARATIONS = (
    AttentionMetric(
        name="exposure_gap",
        title="how far the attention that values such as providers get in all lists is from what they are due",
        formula="distance of E and T over the values v of a column: E_v = the share of Σ d_i over the first k of all "
        "lists that rows of v have, for tied rows on average, T_v = its share of all relevant rows, or of the items "
        "of the catalog; rows without a value are left out",
        undefined="no row in the first k of a list has a value and a discount above 0, or no row or item of the target "
        "has a value",
        reference="Raj, Ekstrand: SIGIR 2022; Sapiezynski et al.: WWW 2019 companion",
        parameters=FAIRNESS_PARAMETERS,
        higher_is_better=False,
        check=why_no_shares,
    ),
)
