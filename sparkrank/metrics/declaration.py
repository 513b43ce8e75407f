"""What all declarations share: everything sparkrank knows of a metric, its documentation included, as data.

:mod:`sparkrank.metrics.kinds` says how the value of each kind comes about.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, SupportsIndex, TypeAlias

from sparkrank.base.errors import MetricError, did_you_mean, listed, shortened
from sparkrank.metrics.parameters import Parameter, Value

if TYPE_CHECKING:
    from sparkrank.metrics.arithmetic import Arithmetic, OneGroup
    from sparkrank.metrics.merged import Merged, MetricRow, Side, WithoutParts
    from sparkrank.metrics.metric import Metric
    from sparkrank.metrics.needs import Needed
    from sparkrank.metrics.plan import Plan
    from sparkrank.numeric.array_types import Floats
    from sparkrank.states.keys import Subject

# What a plan has metrics of, each reduced in its own way: values of groups, counts of items, sums of rows, score bins.
Part: TypeAlias = Literal["groups", "items", "rows", "bins"]
# The scale of an interval: Student's t of the value itself, cut at the ends of its range; Wilson's of proportions;
# Student's t of the log odds; or that there is none that is honest.
Scale: TypeAlias = Literal["t", "wilson", "logit", "none"]


@dataclass(frozen=True)
class NeedsOrder:
    """That ties in expectation are not computed, because of what; of those metrics of a declaration that ``holds`` is
    true of, which ``form`` writes: of all where it is empty.
    """

    because: str
    form: str = ""
    holds: Callable[[Metric], bool] = lambda metric: True


@dataclass(frozen=True)
class Unbounded:
    """Those metrics of a declaration, which ``form`` writes and ``holds`` is true of, that have no highest value."""

    form: str
    holds: Callable[[Metric], bool]


@dataclass(frozen=True)
class Declaration:
    """A metric as the catalog knows it.

    ``cutoff`` says whether ``@k`` may stand behind the name. ``formula``, ``undefined`` and ``reference`` are printed
    by ``sparkrank metrics`` as they stand here. An alias that ends in ``@`` holds only with a cut-off. Of the
    parameters named in ``exclusive`` one at most may be given. ``translations`` turn the number that another program
    means by (alias, parameter) into ours. ``at`` is the parameter that a number after ``@`` gives, where it is no
    cut-off. ``higher_is_better`` is None where the best value lies in the middle. ``check`` gives the reason why a
    metric means nothing, or None. ``needs_order`` says which of its metrics ``ties=expected`` rules out, if any. A
    value lies from ``lowest`` to ``highest``, both included and infinite where there is no end, but for those
    ``unbounded``. ``common`` are parameters that it shares with all others of its kind: they stand in a text where they
    are given, and are documented once. ``refused`` are names of parameters that others have, with the reason why it has
    none. ``columns`` are the roles of rows that it reads beside label and score
    (:data:`sparkrank.inputs.role_table.ROW_ROLES`). ``interval`` is the scale on which it gets its interval: ``t``, cut
    at the ends of its range; ``wilson`` where it is a share of things counted, ``logit`` where it lies between 0 and 1;
    ``none`` where no interval is honest, so that a gate looks at the value alone.
    """

    name: str
    title: str
    formula: str
    undefined: str
    reference: str
    parameters: tuple[Parameter, ...] = ()
    cutoff: Literal["optional", "none"] = "optional"
    aliases: tuple[str, ...] = ()
    higher_is_better: bool | None = True
    exclusive: tuple[str, ...] = ()
    translations: tuple[tuple[str, str, Callable[[float], float]], ...] = ()
    at: str | None = None
    check: Callable[[Metric], str | None] = lambda metric: None
    needs_order: NeedsOrder | None = None
    lowest: float = 0.0
    highest: float = 1.0
    unbounded: Unbounded | None = None
    common: tuple[Parameter, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    columns: tuple[str, ...] = ()
    interval: Scale = "t"

    # Of each kind: the parts of a plan that it belongs to, the fields without which it has no value, whether it is a
    # mean of values of groups, whether it has to do with groups at all, and what docs say above its metrics.
    parts: ClassVar[tuple[Part, ...]] = ()
    computed_by: ClassVar[tuple[str, ...]] = ()
    is_averaged: ClassVar[bool] = False
    needs_groups: ClassVar[bool] = True
    heading: ClassVar[str] = ""
    about: ClassVar[str] = ""

    def needed(self, metric: Metric, plan: Plan) -> Iterator[Needed]:
        """The states that ``metric`` is computed from: what a merge asks of a stored day."""
        raise NotImplementedError(f"{self.name} is of no kind")

    def row(self, merged: Merged, subject: Subject, metric: Metric) -> MetricRow:
        """The value of ``metric`` read off the ``merged`` states of one (model, slice, slice value)."""
        raise NotImplementedError(f"{self.name} is of no kind")

    def explain(self, group: OneGroup, metric: Metric) -> Arithmetic:
        """How the value of ``metric`` comes of the rows of one ``group``, or what these add where it is of all rows."""
        raise NotImplementedError(f"{self.name} is of no kind")

    def without_parts(self, merged: Merged, subject: Subject, metric: Metric) -> WithoutParts | None:  # noqa: ARG002
        """The value of ``metric`` over all groups but those of each part; None where no honest interval comes of it."""
        return None

    def mixed_values(self, metric: Metric, *sides: Side) -> tuple[Floats, int] | None:  # noqa: ARG002
        """The values on halves of the parts (1, 2, order), and how many parts have groups; None where it has none.

        Of two sides (3, 2, order): where they have exchanged halves (:mod:`sparkrank.numeric.signed_parts`), and then
        on halves of each.
        """
        return None

    def n_effective(self, merged: Merged, subject: Subject, metric: Metric, *, clustered: bool) -> float | None:  # noqa: ARG002
        """How many equal groups would carry as much; None where that is not known. ``clustered``: a group may have come
        on several days.
        """
        return None

    @property
    def reads_labels(self) -> bool:
        """Whether its values depend on labels."""
        return True

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        """Pickled by name, so that a plan goes to tasks faster than by value.

        One from outside the package goes by value, for nobody else may know it.
        """
        from sparkrank.metrics.catalog import declared, is_built_in  # which knows the modules that declare

        return (declared, (self.name,)) if is_built_in(self) else super().__reduce_ex__(protocol)

    @property
    def lacking(self) -> str | None:
        """The field without which no value of it can be computed, if that was left out."""
        return next((name for name in self.computed_by if getattr(self, name) is getattr(type(self), name)), None)

    def range_of(self, metric: Metric) -> tuple[float, float]:
        """The lowest and the highest value that ``metric`` can have."""
        is_unbounded = self.unbounded is not None and self.unbounded.holds(metric)
        return self.lowest, math.inf if is_unbounded else self.highest

    def scale_of(self, metric: Metric) -> Scale:
        """The scale of the interval of ``metric``: that of its declaration, but where it has no ends of 0 and 1."""
        is_share = self.interval not in ("wilson", "logit") or self.range_of(metric) == (0.0, 1.0)
        return self.interval if is_share else "t"

    def unexpected(self, metric: Metric) -> str | None:
        """Why ``ties=expected`` rules out ``metric``, if it does."""
        needs = self.needs_order
        return needs.because if needs is not None and needs.holds(metric) else None

    def parameter(self, name: str, of: str) -> Parameter:
        """The parameter called ``name``; ``of`` is the metric's text for the error.

        Raises :class:`MetricError` naming the nearest and all allowed parameters.
        """
        for parameter in self.all_parameters:
            if name == parameter.name or name in parameter.aliases:
                return parameter
        if (reason := dict(self.refused).get(name)) is not None:
            raise MetricError(f'"{of}" gives {name}, but {self.name} takes none: {reason}')
        names = [parameter.name for parameter in self.all_parameters]
        allowed = f"{self.name} takes {listed(names)}" if names else f"{self.name} takes no parameter"
        problem = f'unknown parameter "{shortened(name)}" in "{of}"{did_you_mean(name, names)}'
        raise MetricError(f"{problem} ({allowed})")

    @property
    def all_parameters(self) -> tuple[Parameter, ...]:
        """Its own, and those that it shares."""
        return (*self.parameters, *self.common)

    @property
    def defaults(self) -> dict[str, Value]:
        return {parameter.name: parameter.default for parameter in self.all_parameters}
