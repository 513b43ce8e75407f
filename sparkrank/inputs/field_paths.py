"""Values inside a column: struct fields, map values, and elements of arrays and of Spark ML's vectors.

The user names such a value for a role as in Spark SQL: ``m.prob``, ``scores['prob']``, ``probability[1]``,
``recommendations.item``. Indices count from 0. A column with exactly that name has precedence. The meaning of a name
depends only on the types of the columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from sparkrank.base.errors import MOST_SHOWN, InputError, did_you_mean, itemize, shorten
from sparkrank.inputs.role_table import LABEL, LABELS, SLICE, SLICE_NUMBER, TRUE_ITEMS, Role
from sparkrank.inputs.roles import Roles

ITEM_FIELD, RATING_FIELD = "item", "rating"  # of the structs in the recommendations of Spark ML's ALS
POSITIVE = 1  # the index of the positive class in a vector of two, as for Spark ML's evaluators
VECTOR_FIELDS = ("type", "size", "indices", "values")  # how Spark ML stores a vector, dense (type 1) or sparse (0)
NAN_RATING = "a rating of recommended items is NaN, by which nothing can be ordered: drop the item, or write null"
_ELEMENT = re.compile(r"\[(\d{1,9})\]")
_KEY = re.compile(r"""\[(?:'([^']*)'|"([^"]*)")\]|\.([^.\[]+)""")


class Shape(NamedTuple):
    """A description of an Arrow or Spark type: its name (``text``), its kind, and the shapes of the values inside."""

    text: str
    is_plain: bool = False
    is_number: bool = False
    fields: Mapping[str, Shape] | None = None
    element: Shape | None = None
    is_vector: bool = False
    value: Shape | None = None  # of a map whose keys are strings


class StructField(NamedTuple):
    """A step into the field ``name`` of a struct."""

    name: str


class Element(NamedTuple):
    """A step to the element at index ``place`` of an array.

    If ``to_number`` is true, the element is read as a double: NaN if the array is too short. A row with NaN is
    rejected, while null would have a meaning, such as "not retrieved" for a score.
    """

    place: int
    to_number: bool = False


class MapKey(NamedTuple):
    """A step to the value under the key ``name`` in a map. The value is null if the map lacks this key."""

    name: str


class VectorElement(NamedTuple):
    """A step to the element at index ``place`` of a vector.

    If ``only_of`` is set, a vector of another size is an error with the message ``refused``.
    """

    place: int
    only_of: int | None = None
    refused: str = ""


class EveryElement(NamedTuple):
    """A step into every element of an array, and then along ``steps`` inside the element."""

    steps: tuple[PathStep, ...]


class RatedItem(NamedTuple):
    """A step to the field ``item`` of every struct in an array. The structs are sorted by descending ``rating``.

    Null ratings come last.
    """

    item: str
    rating: str


PathStep: TypeAlias = StructField | Element | MapKey | VectorElement | EveryElement | RatedItem


@dataclass(frozen=True)
class Place:
    """The place of the values of a role (a use of a column): inside ``column``, at the end of ``steps``.

    If ``few`` is true, there are few distinct strings, so a reader may return a dictionary-encoded column.
    """

    column: str
    steps: tuple[PathStep, ...]
    few: bool = False


def ratings_at(place: Place) -> Place | None:
    """Return the place of the ratings of the items at ``place``, or None if the items have no ratings."""
    if not place.steps or not isinstance(last := place.steps[-1], RatedItem):
        return None
    return Place(place.column, (*place.steps[:-1], EveryElement((StructField(last.rating),))))


def elements_of(roles: Roles) -> list[str]:
    named = (column for role, _, column in roles.in_use() if not role.is_name and _ELEMENT.search(column))
    return list(dict.fromkeys(named))


def columns_of(roles: Roles, names: Sequence[str]) -> list[str]:
    """Return those of ``names`` (columns) with values of roles, or all ``names`` if a role's column is missing."""
    read: dict[str, None] = {}
    for _, column in roles.columns():
        within = (
            [column] if column in names else [name for name in names if column.startswith((f"{name}.", f"{name}["))]
        )
        if not within:
            return list(names)
        read.update(dict.fromkeys(within))
    return list(read)


