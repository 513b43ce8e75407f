"""A metric as it is asked for. Its text is its identity: equal texts are equal metrics, and tables hold the text.

name [ "(" param[=value], ... ")" ] [ "@" k ]      ndcg@10   ap(over=min_k_relevant)@5   auc(exact)
median "(" metric ")"    p90 "(" metric ")"        of the values of groups, instead of their mean
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sparkrank.base.errors import MetricError, shortened, shown
from sparkrank.metrics.aliases import cut_off, looked_up
from sparkrank.metrics.catalog import CATALOG, find, is_built_in, is_known, meaning
from sparkrank.metrics.declaration import Declaration
from sparkrank.metrics.outside import called
from sparkrank.metrics.parameters import TIES, WEIGHT, Name, Value, format_number
from sparkrank.metrics.presets import Preset
from sparkrank.ranking.ranking import Ties

# Each blank can be matched in one way only, or a long row of them would be tried in all.
_TEXT = re.compile(r"(?P<name>[A-Za-z_][\w.-]*)(?:\s*\((?P<parameters>.*)\))?(?:\s*@\s*(?P<k>[^@()\s]+))?", re.DOTALL)
_PERCENTILE = re.compile(r"(?:median|p(?P<percent>\d+(?:\.\d+)?))\s*\((?P<of>.*)\)", re.IGNORECASE | re.DOTALL)
_COMMA = re.compile(r",(?![^\[]*\])")  # a comma inside [ ] separates grades, not parameters

MOST_CUTOFF = 2**31 - 1  # positions have 32 bits
MOST_DIGITS = 20  # of a cut-off that a sentence shows again
MOST_LETTERS = 1_000  # of a text, which is read in steps of up to the square of that


@dataclass(frozen=True)
class Metric:
    """A declared metric with its parameters. Its text is its identity, and its name in the tables.

    Parameters
    ----------
    name : str
        The name of the declaration.
    settings : tuple of (str, value)
        The parameters that differ from their default, in the order of the declaration.
    k : int, optional
        The cut-off; None for the whole list.
    percentile : float, optional
        From 0 to 100: the metric is that percentile of the values of groups instead of their mean. Each group counts
        once.
    outside : Declaration, optional
        The declaration of a metric from outside the package (:func:`sparkrank.register`). It travels with the metric to
        processes that have not registered it. :meth:`parse` fills it in.

    Examples
    --------
    >>> metric = Metric.parse("NDCG(gain=exp2)@10")
    >>> str(metric), metric.k
    ('ndcg(gain=exp2)@10', 10)
    >>> str(Metric.parse("median(MRR)"))
    'median(rr)'
    """

    name: str
    settings: tuple[tuple[str, Value], ...] = ()
    k: int | None = None
    percentile: float | None = None
    outside: Declaration | None = field(default=None, compare=False, repr=False)

    @classmethod
    def parse(cls, text: str, preset: Preset | None = None) -> Metric:
        """The metric that ``text`` names, in any case and by any alias.

        Parameters
        ----------
        text : str
            ``name``, ``name@k`` or ``name(parameter=value)@k``, or a percentile of such a metric, ``p90(name)``.
        preset : Preset, optional
            The library that sets the parameters that ``text`` does not give.

        Returns
        -------
        Metric
            The metric, with only those settings that differ from their default.

        Raises
        ------
        MetricError
            If ``text`` does not name a metric with parameters that it takes. The sentence says what is allowed.

        Examples
        --------
        >>> Metric.parse("MAP@5") == Metric.parse("ap@5")
        True
        >>> Metric.parse("ndcg@0")
        Traceback (most recent call last):
            ...
        sparkrank.base.errors.MetricError: the cut-off of "ndcg@0" is 0: a whole number from 1 to 2147483647 is allowed
        """
        quoted = shortened(text)
        if len(text) > MOST_LETTERS:
            raise MetricError(f'"{quoted}" has {len(text)} letters: a metric is written in {MOST_LETTERS} at most')
        text = text.strip()
        wrapped = _PERCENTILE.fullmatch(text)
        if wrapped:
            if _PERCENTILE.fullmatch(wrapped["of"].strip()):
                raise MetricError(f'"{quoted}" asks for a percentile of a percentile: the values of groups have one')
            return cls.parse(wrapped["of"], preset).at_percentile(float(wrapped["percent"] or 50))
        match = _TEXT.fullmatch(text)
        if match is None:
            raise MetricError(f'"{quoted}" is not a metric: write name, name@k or name(parameter=value)@k')
        name, at = _name_and_cutoff(match["name"], match["k"])
        inside = match["parameters"] or ""
        name, own = (name, "") if preset is None else preset.meant(name, at is not None, inside)
        declaration, implied = meaning(name, at is not None, quoted)
        inside = f"{own},{implied},{inside}"
        if declaration.at and at:
            k, inside = None, f"{inside},{declaration.at}={at}"
        else:
            k = _cutoff(at, quoted)
        if k is not None and declaration.cutoff == "none":
            raise MetricError(f'{declaration.name} takes no cut-off, but "{quoted}" gives @{k}')
        given = dict(_settings(declaration, inside, quoted))
        for alias, parameter, translated in declaration.translations:
            if looked_up(name) == alias and parameter in given:
                given[parameter] = translated(float(str(given[parameter])))
        together = [name for name in declaration.exclusive if name in given]
        if len(together) > 1:
            raise MetricError(f'"{quoted}" gives {" and ".join(together)}: only one of them can hold')
        if preset is not None:
            given = {**_preset(preset, declaration, k is not None, given), **given}
        settings = tuple(
            (parameter.name, given[parameter.name])
            for parameter in declaration.all_parameters
            if parameter.name in given and given[parameter.name] != parameter.default
        )
        metric = cls(declaration.name, settings, k, outside=None if is_built_in(declaration) else declaration)
        refused = called(metric, "check", declaration.check, metric)
        if refused:
            raise MetricError(f'"{quoted}" {refused}')
        return metric

    @property
    def ties(self) -> Ties | None:
        """The rule for tied rows that it has of its own, or None where it follows that of the evaluation."""
        given: dict[str, Any] = dict(self.settings)
        ties: Ties | None = given.get(TIES.name)
        return ties

    @property
    def weight_column(self) -> str | None:
        """The column by which groups weigh in its mean, or None where none is named."""
        if not self.declaration.is_averaged:
            return None
        word, parameter = self.word(WEIGHT.name), self.declaration.parameter(WEIGHT.name, self.name)
        return None if isinstance(parameter, Name) and word in parameter.choices else word

    def with_ties(self, ties: Ties | None) -> Metric:
        """The same with ``ties`` of its own, or without any."""
        given = {**dict(self.settings), TIES.name: ties}
        order = [parameter.name for parameter in self.declaration.all_parameters]
        kept = tuple((name, given[name]) for name in order if given.get(name) is not None)
        return replace(self, settings=kept)

    def at_percentile(self, percentile: float) -> Metric:
        """That percentile (0 to 100) of the values of groups. Raises :class:`MetricError` where there is none."""
        if self.percentile is not None or not self.declaration.is_averaged:
            raise MetricError(f"{shortened(self)} has no percentiles: only the values of a metric of groups have any")
        if self.word(WEIGHT.name) != "uniform":
            uniform = "group_auc" if self.name == "gauc" else "weight=uniform"
            raise MetricError(
                f"{self} has no percentiles: a group counts once in one, and {WEIGHT.name}={self.word(WEIGHT.name)} "
                f"says otherwise: write {uniform}"
            )
        if not 0 <= percentile <= 100:
            raise MetricError(f"{shortened(self)} has no p{format_number(percentile)}: p0 to p100 are allowed")
        return replace(self, percentile=percentile)

    @property
    def of_groups(self) -> Metric:
        """The metric whose values of groups this one is made from: itself but for a percentile."""
        return self if self.percentile is None else replace(self, percentile=None)

    def _over_groups(self, text: str) -> str:
        if self.percentile is None:
            return text
        name = "median" if self.percentile == 50 else f"p{format_number(self.percentile)}"
        return f"{name}({text})"

    def __str__(self) -> str:
        written = []
        for name, value in self.settings:
            written.append(
                name if value is True else f"{name}={self.declaration.parameter(name, self.name).write(value)}"
            )
        parameters = f"({','.join(written)})" if written else ""
        return self._over_groups(f"{self.name}{parameters}" + ("" if self.k is None else f"@{self.k}"))

    @property
    def declaration(self) -> Declaration:
        """What the catalog knows of it. Raises :class:`MetricError` where that knows no metric of this name."""
        return self.outside or CATALOG.get(self.name) or find(self.name, self.k is not None, self.name)

    def __getitem__(self, parameter: str) -> Value:
        """The value of a parameter: as given, else its default; None where one that excludes it is given."""
        given = dict(self.settings)
        exclusive = self.declaration.exclusive
        if parameter in exclusive and parameter not in given and any(name in given for name in exclusive):
            return None
        return given.get(parameter, self.declaration.defaults[parameter])

    def word(self, parameter: str) -> str:
        """The value of a parameter that is a word."""
        return str(self[parameter])

    def number(self, parameter: str) -> float:
        """The value of a parameter that is a number."""
        value = self[parameter]
        if not isinstance(value, (int, float)):
            raise TypeError(f"{parameter} of {self} is no number")
        return float(value)

    @property
    def rel(self) -> float | None:
        """The lowest relevant label, or None where any label above 0 is relevant."""
        return None if self["rel"] is None else self.number("rel")

    @property
    def definition(self) -> str:
        """Every parameter written out, for the tables: ``ndcg(gain=linear, ideal=judged)@10``."""
        written = []
        for parameter in self.declaration.all_parameters:
            value = self[parameter.name]
            unsaid = (parameter.later or parameter in self.declaration.common) and value == parameter.default
            if value is not None and value is not False and not unsaid:
                written.append(parameter.name if value is True else f"{parameter.name}={parameter.write(value)}")
        parameters = f"({', '.join(written)})" if written else ""
        return self._over_groups(f"{self.name}{parameters}" + ("" if self.k is None else f"@{self.k}"))


def _preset(preset: Preset, declaration: Declaration, has_cutoff: bool, given: Mapping[str, Value]) -> dict[str, Value]:
    """What ``preset`` sets of a metric, except what cannot stand beside the parameters ``given``."""
    excluded = any(name in given for name in declaration.exclusive)
    found: dict[str, Value] = {}
    for default in preset.defaults:
        holds = default.metric == declaration.name and default.cutoff in (None, has_cutoff)
        if holds and not (excluded and default.parameter in declaration.exclusive):
            parameter = declaration.parameter(default.parameter, preset.name)
            found[parameter.name] = True if parameter.is_flag else parameter.read(default.value)
    return found


def _name_and_cutoff(name: str, k: str | None) -> tuple[str, str | None]:
    """The name and the cut-off of a text: other programs end a name in its cut-off, as ``P_10``."""
    found = cut_off(name) if k is None and not is_known(name) else None
    return found if found is not None and is_known(found[0]) else (name, k)


def _cutoff(digits: str | None, text: str) -> int | None:
    if digits is None:
        return None
    is_short = len(digits.lstrip("0")) <= len(str(MOST_CUTOFF))  # Python reads no number of thousands of digits
    if not (digits.isascii() and digits.isdigit() and is_short and 0 < int(digits) <= MOST_CUTOFF):
        raise MetricError(
            f'the cut-off of "{text}" is {shortened(digits, MOST_DIGITS)}: a whole number from 1 to {MOST_CUTOFF} is '
            "allowed"
        )
    return int(digits)


def _settings(declaration: Declaration, inside: str, text: str) -> Iterator[tuple[str, Value]]:
    """The (name, value) pairs between the parentheses of ``text``."""
    seen: set[str] = set()
    for part in filter(None, (part.strip() for part in _COMMA.split(inside))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        parameter = declaration.parameter(name.lower(), text)
        if parameter.name in seen:
            raise MetricError(f'"{text}" gives {parameter.name} twice')
        seen.add(parameter.name)
        if not equals:
            if not parameter.is_flag:
                raise MetricError(f'{parameter.name} in "{text}" needs a value: {parameter.allowed}')
            yield parameter.name, True
            continue
        try:
            yield parameter.name, parameter.read(value.strip("'\""))
        except ValueError:
            raise MetricError(
                f'{parameter.name}={shortened(value)} in "{text}" is not allowed: {parameter.name} takes '
                f"{parameter.allowed}"
            ) from None


def asked_metrics(metrics: Iterable[str | Metric], preset: Preset | None) -> tuple[Metric, ...]:
    """Each of ``metrics`` once, in the order asked for.

    ``preset`` sets the parameters that a metric's text does not give; a metric given as a value stays as it is. Raises
    :class:`MetricError` naming the place and the metric.
    """
    if isinstance(metrics, str):
        raise MetricError(
            f'metrics is "{shortened(metrics)}", one text: a list of texts is needed, for example ["ndcg@10"]'
        )
    if not isinstance(metrics, Iterable):
        raise MetricError(f'metrics is {shown(metrics)}: a list of texts is needed, for example ["ndcg@10"]')
    parsed = []
    for index, metric in enumerate(metrics):
        if not isinstance(metric, (str, Metric)):
            raise MetricError(f"metrics[{index}] is {shown(metric)}: a text is needed, for example ndcg@10")
        try:
            # a value is read again: whoever made it may have given what no text can mean
            parsed.append(Metric.parse(str(metric), None if isinstance(metric, Metric) else preset))
        except MetricError as error:
            raise MetricError(f"metrics[{index}]: {error}") from None
    if not parsed:
        raise MetricError("metrics is empty: name at least one, for example ndcg@10")
    return tuple(dict.fromkeys(parsed))
