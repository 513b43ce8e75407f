"""Explanations of metric values.

Explanations show the lists of single groups, and the computation of metrics from these lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sparkrank.base.errors import itemize, shorten
from sparkrank.bucket.explained import ExplainedKey, ExplainedMetric
from sparkrank.text.explanation_html import explanation_html
from sparkrank.text.explanation_text import MOST_ROWS, explanation_document, explanation_text


@dataclass(frozen=True, repr=False)
class Explanation:
    """The explained groups (``keys``) in the order of the request, as :func:`sparkrank.explain` returns them.

    If the command explains a stored day, ``day`` is that day, and ``spec`` is the path of the spec; otherwise None.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import sparkrank as sr
    >>> log = pa.table({"user": ["a", "a"], "score": [0.9, 0.5], "click": [0, 1]})
    >>> explanation = sr.explain(log, "rr", group={"user": "a"}, score="score", label="click")
    >>> [(step.name, step.value) for step in explanation.metric.steps]
    [('contributions', 0.5), ('R', 1.0), ('rr', 0.5)]
    >>> explanation.to_dict()["groups"][0]["metrics"][0]["value"]
    0.5
    """

    keys: tuple[ExplainedKey, ...]
    lane: str
    lane_reason: str
    day: str | None = None
    spec: str | None = None
    models: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[ExplainedMetric]:
        """Iterate over every metric of every model and group."""
        return (metric for key in self.keys for group in key.groups for metric in group.metrics)

    @property
    def metric(self) -> ExplainedMetric:
        """The first metric, which is the only metric if one metric was requested for one model and one group."""
        return next(iter(self))

    def text(self, rows: int = MOST_ROWS, width: int | None = None) -> str:
        """Return the explanation as text, with up to ``rows`` rows per table and models side by side if they fit."""
        text = explanation_text(self.keys, rows, width)
        if self.day is None or self.spec is None:
            return text
        models = f"{'Models' if len(self.models) > 1 else 'Model'}: {itemize(self.models)}"
        return f"{self.day}, by {shorten(self.spec)}. {models}\n\n{text}"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole explanation as nested dicts and lists that can be written as JSON."""
        about = {"day": self.day, "spec": self.spec, "models": list(self.models)}
        return {**about, **explanation_document(self.keys, self.lane, self.lane_reason)}

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return explanation_html(self.keys)