def places(roles: Roles, columns: Mapping[str, Shape], what: str) -> dict[str, Place]:
    """Return the place of each value that ``roles`` names inside a column, by its name in ``roles``.

    Raise :class:`InputError` if a column lacks such a value, or if a name could mean several values.
    """
    inside: dict[str, Place] = {}
    for role, title, name in roles.in_use():
        whole = _found(name, columns)
        if whole is None:
            _validate_part_of_column(title, name, columns, what)
            continue
        place, shape = whole
        steps = place.steps + _meant(role, title, name, shape, roles)
        if not role.is_name and (shape.is_number or shape.text == BOOLEAN):
            steps = tuple(step._replace(to_number=True) if isinstance(step, Element) else step for step in steps)
        place = Place(place.column, steps)
        if place.steps and inside.setdefault(name, place) != place:
            raise InputError(
                f'the column "{shorten(name)}" is of type {shorten(shape.text)}: name the part that is the {title}'
            )
    return inside


def _found(name: str, columns: Mapping[str, Shape]) -> tuple[Place, Shape] | None:
    if name in columns:
        return Place(name, ()), columns[name]
    for column in _beginnings(name, columns):
        inside = _inside(name[len(column) :], columns[column])
        if inside is not None:
            return Place(column, inside[0]), inside[1]
    return None


def _beginnings(text: str, names: Mapping[str, Shape]) -> list[str]:
    return sorted((name for name in names if text.startswith((f"{name}.", f"{name}["))), key=len, reverse=True)


def _inside(text: str, shape: Shape) -> tuple[tuple[PathStep, ...], Shape] | None:
    if not text:
        return (), shape
    if element := _ELEMENT.match(text):
        place, rest = int(element[1]), text[element.end() :]
        if shape.is_vector:
            return _then(VectorElement(place), _inside(rest, DOUBLE))
        return None if shape.element is None else _then(Element(place), _inside(rest, shape.element))
    if shape.element is not None:
        return _in_each(_inside(text, shape.element))
    if shape.value is not None:
        return _in_map(text, shape.value)
    return _in_fields(text[1:], shape.fields or {}) if text.startswith(".") else None


def _in_each(inner: tuple[tuple[PathStep, ...], Shape] | None) -> tuple[tuple[PathStep, ...], Shape] | None:
    if inner is None:
        return None
    steps, shape = inner
    return (EveryElement(steps),), Shape(f"array of {shorten(shape.text)}", element=shape)


def _in_map(text: str, value: Shape) -> tuple[tuple[PathStep, ...], Shape] | None:
    """Parse ``text`` as a map key and further steps. An unquoted key is all of ``text`` if map values are plain."""
    if text.startswith(".") and value.is_plain:
        return (MapKey(text[1:]),), value
    key = _KEY.match(text)
    return None if key is None else _then(MapKey(key[key.lastindex or 0]), _inside(text[key.end() :], value))


def _in_fields(text: str, fields: Mapping[str, Shape]) -> tuple[tuple[PathStep, ...], Shape] | None:
    if text in fields:
        return (StructField(text),), fields[text]
    ways = (_then(StructField(name), _inside(text[len(name) :], fields[name])) for name in _beginnings(text, fields))
    return next((way for way in ways if way is not None), None)


def _then(step: PathStep, rest: tuple[tuple[PathStep, ...], Shape] | None) -> tuple[tuple[PathStep, ...], Shape] | None:
    return None if rest is None else ((step, *rest[0]), rest[1])


DOUBLE = Shape("double", is_plain=True, is_number=True)
BOOLEAN = "bool"


def _validate_part_of_column(role: str, name: str, columns: Mapping[str, Shape], what: str) -> None:
    for column in _beginnings(name, columns):
        parts = list(_parts(column, columns[column]))
        if parts:
            near = f"{did_you_mean(name, parts)} ({shorten(column)} has {itemize(parts)})"
            raise InputError(f'the {role} column "{shorten(name)}" is not in the {what}{near}')


