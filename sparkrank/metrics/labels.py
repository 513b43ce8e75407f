"""The parameters ``label`` and ``among`` of metrics, which choose the label to read and the rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sparkrank.base.errors import MetricError, SpecError, hint, shorten
from sparkrank.metrics.parameters import LABEL_NAME, Name, format_number, label_weights

LABEL = Name("label", None, "the label that is read, of several; without it, the first", named="<label>")
AMONG = Name("among", None, "a label: rows for which it is not above 0 are left out before all else", named="<label>")
PARAMETERS = (LABEL, AMONG)
CHECKED_BY = Name(
    "checked_by",
    None,
    "a surer label that only some groups have, drawn at random and labelled whole, at least 30 of them: the mean over "
    "all groups, plus the mean over these of the value by the surer label less that by the label",
    named="<label>",
)


class Judging(NamedTuple):
    """The label choice of a metric: the ``label`` to read, and the rows that count.

    ``label`` is None for the first label. A label in braces, such as ``{click:1,pay:5}``, is the sum of labels times
    their weights. If ``among`` is given, only rows relevant by that label count.
    """

    label: str | None = None
    among: str | None = None

    def __str__(self) -> str:
        named = zip(self._fields, self, strict=True)
        return ",".join(f"{name}={given}" for name, given in named if given is not None)

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each label in the sum that is read; empty for the first label."""
        return {} if self.label is None else label_weights(self.label) or {self.label: 1.0}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the labels that are read, without the first label."""
        return (*self.weights, *([] if self.among is None else [self.among]))


FIRST = Judging()  # the first label of all rows


def validate_label_names(labels: Sequence[str]) -> None:
    """Raise :class:`SpecError` if one of several ``labels`` has a name that the text of a metric cannot contain."""
    for name in labels if len(labels) > 1 else ():
        if not LABEL_NAME.fullmatch(name):
            raise SpecError(
                f'label names a label "{shorten(name)}": metrics name it, so that blanks and , = @ : ( ) [ ] {{ }} and '
                "quotes are not allowed"
            )


def validate_label_names_of(metric: object, names: Iterable[str], labels: Sequence[str]) -> None:
    """Raise :class:`MetricError` if one of the ``names`` in ``metric`` is not among ``labels``."""
    for name in names:
        if name not in labels:
            near = hint(name, labels, none="no label has a name here")
            more = "" if len(labels) > 1 else ": a mapping names several, as label: {click: clicked, pay: paid}"
            raise MetricError(f'{metric} names "{shorten(name)}", which is not a label{near}{more}')


def level_text(rel: float | None) -> str:
    """Return the condition for a relevant label, such as ``label > 0``. ``rel`` is the lowest relevant label."""
    return "label > 0" if rel is None else f"label >= {format_number(rel)}"
