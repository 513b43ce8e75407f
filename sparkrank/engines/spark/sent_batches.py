"""Converts the Arrow batches that Spark sends to tasks into tables of bucket rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame

from sparkrank.engines.spark.batches import arrow_schema, gathered_rows, read_batches
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import Plan
from sparkrank.numeric.text_arrays import is_text
from sparkrank.sources.arrays import array_columns, exploded, whole_lists
from sparkrank.sources.sizes import elements_in


@dataclass(frozen=True)
class SentBatches:
    """A converter from batches with schema ``sent`` to bucket rows with ``schema``.

    ``arrays`` is the plan if the batches have arrays, and None otherwise.
    """

    sent: pa.Schema
    schema: pa.Schema
    arrays: Plan | None = None
    by_rank: bool = False

    @classmethod
    def of_parts(cls, parts: Sequence[DataFrame], roles: Roles, plan: Plan) -> list[SentBatches]:
        """Make a converter for each part of the rows, all to one schema.

        A part has bucket columns, or arrays from ``rows_of_arrays``.
        """
        own = [cls._of(arrow_schema(rows), roles, plan) for rows in parts]
        schema = pa.unify_schemas([part.schema for part in own], promote_options="permissive")
        return [replace(part, schema=schema) for part in own]

    @classmethod
    def _of(cls, sent: pa.Schema, roles: Roles, plan: Plan) -> SentBatches:
        if not array_columns(sent.names):
            return cls(sent, sent)
        by_rank = roles.relevance == "reciprocal_rank"
        return cls(sent, exploded(sent.empty_table(), plan, by_rank=by_rank).schema, plan, by_rank)

    def tables(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Yield the bucket rows of ``batches``, in tables of about as many rows as a task gathers at once."""
        if self.arrays is None:
            yield from (self._as_all(rows) for rows in gathered_rows(batches, self.sent))
            return
        arrays = array_columns(self.sent.names)
        texts = [field.name for field in self.sent if is_text(field.type)]
        for rows in gathered_rows(batches, self.sent, lambda batch: elements_in(batch, arrays)):
            for part in whole_lists(rows, arrays, texts):
                yield self._as_all(exploded(part, self.arrays, by_rank=self.by_rank))

    def _as_all(self, rows: pa.Table) -> pa.Table:
        return rows if rows.schema == self.schema else rows.select(self.schema.names).cast(self.schema)

    def read(self, packed: Iterable[bytes]) -> Iterator[pa.Table]:
        """Yield the bucket rows of the batches from :func:`sparkrank.engines.spark.batches.arrow_batches`."""
        return self.tables(read_batches(packed, self.sent))