def _parts(name: str, shape: Shape) -> Iterator[str]:
    if shape.is_vector or (shape.element is not None and not shape.element.fields):
        yield f"{name}[0]"
    if shape.value is not None:
        yield f"{name}['key']"
    inner = shape if shape.element is None else shape.element
    for field, part in (inner.fields or {}).items():
        yield f"{name}.{field}"
        if part.fields:
            yield from _parts(f"{name}.{field}", part)


def _again(name: str) -> str:
    """Return ``name``, shortened if it is long, for its second mention in a message."""
    return f"{name[: MOST_SHOWN // 4]}…" if len(name) > MOST_SHOWN // 2 else name


def _meant(role: Role, title: str, name: str, shape: Shape, roles: Roles) -> tuple[PathStep, ...]:
    """Return the steps from the value at ``name`` to its only part that fits the role; no steps for a plain value."""
    shown = _again(name)
    problem = f'the {title} column "{shorten(name)}" is of type {shorten(shape.text)}'
    if roles.true_items is not None and role not in (SLICE, SLICE_NUMBER) and not role.is_group_value:
        fields = None if shape.element is None else shape.element.fields
        return () if fields is None else _items(role, name, problem, fields, roles)
    if role.takes[0] in ("array", "numbers"):  # the whole array is the value
        return ()
    is_value = role.is_name
    needed = "a plain value is needed" if is_value else "a number is needed"
    if shape.is_vector:
        is_score = name in roles.scores.values() and not is_value and role != LABEL and role.key != "weight"
        if not is_score or roles.by_rank:
            raise InputError(f"{problem}: {needed}, as {shown}[0]")
        remedy = f"name the element that is the score, as {shown}[2]"
        return (
            VectorElement(
                POSITIVE, 2, f'the {title} column "{shorten(name)}" has a vector of another size than 2: {remedy}'
            ),
        )
    if shape.element is not None and _fits(shape.element, is_value):
        raise InputError(f"{problem}: {needed}, as {shown}[0]")
    if shape.value is not None and _fits(shape.value, is_value):
        raise InputError(f"{problem}: {needed}, as {shown}['key'], with a key of the map")
    fitting = [field for field, part in (shape.fields or {}).items() if _fits(part, is_value)]
    if len(fitting) > 1:
        raise InputError(f"{problem}: {needed}, as {shown}.{fitting[0]} (it has {itemize(_parts(name, shape))})")
    return tuple(map(StructField, fitting))


def _fits(shape: Shape, is_value: bool) -> bool:
    return shape.is_plain if is_value else shape.is_number


def _items(role: Role, name: str, problem: str, fields: Mapping[str, Shape], roles: Roles) -> tuple[PathStep, ...]:
    is_label = role == LABELS
    rating = RATING_FIELD if RATING_FIELD in fields and fields[RATING_FIELD].is_number and not is_label else None
    fitting = [field for field, part in fields.items() if _fits(part, not is_label) and field != rating]
    if ITEM_FIELD in fitting and not is_label:
        fitting = [ITEM_FIELD]
    if len(fitting) != 1:
        example = next(iter(fitting or fields), ITEM_FIELD)
        raise InputError(f"{problem}: name the field, as {_again(name)}.{example} (it has {itemize(fields)})")
    grades = [field for field, part in fields.items() if part.is_number and field != fitting[0]]
    if role == TRUE_ITEMS and grades and roles.label is None and roles.relevance == "membership":
        shown = _again(name)
        raise InputError(
            f"{problem}, with numbers beside the items: label={shown}.{grades[0]} takes them as grades, and "
            f"true_items={shown}.{fitting[0]} takes each item as relevant"
        )
    if rating is None or role == TRUE_ITEMS:
        return (EveryElement((StructField(fitting[0]),)),)
    return (RatedItem(fitting[0], rating),)
