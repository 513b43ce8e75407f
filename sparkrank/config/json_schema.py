"""The JSON Schema of a spec, for editors. ``sparkrank validate`` also checks rules that the schema cannot express."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from sparkrank.config.document import Spec
from sparkrank.config.gate_sections import as_least_groups, as_margin
from sparkrank.config.validators import (
    as_day,
    as_keys,
    as_lane,
    as_list,
    as_number,
    as_options,
    as_points,
    as_publisher,
    as_size,
    as_slice,
    as_tracker,
    as_whole,
)
from sparkrank.engines.lanes import lane_words
from sparkrank.tables.copies.day_copies import PUBLISHERS
from sparkrank.tables.trackers.mlflow_tracker import TRACKERS

FILE = "spec.schema.json"  # beside this module
_NULL = {"type": "null"}
_TEXT = {"type": "string"}


def _also(*more: JsonSchemaValue) -> Callable[[JsonSchemaValue], JsonSchemaValue]:
    def widened(schema: JsonSchemaValue) -> JsonSchemaValue:
        parts = schema["anyOf"] if set(schema) == {"anyOf"} else [schema]
        return {"anyOf": [*parts, *(schema for schema in more if schema not in parts)]}

    return widened


# The further types that a person may write for a value that a validator converts before its type is checked.
_WRITTEN: dict[object, Callable[[JsonSchemaValue], JsonSchemaValue]] = {
    as_list: _also(_TEXT),
    as_slice: lambda schema: {"anyOf": [schema, schema["items"]]},
    as_keys: _also(_NULL),
    as_number: lambda schema: schema,
    as_whole: _also({"type": "string", "pattern": r"^[0-9.]+[eE]\+?[0-9]+$"}, {"type": "number"}),
    as_points: lambda schema: schema,
    as_size: _also({"type": "string", "pattern": r"^[0-9.]+ ?[A-Za-z]*$"}),
    as_options: lambda _: {
        "anyOf": [{"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}, _NULL]
    },
    as_day: lambda schema: schema,
    as_lane: lambda _: {"type": "string", "enum": list(lane_words())},
    as_publisher: lambda _: {"type": "string", "enum": list(PUBLISHERS)},
    as_tracker: lambda _: {"type": "string", "enum": list(TRACKERS)},
    as_least_groups: _also({"type": "integer", "minimum": 1}),
    as_margin: lambda _: {
        "anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": r"^[0-9.]+\s*%$"}, _NULL]
    },
}


class _Written(GenerateJsonSchema):
    """A generator of JSON Schema that also allows the types that validators convert before pydantic checks them."""

    def function_before_schema(self, schema: Any) -> JsonSchemaValue:
        inner = super().function_before_schema(schema)
        change = _WRITTEN.get(schema["function"]["function"])
        return inner if change is None else change(inner)


def spec_schema() -> dict[str, Any]:
    """Return the JSON Schema of a spec as a Python value."""
    schema: dict[str, Any] = Spec.model_json_schema(by_alias=True, schema_generator=_Written)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "A spec of sparkrank"}


def spec_schema_text() -> str:
    """Return the JSON Schema of a spec as the text of the stored file ``spec.schema.json``."""
    return json.dumps(spec_schema(), indent=2, ensure_ascii=False) + "\n"
