"""From a file and its overrides to a :class:`Spec`, or to one sentence that says what is wrong and where."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from sparkrank.errors import SpecError, did_you_mean, listed
from sparkrank.spec.document import Spec
from sparkrank.spec.values import KINDS


def load_spec(path: str | Path, overrides: Sequence[str] = ()) -> Spec:
    """The document at ``path`` with each override ``a.b=value`` put in (the value is read as YAML).

    Raises :class:`SpecError`: no such file, no YAML, a key that stands twice, an unknown key (with its path and the
    nearest known key), a missing key, a wrong value. Metrics and roles are checked too, so that nothing wrong is found
    after reading.
    """
    document = _read(Path(path))
    for override in overrides:
        _put(document, override)
    try:
        spec = Spec.model_validate(document)
        spec.limits(spec.plan())
    except ValidationError as error:
        raise SpecError(f"{path}: {_sentence(error)}") from None
    except SpecError as error:
        raise type(error)(f"{path}: {error}") from None
    return spec


_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|0b[01_]+)\Z")
_FLOAT = re.compile(
    r"[-+]?(?:(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?|\.(?:inf|Inf|INF))\Z|\.(?:nan|NaN|NAN)\Z"
)


class _Loader(yaml.SafeLoader):
    """Refuses a key that stands twice, of which YAML readers silently take the last.

    A number is one as people write it: YAML 1.1 makes 90 of ``1:30`` and 8 of ``010``, which are texts here.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012 - as the class above has it
        first: [
            (tag, _WHOLE if tag.endswith(":int") else _FLOAT if tag.endswith(":float") else pattern)
            for tag, pattern in resolvers
        ]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        places: dict[str, Any] = {}
        for key, _ in node.value:
            before = places.setdefault(key.value, key) if isinstance(key, yaml.ScalarNode) else key
            if before is not key:
                raise yaml.constructor.ConstructorError(
                    None, None, f'the key "{key.value}" stands twice', key.start_mark
                )
        return super().construct_mapping(node, deep)


def _parsed(text: str) -> Any:
    return yaml.load(text, _Loader)  # noqa: S506 - it is a SafeLoader


def _read(path: Path) -> dict[str, Any]:
    try:
        document = _parsed(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SpecError(f"cannot read the spec {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SpecError(f"{path} is not text in UTF-8: byte {error.start} is none") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that is none
        raise SpecError(f"{path} is not YAML: {_problem(error)}") from None
    if not isinstance(document, dict):
        raise SpecError(f"{path} holds no document of keys: input, metrics and output are needed")
    return document


def _problem(error: Exception, *, in_file: bool = True) -> str:
    """What YAML says is wrong, and where in the file, without the lines around it."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem is None:
        return " ".join(str(error).split())
    mark = error.problem_mark
    return f"{error.problem} (line {mark.line + 1}, column {mark.column + 1})" if in_file and mark else error.problem


def _put(document: dict[str, Any], override: str) -> None:
    """Set the key that ``override`` (``a.b=value``) names."""
    key, equals, value = override.partition("=")
    if not equals or not all(key.split(".")):
        raise SpecError(f"--set {override} is not of the form key.key=value, for example definitions.ties=item")
    *parents, last = key.split(".")
    place = document
    for index, parent in enumerate(parents):
        if place.get(parent) is None:  # a key with nothing below it, or comments alone, may have keys all the same
            place[parent] = {}
        place = place[parent]
        if not isinstance(place, dict):
            raise SpecError(f"--set {override}: {'.'.join(parents[: index + 1])} is a value, not a part with keys")
    try:
        place[last] = _parsed(value)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that is none
        raise SpecError(f"--set {override}: the value is not YAML: {_problem(error, in_file=False)}") from None


# What pydantic says of types in the words of its users, by its own name for what is wrong.
_NEEDED = {
    **dict.fromkeys(("model_type", "dict_type"), "keys are needed"),
    "list_type": "a list is needed",
    "string_type": "a text is needed",
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false is needed"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number is needed"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number is needed"),
    "string_too_short": "a text that is not empty is needed",
}


def _sentence(error: ValidationError) -> str:
    """All that is wrong, in one sentence."""
    return "; ".join(dict.fromkeys(_clause(detail) for detail in error.errors()))


def _clause(detail: Any) -> str:
    path = [str(step) for step in detail["loc"] if not _is_branch(step)]
    where = ".".join(path) or "the document"
    if detail["type"] == "extra_forbidden":
        known = _keys_at(path[:-1])
        return f'unknown key "{where}"{did_you_mean(path[-1], known)} (known here: {listed(known)})'
    if detail["type"] == "missing":
        return f"{where} is missing"
    value = detail["input"]
    plain = isinstance(value, (str, int, float, list))
    given = f" is {value!r}" if plain else f" is {value}" if isinstance(value, dt.date) else ""
    if detail["type"] == "literal_error":
        words = re.findall(r"'(\w+)'", detail["ctx"]["expected"]) or ["false"]
        return f"{where}{given}{did_you_mean(value, words)} (allowed: {listed(words)})"
    message = _limit(detail) or _NEEDED.get(detail["type"], detail["msg"].removeprefix("Value error, "))
    message = message[0].lower() + message[1:]
    return f"{where}{given}: {message}" if given or detail["type"] != "value_error" else f"{where} {message}"


def _limit(detail: Any) -> str | None:
    """What is needed of a number that is beyond its limit."""
    limits = {"greater_than_equal": ("ge", "at least"), "less_than_equal": ("le", "at most")}
    if detail["type"] not in limits:
        return None
    name, words = limits[detail["type"]]
    return f"a number of {words} {detail['ctx'][name]:g} is needed"


def _is_branch(step: object) -> bool:
    """Whether pydantic put the mark of a kind into the path: ``input.columns.score.<models>``."""
    return isinstance(step, str) and step in (*KINDS, "[key]")


def _keys_at(path: Iterable[str]) -> list[str]:
    """The known keys of the part of the document at ``path``."""
    model: type[BaseModel] = Spec
    for step in path:
        annotation = next(field.annotation for name, field in _fields(model) if name == step)
        parts = [part for part in (annotation, *get_args(annotation)) if isinstance(part, type)]
        sections = [part for part in parts if issubclass(part, BaseModel)]  # an optional section is a union with None
        if not sections:
            return []
        model = sections[0]
    return [name for name, _ in _fields(model)]


def _fields(model: type[BaseModel]) -> list[tuple[str, FieldInfo]]:
    """The keys of a part, as the document has them."""
    return [(field.alias or name, field) for name, field in model.model_fields.items()]
