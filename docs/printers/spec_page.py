"""docs/spec.md: every key of a spec, printed from the JSON Schema with the sentences of its sections."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docs.printers.markdown import markdown_table
from sparkrank.config import json_schema

_HEAD = """\
# The spec, key by key

Every key that a spec may have: its type, its default and its meaning, from `sparkrank/config/spec.schema.json`, which
editors read too (`sparkrank schema` prints it). `sparkrank validate --conf FILE` checks more than types;
[inputs](inputs.md), [gates](gates.md) and [the report](report.md) show how the sections are used, and
`conf/nightly.yaml` is a whole spec with comments. A default of `none` means that nothing is set. In place of a section,
`null` or nothing after the colon gives the defaults of its keys."""

_ROWS = "InputRows"  # the section whose keys all sections of rows have
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")
_ROLE = re.compile(r" \(:\w+:`[^`]*`\)")  # a reference in brackets to what readers of a spec do not need

Schema = dict[str, Any]


@dataclass(frozen=True)
class SpecSection:
    """A section of the spec: the ``path`` at which a document first has it, and its ``schema``."""

    path: str
    schema: Schema

    @property
    def keys(self) -> dict[str, Schema]:
        """The schema of each key."""
        return dict(self.schema["properties"])

    @property
    def sentences(self) -> tuple[list[str], dict[str, list[str]]]:
        """The sentences about the section as a whole, and those about each key.

        A sentence that names no key belongs to the sentence before it. Sentences of the first paragraph are always
        about the whole.
        """
        first, *others = self.schema["description"].split("\n\n")
        whole, of_keys = _sentences(first), dict[str, list[str]]()
        for sentence in whole:
            for key in self._named(sentence):
                of_keys.setdefault(key, []).append(sentence)
        named: list[str] = []
        for sentence in _sentences(" ".join(others)):
            named = self._named(sentence) or named
            for key in named:
                of_keys.setdefault(key, []).append(sentence)
            if not named:
                whole.append(sentence)
        return whole, of_keys

    def _named(self, sentence: str) -> list[str]:
        return [key for key in self.schema["properties"] if f"``{key}``" in sentence or f"``{key}: " in sentence]


def spec_page() -> str:
    """The page of all keys in Markdown."""
    sections = sections_of(stored_schema())
    return "\n\n".join([_HEAD, *(_section_markdown(section, sections) for section in sections.values())])


def stored_schema() -> Schema:
    """Return the schema as it is stored, so that the page does not depend on the version of pydantic."""
    file = Path(json_schema.__file__).with_name(json_schema.FILE)
    schema: Schema = json.loads(file.read_text(encoding="utf-8"))
    return schema


def sections_of(schema: Schema) -> dict[str, SpecSection]:
    """Return the sections by their names in the schema, the whole document first, in the order of their paths."""
    sections = {"": SpecSection("", schema)}

    def walk(path: str, properties: Schema) -> None:
        for key, value in properties.items():
            inner = f"{path}.{key}".lstrip(".")
            for name, suffix in _references(value):
                if name not in sections:
                    sections[name] = SpecSection(inner + suffix, schema["$defs"][name])
                    walk(inner + suffix, schema["$defs"][name]["properties"])

    walk("", schema["properties"])
    return sections


def key_sentences(section: SpecSection, key: str, sections: dict[str, SpecSection]) -> list[str]:
    """Return what the schema says about one key: its sentences, or the first one of the section that it holds."""
    whole, of_keys = section.sentences
    own = of_keys.get(key, [])
    if any(sentence not in whole for sentence in own):
        return own
    inner = [sections[name].sentences[0][0] for name, _ in _references(section.keys[key])]
    return inner or own or (whole if len(section.keys) == 1 else [])


def _section_markdown(section: SpecSection, sections: dict[str, SpecSection]) -> str:
    whole, _ = section.sentences
    rows = sections[_ROWS]
    shared = [] if section is rows or not rows.keys.keys() <= section.keys.keys() else list(rows.keys)
    required = section.schema.get("required", ())
    lines = [
        (
            f"`{key}`",
            _type_markdown(value, sections),
            "**needed**" if key in required else _default(value),
            _markdown(" ".join(key_sentences(section, key, sections))),
        )
        for key, value in section.keys.items()
        if key not in shared or value != rows.keys[key]
    ]
    heading = f"## `{section.path}`" if section.path else "## The document"
    text = " ".join(_markdown(sentence) for sentence in whole)
    if shared:
        text += f" It has the keys of [rows](#{_anchor(rows.path)}), and these:"
    return "\n\n".join([heading, text, markdown_table(("key", "type", "default", "meaning"), lines)])


def _references(schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield the sections that a value may be, each with what its path has behind the key."""
    if "$ref" in schema:
        yield schema["$ref"].rpartition("/")[2], ""
    for word in ("anyOf", "oneOf"):
        for one in schema.get(word, ()):
            yield from _references(one)
    if "items" in schema:
        for name, suffix in _references(schema["items"]):
            yield name, suffix if suffix.startswith("[]") else f"[]{suffix}"
    if isinstance(schema.get("additionalProperties"), dict):
        for name, suffix in _references(schema["additionalProperties"]):
            yield name, f".NAME{suffix}"


