"""What a hand-worked case is, and the short ways to write one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Listed = tuple[str, str | None, float | None, float | None]  # group, item, score, label
Row = Listed | tuple[str, str | None, float | None, float | None, float | None]  # and a reference rank


@dataclass(frozen=True)
class Case:
    """What one metric says of some rows.

    ``groups`` holds the value of every group, None where the metric is undefined; it is None itself for a metric of
    the whole day, whose value is ``mean``. A ``mean`` of None is undefined. ``error_bound`` is that of the day's value.
    """

    id: str
    rows: tuple[Row, ...]
    metric: str
    groups: Mapping[str, float | None] | None
    mean: float | None
    ties: str = "expected"
    undefined: str = "skip"
    error_bound: float = 0.0

    @property
    def has_rows_of_its_own(self) -> bool:
        """Whether the rows of other cases matter, or the metric reads what they lack.

        Labels without a gain in its list are bad, all rows make popularity, subtopics are arrays, and relevant rows
        and logged actions have propensities.
        """
        texts = ("value", "gain=[", "(of=users", "(of=rows", "alpha_ndcg(", "strecall(", "propensity=")
        return any(text in self.metric for text in texts)


def ranking(group: str, *labels: float | None, unlisted: tuple[float, ...] = ()) -> tuple[Row, ...]:
    """A list without ties, the best score first, and judged items that it lacks (their score is null)."""
    count = len(labels)
    listed = [(group, f"i{place}", float(count - place), label) for place, label in enumerate(labels)]
    absent = [(group, f"u{place}", None, label) for place, label in enumerate(unlisted)]
    return tuple(
        (name, item, score, None if label is None else float(label)) for name, item, score, label in [*listed, *absent]
    )


def one_group(title: str, rows: tuple[Row, ...], values: Mapping[str, float | None], **definitions) -> Iterator[Case]:
    """A case for each metric of a single group, whose value is the mean as well."""
    (group,) = {row[0] for row in rows}
    for metric, value in values.items():
        yield Case(case_id(title, metric, definitions), rows, metric, {group: value}, value, **definitions)


def under_ties(title: str, rows: tuple[Row, ...], **values: Mapping[str, float | None]) -> Iterator[Case]:
    """The cases of a single group under each rule of ties, by the name of the rule."""
    for ties, of_rule in values.items():
        yield from one_group(title, rows, of_rule, **({} if ties == "expected" else {"ties": ties}))


def many_groups(title: str, rows: tuple[Row, ...], metric: str, groups, mean, **definitions) -> Case:
    """A case of several groups, with the values of each and their mean."""
    return Case(case_id(title, metric, definitions), rows, metric, groups, mean, **definitions)


def whole_day(
    title: str, rows: tuple[Row, ...], values: Mapping[str, tuple[float | None, float]], **definitions
) -> Iterator[Case]:
    """A case for each metric of the whole day: (value, error bound)."""
    for metric, (value, bound) in values.items():
        yield Case(case_id(title, metric, definitions), rows, metric, None, value, error_bound=bound, **definitions)


def case_id(title: str, metric: str, definitions: Mapping[str, str]) -> str:
    """The name of a case, by which a failure is found."""
    return ", ".join([title, metric, *(f"{name}={value}" for name, value in definitions.items())])
