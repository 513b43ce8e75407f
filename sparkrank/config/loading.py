"""Functions that read a file with overrides as a :class:`Spec`. Messages of errors contain the place and the fault."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from sparkrank.base.errors import MOST_LISTED, SpecError, hint, quote, shorten
from sparkrank.config.document import PLUGINS_OPTIONAL, Spec
from sparkrank.config.validators import KINDS

# Limits that no spec comes near: bytes of the file, levels of nesting, values (each reference counted as all that it
# refers to), and errors that one message lists.
MOST_BYTES, MOST_DEPTH, MOST_VALUES, MOST_CLAUSES = 256 << 10, 32, 10_000, 5  # a second's work
MOST_DIGITS = 400  # of a whole number: it must fit a float, and Python refuses to print thousands of digits


def load_spec(path: str | Path, overrides: Sequence[str] = (), *, for_stored: bool = False) -> Spec:
    """Return the spec at ``path`` with each override ``a.b=value`` applied. The value is read as YAML.

    ``for_stored`` is true for commands that do not evaluate. If a plugin of the spec is not installed, these do not
    check the metrics, and leave unknown metrics out of the plan.

    Raise :class:`SpecError` for a missing file, invalid YAML, a repeated key, an unknown key (with its path and the
    nearest known key), a missing key, or a wrong value. Metrics and roles are checked too, so that errors in them are
    found before rows are read.
    """
    document = _read(Path(path))
    for override in overrides:
        _put(document, override)
    spec = spec_of(document, shorten(path), for_stored=for_stored)
    spec._file = str(path)  # noqa: SLF001 - no key of the document
    return spec


def spec_of(document: Mapping[str, Any], place: str, *, for_stored: bool = False) -> Spec:
    """Return ``document`` as a valid spec. ``place`` is its name in error messages.

    Raise the errors of :func:`load_spec`.
    """
    try:
        spec = Spec.model_validate(document, context={PLUGINS_OPTIONAL: for_stored})
        if spec.lacks_plugin:
            return spec
        plan = spec.plan()
        spec.limits(plan)
        spec.judge(plan)
    except ValidationError as error:
        raise SpecError(f"{place}: {_sentence(error)}") from None
    except SpecError as error:
        raise type(error)(f"{place}: {error}") from None
    return spec


_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|0b[01_]+)\Z")
_FLOAT = re.compile(
    r"[-+]?(?:(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?|\.(?:inf|Inf|INF))\Z|\.(?:nan|NaN|NAN)\Z"
)
_BOOLEAN, _TEXT = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:str"


def _refused(problem: str, mark: yaml.Mark | None = None) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, mark)


class _Loader(yaml.SafeLoader):
    """A YAML loader that refuses oversized documents and repeated keys. Other loaders keep only the last of these keys.

    Only plain numbers are numbers: YAML 1.1 reads ``1:30`` as 90 and ``010`` as 8, but here they are strings. Keys that
    YAML reads as true or false are strings too, such as ``off`` in uncertainty, or a model called ``no``.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012 - as the class above has it
        first: [
            (tag, _WHOLE if tag.endswith(":int") else _FLOAT if tag.endswith(":float") else pattern)
            for tag, pattern in resolvers
        ]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    _depth = _composed = 0

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        if len(node.value) > MOST_DIGITS:
            problem = f"a whole number has {len(node.value)} letters: at most {MOST_DIGITS} are allowed"
            raise _refused(problem, node.start_mark)
        number: int = super().construct_yaml_int(node)
        return number

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._depth += 1
        self._composed += 1
        if self._composed > MOST_VALUES:
            raise _refused(f"it has more than {MOST_VALUES} values")
        if self._depth > MOST_DEPTH:
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise _refused(f"there are more than {MOST_DEPTH} parts within parts", mark)
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1

    def get_single_node(self) -> yaml.Node | None:
        node = super().get_single_node()
        if node is not None and _values_of(node, {}) > MOST_VALUES:  # the file itself has fewer
            raise _refused(f"with its references (*name) it has more than {MOST_VALUES} values")
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        places: dict[str, Any] = {}
        for key, _ in node.value:
            before = places.setdefault(key.value, key) if isinstance(key, yaml.ScalarNode) else key
            if before is not key:
                raise _refused(f'the key "{shorten(key.value)}" occurs twice', key.start_mark)
            if key.tag == _BOOLEAN:
                key.tag = _TEXT
        return super().construct_mapping(node, deep)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)


def _values_of(node: yaml.Node, known: dict[int, int]) -> int:
    """Return the number of values in ``node``. A reference counts as many values as the node that it refers to.

    ``known`` caches the numbers by node id. A node that contains itself gets a number above the limit.
    """
    if id(node) not in known:
        known[id(node)] = MOST_VALUES
        inside = node.value if isinstance(node, yaml.CollectionNode) else ()
        parts = itertools.chain.from_iterable(inside) if isinstance(node, yaml.MappingNode) else inside
        known[id(node)] = 1 + sum(_values_of(part, known) for part in parts)
    return known[id(node)]