def _type_markdown(schema: Schema, sections: dict[str, SpecSection]) -> str:
    if "$ref" in schema:
        path = sections[schema["$ref"].rpartition("/")[2]].path
        return f"[`{path}`](#{_anchor(path)})"
    for word in ("anyOf", "oneOf"):
        if word in schema:
            types = [_type_markdown(one, sections) for one in schema[word] if one != {"type": "null"}]
            is_whole = any(one.get("type") == "integer" for one in schema[word])
            if is_whole:  # it may also be written as 1e6, which is another type for YAML
                types = [written for written in types if written not in ("number", _TEXTS["e"])]
            return " or ".join(dict.fromkeys(sorted(types, key=lambda written: written.startswith("list"))))
    return _plain_type(schema, sections)


def _plain_type(schema: Schema, sections: dict[str, SpecSection]) -> str:
    """The type of a value that is neither a section nor one of several types."""
    kind = schema.get("type")
    if "const" in schema or "enum" in schema:
        return ", ".join(f"`{_written(word)}`" for word in schema.get("enum", [schema.get("const")]))
    if kind == "array":
        inner = _type_markdown(schema["items"], sections)
        return f"list of ({inner})" if " or " in inner else f"list of {inner}"
    if kind == "object":
        return f"mapping of names to {_type_markdown(schema['additionalProperties'], sections)}"
    if "pattern" in schema:
        return next(text for mark, text in _TEXTS.items() if mark in schema["pattern"])
    return " or ".join(_TYPES[word] for word in (kind if isinstance(kind, list) else [kind])) + _bounds(schema)


_TYPES = {"string": "text", "number": "number", "integer": "whole number", "boolean": "true or false", "null": "null"}
# What texts with a pattern look like, by what only this pattern has.
_TEXTS = {"%": "text such as `0.5%`", "A-Z": "text such as `2GB`", "e": "text such as `1e6`"}


def _bounds(schema: Schema) -> str:
    """The smallest and largest number, where the schema has them."""
    words = {"exclusiveMinimum": "above", "minimum": "from", "exclusiveMaximum": "below", "maximum": "to"}
    return "".join(f" {word} {schema[key]:,g}" for key, word in words.items() if key in schema)


def _default(schema: Schema) -> str:
    default = schema.get("default")
    if default in (None, [], {}):
        return "none"
    return "its defaults" if isinstance(default, dict) else f"`{_written(default)}`"


def _written(value: object) -> str:
    return value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else json.dumps(value)


def _anchor(path: str) -> str:
    return re.sub(r"[^\w-]", "", path).lower()


def _sentences(text: str) -> list[str]:
    return [part for part in _SENTENCE.split(" ".join(text.split())) if part]


def _markdown(text: str) -> str:
    """A docstring's text in Markdown."""
    return _ROLE.sub("", text).replace("``", "`")
