"""The classes of parameters for declarations of metrics. They convert strings to values and values to strings.

The module also defines the parameters ``ties`` and ``weight`` of metrics, which their declarations do not list.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TypeAlias, get_args

from sparkrank.ranking.discounts import Discount
from sparkrank.ranking.ranking import Ties
from sparkrank.ranking.value_columns import ValueKind

# The other characters separate the parts of a metric's text.
LABEL_NAME = re.compile(r"[^\s,=@()\[\]{}:'\"]+")
Value: TypeAlias = float | int | str | bool | tuple[float, ...] | None


@dataclass(frozen=True)
class Parameter(ABC):
    """A parameter in a declaration of a metric.

    The string of a metric leaves out a parameter with its ``default``. ``doc`` is a phrase for the documentation.
    ``aliases`` are names of the parameter in other programs. If ``later`` is true, definitions also leave out the
    default, so that states stored before the parameter existed can still be merged.
    """

    name: str
    default: Value
    doc: str
    aliases: tuple[str, ...] = ()
    later: bool = False

    is_flag = False

    @property
    @abstractmethod
    def allowed(self) -> str:
        """The values that may follow ``name=``, as a text for error messages and documentation."""

    @abstractmethod
    def read(self, text: str) -> Value:
        """Return the value of ``text``. Raise ``ValueError`` if ``text`` is not allowed."""

    def write(self, value: Value) -> str:
        return format_number(value) if isinstance(value, (int, float)) else str(value)


@dataclass(frozen=True)
class Choice(Parameter):
    """A parameter whose value is one of the words in ``choices``. ``synonyms`` pairs other words with these choices.

    If ``grades`` is true, a list of numbers such as ``[3,2,1]`` is allowed too; ``noun`` is the name of each number.
    ``roles`` pairs a word with the role of a column that the metric then reads.

    Examples
    --------
    >>> from sparkrank.metrics import Choice
    >>> over = Choice("over", "mean", "how values join", choices=("mean", "highest"), synonyms=(("max", "highest"),))
    >>> over.allowed, over.read("mean"), over.read("MAX")
    ('mean|highest', 'mean', 'highest')
    """

    choices: tuple[str, ...] = ()
    grades: bool = False
    synonyms: tuple[tuple[str, str], ...] = ()
    noun: str = "grade"
    roles: tuple[tuple[str, str], ...] = ()

    @property
    def allowed(self) -> str:
        return "|".join((*self.choices, *((f"[{self.noun},...]",) if self.grades else ())))

    def read(self, text: str) -> Value:
        if self.grades and text.startswith("["):
            return _numbers(text)
        word = dict(self.synonyms).get(text.lower(), text.lower())
        if word not in self.choices:
            raise ValueError(text)
        return word

    def write(self, value: Value) -> str:
        return _list_text(value) if isinstance(value, tuple) else str(value)


@dataclass(frozen=True)
class ColumnChoice(Choice):
    """A choice among words for columns of values, which the metric reads as numbers.

    ``columns`` pairs the words with the columns.
    """

    columns: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "choices", tuple(word for word, _ in self.columns))


@dataclass(frozen=True)
class Number(Parameter):
    """A parameter whose value is a number between ``above`` and ``below``, both included if ``closed`` is true.

    Examples
    --------
    >>> from sparkrank.metrics import Number
    >>> share = Number("share", 0.5, "a share of the rows", above=0, below=1)
    >>> share.allowed, share.read("0.25")
    ('a number between 0 and 1', 0.25)
    """

    above: float = float("-inf")
    below: float = float("inf")
    closed: bool = False

    @property
    def allowed(self) -> str:
        low, high = format_number(self.above), format_number(self.below)
        if self.below < float("inf"):
            return f"a number from {low} to {high}" if self.closed else f"a number between {low} and {high}"
        return f"a number above {low}" if self.above > float("-inf") else "a number"

    def read(self, text: str) -> Value:
        value = float(text)
        ends = (self.above, self.below) if self.closed else ()
        if not (self.above < value < self.below or value in ends):
            raise ValueError(text)
        return value


@dataclass(frozen=True)
class Count(Parameter):
    """A parameter whose value is a whole number from ``least`` to ``most`` (both included), or None if not given.

    If ``required`` is true, the ``check`` of a metric refuses metrics without the parameter.

    Examples
    --------
    >>> from sparkrank.metrics import Count
    >>> depth = Count("depth", None, "how many rows are read", least=1, most=50)
    >>> depth.allowed, depth.read("20")
    ('a whole number from 1 to 50', 20)
    """

    least: int = 0
    most: int = 0
    required: bool = False

    @property
    def allowed(self) -> str:
        return f"a whole number from {self.least} to {self.most}"

    def read(self, text: str) -> Value:
        value = int(text)
        if not self.least <= value <= self.most:
            raise ValueError(text)
        return value


@dataclass(frozen=True)
class Name(Parameter):
    """A parameter whose value is one of ``choices``, or a name from the evaluation, such as the name of a model.

    A name keeps its upper and lower case. ``synonyms`` pairs other words with the choices.

    Examples
    --------
    >>> from sparkrank.metrics import Name
    >>> ref = Name("ref", "first", "another model", choices=("first", "last"), named="<model>")
    >>> ref.allowed, ref.read("LAST"), ref.read("ALS")
    ('first|last|<model>', 'last', 'ALS')
    """

    choices: tuple[str, ...] = ()
    named: str = ""
    synonyms: tuple[tuple[str, str], ...] = ()

    @property
    def allowed(self) -> str:
        return "|".join((*self.choices, self.named))

    def read(self, text: str) -> Value:
        if not re.fullmatch(r"[^\s,=@()\[\]'\"]+", text):  # characters that separate the parts of a metric's text
            raise ValueError(text)
        word = dict(self.synonyms).get(text.lower(), text.lower())
        return word if word in self.choices else text


@dataclass(frozen=True)
class Column(Name):
    """A parameter whose value is the name of a column of values, read as ``kind``.

    If the parameter named by ``equals`` is given too, its value is a text: values of the column equal to this text
    count as 1, and others as 0. If ``several`` is true, a list such as ``[genre,brand]`` is allowed. ``kinds`` pairs
    values of the parameter ``read_by`` with the kinds of columns for these values. If ``of_relevant`` is true, the
    metric reads the column for relevant rows, in a list or not; numbers are then gains. If ``listed`` is given, a list
    of numbers is allowed too, and ``listed`` is the name of each number. If the parameter named by ``shares`` is a
    table, the metric also reads the share of each row's value in that table. If ``of_labels`` is true, weights of
    labels such as ``{click:1,pay:5}`` are allowed too.
    """

    named: str = "<column>"
    kind: ValueKind = "number"
    equals: str | None = None
    several: bool = False
    read_by: str | None = None
    kinds: tuple[tuple[str, ValueKind], ...] = ()
    of_relevant: bool = False
    listed: str | None = None
    shares: str | None = None
    of_labels: bool = False

    @property
    def allowed(self) -> str:
        listed = self.named if self.several else self.listed
        own = super().allowed if listed is None else f"{super().allowed}|[{listed},...]"
        return f"{own}|{{<label>:weight,...}}" if self.of_labels else own

    def read(self, text: str) -> Value:
        if self.listed is not None and text.startswith("["):
            return _numbers(text)
        if self.of_labels and (weights := label_weights(text)) is not None:
            return _weights_text(weights)
        if not (self.several and text.startswith("[") and text.endswith("]")):
            return super().read(text)
        names = [str(super(Column, self).read(name)) for name in self.names(text)]
        if len(set(names)) < len(names):
            raise ValueError(text)
        return f"[{','.join(names)}]" if len(names) > 1 else names[0]

    def write(self, value: Value) -> str:
        return _list_text(value) if isinstance(value, tuple) else super().write(value)

    @staticmethod
    def names(text: str) -> list[str]:
        """Return the names of columns in ``text``, a value of the parameter."""
        return [name.strip() for name in text.removeprefix("[").removesuffix("]").split(",")]


@dataclass(frozen=True)
class Flag(Parameter):
    """A parameter without a value: it is true if its name is in the metric's string, as in ``auc(exact)``.

    Examples
    --------
    >>> import sparkrank as sr
    >>> [sr.Metric.parse(text)["exact"] for text in ("auc(exact)", "auc")]
    [True, False]
    """

    is_flag = True

    @property
    def allowed(self) -> str:
        return f"the bare word {self.name}"

    def read(self, text: str) -> Value:
        raise ValueError(text)


def label_weights(text: str) -> dict[str, float] | None:
    """Return the weight of each label in a text such as ``{click:1,pay:5}``; None for a text without braces.

    Raise ``ValueError`` if the braces contain anything but names of labels with positive weights.
    """
    if not text.startswith("{"):
        return None
    weights: dict[str, float] = {}
    for part in text.removeprefix("{").removesuffix("}").split(","):
        name, _, weight = (piece.strip() for piece in part.partition(":"))
        if not LABEL_NAME.fullmatch(name) or name in weights or not 1e-6 <= float(weight) <= 1e9:
            raise ValueError(text)
        weights[name] = float(weight)
    if not text.endswith("}"):
        raise ValueError(text)
    return weights


def _weights_text(weights: dict[str, float]) -> str:
    return "{" + ",".join(f"{name}:{format_number(weight)}" for name, weight in weights.items()) + "}"


def _numbers(text: str) -> tuple[float, ...]:
    """Return the finite numbers of a list in brackets, such as ``[3,2,1]``. Raise ``ValueError`` for another text."""
    numbers = tuple(float(number) for number in text.removeprefix("[").removesuffix("]").split(","))
    if not text.endswith("]") or not all(map(math.isfinite, numbers)):
        raise ValueError(text)
    return numbers


def _list_text(numbers: tuple[float, ...]) -> str:
    return "[" + ",".join(format_number(number) for number in numbers) + "]"


def discount_of(value: Value) -> Discount:
    """Return the discount for the ``value`` of a parameter: a word, or a number for each of the first positions."""
    return Discount("listed", value) if isinstance(value, tuple) else Discount(str(value))


def format_number(value: float) -> str:
    """Return the shortest string with the value ``value``. A whole number below 1e15 has no decimal point."""
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


TIES = Choice(
    "ties",
    None,
    "the order of tied rows, for this metric only; without it, the setting of the evaluation holds",
    choices=get_args(Ties),
)
UNJUDGED = Choice(
    "unjudged",
    None,
    "rows without a label, for this metric: drop = they are left out before rows have positions (a condensed list)",
    choices=("drop",),
)
# For a metric that grows with the grade of each row, whatever the grades of the other rows are.
UNJUDGED_OR_BEST = replace(
    UNJUDGED,
    doc=f"{UNJUDGED.doc}; best = they are relevant, with the highest grade, which gives the most that the value can be",
    choices=("drop", "best"),
)
NEED_AN_ORDER = "item, worst, best or block"  # the values of ties that order the rows
# The default ties of metrics without a mean over the orders of tied rows: with an item column, and without one.
ORDERS: tuple[Ties, Ties] = ("item", "worst")
COLUMN = "or a column with one number for each group, 0 or from 1e-6 to 1e9"


def weight(default: str, doc: str, choices: tuple[str, ...], synonyms: tuple[tuple[str, str], ...]) -> Name:
    doc = f"weight of a group in the mean: {doc}; {COLUMN}"
    return Name("weight", default, doc, choices=choices, named="<column>", synonyms=synonyms)


WEIGHT = weight(
    "uniform",
    "uniform = 1; rows = its listed rows; relevant = its relevant rows, listed or not",
    ("uniform", "rows", "relevant"),
    (("positives", "relevant"),),
)
OF_LISTS: tuple[Parameter, ...] = (TIES, WEIGHT, UNJUDGED)
OF_LISTS_WITH_BEST: tuple[Parameter, ...] = (TIES, WEIGHT, UNJUDGED_OR_BEST)