def _parsed(text: str) -> Any:
    return yaml.load(text, _Loader)  # noqa: S506 - it is a SafeLoader


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise SpecError(f"{shorten(path)} is not a spec: it has more than {MOST_BYTES >> 10} KiB")
        document = _parsed(data.decode())
    except OSError as error:
        raise SpecError(f"cannot read the spec {shorten(path)}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SpecError(f"{shorten(path)} is not UTF-8 text: byte {error.start} is invalid") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: an invalid date
        raise SpecError(f"{shorten(path)} is not YAML: {_problem(error)}") from None
    if not isinstance(document, dict):
        raise SpecError(f"{shorten(path)} is not a document with keys: input, metrics and output are needed")
    return document


_QUOTES = 'within { } a path with a mark needs quotes, as in {path: "/log/dt={date}"}'

# A name that YAML takes from an unquoted value, such as a password that begins with * or !.
_NAME_IN_YAML = re.compile(r"\b(alias|anchor|tag|tag handle) '.*'", re.DOTALL)


def _problem(error: Exception, *, in_file: bool = True) -> str:
    """Return the problem that YAML reports and its position in the file, without quoting lines of the file."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem is None:
        return shorten(" ".join(str(error).split()))
    mark, problem = error.problem_mark, shorten(_NAME_IN_YAML.sub(r"\1", error.problem))
    where = f" (line {mark.line + 1}, column {mark.column + 1})" if in_file and mark else ""
    advice = f"; {_QUOTES}" if problem.endswith("but got '{'") else ""
    return f"{problem}{where}{advice}"


def _put(document: dict[str, Any], override: str) -> None:
    key, equals, value = override.partition("=")
    written = shorten(key if "options" in override else override)  # values of options are not shown
    if not equals or not all(key.split(".")):
        raise SpecError(f"--set {written} is not of the form key.key=value, for example definitions.ties=item")
    *parents, last = key.split(".")
    place = document
    for index, parent in enumerate(parents):
        if place.get(parent) is None:  # a key with nothing below it, or only comments, may get keys too
            place[parent] = {}
        place = place[parent]
        if not isinstance(place, dict):
            raise SpecError(
                f"--set {written}: {shorten('.'.join(parents[: index + 1]))} is a value, not a part with keys"
            )
    try:
        place[last] = _parsed(value)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: an invalid date
        raise SpecError(f"--set {written}: the value is not YAML: {_problem(error, in_file=False)}") from None


# What pydantic says about types, in the words of users, by pydantic's name for the error.
_NEEDED = {
    **dict.fromkeys(("model_type", "dict_type"), "keys are needed"),
    "list_type": "a list is needed",
    "string_type": "a text is needed",
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false is needed"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number is needed"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number is needed"),
    "finite_number": "a finite number is needed",
    "string_too_short": "a text that is not empty is needed",
}
_LIMITS = {"greater_than_equal": ("ge", "at least"), "less_than_equal": ("le", "at most")}


def _sentence(error: ValidationError) -> str:
    clauses = list(dict.fromkeys(_clause(detail) for detail in error.errors()[: 2 * MOST_CLAUSES]))
    more = error.error_count() - MOST_CLAUSES
    return "; ".join(clauses[:MOST_CLAUSES] + ([f"and {more} more"] if len(clauses) > MOST_CLAUSES else []))


def _clause(detail: Any) -> str:
    # Leave out the names of kinds that pydantic puts into the path, as in input.columns.score.<models>.
    path = [str(step) for step in detail["loc"] if step not in (*KINDS, "[key]")]
    where = shorten(".".join(path)) or "the document"
    if detail["type"] == "extra_forbidden":
        known = _keys_at(path[:-1])
        return f'unknown key "{where}"{hint(path[-1], known, "known here")}'
    if detail["type"] == "invalid_key":
        return f"the key {where} is not a text: put it in quotes if it is a name"
    if detail["type"] == "missing":
        return f"{where} is missing"
    value = detail["input"]
    if "options" in path:  # values of options are not shown
        value = None
    plain = isinstance(value, (str, int, float, list))
    given = f" is {quote(value)}" if plain else f" is {value}" if isinstance(value, dt.date) else ""
    if detail["type"] == "literal_error":
        words = re.findall(r"'([^']+)'", detail["ctx"]["expected"]) or ["false"]
        return f"{where}{given}{hint(value, words)}"
    message = _NEEDED.get(detail["type"]) or shorten(detail["msg"].removeprefix("Value error, "), MOST_LISTED)
    if detail["type"] in _LIMITS:
        bound, least_or_most = _LIMITS[detail["type"]]
        message = f"a number of {least_or_most} {detail['ctx'][bound]:g} is needed"
    message = message[0].lower() + message[1:]
    return f"{where}{given}: {message}" if given or detail["type"] != "value_error" else f"{where} {message}"


def _keys_at(path: Iterable[str]) -> list[str]:
    model: type[BaseModel] = Spec
    is_name = False
    for step in path:
        if step.isdigit() or is_name:  # an index or a name: the key before has the annotation of the sections
            is_name = False
            continue
        annotation = next(field.annotation for name, field in _fields(model) if name == step)
        every = [*_types_in(annotation)]
        is_name = any(get_origin(part) is dict for part in every)
        parts = (part for part in every if isinstance(part, type) and get_origin(part) is None)  # 3.10: list[int]
        section = next((part for part in parts if issubclass(part, BaseModel)), None)
        if section is None:
            return []
        model = section
    return [name for name, _ in _fields(model)]


def _types_in(annotation: Any) -> Iterator[Any]:
    """Yield ``annotation`` and all types inside it, such as those of a union or the elements of a list."""
    yield annotation
    for part in get_args(annotation):
        yield from _types_in(part)


def _fields(model: type[BaseModel]) -> list[tuple[str, FieldInfo]]:
    return [(field.alias or name, field) for name, field in model.model_fields.items()]
